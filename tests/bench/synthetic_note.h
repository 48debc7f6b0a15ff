/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Large synthetic notes, with the statistics of real ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct synthetic_shape {
    uint32_t hot_count;
    uint32_t cold_count;  /* at most hot_count */
    uint32_t entry_count; /* of all tables together; exact to about one percent */
    uint64_t seed;
};

/* A note like BOLT's for a program of clang's size: 45 MiB, 7.1 million entries. */
extern const struct synthetic_shape synthetic_clang;

/*
 * A version 3 note of that shape: the content of .note.bolt_bat, the same bytes for the same shape
 * on every machine. It is not made by the library's encoder, so that it can check the encoder.
 * *size gets the number of bytes. The caller frees it with free(). Ends the process if there is no
 * memory.
 */
uint8_t *synthetic_note(const struct synthetic_shape *shape, size_t *size);
