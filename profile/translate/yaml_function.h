/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One function of BOLT's YAML profile (spec/profiles.md 4). Internal. */
#pragma once

#include "profile/yaml/yaml_out.h"
#include "records.h"

/*
 * The number (fid) of each function, from 1: first the functions of symbols by address, then PLT
 * entries section by section, each before its section's start, then those that .eh_frame alone
 * tells. The caller frees the array; NULL if there is no memory.
 */
uint32_t *bat_yaml_numbers(const struct bat_records *records);

/* The part of a function's name that decides where a function with a table is in the file. */
struct bat_yaml_key {
    const char *name;
    size_t size;
};

struct bat_yaml_key bat_yaml_key(const char *name);

/* Compare two of them as memcmp() does; if they are equal, the addresses decide. */
int bat_yaml_compare_keys(const struct bat_yaml_key *left, const struct bat_yaml_key *right);

/*
 * Sort calls, which are indices in records->branches and from one function: by offset, then by the
 * name of the target, an unknown one first, then by the target's offset.
 */
void bat_yaml_sort_calls(const struct bat_records *records, uint32_t *calls, uint32_t count);

/* The records of one function, as a source and as a target. */
struct bat_yaml_range {
    struct bat_yaml_key key; /* with a table */
    bool has_table;
    uint32_t function;
    uint32_t first; /* indices in records->branches: first to end - 1 */
    uint32_t end;
    uint32_t first_entry; /* indices in entries */
    uint32_t end_entry;
};

struct bat_yaml_block;
struct bat_tableless;
struct bat_yaml_function_probes;

/* What functions are written from, and with. Each thread has its own. */
struct bat_yaml_writer {
    const struct bat_records *records;
    const struct bat_map *map;
    const uint32_t *entries; /* records into another function, or to their own start; by target */
    const uint32_t *numbers; /* for each function its number in the file */
    struct bat_tableless *code; /* of functions without a table; NULL: they have no blocks */
    struct bat_yaml_function_probes *probes; /* if records have probes; else NULL */

    /* Of the function that is written, allocated when needed; bat_yaml_writer_free(). */
    struct bat_yaml_out out; /* the file's profile and GUIDs are set before */
    uint32_t *calls;         /* of a block: its records */
    struct bat_yaml_edge *call_edges;
    struct bat_yaml_edge *successors;
    struct bat_block *blocks;
    struct bat_yaml_block *yaml_blocks;
    uint32_t *order; /* of blocks: as they are written */
    size_t call_capacity;
    size_t call_edge_capacity;
    size_t successor_capacity;
    uint32_t block_capacity;
};

/*
 * Fetch what bat_yaml_write_function() will need: functions are not written in the order of their
 * records. The first one, some functions before, is for what the second one needs.
 */
void bat_yaml_fetch_table(const struct bat_yaml_writer *writer, const struct bat_yaml_range *range);
void bat_yaml_fetch_function(const struct bat_yaml_writer *writer,
                             const struct bat_yaml_range *range);

/* Append a function. Fails with BAT_ERR_MEMORY. Linear in its records, n log n in its calls. */
enum bat_code bat_yaml_write_function(struct bat_yaml_writer *writer,
                                      const struct bat_yaml_range *range,
                                      struct bat_text_writer *text, struct bat_error *error);

/* Free what it has allocated. */
void bat_yaml_writer_free(struct bat_yaml_writer *writer);
