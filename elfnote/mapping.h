/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files in memory. A mapped file can be read without a fault up to the end of its last page, and a
 * section up to the end of its file; the address sanitizer does not see it, nor what libelf and
 * libdw read. So its builds hand out copies instead that end at a page which cannot be read; with
 * BATKIT_GUARD=front in the environment they begin behind one. In other builds nothing is copied.
 * Internal to the library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __has_feature /* clang's; gcc defines a macro */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define BAT_IS_GUARDED 1
#else
#define BAT_IS_GUARDED 0
#endif

/* Where a file is in memory. */
struct bat_mapping {
    uint8_t *bytes; /* of the file; NULL: it is not mapped */
    uint8_t *start; /* of all that was mapped */
    size_t size;    /* of all that was mapped */
};

/* Map size bytes of a file for reading. False if it cannot be mapped; errno says why. */
bool bat_map(struct bat_mapping *mapping, int file, size_t size);

/*
 * Map a file privately, to be changed, with head zeros in front of it, and tail zeros behind the
 * end of its last page. head is rounded up to whole pages.
 */
bool bat_map_between(struct bat_mapping *mapping, int file, size_t head, size_t size, size_t tail);

/*
 * Give back the memory of these bytes, which stay readable. Bytes elsewhere, or NULL, do not
 * matter.
 */
void bat_map_release(const struct bat_mapping *mapping, const uint8_t *bytes, uint64_t size);

/* Let go of the mapping, and of the guarded parts of it. */
void bat_unmap(struct bat_mapping *mapping);

#if BAT_IS_GUARDED
/*
 * The same bytes, or a guarded copy of them, which belongs to the mapping that starts at owner.
 * Asked again, it is the same copy. Several threads may call this. tail: so many zeros follow,
 * which libraries without the sanitizer can read.
 */
const uint8_t *bat_guarded(const void *owner, const uint8_t *bytes, uint64_t size, size_t tail);
#else
static inline const uint8_t *bat_guarded(const void *owner, const uint8_t *bytes, uint64_t size,
                                         size_t tail)
{
    (void)owner;
    (void)size;
    (void)tail;
    return bytes;
}
#endif
