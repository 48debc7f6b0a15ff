/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Builds a map from tables and entries that are added in any order and sorted at the end. */
#include "bat_encoder.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/map.h"
#include "spec/options.h"

struct built_table {
    uint64_t address;
    uint64_t hash;
    uint32_t parent; /* handle; BAT_NONE for a hot function */
    uint32_t input_block_count;
    uint32_t entry_count;
    uint32_t block_count;
    uint32_t secondary_count;
};

struct built_entry {
    uint64_t hash;
    uint32_t table; /* handle */
    uint32_t output;
    uint32_t input; /* with BAT_BRANCH_ENTRY */
    uint32_t index;
};

struct built_secondary {
    uint32_t table; /* handle */
    uint32_t offset;
};

struct growing {
    void *items;
    uint32_t count;
    size_t capacity;
};

struct bat_builder {
    struct growing tables;
    struct growing entries;
    struct growing secondaries;
    uint32_t hot_count;
};

/* Make room for one more item of size bytes at position array->count. */
static enum bat_code reserve(struct growing *array, size_t size, struct bat_error *error)
{
    /* BAT_NONE means "no element", so a count must be below it. */
    if (array->count == BAT_NONE - 1)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected fewer than %u tables and entries, found more", BAT_NONE);
    return bat_reserve(&array->items, &array->capacity, array->count, 1, size)
               ? BAT_OK
               : bat_fail_memory(error, "to build the map");
}

static void empty(struct bat_builder *builder)
{
    BAT_FREE_ALL(builder->tables.items, builder->entries.items, builder->secondaries.items);
    *builder = (struct bat_builder){0};
}

struct bat_builder *bat_builder_new(void)
{
    return calloc(1, sizeof(struct bat_builder));
}

void bat_builder_free(struct bat_builder *builder)
{
    if (!builder)
        return;
    empty(builder);
    free(builder);
}

/* --- Adding ------------------------------------------------------------------------------- */

static struct built_table *table_of(struct bat_builder *builder, uint32_t table)
{
    struct built_table *tables = builder->tables.items;
    return table < builder->tables.count ? &tables[table] : NULL;
}

static enum bat_code add_table(struct bat_builder *builder, struct built_table added,
                               uint32_t *table, struct bat_error *error)
{
    BAT_TRY(reserve(&builder->tables, sizeof(added), error));
    struct built_table *tables = builder->tables.items;
    *table = builder->tables.count++;
    tables[*table] = added;
    return BAT_OK;
}

enum bat_code bat_builder_add_function(struct bat_builder *builder, uint64_t address, uint64_t hash,
                                       uint32_t input_block_count, uint32_t *table,
                                       struct bat_error *error)
{
    struct built_table added = {.address = address,
                                .hash = hash,
                                .parent = BAT_NONE,
                                .input_block_count = input_block_count};
    BAT_TRY(add_table(builder, added, table, error));
    builder->hot_count++;
    return BAT_OK;
}

enum bat_code bat_builder_add_fragment(struct bat_builder *builder, uint64_t address,
                                       uint32_t parent, uint32_t *table, struct bat_error *error)
{
    const struct built_table *hot = table_of(builder, parent);
    if (!hot || hot->parent != BAT_NONE)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "fragment at 0x%lx: expected a hot function as parent, found %s", address,
                        hot ? "a fragment" : "no table");
    struct built_table added = {.address = address, .parent = parent};
    return add_table(builder, added, table, error);
}

static enum bat_code add_entry(struct bat_builder *builder, struct built_entry added,
                               uint64_t output_offset, uint64_t input_offset,
                               struct bat_error *error)
{
    struct built_table *table = table_of(builder, added.table);
    if (!table)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected the handle of a table, found %u",
                        added.table);
    if (output_offset > UINT32_MAX)
        return bat_fail(error, BAT_ERR_RANGE,
                        "table at 0x%lx: expected an output offset of at most 32 bits, found 0x%lx",
                        table->address, output_offset);
    if (input_offset > UINT32_MAX >> 1)
        return bat_fail(error, BAT_ERR_RANGE,
                        "table at 0x%lx: expected an input offset of at most 31 bits, found 0x%lx",
                        table->address, input_offset);
    BAT_TRY(reserve(&builder->entries, sizeof(added), error));
    added.output = (uint32_t)output_offset;
    added.input |= (uint32_t)input_offset << 1;
    struct built_entry *entries = builder->entries.items;
    entries[builder->entries.count++] = added;
    table->entry_count++;
    table->block_count += !(added.input & BAT_BRANCH_ENTRY);
    return BAT_OK;
}

enum bat_code bat_builder_add_block(struct bat_builder *builder, uint32_t table,
                                    uint64_t output_offset, uint64_t input_offset, uint64_t hash,
                                    uint32_t index, struct bat_error *error)
{
    struct built_entry added = {.hash = hash, .table = table, .index = index};
    return add_entry(builder, added, output_offset, input_offset, error);
}

enum bat_code bat_builder_add_branch(struct bat_builder *builder, uint32_t table,
                                     uint64_t output_offset, uint64_t input_offset,
                                     struct bat_error *error)
{
    struct built_entry added = {.table = table, .input = BAT_BRANCH_ENTRY};
    return add_entry(builder, added, output_offset, input_offset, error);
}

enum bat_code bat_builder_add_secondary(struct bat_builder *builder, uint32_t table,
                                        uint64_t input_offset, struct bat_error *error)
{
    struct built_table *hot = table_of(builder, table);
    if (!hot || hot->parent != BAT_NONE)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a secondary entry point of a hot function, found one of %s",
                        hot ? "a fragment" : "no table");
    if (input_offset > UINT32_MAX)
        return bat_fail(
            error, BAT_ERR_RANGE,
            "table at 0x%lx: expected a secondary entry point of at most 32 bits, found 0x%lx",
            hot->address, input_offset);
    BAT_TRY(reserve(&builder->secondaries, sizeof(struct built_secondary), error));
    struct built_secondary *secondaries = builder->secondaries.items;
    secondaries[builder->secondaries.count++] =
        (struct built_secondary){.table = table, .offset = (uint32_t)input_offset};
    hot->secondary_count++;
    return BAT_OK;
}

/* --- Making the map ----------------------------------------------------------------------- */

/* The state of bat_builder_finish(). */
struct finishing {
    struct bat_builder *builder;
    struct bat_map *map;
    struct bat_error *error;
    uint32_t *handles;   /* of the tables, in the map's order */
    uint32_t *positions; /* of the tables in the map, by handle */
    uint32_t *entries;   /* positions in the builder's entries, in the map's order */
    uint32_t *placed;    /* number of entries placed so far, by table */
};

/* Hot before cold, then by address. */
static int compare_tables(const void *left_pointer, const void *right_pointer, void *tables)
{
    const struct built_table *left = (struct built_table *)tables + *(const uint32_t *)left_pointer;
    const struct built_table *right =
        (struct built_table *)tables + *(const uint32_t *)right_pointer;
    bool left_is_hot = left->parent == BAT_NONE;
    bool right_is_hot = right->parent == BAT_NONE;
    if (left_is_hot != right_is_hot)
        return left_is_hot ? -1 : 1;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    return 0;
}

/* By output offset; entries at one offset stay in the order in which they were added. */
static int compare_entries(const void *left_pointer, const void *right_pointer, void *entries)
{
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    uint32_t left_output = ((struct built_entry *)entries)[left].output;
    uint32_t right_output = ((struct built_entry *)entries)[right].output;
    if (left_output != right_output)
        return left_output < right_output ? -1 : 1;
    return left < right ? -1 : left > right;
}

static enum bat_code allocate(struct finishing *finishing)
{
    const struct bat_builder *builder = finishing->builder;
    uint32_t tables = builder->tables.count;
    uint32_t entries = builder->entries.count;
    struct bat_map *map = calloc(1, sizeof(*map));
    finishing->map = map;
    finishing->handles = bat_array_new(tables, sizeof(uint32_t));
    finishing->positions = bat_array_new(tables, sizeof(uint32_t));
    finishing->entries = bat_array_new(entries, sizeof(uint32_t));
    finishing->placed = calloc((size_t)tables + 1, sizeof(uint32_t));
    if (!map || !finishing->handles || !finishing->positions || !finishing->entries ||
        !finishing->placed)
        return bat_fail_memory(finishing->error, "to build the map");

    *map = (struct bat_map){.version = BAT_VERSION_3,
                            .hot_count = builder->hot_count,
                            .cold_count = tables - builder->hot_count,
                            .entry_count = entries,
                            .secondary_count = builder->secondaries.count};
    const struct built_table *from = builder->tables.items;
    for (uint32_t i = 0; i < tables; i++)
        map->block_count += from[i].block_count;
    map->tables = bat_array_new(tables, sizeof(*map->tables));
    map->output_offsets = bat_array_new(entries, sizeof(*map->output_offsets));
    map->input_offsets = bat_array_new(entries, sizeof(*map->input_offsets));
    map->block_hashes = bat_array_new(map->block_count, sizeof(*map->block_hashes));
    map->block_indices = bat_array_new(map->block_count, sizeof(*map->block_indices));
    map->secondary_entries = bat_array_new(map->secondary_count, sizeof(*map->secondary_entries));
    if (!map->tables || !map->output_offsets || !map->input_offsets || !map->block_hashes ||
        !map->block_indices || !map->secondary_entries)
        return bat_fail_memory(finishing->error, "to build the map");
    return BAT_OK;
}

/* Fill the map's tables in its order, with their ranges of the arrays. */
static enum bat_code place_tables(struct finishing *finishing)
{
    struct bat_map *map = finishing->map;
    struct built_table *tables = finishing->builder->tables.items;
    uint32_t count = bat_map_tables(map);
    for (uint32_t i = 0; i < count; i++)
        finishing->handles[i] = i;
    if (count > 1)
        qsort_r(finishing->handles, count, sizeof(uint32_t), compare_tables, tables);
    for (uint32_t i = 0; i < count; i++)
        finishing->positions[finishing->handles[i]] = i;

    struct bat_table next = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct built_table *from = &tables[finishing->handles[i]];
        bool is_hot = i < map->hot_count;
        if (i != 0 && i != map->hot_count && from->address == map->tables[i - 1].address)
            return bat_fail(finishing->error, BAT_ERR_ORDER,
                            "expected one table at 0x%lx, found two", from->address);
        next.address = from->address;
        next.hash = from->hash;
        next.input_block_count = from->input_block_count;
        next.entry_count = from->entry_count;
        next.block_count = from->block_count;
        next.secondary_count = from->secondary_count;
        next.parent = is_hot ? i : finishing->positions[from->parent];
        map->tables[i] = next;
        next.first_entry += next.entry_count;
        next.first_block += next.block_count;
        next.first_secondary += next.secondary_count;
    }
    return BAT_OK;
}

/* Group the entries by table, in the order of adding, and sort those of tables that need it. */
static void sort_entries(struct finishing *finishing)
{
    struct built_entry *from = finishing->builder->entries.items;
    const struct bat_map *map = finishing->map;
    for (uint32_t i = 0; i < map->entry_count; i++) {
        uint32_t table = finishing->positions[from[i].table];
        uint32_t place = map->tables[table].first_entry + finishing->placed[table]++;
        finishing->entries[place] = i;
    }
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        uint32_t *entries = finishing->entries + map->tables[i].first_entry;
        uint32_t count = map->tables[i].entry_count;
        uint32_t sorted = count != 0;
        while (sorted < count && from[entries[sorted - 1]].output <= from[entries[sorted]].output)
            sorted++;
        if (sorted < count)
            qsort_r(entries, count, sizeof(uint32_t), compare_entries, from);
    }
}

/* Copy entries and secondary entry points into the map's arrays. */
static void place_entries(struct finishing *finishing)
{
    struct bat_map *map = finishing->map;
    const struct built_entry *from = finishing->builder->entries.items;
    uint32_t block = 0;
    for (uint32_t i = 0; i < map->entry_count; i++) {
        const struct built_entry *entry = &from[finishing->entries[i]];
        map->output_offsets[i] = entry->output;
        map->input_offsets[i] = entry->input;
        if (entry->input & BAT_BRANCH_ENTRY)
            continue;
        map->block_hashes[block] = entry->hash;
        map->block_indices[block++] = entry->index;
    }

    const struct built_secondary *secondaries = finishing->builder->secondaries.items;
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        finishing->placed[i] = 0;
    for (uint32_t i = 0; i < map->secondary_count; i++) {
        uint32_t table = finishing->positions[secondaries[i].table];
        uint32_t place = map->tables[table].first_secondary + finishing->placed[table]++;
        map->secondary_entries[place] = secondaries[i].offset;
    }
}

/* Compute what follows from tables and entries: skews, equal prefixes, order, fragments, index. */
static enum bat_code derive(struct finishing *finishing, enum bat_hot_index hot_index)
{
    struct bat_map *map = finishing->map;
    bat_map_canonicalize(map);
    map->hot_index = hot_index;
    uint64_t duplicate = 0;
    enum bat_code code = bat_map_sort_tables(map, &duplicate);
    if (code == BAT_ERR_ORDER)
        return bat_fail(finishing->error, code,
                        "expected one table at 0x%lx, found a function and a fragment", duplicate);
    code = code ? code : bat_map_link_fragments(map);
    code = code ? code : bat_map_build_index(map);
    return code == BAT_OK ? BAT_OK : bat_fail_memory(finishing->error, "to build the map");
}

static enum bat_code read_options(const struct bat_builder_options *options,
                                  enum bat_hot_index *hot_index, struct bat_error *error)
{
    struct bat_builder_options own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), options, "bat_builder_options", error));
    if ((unsigned)own.hot_index > BAT_HOT_INDEX_MERGED)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected hot indices to be written as TABLE or MERGED, found %d",
                        (int)own.hot_index);
    *hot_index = own.hot_index == BAT_HOT_INDEX_AUTO ? BAT_HOT_INDEX_TABLE : own.hot_index;
    return BAT_OK;
}

enum bat_code bat_builder_finish(struct bat_builder *builder,
                                 const struct bat_builder_options *options, struct bat_map **map,
                                 struct bat_error *error)
{
    *map = NULL;
    struct finishing finishing = {.builder = builder, .error = error};
    enum bat_hot_index hot_index = BAT_HOT_INDEX_TABLE;
    enum bat_code code = read_options(options, &hot_index, error);
    code = code ? code : allocate(&finishing);
    code = code ? code : place_tables(&finishing);
    if (code == BAT_OK) {
        sort_entries(&finishing);
        place_entries(&finishing);
        code = derive(&finishing, hot_index);
    }
    BAT_FREE_ALL(finishing.handles, finishing.positions, finishing.entries, finishing.placed);
    empty(builder);
    if (code != BAT_OK) {
        bat_map_free(finishing.map);
        return code;
    }
    *map = finishing.map;
    return BAT_OK;
}
