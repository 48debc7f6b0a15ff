/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a function's hot table and its fragments say of the input function's blocks (BAT.md 8.3). */
#include <inttypes.h>
#include <stdlib.h>

#include "bat_decoder.h"
#include "checking.h"

/* A block entry of a table. */
struct block {
    uint64_t hash;
    uint32_t offset; /* in the input function */
    uint32_t index;
    uint32_t entry; /* position in the map */
    uint32_t table;
};

/* The faults of one function. */
struct faults {
    struct bat_fault offset;
    struct bat_fault hash;
    struct bat_fault index;
    struct bat_fault order;
    struct bat_fault count;
    struct bat_fault secondary;
};

/* An entry for no block of the input function has hash and index 0 (BAT.md 6.3). */
static bool is_input_block(const struct block *block)
{
    return block->hash != 0 || block->index != 0 || block->offset == 0;
}

/* Up to so many are sorted by insertion, which most functions have. */
#define FEW 48u

#define DIGIT_BITS 8u

static void insert_numbers(uint64_t *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint64_t number = numbers[i];
        uint32_t place = i;
        for (; place > 0 && numbers[place - 1] > number; place--)
            numbers[place] = numbers[place - 1];
        numbers[place] = number;
    }
}

/* One stable pass of a radix sort. */
static void sort_by_digit(const uint64_t *from, uint64_t *to, uint32_t count, unsigned shift)
{
    uint32_t starts[(1u << DIGIT_BITS) + 1] = {0};
    for (uint32_t i = 0; i < count; i++)
        starts[(from[i] >> shift & ((1u << DIGIT_BITS) - 1)) + 1]++;
    for (uint32_t digit = 1; digit < 1u << DIGIT_BITS; digit++)
        starts[digit] += starts[digit - 1];
    for (uint32_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & ((1u << DIGIT_BITS) - 1)]++] = from[i];
}

/*
 * Sort numbers whose lower halves ascend already. spare has room for as many. Returns where they
 * are then, numbers or spare.
 */
static uint64_t *sort_numbers(uint64_t *numbers, uint64_t *spare, uint32_t count)
{
    if (count <= FEW) {
        insert_numbers(numbers, count);
        return numbers;
    }
    uint64_t highest = 0;
    for (uint32_t i = 0; i < count; i++)
        highest |= numbers[i];
    for (unsigned shift = 32; shift < 64 && highest >> shift; shift += DIGIT_BITS) {
        sort_by_digit(numbers, spare, count, shift);
        uint64_t *sorted = spare;
        spare = numbers;
        numbers = sorted;
    }
    return numbers;
}

static uint32_t append_table(const struct bat_map *map, uint32_t table, struct block *blocks,
                             uint32_t count)
{
    const struct bat_function *from = &map->functions[table];
    uint32_t position = from->first_block;
    for (uint32_t i = 0; i < from->entry_count; i++) {
        uint32_t entry = from->first_entry + i;
        uint32_t input = map->input_offsets[entry];
        if (input & BAT_BRANCH_ENTRY)
            continue;
        blocks[count++] = (struct block){.hash = map->block_hashes[position],
                                         .offset = input >> 1,
                                         .index = map->block_indices[position],
                                         .entry = entry,
                                         .table = table};
        position++;
    }
    return count;
}

struct bat_block_room {
    struct block *blocks;
    struct block *sorted;
    uint64_t *order;
    uint64_t *spare;
};

/*
 * All block entries of a hot function's tables, by input offset, those of one offset as they come
 * in the map; into room->sorted.
 */
static uint32_t collect_blocks(const struct bat_map *map, uint32_t hot,
                               const struct bat_block_room *room)
{
    struct block *blocks = room->blocks;
    uint32_t count = append_table(map, hot, blocks, 0);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count = append_table(map, map->fragments[i], blocks, count);
    /* The tables of a function come by their positions, hot first, as their entries in the map. */
    for (uint32_t i = 0; i < count; i++)
        room->order[i] = (uint64_t)blocks[i].offset << 32 | i;
    const uint64_t *order = sort_numbers(room->order, room->spare, count);
    for (uint32_t i = 0; i < count; i++)
        room->sorted[i] = blocks[(uint32_t)order[i]];
    return count;
}

/* Two entries for the same input offset. */
static void check_same(const struct bat_map *map, struct faults *faults, const struct block *first,
                       const struct block *again)
{
    uint64_t address = map->functions[again->table].address;
    uint64_t other = map->functions[first->table].address;
    if (again->hash != first->hash)
        bat_fault_add(&faults->hash, again->table, again->entry,
                      "table at 0x%" PRIx64 ": expected hash 0x%" PRIx64
                      " for the block at input offset 0x%" PRIx32 " (as in the table at 0x%" PRIx64
                      "), found 0x%" PRIx64,
                      address, first->hash, again->offset, other, again->hash);
    if (again->index != first->index)
        bat_fault_add(&faults->index, again->table, again->entry,
                      "table at 0x%" PRIx64 ": expected index %" PRIu32
                      " for the block at input offset 0x%" PRIx32 " (as in the table at 0x%" PRIx64
                      "), found %" PRIu32,
                      address, first->index, again->offset, other, again->index);
}

/* BOLT's hash of a block begins with the offset, cut to 16 bits; it matches profiles by that. */
static void check_hash_offset(const struct bat_map *map, struct faults *faults,
                              const struct block *block)
{
    if (block->hash != 0 && (uint16_t)block->hash != (uint16_t)block->offset)
        bat_fault_add(&faults->offset, block->table, block->entry,
                      "table at 0x%" PRIx64 ": expected a hash that ends in %04x for the block at "
                      "input offset 0x%" PRIx32 ", found 0x%" PRIx64,
                      map->functions[block->table].address, (unsigned)(uint16_t)block->offset,
                      block->offset, block->hash);
}

/* A block and the one before it in the input function. */
static void check_order(const struct bat_map *map, struct faults *faults,
                        const struct block *before, const struct block *block)
{
    if (block->index <= before->index)
        bat_fault_add(&faults->order, block->table, block->entry,
                      "table at 0x%" PRIx64 ": expected an index above %" PRIu32
                      " for the block at input offset 0x%" PRIx32
                      " (the block before it, at 0x%" PRIx32 ", has that), found %" PRIu32,
                      map->functions[block->table].address, before->index, block->offset,
                      before->offset, block->index);
}

static void check_number(const struct bat_map *map, struct faults *faults, uint32_t hot,
                         const struct block *block)
{
    uint32_t number = map->functions[hot].input_block_count;
    if (block->index >= number)
        bat_fault_add(&faults->count, block->table, block->entry,
                      "table at 0x%" PRIx64 ": expected an index below %" PRIu32
                      " (number of blocks of the function at 0x%" PRIx64
                      ") for the block at input offset 0x%" PRIx32 ", found %" PRIu32,
                      map->functions[block->table].address, number, map->functions[hot].address,
                      block->offset, block->index);
}

static void check_sorted_blocks(const struct bat_map *map, struct faults *faults, uint32_t hot,
                                const struct block *blocks, uint32_t count)
{
    const struct block *before = NULL; /* the last input block */
    const struct block *first = NULL;  /* the first entry with this offset */
    for (const struct block *block = blocks; block < blocks + count; block++) {
        check_hash_offset(map, faults, block);
        if (first && first->offset == block->offset) {
            check_same(map, faults, first, block);
            continue;
        }
        first = block;
        if (!is_input_block(block))
            continue;
        check_number(map, faults, hot, block);
        if (before)
            check_order(map, faults, before, block);
        before = block;
    }
}

static bool has_block(const struct block *blocks, uint32_t count, uint32_t offset)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (blocks[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && blocks[low].offset == offset && is_input_block(&blocks[low]);
}

static void check_secondary(const struct bat_map *map, struct faults *faults, uint32_t hot,
                            const struct block *blocks, uint32_t count)
{
    const struct bat_function *function = &map->functions[hot];
    for (uint32_t i = 0; i < function->secondary_count; i++) {
        uint32_t offset = map->secondary_entries[function->first_secondary + i];
        if (!has_block(blocks, count, offset))
            bat_fault_add(&faults->secondary, hot, BAT_NONE,
                          "table at 0x%" PRIx64
                          ": expected a block at the secondary entry point 0x%" PRIx32
                          " (number %" PRIu32 "), found none",
                          function->address, offset, i + 1);
    }
}

void bat_check_function_blocks(struct bat_checking *checking, uint32_t hot,
                               const struct bat_block_room *room)
{
    const struct bat_map *map = checking->map;
    struct faults faults = {
        .offset = bat_fault_none(CHECK_HASH_OFFSET),
        .hash = bat_fault_none(CHECK_BLOCK_HASH),
        .index = bat_fault_none(CHECK_BLOCK_INDEX),
        .order = bat_fault_none(CHECK_BLOCK_ORDER),
        .count = bat_fault_none(CHECK_BLOCK_COUNT),
        .secondary = bat_fault_none(CHECK_SECONDARY),
    };
    const struct block *blocks = room->sorted;
    uint32_t count = collect_blocks(map, hot, room);
    check_sorted_blocks(map, &faults, hot, blocks, count);
    check_secondary(map, &faults, hot, blocks, count);
    bat_fault_tell(checking, &faults.offset, "blocks");
    bat_fault_tell(checking, &faults.hash, "entries");
    bat_fault_tell(checking, &faults.index, "entries");
    bat_fault_tell(checking, &faults.order, "blocks");
    bat_fault_tell(checking, &faults.count, "blocks");
    bat_fault_tell(checking, &faults.secondary, "entry points");
}

/* Block entries of a hot function and its fragments. */
static uint32_t count_blocks(const struct bat_map *map, uint32_t hot)
{
    uint32_t count = map->functions[hot].block_count;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count += map->functions[map->fragments[i]].block_count;
    return count;
}

void bat_block_room_free(struct bat_block_room *room)
{
    if (!room)
        return;
    free(room->blocks);
    free(room->sorted);
    free(room->order);
    free(room->spare);
    free(room);
}

struct bat_block_room *bat_block_room_new(struct bat_checking *checking)
{
    const struct bat_map *map = checking->map;
    uint32_t most = 1;
    for (uint32_t hot = 0; hot < map->hot_count; hot++) {
        uint32_t count = count_blocks(map, hot);
        if (count > most)
            most = count;
    }
    struct bat_block_room *room = calloc(1, sizeof(*room));
    if (room) {
        room->blocks = malloc((size_t)most * sizeof(*room->blocks));
        room->sorted = malloc((size_t)most * sizeof(*room->sorted));
        room->order = malloc((size_t)most * sizeof(*room->order));
        room->spare = malloc((size_t)most * sizeof(*room->spare));
    }
    if (room && room->blocks && room->sorted && room->order && room->spare)
        return room;
    bat_block_room_free(room);
    bat_fail(checking->error, BAT_ERR_MEMORY, "not enough memory for %" PRIu32 " blocks", most);
    return NULL;
}

enum bat_code bat_check_blocks(struct bat_checking *checking)
{
    struct bat_block_room *room = bat_block_room_new(checking);
    if (!room)
        return BAT_ERR_MEMORY;
    for (uint32_t hot = 0; hot < checking->map->hot_count; hot++)
        bat_check_function_blocks(checking, hot, room);
    bat_block_room_free(room);
    return BAT_OK;
}
