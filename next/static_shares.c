/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "infer.h"

#include <stdlib.h>

#include "spec/array.h"

#define WEIGHT_LOOP 7.0f /* a link back to the beginning of a loop */
#define WEIGHT_ON 2.0f   /* the compiler puts first what is likelier */
#define WEIGHT_COLD 0.02f

struct shares_making {
    const struct next_program *program;
    const struct next_graph *graph;
    const uint64_t *most_calls;
    uint8_t *is_back; /* for each link */
    uint8_t *is_cold; /* for each node */
};

bool next_never_returns(const struct next_program *program, uint32_t function)
{
    static const char *const names[] = {
        "abort",       "exit",          "_exit",          "__assert_fail",   "__stack_chk_fail",
        "longjmp",     "_longjmp",      "siglongjmp",     "__longjmp_chk",   "__fortify_fail",
        "__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "_ZSt9terminatev", "__chk_fail"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t length = 0;
        while (names[i][length])
            length++;
        if (program->name_of[function] == next_hash(names[i], length, 0))
            return true;
    }
    return false;
}

static bool is_cold_node(const struct shares_making *making, uint32_t node)
{
    const struct next_node *at = &making->graph->nodes[node];
    const struct next_block *block = next_node_block(making->program, at);
    uint32_t count;
    const struct next_instruction *code = next_node_code(making->program, at, &count);
    if (block->is_cold || (block->end == NEXT_END_TRAP && at->ends))
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (code[i].callee != BAT_NONE &&
            ((making->most_calls && making->most_calls[code[i].callee] == 0) ||
             next_never_returns(making->program, code[i].callee)))
            return true;
    return false;
}

/* Find the links that lead back to a node from which they were reached. */
static bool find_back(struct shares_making *making)
{
    const struct next_graph *graph = making->graph;
    uint32_t count = graph->node_count;
    uint32_t *stack = malloc(((size_t)count + 1) * sizeof(*stack));
    uint32_t *next = malloc(((size_t)count + 1) * sizeof(*next));
    uint8_t *state = calloc((size_t)count + 1, 1); /* 1: on the stack, 2: done */
    bool is_fine = stack && next && state;
    for (uint32_t root = 0; is_fine && root <= count; root++) {
        uint32_t start = root == 0 ? graph->entry : root - 1;
        uint32_t depth = 0;
        if (state[start])
            continue;
        stack[depth++] = start;
        state[start] = 1;
        next[start] = graph->out[start];
        while (depth > 0) {
            uint32_t node = stack[depth - 1];
            if (next[node] == graph->out[node + 1]) {
                state[node] = 2;
                depth--;
                continue;
            }
            uint32_t link = next[node]++;
            uint32_t to = graph->links[link].to;
            making->is_back[link] = state[to] == 1;
            if (state[to] == 0) {
                state[to] = 1;
                next[to] = graph->out[to];
                stack[depth++] = to;
            }
        }
    }
    BAT_FREE_ALL(stack, next, state);
    return is_fine;
}

static float weight_of(const struct shares_making *making, uint32_t link, uint32_t ways)
{
    const struct next_link *all = &making->graph->links[link];
    if (making->is_cold[all->to])
        return WEIGHT_COLD;
    float weight = making->is_back[link] ? WEIGHT_LOOP : 1;
    if (all->kind == NEXT_EDGE_ON && ways == 2 && !making->is_back[link])
        weight *= WEIGHT_ON;
    return weight;
}

static void fill(const struct shares_making *making, float *shares)
{
    const struct next_graph *graph = making->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        float sum = 0;
        uint32_t ways = graph->out[i + 1] - graph->out[i];
        for (uint32_t k = graph->out[i]; k < graph->out[i + 1]; k++)
            sum += shares[k] = weight_of(making, k, ways);
        for (uint32_t k = graph->out[i]; k < graph->out[i + 1]; k++)
            shares[k] /= sum;
    }
}

enum bat_code next_static_shares(const struct next_program *program, const struct next_graph *graph,
                                 const uint64_t *most_calls, float *shares, struct bat_error *error)
{
    struct shares_making making = {.program = program,
                                   .graph = graph,
                                   .most_calls = most_calls,
                                   .is_back = calloc((size_t)graph->link_count + 1, 1),
                                   .is_cold = calloc((size_t)graph->node_count + 1, 1)};
    bool is_fine = making.is_back && making.is_cold && find_back(&making);
    if (is_fine) {
        for (uint32_t i = 0; i < graph->node_count; i++)
            making.is_cold[i] = is_cold_node(&making, i);
        fill(&making, shares);
    }
    BAT_FREE_ALL(making.is_back, making.is_cold);
    return is_fine ? BAT_OK : bat_fail_memory(error, "for a graph");
}
