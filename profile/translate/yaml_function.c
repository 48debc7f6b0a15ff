/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One function of BOLT's YAML profile: spec/profiles.md 4. */
#include "yaml_function.h"

#include <stdlib.h>

#include "spec/array.h"
#include "tableless.h"
#include "yaml_blocks.h"
#include "yaml_function_probes.h"

/* What is written of one block of the function. */
struct bat_yaml_block {
    uint64_t exec;
    uint32_t first; /* the records from it: indices in records->branches */
    uint32_t count;
    bool is_reached; /* an entry point, or from another block; only noted for inputs */
};

static bool is_function(const struct bat_yaml_writer *writer, uint64_t word)
{
    return word >> 32 == BAT_KIND_SYMBOL && (uint32_t)word < writer->records->function_count;
}

/* The place of a record in YAML: enum bat_yaml_place. */
static uint8_t place_of(const struct bat_yaml_writer *writer, uint32_t i)
{
    return writer->records->yaml_places[i];
}

/* The part of a record's count that is perf2bolt's fall-throughs to the function's own start. */
static uint64_t fallthrough_count(const struct bat_yaml_writer *writer, const uint64_t *item)
{
    if (item[0] != item[2] || item[3] != 0 || !is_function(writer, item[0]))
        return 0;
    const uint64_t key[2] = {(uint32_t)item[0], item[1]};
    const uint64_t *found = bat_counts_find(&writer->records->starts_reached, key);
    return found ? found[2] : 0;
}

/*
 * How often a record enters another function, or its own at the start. llvm-bolt counts jumps as
 * entries, too. perf2bolt writes a fall-through to the start as a call, but counts no entry.
 */
static uint64_t entry_count(const struct bat_yaml_writer *writer, const uint64_t *item)
{
    return writer->records->is_parity ? item[4] - fallthrough_count(writer, item) : item[4];
}

static uint64_t executions(const struct bat_yaml_writer *writer, const struct bat_yaml_range *range)
{
    uint64_t count = 0;
    for (uint32_t i = range->first_entry; i < range->end_entry; i++) {
        const uint64_t *item = bat_records_branch(writer->records, writer->entries[i]);
        if (item[3] == 0)
            count += entry_count(writer, item);
    }
    return count;
}

/* The executions that began outside of all functions. */
static uint64_t extern_executions(const struct bat_yaml_writer *writer,
                                  const struct bat_yaml_range *range)
{
    uint64_t count = 0;
    for (uint32_t i = range->first_entry; i < range->end_entry; i++) {
        const uint64_t *item = bat_records_branch(writer->records, writer->entries[i]);
        if (item[3] == 0 && item[0] >> 32 == BAT_KIND_UNKNOWN)
            count += item[4];
    }
    return count;
}

/* The number of a function in the file; 0 for an unknown one. */
static uint32_t function_id(const struct bat_yaml_writer *writer, uint64_t word)
{
    return is_function(writer, word) ? writer->numbers[(uint32_t)word] : 0;
}

/*
 * The id of the secondary entry point that a call goes to, or 0. perf2bolt looks for it behind the
 * input offset of the function's first output byte, modulo 2^32.
 */
static uint32_t call_discriminator(const struct bat_yaml_writer *writer, const uint64_t *item)
{
    if (!is_function(writer, item[2]))
        return 0;
    uint32_t table = writer->records->tables[(uint32_t)item[2]];
    if (table != BAT_NONE && writer->records->is_parity) {
        uint64_t start = bat_map_translate(writer->map, table, 0, false);
        uint32_t offset = (uint32_t)(start + item[3]);
        return offset ? bat_map_secondary_id(writer->map, table, offset) : 0;
    }
    if (table != BAT_NONE)
        return bat_map_secondary_id(writer->map, table, item[3]);
    const struct bat_code_blocks *blocks;
    if (writer->code && bat_tableless_has(writer->code, (uint32_t)item[2]))
        return bat_tableless_blocks(writer->code, (uint32_t)item[2], &blocks, NULL) == BAT_OK
                   ? bat_code_entry_id(blocks, item[3])
                   : 0; /* cannot be: it was read before */
    const uint64_t key[2] = {(uint32_t)item[2], item[3]};
    const uint64_t *found = bat_counts_find(&writer->records->entry_ids, key);
    return found ? (uint32_t)found[2] : 0;
}

static void add_successors(const struct bat_yaml_writer *writer, uint32_t number,
                           uint32_t block_count, struct bat_yaml_edges *successors)
{
    const struct bat_yaml_block *block = &writer->yaml_blocks[number];
    for (uint32_t i = block->first; i < block->first + block->count; i++) {
        const uint64_t *item = bat_records_branch(writer->records, i);
        if (place_of(writer, i) != BAT_YAML_SUCCESSOR)
            continue;
        uint32_t to = bat_block_near(writer->blocks, block_count, number, item[3]);
        successors->all[successors->count++] =
            (struct bat_yaml_edge){.at = to == BAT_NONE ? 0 : writer->blocks[to].index,
                                   .count = item[4],
                                   .mispredictions = item[5]};
    }
}

static void add_calls(struct bat_yaml_writer *writer, const struct bat_yaml_block *block,
                      uint64_t block_offset, struct bat_yaml_edges *calls)
{
    uint32_t count = 0;
    for (uint32_t i = block->first; i < block->first + block->count; i++)
        if (place_of(writer, i) == BAT_YAML_CALL)
            writer->calls[count++] = i;
    bat_yaml_sort_calls(writer->records, writer->calls, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t *item = bat_records_branch(writer->records, writer->calls[i]);
        struct bat_yaml_edge *call = &calls->all[calls->count++];
        *call = (struct bat_yaml_edge){.at = item[1] - block_offset,
                                       .function = function_id(writer, item[2]),
                                       .entry = call_discriminator(writer, item),
                                       .count = item[4],
                                       .mispredictions = item[5]};
        if (writer->probes)
            bat_yaml_probes_place(writer->probes, call);
    }
}

/* True if the block was entered, or a record from it has a count. */
static bool has_counts(const struct bat_yaml_writer *writer, const struct bat_yaml_block *block)
{
    for (uint32_t i = block->first; i < block->first + block->count; i++)
        if (place_of(writer, i) != BAT_YAML_NOWHERE &&
            bat_records_branch(writer->records, i)[4] != 0)
            return true;
    return block->exec != 0;
}

/*
 * The blocks that share a place in YAML: writer->order[first] to [end - 1]. Only perf2bolt's blocks
 * share one; bid and hash are those of the place.
 */
struct place {
    uint32_t first;
    uint32_t end;
    uint32_t bid;
    uint64_t hash;
};

/* Choose the probes of the blocks that share a place. */
static void choose_probes(struct bat_yaml_writer *writer, const struct place *place)
{
    bat_yaml_probes_begin_place(writer->probes);
    for (uint32_t i = place->first; i < place->end; i++)
        bat_yaml_probes_choose(writer->probes, writer->order[i]);
    bat_yaml_probes_sort_place(writer->probes);
}

/* False if there is no memory. */
static bool write_place(struct bat_yaml_writer *writer, const struct place *place,
                        uint32_t block_count, bool is_first)
{
    struct bat_yaml_profile_block written = {.index = place->bid,
                                             .hash = place->hash,
                                             .calls.all = writer->call_edges,
                                             .successors.all = writer->successors};
    if (writer->probes)
        choose_probes(writer, place);
    for (uint32_t i = place->first; i < place->end; i++) {
        const uint32_t number = writer->order[i];
        const struct bat_yaml_block *block = &writer->yaml_blocks[number];
        written.executions += block->exec;
        add_calls(writer, block, writer->blocks[number].input_offset, &written.calls);
        add_successors(writer, number, block_count, &written.successors);
    }
    if (writer->probes) {
        bat_yaml_probes_add_uncounted(writer->probes, &written.calls);
        written.probes = writer->probes->blocks;
        written.probe_count = writer->probes->block_count;
    }
    return bat_yaml_write_block(&writer->out, &written, is_first);
}

static void free_blocks(struct bat_yaml_writer *writer)
{
    BAT_FREE_ALL(writer->blocks, writer->yaml_blocks, writer->order);
}

/* Make room for the blocks of a function, which are lost if there was too little. */
static bool reserve_blocks(struct bat_yaml_writer *writer, uint32_t capacity)
{
    if (capacity <= writer->block_capacity)
        return true;
    free_blocks(writer);
    writer->blocks = malloc((size_t)capacity * sizeof(*writer->blocks));
    writer->yaml_blocks = malloc((size_t)capacity * sizeof(*writer->yaml_blocks));
    writer->order = malloc((size_t)capacity * sizeof(*writer->order));
    writer->block_capacity = capacity;
    return writer->blocks && writer->yaml_blocks && writer->order;
}

/* Read the function's blocks into writer->blocks, which may move; *count may be 0. */
static bool load_blocks(struct bat_yaml_writer *writer, uint32_t table, uint32_t *count)
{
    *count = bat_yaml_blocks(writer->records, table, writer->blocks, writer->block_capacity);
    if (*count <= writer->block_capacity)
        return true;
    uint32_t capacity = *count;
    if (!reserve_blocks(writer, capacity))
        return false;
    *count = bat_yaml_blocks(writer->records, table, writer->blocks, capacity);
    return true;
}

static int compare_indices(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct bat_block *blocks = context;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    if (blocks[left].index != blocks[right].index)
        return blocks[left].index < blocks[right].index ? -1 : 1;
    return (left > right) - (left < right);
}

/* Fill writer->order: the blocks by input offset, or with by_index by index. */
static void sort_places(struct bat_yaml_writer *writer, uint32_t count, bool by_index)
{
    bool is_sorted = true;
    for (uint32_t i = 0; i < count; i++) {
        writer->order[i] = i;
        is_sorted = is_sorted && (i == 0 || writer->blocks[i - 1].index < writer->blocks[i].index);
    }
    if (by_index && !is_sorted)
        qsort_r(writer->order, count, sizeof(*writer->order), compare_indices, writer->blocks);
}

/* Make room for so many records of a function and, as calls without counts, so many probes. */
static bool reserve_edges(struct bat_yaml_writer *writer, uint32_t count, uint32_t probes)
{
    return BAT_RESERVE(writer->calls, 0, writer->call_capacity, count) &&
           BAT_RESERVE(writer->call_edges, 0, writer->call_edge_capacity, (size_t)count + probes) &&
           BAT_RESERVE(writer->successors, 0, writer->successor_capacity, count);
}

/* Give each block its records and its executions. Records ascend by offset, as blocks do. */
static void fill_blocks(struct bat_yaml_writer *writer, const struct bat_yaml_range *range,
                        uint32_t block_count)
{
    for (uint32_t i = 0; i < block_count; i++)
        writer->yaml_blocks[i] = (struct bat_yaml_block){.first = range->first};
    uint32_t block_after = 0; /* the first block above the record's offset */
    for (uint32_t i = range->first; i < range->end; i++) {
        while (block_after < block_count && writer->blocks[block_after].input_offset <=
                                                bat_records_branch(writer->records, i)[1])
            block_after++;
        if (block_after == 0)
            continue;
        uint32_t block = block_after - 1;
        if (writer->yaml_blocks[block].count++ == 0)
            writer->yaml_blocks[block].first = i;
    }
    for (uint32_t i = range->first_entry; i < range->end_entry; i++) {
        const uint64_t *item = bat_records_branch(writer->records, writer->entries[i]);
        uint32_t block = bat_block_at(writer->blocks, block_count, item[3]);
        if (block != BAT_NONE && writer->blocks[block].input_offset == item[3])
            writer->yaml_blocks[block].exec += entry_count(writer, item);
    }
}

/* The place that begins with writer->order[first]. *is_written is false if YAML has no such place.
 */
static struct place place_from(const struct bat_yaml_writer *writer, uint32_t place_count,
                               uint32_t first, uint32_t count, bool *is_written)
{
    const uint32_t block = writer->order[first];
    struct place place = {.first = first, .end = first + 1};
    *is_written = bat_yaml_find_block(writer->records, writer->blocks, count, place_count, block,
                                      &place.bid, &place.hash);
    if (bat_yaml_has_places(writer->records))
        while (place.end < count &&
               writer->blocks[writer->order[place.end]].index == writer->blocks[block].index)
            place.end++;
    return place;
}

/* Note which blocks of the input perf2bolt writes without counts: entry points, and those that are
 * reached from others. */
static void mark_reached(struct bat_yaml_writer *writer, const struct bat_yaml_range *range,
                         uint32_t block_count)
{
    const uint32_t table = writer->records->tables[range->function];
    const struct bat_code_blocks *code = NULL;
    if (table == BAT_NONE &&
        bat_tableless_blocks(writer->code, range->function, &code, NULL) != BAT_OK)
        return; /* cannot be: it was read before */
    for (uint32_t i = 0; i < block_count; i++) {
        struct bat_yaml_block *block = &writer->yaml_blocks[i];
        const uint64_t offset = writer->blocks[i].input_offset;
        block->is_reached =
            code ? code->all[i].flags & BAT_BLOCK_ENTRY
                 : offset == 0 || bat_map_secondary_id(writer->map, table, offset) != 0;
        /* perf2bolt does not count what arrives elsewhere. */
        if (writer->records->is_parity && !block->is_reached)
            block->exec = 0;
    }
    for (uint32_t i = range->first; i < range->end; i++) {
        if (place_of(writer, i) != BAT_YAML_SUCCESSOR ||
            bat_records_branch(writer->records, i)[4] == 0)
            continue;
        const uint32_t to =
            bat_block_at(writer->blocks, block_count, bat_records_branch(writer->records, i)[3]);
        if (to != BAT_NONE)
            writer->yaml_blocks[to].is_reached = true;
    }
}

/* True if a block has counts, or perf2bolt writes it without. */
static bool place_is_needed(const struct bat_yaml_writer *writer, const struct place *place)
{
    for (uint32_t i = place->first; i < place->end; i++) {
        const struct bat_yaml_block *block = &writer->yaml_blocks[writer->order[i]];
        if (has_counts(writer, block) || block->is_reached)
            return true;
    }
    return false;
}

/* False if there is no memory. */
static bool write_blocks(struct bat_yaml_writer *writer, uint32_t place_count, uint32_t count)
{
    sort_places(writer, count, bat_yaml_has_places(writer->records));
    bool is_first = true;
    uint32_t end;
    for (uint32_t i = 0; i < count; i = end) {
        bool is_written;
        struct place place = place_from(writer, place_count, i, count, &is_written);
        end = place.end;
        if (!is_written || !place_is_needed(writer, &place))
            continue;
        if (!write_place(writer, &place, count, is_first))
            return false;
        is_first = false;
    }
    return true;
}

/* Fill writer->blocks with a function's blocks by its code; none if it cannot be read. */
static enum bat_code load_code(struct bat_yaml_writer *writer, uint32_t function, uint32_t *count,
                               struct bat_error *error)
{
    const struct bat_code_blocks *blocks;
    *count = 0;
    if (!bat_tableless_has(writer->code, function))
        return BAT_OK;
    BAT_TRY(bat_tableless_blocks(writer->code, function, &blocks, error));
    BAT_TRY_MEMORY(reserve_blocks(writer, blocks->count), error, "to write YAML");
    *count = blocks->count;
    for (uint32_t i = 0; i < *count; i++)
        writer->blocks[i] = (struct bat_block){.input_offset = blocks->all[i].start, .index = i};
    return BAT_OK;
}

/* The most records from a function, and to it, that are fetched before it is written. */
#define FETCH_MOST 16u

void bat_yaml_fetch_table(const struct bat_yaml_writer *writer, const struct bat_yaml_range *range)
{
    const uint32_t table = writer->records->tables[range->function];
    __builtin_prefetch(range->key.name);
    __builtin_prefetch(&writer->records->symbols[range->function]);
    __builtin_prefetch(&writer->entries[range->first_entry]);
    if (table != BAT_NONE)
        __builtin_prefetch(&writer->map->tables[table]);
}

void bat_yaml_fetch_function(const struct bat_yaml_writer *writer,
                             const struct bat_yaml_range *range)
{
    const struct bat_records *records = writer->records;
    for (uint32_t i = range->first; i < range->end && i - range->first < FETCH_MOST; i++)
        __builtin_prefetch(bat_records_branch(records, i));
    for (uint32_t i = range->first_entry;
         i < range->end_entry && i - range->first_entry < FETCH_MOST; i++)
        __builtin_prefetch(bat_records_branch(records, writer->entries[i]));
    bat_records_fetch_flow(records, range->function);
}

enum bat_code bat_yaml_write_function(struct bat_yaml_writer *writer,
                                      const struct bat_yaml_range *range,
                                      struct bat_text_writer *text, struct bat_error *error)
{
    const struct bat_records *records = writer->records;
    const uint32_t table = records->tables[range->function];
    struct bat_yaml_profile_function function = {
        .name = (char *)records->symbols[range->function].name,
        .number = writer->numbers[range->function],
        .executions = executions(writer, range),
        .from_outside = records->has_extern ? extern_executions(writer, range) : 0};
    uint32_t count = 0;
    if (table != BAT_NONE) {
        BAT_TRY_MEMORY(load_blocks(writer, table, &count), error, "to write YAML");
        function.hash = writer->map->tables[table].hash;
        function.block_count = writer->map->tables[table].input_block_count;
    } else if (writer->code) {
        BAT_TRY(load_code(writer, range->function, &count, error));
        function.block_count = count;
    }
    BAT_TRY(writer->probes ? bat_yaml_probes_find(records, range->function, writer->blocks, count,
                                                  writer->probes, error)
                           : BAT_OK);
    BAT_TRY_MEMORY(reserve_edges(writer, range->end - range->first,
                                 writer->probes ? (uint32_t)writer->probes->found_count : 0),
                   error, "to write YAML");
    writer->out.text = text;
    bat_yaml_write_head(&writer->out, &function);
    if (count != 0) {
        fill_blocks(writer, range, count);
        if (!bat_records_have_note(records))
            mark_reached(writer, range, count);
        BAT_TRY_MEMORY(write_blocks(writer, function.block_count, count), error, "to write YAML");
    }
    if (writer->probes) {
        function.nodes = writer->probes->nodes;
        function.node_count = writer->probes->tree_size;
        bat_yaml_write_tree(&writer->out, &function);
    }
    return BAT_OK;
}

void bat_yaml_writer_free(struct bat_yaml_writer *writer)
{
    if (writer->probes)
        bat_yaml_function_probes_free(writer->probes);
    BAT_FREE_ALL(writer->probes, writer->calls, writer->call_edges, writer->successors,
                 writer->out.groups);
    free_blocks(writer);
}
