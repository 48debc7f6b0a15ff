/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The blocks of an input function, put together from its tables: BAT.md 8.3. */
#include "bat_decoder.h"
#include "spec/map.h"
#include "spec/order.h"

#include <stdlib.h>
#include <string.h>

/* Up to this many blocks are sorted by insertion, more by merging such runs. */
#define FEW 16u

/* Up to this many blocks are sorted without malloc(), which threads wait for. */
#define SOME 256u

static void insert_blocks(struct bat_block *blocks, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct bat_block block = blocks[i];
        size_t place = i;
        for (; place > 0 && blocks[place - 1].input_offset > block.input_offset; place--)
            blocks[place] = blocks[place - 1];
        blocks[place] = block;
    }
}

/* Merge the sorted blocks before middle with those from middle on; spare has space for the first.
 * Equal ones stay in their order. */
static void merge_blocks(struct bat_block *blocks, struct bat_block *spare, size_t middle,
                         size_t count)
{
    /* Functions are mostly in order: only their moved blocks are not. */
    if (blocks[middle - 1].input_offset <= blocks[middle].input_offset)
        return;
    memcpy(spare, blocks, middle * sizeof(*blocks));
    size_t left = 0;
    size_t right = middle;
    struct bat_block *to = blocks;
    while (left < middle && right < count) {
        /* No branch depends on the offsets: the processor could not predict it. */
        bool takes_left = spare[left].input_offset <= blocks[right].input_offset;
        *to++ = *(takes_left ? &spare[left] : &blocks[right]);
        left += takes_left;
        right += !takes_left;
    }
    memcpy(to, spare + left, (middle - left) * sizeof(*to));
}

static void merge_sort(struct bat_block *blocks, struct bat_block *spare, size_t count)
{
    for (size_t i = 0; i < count; i += FEW)
        insert_blocks(blocks + i, count - i < FEW ? count - i : FEW);
    for (size_t width = FEW; width < count; width *= 2) {
        for (size_t i = 0; count - i > width; i += 2 * width) {
            size_t left = count - i;
            merge_blocks(blocks + i, spare, width, left < 2 * width ? left : 2 * width);
            if (left <= 2 * width)
                break;
        }
    }
}

static void sort_some(struct bat_block *blocks, size_t count)
{
    struct bat_block spare[SOME];
    merge_sort(blocks, spare, count);
}

static void sort_blocks(struct bat_block *blocks, size_t count)
{
    if (count <= FEW) {
        insert_blocks(blocks, count);
        return;
    }
    if (count <= SOME) {
        sort_some(blocks, count);
        return;
    }
    struct bat_block *spare = malloc(count * sizeof(*spare));
    if (spare)
        merge_sort(blocks, spare, count);
    else
        BAT_SORT_BY(blocks, count, input_offset);
    free(spare);
}

/*
 * Append the blocks of one table, also those that BOLT made if with_made, up to capacity; return
 * the new count, capacity disregarded.
 */
static uint32_t append_table(const struct bat_map *map, uint32_t table, bool with_made,
                             struct bat_block *blocks, uint32_t count, uint32_t capacity)
{
    const struct bat_table *from = &map->tables[table];
    uint32_t block = from->first_block;
    for (uint32_t i = 0; i < from->entry_count; i++) {
        uint32_t input = map->input_offsets[from->first_entry + i];
        if (input & BAT_BRANCH_ENTRY)
            continue;
        struct bat_block now = {.input_offset = input >> 1, .index = BAT_NONE};
        if (bat_map_has_hashes(map)) {
            now.hash = map->block_hashes[block];
            now.index = map->block_indices[block];
        }
        block++;
        if (!with_made && !bat_is_input_block(now.hash, now.index, now.input_offset))
            continue;
        if (count < capacity)
            blocks[count] = now;
        count++;
    }
    return count;
}

static uint32_t collect_blocks(const struct bat_map *map, uint32_t table, bool with_made,
                               struct bat_block *blocks, uint32_t capacity)
{
    if (table >= bat_map_tables(map))
        return 0;
    uint32_t hot = map->tables[table].parent;
    uint32_t count = append_table(map, hot, with_made, blocks, 0, capacity);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count = append_table(map, map->fragments[i], with_made, blocks, count, capacity);
    if (count > capacity || count == 0)
        return count;
    sort_blocks(blocks, count);
    /* Keep one block for each offset; the tables repeat a block that was split or duplicated. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || blocks[kept - 1].input_offset != blocks[i].input_offset)
            blocks[kept++] = blocks[i];
    return kept;
}

uint32_t bat_map_blocks(const struct bat_map *map, uint32_t table, struct bat_block *blocks,
                        uint32_t capacity)
{
    return collect_blocks(map, table, false, blocks, capacity);
}

uint32_t bat_map_noted_blocks(const struct bat_map *map, uint32_t table, struct bat_block *blocks,
                              uint32_t capacity)
{
    return collect_blocks(map, table, true, blocks, capacity);
}

uint32_t bat_block_at(const struct bat_block *blocks, uint32_t count, uint64_t input_offset)
{
    uint32_t up_to = BAT_COUNT_UP_TO(blocks, count, input_offset, input_offset);
    return up_to ? up_to - 1 : BAT_NONE;
}
