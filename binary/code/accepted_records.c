/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decides which records of a profile llvm-bolt accepts for a function: spec/profiles.md 7. */
#include "graph.h"
#include "instructions.h"
#include "spec/order.h"

/* --- Edges -------------------------------------------------------------------------------- */

/* Successors ascend if there are more than two. */
bool bat_code_graph_is_successor(const struct bat_code_graph *graph, uint32_t from, uint32_t to)
{
    const uint32_t first = graph->first_edge[from];
    const uint32_t end = graph->end_edge[from];
    if (end - first <= 2) {
        for (uint32_t i = first; i < end; i++)
            if (graph->edges[i] == to)
                return true;
        return false;
    }
    struct bat_search search = {.low = first, .high = end};
    while (bat_search_next(&search))
        bat_search_go(&search, graph->edges[search.middle] < to);
    return search.low < end && graph->edges[search.low] == to;
}

bool bat_code_graph_has_edge(const struct bat_code_graph *graph, uint32_t from, uint32_t to)
{
    if (bat_code_graph_is_successor(graph, from, to))
        return true;
    if (graph->end_edge[from] - graph->first_edge[from] != 2)
        return false;
    uint32_t through = graph->edges[graph->first_edge[from] + 1];
    return graph->end_edge[through] - graph->first_edge[through] == 1 &&
           graph->edges[graph->first_edge[through]] == to;
}

/* --- Instructions ------------------------------------------------------------------------- */

static const struct bat_code_kept *kept_at(const struct bat_code_graph *graph, uint64_t offset)
{
    uint32_t found = BAT_COUNT_BELOW(graph->kept, graph->kept_count, offset, offset);
    return found < graph->kept_count && graph->kept[found].offset == offset ? &graph->kept[found]
                                                                            : NULL;
}

/* True for a call, a tail call or an indirect jump. */
static bool may_call(const struct bat_code_kept *kept)
{
    return kept->leaves || bat_kind_is_call(kept->kind) ||
           kept->kind == BAT_INSTRUCTION_INDIRECT_JUMP;
}

/* --- Records ------------------------------------------------------------------------------ */

/*
 * The block that a branch to an offset enters at its start; BAT_NONE if it goes into the middle of
 * one. *is_taken is true if llvm-bolt accepts the record nevertheless, from any block.
 */
static uint32_t target_of(const struct bat_code_graph *graph, uint64_t to, bool *is_taken)
{
    uint32_t block = bat_code_block_at(&graph->blocks, to);
    const struct bat_code_block *target = &graph->blocks.all[block];
    *is_taken = false;
    if (to == target->start || to == graph->body[block])
        return block;
    if (to == target->last) {
        const struct bat_code_kept *last = kept_at(graph, to);
        *is_taken = last && last->kind == BAT_INSTRUCTION_JUMP && !last->leaves;
        return BAT_NONE;
    }
    /* Behind the last instruction's start: no-operations between blocks once were part of it. */
    return to > target->last && block + 1 < graph->blocks.count ? block + 1 : BAT_NONE;
}

bool bat_code_graph_takes_branch(const struct bat_code_graph *graph, uint64_t from, uint64_t to,
                                 bool is_bolted)
{
    uint32_t source = bat_code_block_at(&graph->blocks, from);
    uint32_t target = bat_code_block_at(&graph->blocks, to);
    if (source == BAT_NONE || target == BAT_NONE)
        return false;
    if (from == to || graph->first_edge[source] == graph->end_edge[source])
        return true;
    bool is_taken;
    target = target_of(graph, to, &is_taken);
    if (target == BAT_NONE)
        return is_taken;
    const struct bat_code_kept *branch = kept_at(graph, from);
    if (!branch && !(is_bolted && from == graph->blocks.all[source].start))
        return false;
    if (bat_code_graph_has_edge(graph, source, target))
        return true;
    if (branch && may_call(branch) && (graph->blocks.all[target].flags & BAT_BLOCK_ENTRY))
        return true;
    return is_bolted && source == target;
}

bool bat_code_graph_takes_exit(const struct bat_code_graph *graph, uint64_t from, bool is_bolted)
{
    if (is_bolted)
        return true;
    const struct bat_code_kept *branch = kept_at(graph, from);
    return branch && (may_call(branch) || bat_kind_is_branch(branch->kind) ||
                      branch->kind == BAT_INSTRUCTION_RETURN);
}

bool bat_code_graph_takes_call(const struct bat_code_graph *graph, uint32_t block, uint64_t offset)
{
    uint32_t start = graph->blocks.all[block].start;
    bool is_final = block + 1 == graph->blocks.count;
    uint32_t end = is_final ? graph->blocks.size : graph->blocks.all[block + 1].start;
    if (offset >= end - start)
        return false;
    const struct bat_code_kept *call = kept_at(graph, start + offset);
    return call && may_call(call);
}
