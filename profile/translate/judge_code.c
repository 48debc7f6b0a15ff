/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Judges a function's records by the control-flow graph of its code in the input binary. */
#include <stdlib.h>

#include "judge.h"
#include "spec/map.h"
#include "yaml_blocks.h"

/* --- fdata -------------------------------------------------------------------------------- */

static void judge_fdata(const struct judged_records *judged, const struct bat_code_graph *graph,
                        struct verdict *verdict)
{
    bool is_bolted = bat_records_have_note(judged->records);
    for (uint32_t i = judged->first; i < judged->end; i++) {
        const uint64_t *item = bat_records_branch(judged->records, i);
        if (!judged_is_branch(item))
            continue;
        verdict->samples += item[4];
        bool is_inside = item[0] == item[2];
        bool is_taken = is_inside ? bat_code_graph_takes_branch(graph, item[1], item[3], is_bolted)
                                  : bat_code_graph_takes_exit(graph, item[1], is_bolted);
        if (!is_taken)
            judged_refuse(verdict, is_inside ? BAT_STALE_EDGE : BAT_STALE_EXIT, i);
    }
}

/* --- YAML --------------------------------------------------------------------------------- */

static const struct bat_table *table_of(const struct judged_records *judged)
{
    return &judged->records->map->tables[judged->records->tables[judged->function]];
}

/* True if the note's blocks are those of the code. Their hashes are not compared. */
static bool fits(const struct judged_records *judged, const struct bat_code_graph *graph,
                 const struct bat_block *blocks, uint32_t count)
{
    if (table_of(judged)->input_block_count != graph->blocks.count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (bat_is_input_block(blocks[i].hash, blocks[i].index, blocks[i].input_offset) &&
            (blocks[i].index >= graph->blocks.count ||
             graph->blocks.all[blocks[i].index].start != blocks[i].input_offset))
            return false;
    return true;
}

/* Record i, which is in the entry of the block with this bid; from is its own block. */
static bool takes_yaml(const struct judged_records *judged, const struct bat_code_graph *graph,
                       const struct bat_block *blocks, uint32_t count, uint32_t i, uint32_t from,
                       uint32_t bid)
{
    const uint64_t *item = bat_records_branch(judged->records, i);
    if (judged_yaml_place(judged->records, i) == BAT_YAML_CALL)
        return bat_code_graph_takes_call(graph, bid, item[1] - blocks[from].input_offset);
    uint32_t to = bat_block_at(blocks, count, item[3]);
    return bat_code_graph_has_edge(graph, bid, to == BAT_NONE ? 0 : blocks[to].index);
}

/*
 * The blocks of a function with a table, by bat_yaml_blocks(); *count may be 0. The caller frees
 * them. NULL if there is no memory.
 */
static struct bat_block *judged_blocks(const struct judged_records *judged, uint32_t *count)
{
    const struct bat_records *records = judged->records;
    uint32_t table = records->tables[judged->function];
    uint32_t capacity = bat_yaml_blocks(records, table, NULL, 0);
    struct bat_block *blocks = malloc(((size_t)capacity + 1) * sizeof(*blocks));
    *count = blocks ? bat_yaml_blocks(records, table, blocks, capacity) : 0;
    return blocks;
}

static enum bat_code judge_yaml(const struct judged_records *judged,
                                const struct bat_code_graph *graph, struct verdict *verdict,
                                struct bat_error *error)
{
    if (judged->records->tables[judged->function] == BAT_NONE) {
        judged_refuse(verdict, BAT_STALE_NO_HASH, BAT_NONE);
        return BAT_OK;
    }
    uint32_t count;
    struct bat_block *blocks = judged_blocks(judged, &count);
    BAT_TRY_MEMORY(blocks, error, "for blocks");
    bool is_fit = fits(judged, graph, blocks, count);
    if (!is_fit)
        judged_refuse(verdict, BAT_STALE_BLOCKS, BAT_NONE);
    for (uint32_t i = judged->first; i < judged->end; i++) {
        const uint64_t *item = bat_records_branch(judged->records, i);
        enum bat_yaml_place place = judged_yaml_place(judged->records, i);
        uint32_t from = bat_block_at(blocks, count, item[1]);
        uint32_t bid;
        uint64_t hash;
        if (place == BAT_YAML_NOWHERE || from == BAT_NONE ||
            !bat_yaml_find_block(judged->records, blocks, count,
                                 table_of(judged)->input_block_count, from, &bid, &hash))
            continue;
        verdict->samples += place == BAT_YAML_SUCCESSOR ? item[4] : 0;
        if (is_fit && !takes_yaml(judged, graph, blocks, count, i, from, bid))
            judged_refuse(verdict, place == BAT_YAML_CALL ? BAT_STALE_EXIT : BAT_STALE_EDGE, i);
    }
    free(blocks);
    return BAT_OK;
}

enum bat_code judge_by_code(const struct judged_records *judged, const struct bat_code_graph *graph,
                            struct verdicts *verdicts, struct bat_error *error)
{
    *verdicts = (struct verdicts){0};
    judge_fdata(judged, graph, &verdicts->fdata);
    return judge_yaml(judged, graph, &verdicts->yaml, error);
}
