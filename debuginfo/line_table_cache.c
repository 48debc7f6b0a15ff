/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line tables by their addresses in memory: a table that units share is read once. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "debuginfo.h"

/* --- An index by addresses ------------------------------------------------------------------- */

/*
 * The place of a key, or the free place where it belongs. A hostile file can choose the distances
 * between keys: a hash that mixes well keeps it from choosing keys that all have one place.
 */
static size_t place_of(const struct debug_index *index, const void *key)
{
    size_t place = (size_t)XXH3_64bits(&key, sizeof(key)) & (index->size - 1);
    while (index->keys[place] && index->keys[place] != key)
        place = (place + 1) & (index->size - 1);
    return place;
}

static bool grow(struct debug_index *index)
{
    if (2 * index->used < index->size)
        return true;
    struct debug_index larger = {.size = index->size ? 2 * index->size : 64, .used = index->used};
    larger.keys = calloc(larger.size, sizeof(*larger.keys));
    larger.values = malloc(larger.size * sizeof(*larger.values));
    if (!larger.keys || !larger.values) {
        debug_index_free(&larger);
        return false;
    }
    for (size_t i = 0; i < index->size; i++) {
        if (!index->keys[i])
            continue;
        size_t place = place_of(&larger, index->keys[i]);
        larger.keys[place] = index->keys[i];
        larger.values[place] = index->values[i];
    }
    debug_index_free(index);
    *index = larger;
    return true;
}

uint32_t *debug_index_put(struct debug_index *index, const void *key, uint32_t value)
{
    if (!grow(index))
        return NULL;
    size_t place = place_of(index, key);
    if (!index->keys[place]) {
        index->keys[place] = key;
        index->values[place] = value;
        index->used++;
    }
    return &index->values[place];
}

const uint32_t *debug_index_find(const struct debug_index *index, const void *key)
{
    if (index->size == 0)
        return NULL;
    size_t place = place_of(index, key);
    return index->keys[place] ? &index->values[place] : NULL;
}

void debug_index_clear(struct debug_index *index)
{
    /* A table that was made for many more keys would take long to clear. */
    if (index->used < index->size / 16)
        debug_index_free(index);
    else if (index->size != 0)
        memset(index->keys, 0, index->size * sizeof(*index->keys));
    index->used = 0;
}

void debug_index_free(struct debug_index *index)
{
    free(index->keys);
    free(index->values);
    *index = (struct debug_index){0};
}

/* --- Tables ---------------------------------------------------------------------------------- */

static bool is_code(uint64_t address, const void *debuginfo)
{
    return debug_is_code(debuginfo, address);
}

uint32_t debug_find_table(struct bat_debuginfo *debuginfo, const struct line_sections *sections,
                          Dwarf_Die *unit_die, const char *compile_folder)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    if (!entries_attribute(unit_die, DW_AT_stmt_list, &attribute) ||
        dwarf_formudata(&attribute, &offset) != 0 || offset >= sections->line.size)
        return BAT_NONE;
    if (!BAT_GROW(debuginfo->tables, debuginfo->table_count, debuginfo->table_capacity)) {
        debuginfo->no_memory = true;
        return BAT_NONE;
    }
    uint32_t next = (uint32_t)debuginfo->table_count;
    uint32_t *number =
        debug_index_put(&debuginfo->table_index, sections->line.bytes + offset, next);
    if (!number) {
        debuginfo->no_memory = true;
        return BAT_NONE;
    }
    if (*number == next)
        debuginfo->tables[debuginfo->table_count++] =
            (struct debug_table){.sections = *sections, .offset = offset};
    /* Type units have no folder; they share the table of a unit that has one. */
    if (!debuginfo->tables[*number].lines.compile_folder)
        debuginfo->tables[*number].lines.compile_folder = compile_folder;
    return *number;
}

bool debug_fill_table(struct bat_debuginfo *debuginfo, uint32_t number, uint64_t *budget)
{
    struct debug_table *table = &debuginfo->tables[number];
    return line_table_read(&table->lines, &table->sections, table->offset, is_code, debuginfo,
                           budget);
}

void debug_forget_table(struct bat_debuginfo *debuginfo, uint32_t number)
{
    struct debug_table *table = &debuginfo->tables[number];
    const char *compile_folder = table->lines.compile_folder;
    line_table_free(&table->lines);
    table->lines.compile_folder = compile_folder;
    table->is_read = false;
}

struct line_table *debug_table(struct bat_debuginfo *debuginfo, uint32_t number)
{
    if (number == BAT_NONE)
        return NULL;
    struct debug_table *table = &debuginfo->tables[number];
    if (!table->is_read) {
        table->is_read = true;
        if (!debug_fill_table(debuginfo, number, &debuginfo->budget.lines))
            debuginfo->no_memory = true;
    }
    return &table->lines;
}
