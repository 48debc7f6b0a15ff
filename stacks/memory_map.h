/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where the binary lies in the memory of processes, as learned line by line. Each mapping takes the
 * place of those that it overlaps. Internal to the library.
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
    void *of_any;     /* pid is 0: the last ones of all processes */
    void *biases;     /* see memory_map_set_bias(): start is the bias */
};

void memory_map_free(struct memory_map *map);

/* Add a mapping; start must be below end. Without memory it is forgotten. n log n for n of them. */
void memory_map_add(struct memory_map *map, const struct memory_mapping *mapping);

/*
 * The mapping of the address: of this process, or else the last one of any; NULL if there is none.
 * Valid until another one is added. Logarithmic.
 */
const struct memory_mapping *memory_map_find(const struct memory_map *map, uint64_t pid,
                                             uint64_t address);

/* How far behind its own addresses the binary lies in the memory of a process. Logarithmic. */
void memory_map_set_bias(struct memory_map *map, uint64_t pid, uint64_t bias);
bool memory_map_bias(const struct memory_map *map, uint64_t pid, uint64_t *bias);

#endif
