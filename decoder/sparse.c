/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the first step of decoding keeps, and the second step (sparse.h). decode.c has the first. */
#include "sparse.h"

#include <stdlib.h>

#include "bat_decoder.h"
#include "spec/array.h"
#include "spec/grow.h"
#include "spec/map_index.h"

enum bat_code bat_sparse_forget(struct bat_decoding *decoding, uint32_t body)
{
    struct bat_map *map = decoding->map;
    struct bat_sparse_map *sparse = decoding->sparse;
    uint32_t largest = 0;
    for (uint32_t i = 0; decoding->wants_largest && i < map->entry_count; i++)
        largest = map->input_offsets[i] > largest ? map->input_offsets[i] : largest;
    map->entry_count = map->block_count = 0;
    return BAT_APPEND(sparse->tables, sparse->count, sparse->capacity,
                      (struct bat_sparse_table){body, largest >> 1})
               ? BAT_OK
               : bat_decode_fail_memory(decoding->reader.error);
}

/* A table at address 0 may be one that was not emitted: its first entry tells. */
static bool is_kept(const struct bat_map *map, uint32_t table, const uint8_t *wanted)
{
    const struct bat_table *from = &map->tables[table];
    return !wanted || wanted[from->parent] || from->address == 0;
}

/* Make space for the entries of the tables that are kept. */
static enum bat_code allocate(struct bat_decoding *decoding, const uint8_t *wanted)
{
    struct bat_map *map = decoding->map;
    uint32_t most = 0;
    for (uint32_t i = 0; i < bat_map_tables(map); i++) {
        if (!is_kept(map, i, wanted))
            continue;
        if (map->tables[i].entry_count > most)
            most = map->tables[i].entry_count;
        decoding->entry_capacity += map->tables[i].entry_count;
        decoding->block_capacity += map->tables[i].block_count;
    }
    map->output_offsets = bat_array_new(decoding->entry_capacity, sizeof(*map->output_offsets));
    map->input_offsets = bat_array_new(decoding->entry_capacity, sizeof(*map->input_offsets));
    /* The decoder makes room for a table as if all of its entries were blocks. */
    decoding->block_capacity += most;
    map->block_hashes = bat_array_new(decoding->block_capacity, sizeof(*map->block_hashes));
    map->block_indices = bat_array_new(decoding->block_capacity, sizeof(*map->block_indices));
    if (!map->output_offsets || !map->input_offsets || !map->block_hashes || !map->block_indices)
        return bat_fail_memory(decoding->reader.error, "to decode the note");
    return BAT_OK;
}

/* Decode the entries of one table again, from its place in the section on. */
static enum bat_code decode_again(struct bat_decoding *decoding, uint32_t place,
                                  struct bat_table *table)
{
    struct bat_reader *reader = &decoding->reader;
    const uint32_t count = table->entry_count;
    if (place > reader->end - reader->start)
        return bat_decode_fail_changed(reader->error);
    reader->cursor = reader->start + place;
    reader->table = &table->address;
    enum bat_code code = bat_decode_entries(decoding, table);
    return code == BAT_OK && table->entry_count != count ? bat_decode_fail_changed(reader->error)
                                                         : code;
}

static enum bat_code load_tables(struct bat_decoding *decoding,
                                 const struct bat_sparse_table *tables, const uint8_t *wanted)
{
    struct bat_map *map = decoding->map;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < bat_map_tables(map) && code == BAT_OK; i++) {
        struct bat_table *table = &map->tables[i];
        if (is_kept(map, i, wanted)) {
            code = decode_again(decoding, tables[i].body, table);
            continue;
        }
        table->first_entry = table->entry_count = 0;
        table->first_block = table->block_count = 0;
        table->equal_count = 0;
    }
    return code;
}

enum bat_code bat_sparse_load(struct bat_sparse_map *sparse, const void *section, size_t size,
                              const uint8_t *wanted, struct bat_error *error)
{
    if (!sparse->tables)
        return BAT_OK;
    const uint8_t *description;
    size_t description_size;
    BAT_TRY(bat_note_description(section, size, &description, &description_size, error));
    struct bat_decoding decoding = {
        .map = sparse->map,
        .reader = {.start = section, .end = description + description_size, .error = error}};
    enum bat_code code = allocate(&decoding, wanted);
    code = code ? code : load_tables(&decoding, sparse->tables, wanted);
    if (code == BAT_OK && bat_map_build_index(sparse->map) != BAT_OK)
        code = bat_fail_memory(error, "to decode the note");
    free(sparse->tables);
    sparse->tables = NULL;
    return code;
}

struct bat_sparse_entries *bat_sparse_entries_of(const struct bat_sparse_map *sparse,
                                                 const void *section, size_t size, uint32_t table)
{
    const uint8_t *description;
    size_t description_size;
    struct bat_error error;
    if (bat_note_description(section, size, &description, &description_size, &error) != BAT_OK)
        return NULL;
    struct bat_table copy = sparse->map->tables[table];
    const size_t count = copy.entry_count;
    struct bat_sparse_entries *entries =
        malloc(sizeof(*entries) + 2 * count * sizeof(entries->offsets[0]));
    /* There is room for the whole table. */
    struct bat_map map = {.version = sparse->map->version,
                          .block_hashes = bat_array_new(count, sizeof(*map.block_hashes)),
                          .block_indices = bat_array_new(count, sizeof(*map.block_indices))};
    struct bat_decoding decoding = {
        .map = &map,
        .entry_capacity = count,
        .block_capacity = count,
        .has_fixed_arrays = true,
        .reader = {.start = section, .end = description + description_size, .error = &error}};
    bool is_decoded = false;
    if (entries && map.block_hashes && map.block_indices) {
        entries->count = copy.entry_count;
        map.output_offsets = entries->offsets;
        map.input_offsets = entries->offsets + count;
        is_decoded = decode_again(&decoding, sparse->tables[table].body, &copy) == BAT_OK;
    }
    free(map.block_hashes);
    free(map.block_indices);
    if (is_decoded)
        return entries;
    free(entries);
    return NULL;
}

void bat_sparse_free(struct bat_sparse_map *sparse)
{
    bat_map_free(sparse->map);
    free(sparse->tables);
    *sparse = (struct bat_sparse_map){0};
}
