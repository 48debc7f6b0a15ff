/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where the binary is in the memory of processes, learned line by line. A new mapping replaces what
 * it overlaps. Internal to the library.
 */
#ifndef BAT_STACKS_MEMORY_MAP_H
#define BAT_STACKS_MEMORY_MAP_H

#include "bat.h"

/* Part of the binary in the memory of a process: [start, end). */
struct memory_mapping {
    uint64_t pid;
    uint64_t start;
    uint64_t end;
    uint64_t file_offset; /* of the byte at start */
};

/* Balanced trees (tsearch) of struct memory_mapping; all zero for none. */
struct memory_map {
    void *of_process; /* those of one pid do not overlap */
    void *of_any;     /* pid is 0: the latest mappings of all processes */
    void *biases;     /* see memory_map_set_bias(): start is the bias */
};

void memory_map_free(struct memory_map *map);

/* Add a mapping; start must be below end. Without memory it is dropped. n log n for n mappings. */
void memory_map_add(struct memory_map *map, const struct memory_mapping *mapping);

/*
 * The mapping of an address in this process, or else the latest in any process; NULL if there is
 * none. Valid until another mapping is added. Logarithmic.
 */
const struct memory_mapping *memory_map_find(const struct memory_map *map, uint64_t pid,
                                             uint64_t address);

/* The bias of a process: an address in its memory minus the binary's own address. Logarithmic. */
void memory_map_set_bias(struct memory_map *map, uint64_t pid, uint64_t bias);
bool memory_map_bias(const struct memory_map *map, uint64_t pid, uint64_t *bias);

#endif
