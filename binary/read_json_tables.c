/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "read_json.h"
#include "spec/array.h"

#include <search.h>
#include <stdlib.h>

/* A table that was added, found by its address. */
struct known_table {
    uint64_t address;
    uint32_t handle; /* in the builder, of a hot function */
    bool is_cold;
    struct json_place place;
};

/* Set the place of the builder's error to that of the table in the text. */
static enum bat_code at_table(enum bat_code code, const struct json_table *table,
                              struct bat_error *error)
{
    if (code != BAT_OK && error) {
        error->place = BAT_PLACE_TEXT;
        error->line = table->place.line;
        error->column = table->place.column;
    }
    return code;
}

void json_table_free(struct json_table *table)
{
    BAT_FREE_ALL(table->entries, table->secondary_entries);
    *table = (struct json_table){.entries = NULL};
}

/* --- Tables by address -------------------------------------------------------------------- */

static int compare_addresses(const void *left, const void *right)
{
    uint64_t a = ((const struct known_table *)left)->address;
    uint64_t b = ((const struct known_table *)right)->address;
    return (a > b) - (a < b);
}

static struct known_table *find(const struct json_tables *tables, uint64_t address)
{
    struct known_table wanted = {.address = address};
    struct known_table **found = tfind(&wanted, &tables->by_address, compare_addresses);
    return found ? *found : NULL;
}

/* Add a table to by_address. Fails with BAT_ERR_SYNTAX if another one has its address. */
static enum bat_code enter(struct json_tables *tables, const struct json_table *table,
                           struct known_table **entered, struct bat_error *error)
{
    struct known_table *known = find(tables, table->address);
    if (known) {
        bat_fail_text(error, BAT_ERR_SYNTAX, table->place.line, table->place.column,
                      "address 0x%lx is already that of the table at %lu:%lu", table->address,
                      known->place.line, known->place.column);
        return BAT_ERR_SYNTAX;
    }
    known = malloc(sizeof(*known));
    BAT_TRY_MEMORY(known, error, "for the tables");
    *known = (struct known_table){table->address, BAT_NONE, table->is_cold, table->place};
    if (!tsearch(known, &tables->by_address, compare_addresses)) {
        free(known);
        return bat_fail_memory(error, "for the tables");
    }
    *entered = known;
    return BAT_OK;
}

/* --- Into the builder --------------------------------------------------------------------- */

static enum bat_code build_entries(struct bat_builder *builder, const struct json_table *table,
                                   uint32_t handle, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < table->entry_count && code == BAT_OK; i++) {
        const struct json_entry *entry = &table->entries[i];
        if (entry->is_branch)
            code = bat_builder_add_branch(builder, handle, entry->output, entry->input, error);
        else
            code = bat_builder_add_block(builder, handle, entry->output, entry->input, entry->hash,
                                         entry->index, error);
    }
    for (size_t i = 0; i < table->secondary_count && code == BAT_OK; i++)
        code = bat_builder_add_secondary(builder, handle, table->secondary_entries[i], error);
    return code;
}

/* Build a hot function, or a fragment of parent, which was built. *handle is set to its handle. */
static enum bat_code build(struct json_tables *tables, const struct json_table *table,
                           const struct known_table *parent, uint32_t *handle,
                           struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    if (parent)
        code = bat_builder_add_fragment(tables->builder, table->address, parent->handle, handle,
                                        error);
    else
        code = bat_builder_add_function(tables->builder, table->address, table->hash,
                                        table->num_blocks, handle, error);
    code = code ? code : build_entries(tables->builder, table, *handle, error);
    return at_table(code, table, error);
}

/* Keep a fragment, with its arrays, until its parent is known. */
static enum bat_code wait_for_parent(struct json_tables *tables, struct json_table *table,
                                     struct bat_error *error)
{
    BAT_TRY_MEMORY(
        BAT_APPEND(tables->waiting, tables->waiting_count, tables->waiting_capacity, *table), error,
        "for the tables");
    *table = (struct json_table){.entries = NULL};
    return BAT_OK;
}

/* The parent must exist and be a hot function. */
static enum bat_code check_parent(const struct json_table *table, const struct known_table *parent,
                                  struct bat_error *error)
{
    if (!parent || parent->is_cold)
        return bat_fail_text(
            error, BAT_ERR_SYNTAX, table->place.line, table->place.column,
            "fragment at 0x%lx: its parent, 0x%lx, is %s", table->address, table->parent,
            parent ? "a fragment too: expected a hot function" : "not a table of this note");
    return BAT_OK;
}

enum bat_code json_tables_begin(struct json_tables *tables, struct bat_error *error)
{
    *tables = (struct json_tables){.builder = bat_builder_new()};
    return tables->builder ? BAT_OK : bat_fail_memory(error, "for the tables");
}

enum bat_code json_tables_add(struct json_tables *tables, struct json_table *table,
                              struct bat_error *error)
{
    struct known_table *known = NULL;
    BAT_TRY(enter(tables, table, &known, error));
    enum bat_code code = BAT_OK;
    const struct known_table *parent = table->is_cold ? find(tables, table->parent) : NULL;
    if (table->is_cold && !parent)
        return wait_for_parent(tables, table, error);
    if (table->is_cold)
        code = check_parent(table, parent, error);
    return code ? code : build(tables, table, parent, &known->handle, error);
}

enum bat_code json_tables_finish(struct json_tables *tables, enum bat_hot_index hot_index,
                                 struct bat_map **map, struct bat_error *error)
{
    for (size_t i = 0; i < tables->waiting_count; i++) {
        struct json_table *table = &tables->waiting[i];
        const struct known_table *parent = find(tables, table->parent);
        uint32_t handle = BAT_NONE;
        BAT_TRY(check_parent(table, parent, error));
        BAT_TRY(build(tables, table, parent, &handle, error));
        json_table_free(table);
    }
    const struct bat_builder_options options = {.size = sizeof(options), .hot_index = hot_index};
    return bat_builder_finish(tables->builder, &options, map, error);
}

void json_tables_free(struct json_tables *tables)
{
    for (size_t i = 0; i < tables->waiting_count; i++)
        json_table_free(&tables->waiting[i]);
    free(tables->waiting);
    tdestroy(tables->by_address, free);
    bat_builder_free(tables->builder);
    *tables = (struct json_tables){.builder = NULL};
}
