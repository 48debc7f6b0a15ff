/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "branch_outcomes.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"

/* The two links of a node that branches; NULL for others. */
static const struct next_link *two_ways(const struct next_graph *graph, uint32_t node)
{
    if (!graph->links || graph->out[node + 1] - graph->out[node] != 2)
        return NULL;
    const struct next_link *links = &graph->links[graph->out[node]];
    return links[0].kind != links[1].kind ? links : NULL;
}

static int by_test(const void *left, const void *right)
{
    const struct next_outcome *a = left;
    const struct next_outcome *b = right;
    if (a->tested != b->tested)
        return a->tested < b->tested ? -1 : 1;
    return (a->condition > b->condition) - (a->condition < b->condition);
}

/* Add up those that are sorted. */
static void add_up(struct next_outcomes *outcomes)
{
    size_t kept = 0;
    for (size_t i = 0; i < outcomes->count; i++) {
        struct next_outcome *last = kept > 0 ? &outcomes->all[kept - 1] : NULL;
        const struct next_outcome *outcome = &outcomes->all[i];
        if (last && by_test(last, outcome) == 0) {
            last->old_count += outcome->old_count;
            last->taken += outcome->taken;
            last->on += outcome->on;
        } else {
            outcomes->all[kept++] = *outcome;
        }
    }
    outcomes->count = kept;
}

static size_t first_outcome(const struct next_outcomes *outcomes, uint32_t tested)
{
    return BAT_COUNT_BELOW(outcomes->all, outcomes->count, tested, tested);
}

enum bat_code next_outcomes_open(const struct flooding_side *old_side,
                                 const struct flooding_side *new_side,
                                 struct next_outcomes *outcomes, struct bat_error *error)
{
    *outcomes = (struct next_outcomes){.count = 0};
    if (!old_side)
        return BAT_OK;
    const struct next_graph *graph = old_side->graph;
    outcomes->all = malloc(((size_t)graph->node_count + 1) * sizeof(*outcomes->all));
    BAT_TRY_MEMORY(outcomes->all, error, "for branches");
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct next_link *links = two_ways(graph, i);
        if (graph->tested[i] == 0 || !(graph->nodes[i].count > 0) || !links)
            continue;
        const bool is_taken_first = links[0].kind == NEXT_EDGE_TAKEN;
        outcomes->all[outcomes->count++] =
            (struct next_outcome){.tested = graph->tested[i],
                                  .condition = old_side->conditions[i],
                                  .old_count = 1,
                                  .taken = links[!is_taken_first].whole,
                                  .on = links[is_taken_first].whole};
    }
    if (outcomes->count > 1)
        qsort(outcomes->all, outcomes->count, sizeof(*outcomes->all), by_test);
    add_up(outcomes);
    BAT_SHRINK(outcomes->all, outcomes->count);
    for (uint32_t j = 0; j < new_side->graph->node_count; j++) {
        const uint32_t tested = new_side->graph->tested[j];
        const size_t first = first_outcome(outcomes, tested);
        if (tested != 0 && first < outcomes->count && outcomes->all[first].tested == tested)
            outcomes->all[first].new_count++;
    }
    return BAT_OK;
}

void next_outcomes_free(struct next_outcomes *outcomes)
{
    free(outcomes->all);
    *outcomes = (struct next_outcomes){.count = 0};
}

bool next_outcomes_shares(const struct next_outcomes *outcomes,
                          const struct flooding_side *new_side, uint32_t node, float shares[2],
                          bool *is_only)
{
    *is_only = false;
    if (outcomes->count == 0)
        return false;
    const uint32_t tested = new_side->graph->tested[node];
    const struct next_link *links = two_ways(new_side->graph, node);
    if (tested == 0 || !links)
        return false;
    double taken = 0;
    double on = 0;
    const size_t first = first_outcome(outcomes, tested);
    uint32_t olds = 0;
    for (size_t i = first; i < outcomes->count && outcomes->all[i].tested == tested; i++) {
        const struct next_outcome *outcome = &outcomes->all[i];
        const enum flooding_condition condition =
            flooding_compare(outcome->condition, new_side->conditions[node]);
        olds += outcome->old_count;
        if (condition == CONDITION_OTHER)
            continue;
        taken += condition == CONDITION_SAME ? outcome->taken : outcome->on;
        on += condition == CONDITION_SAME ? outcome->on : outcome->taken;
    }
    if (!(taken + on > 0))
        return false;
    *is_only = olds == 1 && outcomes->all[first].new_count == 1;
    const bool is_taken_first = links[0].kind == NEXT_EDGE_TAKEN;
    shares[!is_taken_first] = (float)(taken / (taken + on));
    shares[is_taken_first] = 1 - shares[!is_taken_first];
    return true;
}
