/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A symbolizer's parts. Internal to the library. */
#ifndef BAT_STACKS_SYMBOLIZER_H
#define BAT_STACKS_SYMBOLIZER_H

#include "bat_binary.h"
#include "bat_debuginfo.h"
#include "bat_original.h"
#include "bat_symbolizer.h"
#include "symbol_index.h"

/* A part of the binary in the memory of a process. */
struct memory_mapping {
    uint64_t pid;
    uint64_t start;
    uint64_t size;
    uint64_t file_offset;
};

/* How far behind its own addresses the binary lies in the memory of a process. */
struct memory_bias {
    uint64_t pid;
    uint64_t bias;
};

/* What was learned of where the binary lies. */
struct memory_places {
    struct memory_mapping *mappings;
    size_t mapping_count;
    size_t mapping_room;
    struct memory_bias *biases;
    size_t bias_count;
    size_t bias_room;
};

struct bat_symbolizer {
    struct bat_binary binary; /* map is NULL unless original is given */
    struct bat_elf *elf;      /* the binary's; binary's own, or owned */
    struct bat_original *original;
    struct symbol_index symbols; /* of elf */
    struct symbol_index original_symbols;
    struct bat_debuginfo *debuginfo; /* of the original, if it is given */
    struct bat_error no_debug;       /* why debuginfo is NULL */
    bool lacks_original;
    bat_demangle_fn *demangle;
    const char *file_name; /* the last part of the path */
    char *path;
    struct memory_places places;
    struct bat_source_frame *frames; /* those of the last address */
    size_t frame_room;
};

void memory_places_free(struct memory_places *places);

#endif
