/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the split functions that llvm-bolt leaves alone, all parts of them: those in which a jump
 * table leads from one part (f) into another (f.cold). Only a binary with relocations has such
 * tables for BOLT: without them it reads no function that is split.
 */
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "sweep.h"

/* A jump table of a part. */
struct part_table {
    uint64_t address;
    uint32_t function;
    bool is_relative;
};

enum part_mark { PART_WANTED = 1, PART_LEFT_ALONE = 2 };

struct part_tables {
    struct bat_code_reader *reader;
    uint8_t *marks; /* enum part_mark for each function that stands for a split one */
    struct part_table *all;
    size_t count;
    size_t capacity;
};

/* False if no bytes of the function can be an indirect jump (ff /4): most parts have none. */
static bool may_jump_indirectly(const struct bat_code_reader *reader, uint32_t function)
{
    uint64_t size = reader->all[function].size;
    const uint8_t *bytes = code_bytes(reader, reader->all[function].address, &size);
    const uint8_t *end = bytes ? bytes + size : NULL;
    while (bytes && (bytes = memchr(bytes, 0xff, (size_t)(end - bytes))) != NULL)
        if (++bytes < end && (*bytes >> 3 & 7) == 4)
            return true;
    return false;
}

static enum bat_code add_tables(struct part_tables *tables, const struct code_sweep *sweep,
                                uint32_t function, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < sweep->table_count && !code; i++) {
        if (!BAT_GROW(tables->all, tables->count, tables->capacity))
            return bat_fail_memory(error, "for %zu jump tables", tables->count);
        const struct code_table *table = &sweep->tables[i];
        tables->all[tables->count++] =
            (struct part_table){table->address, function, table->is_relative};
        code = code_addresses_add(&tables->reader->part_tables, table->address, error);
    }
    return code;
}

/* Read the tables of all parts of the functions of which a part is wanted. */
static enum bat_code read_parts(struct part_tables *tables, struct bat_error *error)
{
    const struct bat_code_reader *reader = tables->reader;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < reader->function_count && !code; i++) {
        uint32_t whole = reader->whole_of[i];
        if (whole == BAT_NONE || !tables->marks[whole] || !may_jump_indirectly(reader, i))
            continue;
        struct code_sweep sweep;
        code = code_sweep_begin(reader, i, &sweep, error);
        if (!code && !sweep.obstacle) {
            code_keep_tables(&sweep);
            code = add_tables(tables, &sweep, i, error);
        }
        code_sweep_free(&sweep);
    }
    code_addresses_sort(&tables->reader->part_tables);
    return code;
}

/* Add the places where a table enters other parts to the reader's entry points. */
static enum bat_code enter_other_parts(struct part_tables *tables, const struct part_table *found,
                                       struct bat_error *error)
{
    struct bat_code_reader *reader = tables->reader;
    const struct bat_function_symbol *function = &reader->all[found->function];
    struct code_sweep sweep = {
        .reader = reader, .function = function, .size = (uint32_t)function->size};
    struct code_table table = {
        .address = found->address, .limit = UINT64_MAX, .is_relative = found->is_relative};
    bool leaves;
    enum bat_code code = code_table_leaves(&sweep, &table, &reader->entries, &leaves, error);
    if (leaves)
        tables->marks[reader->whole_of[found->function]] |= PART_LEFT_ALONE;
    return code;
}

enum bat_code code_find_part_tables(struct bat_code_reader *reader, struct bat_error *error)
{
    struct part_tables tables = {.reader = reader};
    tables.marks = calloc((size_t)reader->function_count + 1, 1);
    BAT_TRY_MEMORY(tables.marks, error, "for %u functions", reader->function_count);
    for (uint32_t i = 0; i < reader->wanted_count; i++)
        if (reader->whole_of[reader->wanted[i].function] != BAT_NONE)
            tables.marks[reader->whole_of[reader->wanted[i].function]] = PART_WANTED;
    enum bat_code code = read_parts(&tables, error);
    for (size_t i = 0; i < tables.count && !code; i++)
        code = enter_other_parts(&tables, &tables.all[i], error);
    for (uint32_t i = 0; i < reader->wanted_count && !code; i++) {
        uint32_t whole = reader->whole_of[reader->wanted[i].function];
        reader->wanted[i].is_left_alone =
            whole != BAT_NONE && tables.marks[whole] & PART_LEFT_ALONE;
    }
    BAT_FREE_ALL(tables.marks, tables.all);
    return code;
}
