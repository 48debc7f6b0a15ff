/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tail_calls.h"

#include "binary/code/instructions.h"
#include "spec/array.h"
#include "spec/order.h"

/* So many jumps follow each other at most, and so many are tried for one question. */
#define DEPTH_MAX 16u
#define STEPS_MAX 4096u

static enum bat_code add_edge(struct tail_edge **edges, size_t *count, size_t *capacity,
                              struct tail_edge edge)
{
    const struct tail_edge *last = *count ? &(*edges)[*count - 1] : NULL;
    if (last && last->source == edge.source && last->to == edge.to)
        return BAT_OK;
    return BAT_APPEND(*edges, *count, *capacity, edge) ? BAT_OK : BAT_ERR_MEMORY;
}

static enum bat_code add_branch(struct tail_calls *tail, uint8_t kind, uint64_t source,
                                uint64_t target)
{
    const uint32_t to = probe_functions_at(tail->functions, target);
    const bool is_jump = kind == BAT_INSTRUCTION_JUMP || kind == BAT_INSTRUCTION_INDIRECT_JUMP;
    if (to == BAT_NONE)
        return BAT_OK;
    if (bat_kind_is_call(kind))
        return add_edge(&tail->calls, &tail->call_count, &tail->call_capacity,
                        (struct tail_edge){source, 0, to});
    const uint32_t from = is_jump ? probe_functions_at(tail->functions, source) : BAT_NONE;
    if (from == BAT_NONE || from == to)
        return BAT_OK;
    return add_edge(&tail->jumps, &tail->jump_count, &tail->jump_capacity,
                    (struct tail_edge){source, from, to});
}

enum bat_code tail_calls_new(struct tail_calls *tail, struct unwinder *unwinder,
                             const struct probe_functions *functions)
{
    *tail = (struct tail_calls){.functions = functions, .known = bat_counts_new(2)};
    uint64_t last[2] = {0};
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < unwinder->branches.count && code == BAT_OK; i++) {
        const uint64_t *edge = bat_counts_item(&unwinder->branches, i);
        if (edge[0] == last[0] && edge[1] == last[1])
            continue;
        code = add_branch(tail, unwinder_instruction(unwinder, edge[0]).kind, edge[0], edge[1]);
        last[0] = edge[0];
        last[1] = edge[1];
    }
    BAT_SORT_BY_TWO(tail->jumps, tail->jump_count, from, source);
    return code;
}

void tail_calls_free(struct tail_calls *tail)
{
    BAT_FREE_ALL(tail->calls, tail->jumps, tail->found);
    bat_counts_free(&tail->known);
}

/* A search of ways from a function. */
struct search {
    const struct tail_calls *tail;
    uint32_t goal;
    uint32_t steps;
    uint32_t ways;
    uint32_t functions[DEPTH_MAX]; /* on the way */
    uint64_t jumps[DEPTH_MAX];     /* from each of them */
    uint64_t way[DEPTH_MAX];       /* the first that was found */
    uint32_t length;
};

static bool is_on_way(const struct search *search, uint32_t function, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        if (search->functions[i] == function)
            return true;
    return false;
}

static void keep_way(struct search *search, uint32_t depth)
{
    for (uint32_t i = 0; i < depth && search->ways == 0; i++)
        search->way[i] = search->jumps[i];
    search->length = search->ways == 0 ? depth : search->length;
    search->ways++;
}

/* Go on from a function, in which the way has come to this depth. At most two ways are counted. */
static void go_on(struct search *search, uint32_t function, uint32_t depth) /* NOLINT: DEPTH_MAX */
{
    const struct tail_calls *tail = search->tail;
    if (function == search->goal) {
        keep_way(search, depth);
        return;
    }
    if (depth == DEPTH_MAX || is_on_way(search, function, depth))
        return;
    search->functions[depth] = function;
    for (size_t i = BAT_COUNT_BELOW(tail->jumps, tail->jump_count, from, function);
         i < tail->jump_count && tail->jumps[i].from == function && search->ways < 2 &&
         search->steps++ < STEPS_MAX;
         i++) {
        search->jumps[depth] = tail->jumps[i].source;
        go_on(search, tail->jumps[i].to, depth + 1);
    }
}

static void find_way(const struct tail_calls *tail, uint64_t call, struct search *search)
{
    const size_t first = BAT_COUNT_BELOW(tail->calls, tail->call_count, source, call);
    size_t end = first;
    for (; end < tail->call_count && tail->calls[end].source == call; end++)
        if (tail->calls[end].to == search->goal)
            return;
    for (size_t i = first; i < end; i++)
        go_on(search, tail->calls[i].to, 0);
    if (search->ways != 1 || search->steps >= STEPS_MAX)
        search->length = 0;
}

enum bat_code tail_calls_between(struct tail_calls *tail, uint64_t call, uint64_t address,
                                 const uint64_t **jumps, size_t *count)
{
    const uint64_t key[2] = {call, address};
    *count = 0;
    if (tail->jump_count == 0)
        return BAT_OK;
    const uint64_t *known = bat_counts_find(&tail->known, key);
    if (known) {
        *jumps = tail->found + known[2];
        *count = (size_t)known[3];
        return BAT_OK;
    }
    struct search search = {.tail = tail, .goal = probe_functions_at(tail->functions, address)};
    if (search.goal != BAT_NONE)
        find_way(tail, call, &search);
    const size_t first = tail->found_count;
    for (uint32_t i = 0; i < search.length; i++) {
        if (!BAT_APPEND(tail->found, tail->found_count, tail->found_capacity, search.way[i]))
            return BAT_ERR_MEMORY;
    }
    *count = search.length;
    *jumps = tail->found + first;
    return bat_counts_add(&tail->known, key, first, *count);
}
