/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Large notes made from nothing, with the statistics of real ones. */
#ifndef BENCH_SYNTHETIC_NOTE_H
#define BENCH_SYNTHETIC_NOTE_H

#include <stddef.h>
#include <stdint.h>

struct synthetic_shape {
    uint32_t hot_count;
    uint32_t cold_count;  /* at most hot_count */
    uint32_t entry_count; /* of all tables together; met to about one in a hundred */
    uint64_t seed;
};

/* A note as BOLT writes it for a program of clang's size: 45 MiB, 7.1 million entries. */
extern const struct synthetic_shape synthetic_clang;

/*
 * A version 3 note of that shape: the content of .note.bolt_bat, the same bytes for the same
 * shape on every machine. It does not go through the library's encoder, so that it is a check of
 * it. *size gets its bytes; to be freed with free(). Ends the process where memory runs out.
 */
uint8_t *synthetic_note(const struct synthetic_shape *shape, size_t *size);

#endif
