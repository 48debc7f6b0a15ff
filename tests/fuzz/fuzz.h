/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions that the fuzz targets share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bat.h"

/* libFuzzer calls it with size bytes at data. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold; otherwise the process is aborted with the sentence. */
_Noreturn void fuzz_fail(const char *sentence);
static inline void fuzz_expect(bool holds, const char *sentence)
{
    if (!holds)
        fuzz_fail(sentence);
}

/* An error that a failing function has filled in must name itself, and a place inside the note, of
 * size bytes, or the text. */
void fuzz_expect_error(enum bat_code code, const struct bat_error *error, uint64_t size);

/* Both maps must say the same of each table. Where its elements are in the arrays does not matter:
 * those of version 1 may have a fragment's between two functions'. */
void fuzz_expect_equal_maps(const struct bat_map *left, const struct bat_map *right);

/* bat_decode() with this reading of hot indices. */
enum bat_code fuzz_decode(const void *section, size_t size, enum bat_hot_index hot_index,
                          struct bat_map **map, struct bat_error *error);

/* A file in memory with these bytes, read from the start; -1 is never returned. */
int fuzz_memory_file(const void *bytes, size_t size);

/*
 * The path of a file with this name in a folder that exists as long as the process, in memory if
 * the system has a file system there. The string belongs to the caller.
 */
char *fuzz_path(const char *name);

/* Replace the file at path by these bytes. */
void fuzz_write_file(const char *path, const void *bytes, size_t size);

/* --- Files that end where they end ------------------------------------------------------------ */

/*
 * Bytes of mapped ELF files that no header names are poisoned from now on, or not: a program that
 * reads them has left a section. Not for those who copy files.
 */
void fuzz_poison_gaps(bool poison);

/*
 * The path of a file with a copy of an ELF file in which each section that is whole has bytes
 * behind the file, with gaps around it, which are poisoned; segments stay where they are. To be
 * removed, and freed.
 */
char *fuzz_spread_file(const uint8_t *data, size_t size);

/* --- Numbers from fuzzed bytes --------------------------------------------------------------- */

struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
};

/* The next bytes as a number; zeros if no bytes are left. */
static inline uint64_t fuzz_take(struct fuzz_bytes *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size && bytes->left != 0; i++, bytes->left--)
        value |= (uint64_t)*bytes->at++ << (8 * i);
    return value;
}
