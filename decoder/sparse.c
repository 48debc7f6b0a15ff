/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the first step of decoding keeps, and the second step (sparse.h). decode.c has the first. */
#include "sparse.h"

#include <stdlib.h>

#include "bat_decoder.h"
#include "spec/array.h"
#include "spec/map.h"

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

/* Tables that are loaded together. */
struct part {
    const struct bat_sparse_table *tables;
    const uint8_t *wanted;
    uint32_t first, end;
    struct bat_map map; /* the whole one, but for the entries that it has so far */
    struct bat_decoding decoding;
    struct bat_error error;
    enum bat_code code;
};

/* So many entries are worth another thread. */
#define ENTRIES_OF_TWO 65536u

/*
 * Divide the tables into one or two parts with about as many entries, and say where in the map's
 * arrays the entries of each are. Returns the number of parts.
 */
static unsigned divide(const struct bat_map *map, struct part parts[2], bool has_threads)
{
    const uint32_t tables = bat_map_tables(map);
    const uint8_t *wanted = parts[0].wanted;
    size_t all = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < tables; i++) {
        if (!is_kept(map, i, wanted))
            continue;
        all += map->tables[i].entry_count;
        if (map->tables[i].entry_count > most)
            most = map->tables[i].entry_count;
    }
    const unsigned count = has_threads && all >= ENTRIES_OF_TWO ? 2 : 1;
    size_t entries = 0;
    size_t blocks = 0;
    uint32_t next = 0;
    for (unsigned i = 0; i < count; i++) {
        struct part *part = &parts[i];
        part->first = next;
        part->map.entry_count = (uint32_t)entries;
        part->map.block_count = (uint32_t)blocks;
        for (; next < tables && (i + 1 == count || entries < all / 2); next++) {
            if (!is_kept(map, next, wanted))
                continue;
            entries += map->tables[next].entry_count;
            blocks += map->tables[next].block_count;
        }
        part->end = next;
        /* The decoder makes room for a table as if all of its entries were blocks. */
        blocks += most;
        part->decoding.entry_capacity = entries;
        part->decoding.block_capacity = blocks;
        part->decoding.has_fixed_arrays = true;
    }
    return count;
}

/* Make space for the entries of the tables that are kept. */
static enum bat_code allocate(struct bat_map *map, const struct bat_decoding *last,
                              struct bat_error *error)
{
    map->output_offsets = bat_array_new(last->entry_capacity, sizeof(*map->output_offsets));
    map->input_offsets = bat_array_new(last->entry_capacity, sizeof(*map->input_offsets));
    map->block_hashes = bat_array_new(last->block_capacity, sizeof(*map->block_hashes));
    map->block_indices = bat_array_new(last->block_capacity, sizeof(*map->block_indices));
    if (!map->output_offsets || !map->input_offsets || !map->block_hashes || !map->block_indices)
        return bat_fail_memory(error, "to decode the note");
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

static void *load_part(void *context)
{
    struct part *part = context;
    struct bat_map *map = &part->map;
    for (uint32_t i = part->first; i < part->end && part->code == BAT_OK; i++) {
        struct bat_table *table = &map->tables[i];
        if (is_kept(map, i, part->wanted)) {
            part->code = decode_again(&part->decoding, part->tables[i].body, table);
            continue;
        }
        table->first_entry = table->entry_count = 0;
        table->first_block = table->block_count = 0;
        table->equal_count = 0;
    }
    return NULL;
}

static enum bat_code load_parts(struct bat_map *map, struct part parts[2], unsigned count,
                                bat_sparse_run_fn *run, struct bat_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        struct bat_map whole = *map;
        whole.entry_count = parts[i].map.entry_count;
        whole.block_count = parts[i].map.block_count;
        parts[i].map = whole;
        parts[i].decoding.map = &parts[i].map;
        parts[i].decoding.reader.error = &parts[i].error;
    }
    const uint32_t second = parts[1].map.block_count;
    if (count == 1)
        load_part(parts);
    else
        run(load_part, parts, sizeof(parts[0]), count);
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].code == BAT_OK)
            continue;
        if (error)
            *error = parts[i].error;
        return parts[i].code;
    }
    map->entry_count = parts[count - 1].map.entry_count;
    map->block_count = parts[count - 1].map.block_count;
    for (uint32_t i = parts[0].map.block_count; count == 2 && i < second; i++) {
        map->block_hashes[i] = 0;
        map->block_indices[i] = 0;
    }
    return BAT_OK;
}

enum bat_code bat_sparse_load(struct bat_sparse_map *sparse, const void *section, size_t size,
                              const uint8_t *wanted, bat_sparse_run_fn *run,
                              struct bat_error *error)
{
    if (!sparse->tables)
        return BAT_OK;
    const uint8_t *description;
    size_t description_size;
    BAT_TRY(bat_note_description(section, size, &description, &description_size, error));
    const struct part part = {
        .tables = sparse->tables,
        .wanted = wanted,
        .decoding = {.reader = {.start = section, .end = description + description_size}}};
    struct part parts[2] = {part, part};
    const unsigned count = divide(sparse->map, parts, run != NULL);
    enum bat_code code = allocate(sparse->map, &parts[count - 1].decoding, error);
    code = code ? code : load_parts(sparse->map, parts, count, run, error);
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
    BAT_FREE_ALL(map.block_hashes, map.block_indices);
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
