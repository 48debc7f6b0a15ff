/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What gzip, xz or zstd packed. Internal to the library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "spec/bat.h"

enum bat_packing { BAT_PACKING_NONE, BAT_PACKING_GZIP, BAT_PACKING_XZ, BAT_PACKING_ZSTD };

/* By the first bytes, of which there may be any number. In a minimal build always none. */
enum bat_packing bat_packing_of(const void *bytes, size_t size);

struct bat_unpacked {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

/* Looks at what was unpacked so far, 64 KiB or all, and may fail. */
typedef enum bat_code bat_unpacked_check_fn(const struct bat_unpacked *unpacked,
                                            enum bat_packing packing, struct bat_error *error);

/*
 * Unpack to memory, which the caller frees, also after a failure; unpacked is all zero before.
 * Messages begin with what. check may be NULL. Fails with BAT_ERR_TRUNCATED, BAT_ERR_SYNTAX for
 * bytes that are not packed so, BAT_ERR_RANGE for more than limit bytes, BAT_ERR_MEMORY, and as
 * check. Besides limit it takes 128 MiB at most.
 */
enum bat_code bat_unpack(const char *what, enum bat_packing packing, const uint8_t *bytes,
                         size_t size, size_t limit, bat_unpacked_check_fn *check,
                         struct bat_unpacked *unpacked, struct bat_error *error);

/*
 * Modules and symbols pack to a fifth. Beyond the free bytes they unpack to at most so many times
 * as much.
 */
static inline size_t bat_unpacked_most(size_t packed)
{
    const size_t free_bytes = (size_t)1 << 24;
    return packed < (SIZE_MAX - free_bytes) / 64 ? free_bytes + 64 * packed : SIZE_MAX;
}

/* Write them into a new file in memory, to be closed, whose descriptor is no standard one. */
enum bat_code bat_unpacked_file(const struct bat_unpacked *unpacked, int *file,
                                struct bat_error *error);
