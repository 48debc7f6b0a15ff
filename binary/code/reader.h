/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The code reader (struct bat_code_reader of code_blocks.h): its fields, the functions that fill
 * them and the look-ups in them. Internal to binary/code/.
 */
#pragma once

#include "binary/functions/loaded_sections.h"
#include "code_blocks.h"
#include "elfnote/symbol_table.h"
#include "instructions.h"

/* A function that bat_code_open() got: its blocks can be read. */
struct code_wanted {
    uint64_t lsda; /* address of its exception table; 0 if there is none */
    uint32_t function;
    bool is_split;
    bool is_skipped;    /* BOLT skips it: _init of a static executable */
    bool is_left_alone; /* as in struct bat_code_graph */
};

/* AArch64: where code ends and data starts, or the other way around. */
struct code_marker {
    uint64_t address;
    bool is_data;
};

struct code_addresses {
    uint64_t *all;
    uint32_t count;
    size_t capacity;
};

/*
 * Where wanted functions are: a bit for each granule of addresses, set if it holds one of their
 * bytes. A damaged file may give a function a size beyond the end of the last function: granules
 * end there.
 */
struct code_granules {
    uint64_t start;
    uint64_t size;
    unsigned shift; /* a granule is 1 << shift bytes, at least CODE_GRANULE_MIN */
    uint8_t *bits;
};

#define CODE_GRANULE_MIN 64u

struct bat_code_reader {
    const struct bat_elf *elf;
    const struct bat_functions *functions;
    const struct bat_function_symbol *all; /* of functions */
    uint32_t function_count;
    uint16_t machine;
    bool is_static;       /* without .dynamic */
    bool has_relocations; /* of its code, which BOLT needs to move functions */
    unsigned threads;     /* that may search the code; 0: one for each processor */

    struct code_wanted *wanted; /* ascending by function */
    uint32_t wanted_count;
    struct code_granules granules;
    struct loaded_sections sections; /* without empty ones */
    struct code_marker *markers;     /* ascending by address, no two at the same */
    uint32_t marker_count;
    struct code_addresses entries;    /* where other functions enter wanted ones; ascending */
    struct code_addresses references; /* inside of wanted functions, from data; ascending */
    /* For each function: one of the functions that it was split into, the same for all of them; or
     * BAT_NONE. NULL unless parts.c needs it. */
    uint32_t *whole_of;
    struct code_addresses part_tables; /* where jump tables of such functions start; ascending */
};

enum bat_code code_addresses_add(struct code_addresses *addresses, uint64_t address,
                                 struct bat_error *error);

/* The wanted function of that index, or NULL. */
struct code_wanted *code_find_wanted(const struct bat_code_reader *reader, uint32_t function);

/* The wanted function that starts at address, or NULL. */
struct code_wanted *code_find_wanted_at(const struct bat_code_reader *reader, uint64_t address);

/* The loaded section that holds address, or NULL. */
const struct bat_section *code_section_at(const struct bat_code_reader *reader, uint64_t address);

/* Up to *size bytes of the file at address; sets *size to their number. NULL if there are none. */
const uint8_t *code_bytes(const struct bat_code_reader *reader, uint64_t address, uint64_t *size);

/* True if address is in data inside code (AArch64). */
bool code_is_data(const struct bat_code_reader *reader, uint64_t address);

/* The end of the data that holds address, at most end. */
uint64_t code_end_of_data(const struct bat_code_reader *reader, uint64_t address, uint64_t end);

/* The end of data that starts at address, at most end; address if no data starts there. */
uint64_t code_skip_data(const struct bat_code_reader *reader, uint64_t address, uint64_t end);

/* Fill markers, is_split and is_skipped (markers.c). */
enum bat_code code_read_symbols(struct bat_code_reader *reader, const struct bat_elf *symbols,
                                struct bat_error *error);

/* Fill part_tables, and is_left_alone of wanted functions (parts.c). */
enum bat_code code_find_part_tables(struct bat_code_reader *reader, struct bat_error *error);

/* True if an address is in another part of the split function that a function is a part of. */
bool code_is_in_other_part(const struct bat_code_reader *reader,
                           const struct bat_function_symbol *function, uint64_t address);

/* Sort, and drop what is there twice. */
void code_addresses_sort(struct code_addresses *addresses);

/* Fill entries and references (entry_points.c). */
enum bat_code code_find_entries(struct bat_code_reader *reader, struct bat_error *error);

/* A quick test: false for most addresses outside of all wanted functions, true inside of them. */
static inline bool code_may_be_wanted(const struct bat_code_reader *reader, uint64_t address)
{
    const struct code_granules *granules = &reader->granules;
    uint64_t offset = address - granules->start;
    if (offset >= granules->size)
        return false;
    uint64_t granule = offset >> granules->shift;
    return granules->bits[granule / 8] >> granule % 8 & 1;
}

static inline bool code_contains(const struct bat_function_symbol *function, uint64_t address)
{
    return address - function->address < function->size;
}

/*
 * Set is_split of wanted functions; in a binary with relocations whole_of of all functions
 * (split_functions.c).
 */
enum bat_code code_find_split(struct bat_code_reader *reader, const struct symbol_table *table,
                              struct bat_error *error);
