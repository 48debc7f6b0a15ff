/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From a map of version 1 or 2 to one of version 3 (BAT.md 9.4). */
#include <stdlib.h>

#include "bat_encoder.h"
#include "spec/array.h"
#include "spec/map.h"
#include "spec/order.h"

/* What all blocks of a function are found by. */
struct upgrading {
    struct bat_map *map;
    uint32_t *offsets; /* for the offsets of one function's block entries */
    bat_input_blocks_fn *input_blocks;
    void *context;
    struct bat_error *error;
};

/* Where the blocks of a function start; ascending. */
struct block_starts {
    const uint32_t *offsets;
    uint32_t count;
    bool is_of_note; /* those that the note knows, not those of the code */
};

static uint32_t *append_blocks(const struct bat_map *map, uint32_t table, uint32_t *at)
{
    const struct bat_table *function = &map->tables[table];
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t input = map->input_offsets[function->first_entry + i];
        if (!(input & BAT_BRANCH_ENTRY))
            *at++ = input >> 1;
    }
    return at;
}

/* The starts that the note knows, each once. */
static struct block_starts starts_of_note(const struct upgrading *upgrading, uint32_t hot)
{
    const struct bat_map *map = upgrading->map;
    uint32_t *at = append_blocks(map, hot, upgrading->offsets);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        at = append_blocks(map, map->fragments[i], at);
    size_t count = (size_t)(at - upgrading->offsets);
    qsort(upgrading->offsets, count, sizeof(*upgrading->offsets), bat_compare_u32);
    uint32_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || upgrading->offsets[kept - 1] != upgrading->offsets[i])
            upgrading->offsets[kept++] = upgrading->offsets[i];
    return (struct block_starts){.offsets = upgrading->offsets, .count = kept, .is_of_note = true};
}

/* The block that starts there, or BAT_NONE. */
static uint32_t find_start(const struct block_starts *starts, uint32_t offset)
{
    uint32_t found = BAT_NUMBERS_BELOW(starts->offsets, starts->count, offset);
    return found < starts->count && starts->offsets[found] == offset ? found : BAT_NONE;
}

/* A function's first block is at its start, whether the note has it or not. */
static uint32_t first_index(const struct block_starts *starts)
{
    return starts->is_of_note && starts->count != 0 && starts->offsets[0] != 0;
}

/*
 * What is known of a hash is its lowest 16 bits (BAT.md 6.3). An entry where no block of the code
 * starts is no input block: its hash and index are 0.
 */
static void set_blocks(struct bat_map *map, uint32_t table, const struct block_starts *starts)
{
    const struct bat_table *function = &map->tables[table];
    uint32_t block = function->first_block;
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t input = map->input_offsets[function->first_entry + i];
        if (input & BAT_BRANCH_ENTRY)
            continue;
        uint32_t start = find_start(starts, input >> 1);
        bool is_block = start != BAT_NONE;
        map->block_hashes[block] = is_block ? input >> 1 & 0xffff : 0;
        map->block_indices[block] = is_block ? start + first_index(starts) : 0;
        block++;
    }
}

static enum bat_code upgrade_function(const struct upgrading *upgrading, uint32_t hot)
{
    struct bat_map *map = upgrading->map;
    struct block_starts starts = {0};
    if (upgrading->input_blocks)
        BAT_TRY(upgrading->input_blocks(hot, &starts.offsets, &starts.count, upgrading->context,
                                        upgrading->error));
    if (starts.count == 0)
        starts = starts_of_note(upgrading, hot);
    set_blocks(map, hot, &starts);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        set_blocks(map, map->fragments[i], &starts);
    map->tables[hot].input_block_count = starts.count + first_index(&starts);
    return BAT_OK;
}

static enum bat_code upgrade_functions(struct upgrading *upgrading)
{
    const struct bat_map *map = upgrading->map;
    uint32_t most = 0;
    for (uint32_t i = 0; i < map->hot_count; i++) {
        uint32_t count = bat_map_count_blocks(map, i);
        most = count > most ? count : most;
    }
    upgrading->offsets = bat_array_new(most, sizeof(*upgrading->offsets));
    BAT_TRY_MEMORY(upgrading->offsets, upgrading->error, "for a function");
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; code == BAT_OK && i < map->hot_count; i++)
        code = upgrade_function(upgrading, i);
    free(upgrading->offsets);
    return code;
}

enum bat_code bat_map_upgrade(struct bat_map *map, bat_input_blocks_fn *input_blocks, void *context,
                              struct bat_error *error)
{
    if (map->version >= BAT_VERSION_3)
        return BAT_OK;
    struct upgrading upgrading = {
        .map = map, .input_blocks = input_blocks, .context = context, .error = error};
    map->block_hashes = bat_array_new(map->block_count, sizeof(*map->block_hashes));
    map->block_indices = bat_array_new(map->block_count, sizeof(*map->block_indices));
    enum bat_code code = BAT_OK;
    if (map->block_hashes && map->block_indices)
        code = upgrade_functions(&upgrading);
    else
        code = bat_fail_memory(error, "to upgrade the note");
    if (code != BAT_OK) {
        BAT_FREE_ALL(map->block_hashes, map->block_indices);
        map->block_hashes = NULL;
        map->block_indices = NULL;
        for (uint32_t i = 0; i < map->hot_count; i++)
            map->tables[i].input_block_count = 0;
        return code;
    }
    map->version = BAT_VERSION_3;
    map->has_prefixes = false;
    bat_map_canonicalize(map);
    return BAT_OK;
}
