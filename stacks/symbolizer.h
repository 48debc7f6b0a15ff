/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A symbolizer's parts. Internal to the library. */
#pragma once

#include "bat.h"
#include "bat_binary.h"
#include "bat_debuginfo.h"
#include "bat_original.h"
#include "bat_symbolizer.h"
#include "binary/original/original.h"
#include "symbol_index.h"

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

/* Addresses of the binary from start on. */
struct symbol_stretch {
    uint64_t start;
    uint64_t size;
    const struct bat_symbol *symbol; /* what all of them have for an answer, without debug
                                        information; NULL: each address may have its own */
};

struct bat_symbolizer {
    struct bat_binary binary; /* map is NULL */
    struct bat_elf *elf;      /* the binary's; owned by the member binary if that is open */
    struct bat_original *original;
    struct bat_original_walks walks; /* through original's code */
    struct symbol_index symbols;     /* of elf */
    struct symbol_index original_symbols;
    size_t last_symbol;              /* the places of the last look-ups in symbols ... */
    size_t last_original;            /* ... and in original_symbols */
    struct symbol_stretch stretch;   /* around the last address */
    struct bat_debuginfo *debuginfo; /* of the original, if it is given */
    struct bat_error no_debug;       /* why debuginfo is NULL */
    bool lacks_original;
    bat_demangle_fn *demangle;
    const char *file_name; /* the last part of the path */
    char *path;
    struct memory_map memory;        /* where the binary was seen in memory */
    struct bat_source_frame *frames; /* of the last address */
    size_t frame_capacity;
    struct bat_symbolizer *second_of; /* NULL: this is no second one */
};

/* Set stretch to one that contains address, or has size 0 (symbol_stretch.c). */
void symbolizer_find_stretch(struct bat_symbolizer *symbolizer, uint64_t address);

/* Let texts name the binary by another path than the one that it was opened with. */
enum bat_code bat_symbolizer_rename(struct bat_symbolizer *symbolizer, const char *path,
                                    struct bat_error *error);

/*
 * A second symbolizer for bat_symbolizer_frames() in another thread. It shares what is only read
 * with the first, which must outlive it and may answer meanwhile, and reads debug information for
 * itself. NULL if that cannot be opened again, or there is no memory. Closing it, by the first
 * one's thread, counts in the first what was read.
 */
struct bat_symbolizer *bat_symbolizer_second(const struct bat_symbolizer *first);
