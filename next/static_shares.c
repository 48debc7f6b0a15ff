/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which way branches go, by the code alone: each link's features add to its weight, and a link's
 * share is exp(weight), divided by the sum over the links of its node (a conditional logit).
 */
#include "infer.h"

#include <math.h>
#include <stdlib.h>

#include "binary/code/conditions.h"
#include "spec/array.h"

#define SHORT_CODE 2u /* instructions */
#define LONG_CODE 8u
#define STEPS_MAX 16u /* of what follows on a way in any case, or of what is before a branch */

/* Features of a link: of the node that it leads to, of the way, and of the condition. */
enum feature {
    /* The node that it leads to: */
    IS_COLD, /* in a cold part of the function, or calls what never ran */
    ENDS,    /* calls what does not return, or leads nowhere */
    RETURNS,
    CALLS,
    CALLS_POINTER,
    JUMPS_TABLE,
    IS_SHORT,
    IS_LONG,
    SHARED_3, /* so many ways lead to it: errors of many places do */
    SHARED_8,
    /* What follows in any case, before the ways from the branch meet again: */
    COLD_LATER,
    CALLS_LATER,
    LOOPS_LATER,
    /* The way: */
    MEETS,      /* the other one leads to the same node in any case: this is no "else" */
    GOES_BACK,  /* to an entry of a loop */
    TAKEN_BACK, /* ... by a branch that is taken */
    ENTERS_LOOP,
    LEAVES_LOOP,
    TAKEN_LEAVES, /* ... by a branch that is taken */
    AHEAD_64,     /* so many bytes or more: compilers put behind what they think is unlikely */
    AHEAD_1024,
    AS_BEFORE, /* a branch before this one, which tests the same, was left this way */
    /* The condition, and what is compared: */
    OVERFLOWS,                       /* a result is too large, or a number is none */
    EQUAL,                           /* EQUAL_TO() */
    LOWER = EQUAL + (int)NEXT_TESTS, /* LOWER_THAN() */
    FEATURES = LOWER + (int)NEXT_TESTS,
};

/* The features of ways on which what is tested (enum next_test) is equal, or lower, or lower or
 * equal; the other way has none. */
#define EQUAL_TO(test) ((unsigned)EQUAL + (unsigned)(test))
#define LOWER_THAN(test) ((unsigned)LOWER + (unsigned)(test))

/* Estimated: see spec/next.md 4.1. */
static const float weights[FEATURES] = {
    [IS_COLD] = -2.81f,
    [ENDS] = -2.02f,
    [RETURNS] = -0.26f,
    [CALLS] = -0.43f,
    [CALLS_POINTER] = -0.45f,
    [JUMPS_TABLE] = 0.87f,
    [IS_SHORT] = -0.18f,
    [IS_LONG] = 0.10f,
    [SHARED_3] = -0.53f,
    [SHARED_8] = -0.53f,
    [COLD_LATER] = -1.87f,
    [CALLS_LATER] = -0.32f,
    [LOOPS_LATER] = 0.34f,
    [MEETS] = 0.37f,
    [GOES_BACK] = 0.27f,
    [TAKEN_BACK] = 0.33f,
    [ENTERS_LOOP] = 0.26f,
    [LEAVES_LOOP] = -0.30f,
    [TAKEN_LEAVES] = -0.54f,
    [AHEAD_64] = -0.27f,
    [AHEAD_1024] = -0.31f,
    [AS_BEFORE] = 2.0f,
    [OVERFLOWS] = -4.0f,
    [EQUAL_TO(NEXT_TEST_NULL)] = -0.54f,
    [EQUAL_TO(NEXT_TEST_BITS)] = 0.45f,
    [EQUAL_TO(NEXT_TEST_CONSTANT)] = -0.82f,
    [EQUAL_TO(NEXT_TEST_VALUES)] = -0.45f,
    [EQUAL_TO(NEXT_TEST_RESULT)] = -0.38f,
    [EQUAL_TO(NEXT_TEST_SUM)] = -0.38f,
    [LOWER_THAN(NEXT_TEST_ZERO)] = -0.81f,
    [LOWER_THAN(NEXT_TEST_NULL)] = -0.68f,
    [LOWER_THAN(NEXT_TEST_BITS)] = 0.12f,
    [LOWER_THAN(NEXT_TEST_CONSTANT)] = 0.29f,
    [LOWER_THAN(NEXT_TEST_SUM)] = -1.5f,
};

#define BIT(feature) (UINT64_C(1) << (feature))

struct shares_making {
    const struct next_program *program;
    const struct flooding_side *side;
    const struct next_graph *graph;
    const uint64_t *most_calls;
    uint64_t *features; /* of each node */
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

/* The features of an instruction of the node that a link leads to. */
static uint64_t features_of_instruction(const struct shares_making *making,
                                        const struct next_instruction *instruction)
{
    uint64_t features = 0;
    uint32_t callee = instruction->callee;
    if (instruction->flags & NEXT_IS_CALL)
        features |= BIT(CALLS) | (instruction->flags & NEXT_IS_INDIRECT ? BIT(CALLS_POINTER) : 0);
    if (callee == BAT_NONE)
        return features;
    if (next_never_returns(making->program, callee))
        features |= BIT(ENDS);
    if (making->most_calls && making->most_calls[callee] == 0)
        features |= BIT(IS_COLD);
    return features;
}

static uint64_t features_of_node(const struct shares_making *making, uint32_t node)
{
    const struct next_graph *graph = making->graph;
    const struct next_node *at = &graph->nodes[node];
    const struct next_segment *last = next_last_segment(graph, node);
    const struct next_block *end = next_segment_block(making->program, last);
    uint32_t arrivals = graph->into[node + 1] - graph->into[node];
    uint32_t size = 0;
    uint64_t features = end->is_cold ? BIT(IS_COLD) : 0;
    for (uint32_t i = 0; i < at->code_count; i++) {
        features |= features_of_instruction(making, &at->code[i]);
        size += !(at->code[i].flags & NEXT_IS_NOP);
    }
    if (last->ends && end->end == NEXT_END_TRAP)
        features |= BIT(ENDS);
    if (last->ends && (end->end == NEXT_END_RETURN || end->end == NEXT_END_TAIL))
        features |= BIT(RETURNS);
    if (last->ends && end->end == NEXT_END_TABLE)
        features |= BIT(JUMPS_TABLE);
    features |= size <= SHORT_CODE ? BIT(IS_SHORT) : size > LONG_CODE ? BIT(IS_LONG) : 0;
    return features | (arrivals >= 3 ? BIT(SHARED_3) : 0) | (arrivals >= 8 ? BIT(SHARED_8) : 0);
}

/* What follows behind a link, until the other ways from its node are there, too. */
static uint64_t features_of_later(const struct shares_making *making, const struct next_link *link)
{
    const struct flooding_side *side = making->side;
    uint32_t meeting = side->post_dominators[link->from];
    uint64_t features = 0;
    uint32_t node = link->to == meeting ? BAT_NONE : side->post_dominators[link->to];
    for (uint32_t i = 0; i < STEPS_MAX && node != BAT_NONE && node != meeting; i++) {
        uint64_t later = making->features[node];
        features |= later & (BIT(IS_COLD) | BIT(ENDS)) ? BIT(COLD_LATER) : 0;
        features |= later & BIT(CALLS) ? BIT(CALLS_LATER) : 0;
        if (side->loops.depths[node] > side->loops.depths[link->from])
            features |= BIT(LOOPS_LATER);
        node = side->post_dominators[node];
    }
    return features;
}

static bool is_in_loop(const struct next_loops *loops, uint32_t loop, uint32_t node)
{
    uint32_t at = loops->inner[node];
    while (at != loop && at != BAT_NONE)
        at = loops->around[at];
    return at == loop;
}

static uint64_t features_of_loops(const struct shares_making *making, uint32_t number)
{
    const struct next_loops *loops = &making->side->loops;
    const struct next_link *link = &making->graph->links[number];
    bool is_taken = link->kind == NEXT_EDGE_TAKEN;
    uint32_t loop = loops->inner[link->from];
    uint64_t features = 0;
    if (loops->is_back[number])
        features |= BIT(GOES_BACK) | (is_taken ? BIT(TAKEN_BACK) : 0);
    if (!is_in_loop(loops, loops->inner[link->to], link->from))
        features |= BIT(ENTERS_LOOP);
    if (is_in_loop(loops, loop, link->to))
        return features;
    return features | BIT(LEAVES_LOOP) | (is_taken ? BIT(TAKEN_LEAVES) : 0);
}

static uint64_t features_of_distance(const struct shares_making *making, uint32_t number)
{
    const struct next_link *link = &making->graph->links[number];
    const struct next_segment *last = next_last_segment(making->graph, link->from);
    const struct next_segment *first = next_first_segment(making->graph, link->to);
    const struct next_block *from = next_segment_block(making->program, last);
    const struct next_block *to = next_segment_block(making->program, first);
    if (last->context != first->context || from->function != to->function || to->start < from->last)
        return 0;
    uint32_t distance = to->start - from->last;
    return (distance >= 64 ? BIT(AHEAD_64) : 0) | (distance >= 1024 ? BIT(AHEAD_1024) : 0);
}

/* The condition under which control goes along a link of a conditional branch. */
static uint64_t features_of_condition(const struct shares_making *making,
                                      const struct next_link *link)
{
    uint32_t condition = making->side->conditions[link->from] & ~FLOODING_TESTS;
    const struct next_instruction *code = making->graph->nodes[link->from].code;
    uint32_t count = making->graph->nodes[link->from].code_count;
    if (condition == CONDITION_UNKNOWN || link->kind == NEXT_EDGE_TABLE)
        return 0;
    if (link->kind == NEXT_EDGE_ON)
        condition = CONDITION_OPPOSITE(condition);
    while (count > 0 && code[count - 1].test == NEXT_TEST_NONE)
        count--;
    unsigned test = count > 0 ? code[count - 1].test : NEXT_TEST_NONE;
    uint32_t order = condition_order(condition);
    if (order & CONDITION_IS_SIGN)
        return order & CONDITION_IS_LOWER ? BIT(LOWER_THAN(NEXT_TEST_ZERO)) : 0;
    if (order & CONDITION_IS_EQUALITY)
        return order & CONDITION_IS_STRICT ? 0 : BIT(EQUAL_TO(test));
    if (order & CONDITION_IS_OVERFLOW)
        return order & CONDITION_IS_STRICT ? 0 : BIT(OVERFLOWS);
    return order & CONDITION_IS_LOWER ? BIT(LOWER_THAN(test)) : 0;
}

/* The field that a node's branch tests, with how it does; 0 if that is none. */
static uint64_t tested_field(const struct shares_making *making, uint32_t node)
{
    const struct next_instruction *code = making->graph->nodes[node].code;
    uint32_t count = making->graph->nodes[node].code_count;
    while (count > 0 && code[count - 1].test == NEXT_TEST_NONE)
        count--;
    const uint32_t shape = count > 0 ? code[count - 1].shape : 0;
    while (count > 0 && !code[count - 1].field)
        count--;
    return count > 0 ? (uint64_t)shape << 32 | code[count - 1].field : 0;
}

/* Where a node's branch leads if it goes as one before it does, at a dominator that tests the same
 * field; BAT_NONE. */
static uint32_t way_as_before(const struct shares_making *making, uint32_t node)
{
    const struct next_graph *graph = making->graph;
    const uint32_t *conditions = making->side->conditions;
    const uint64_t field = conditions[node] ? tested_field(making, node) : 0;
    uint32_t below = node;
    uint32_t at = making->side->dominators[node];
    for (uint32_t i = 0; i < STEPS_MAX && field && at != BAT_NONE; i++) {
        const enum flooding_condition condition =
            flooding_compare(conditions[at], conditions[node]);
        if (condition != CONDITION_OTHER && next_degree(graph, below, false) == 1 &&
            graph->taken[at] != graph->on[at] && tested_field(making, at) == field) {
            const bool is_taken = below == graph->taken[at];
            return is_taken == (condition == CONDITION_SAME) ? graph->taken[node] : graph->on[node];
        }
        below = at;
        at = making->side->dominators[at];
    }
    return BAT_NONE;
}

/* as_before: where the branch leads if it goes as one before it; BAT_NONE. */
static uint64_t features_of(const struct shares_making *making, uint32_t number, uint32_t as_before)
{
    const struct next_link *link = &making->graph->links[number];
    bool meets = making->side->post_dominators[link->from] == link->to;
    return making->features[link->to] | features_of_later(making, link) |
           features_of_loops(making, number) | features_of_distance(making, number) |
           features_of_condition(making, link) | (meets ? BIT(MEETS) : 0) |
           (as_before == link->to ? BIT(AS_BEFORE) : 0);
}

static float weight_of(uint64_t features)
{
    float weight = 0;
    for (unsigned i = 0; i < FEATURES; i++)
        weight += features >> i & 1 ? weights[i] : 0;
    return expf(weight);
}

static void fill(const struct shares_making *making, float *shares)
{
    const struct next_graph *graph = making->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t first = graph->out[i];
        uint32_t end = graph->out[i + 1];
        const uint32_t as_before = end - first > 1 ? way_as_before(making, i) : BAT_NONE;
        float sum = 0;
        for (uint32_t k = first; k < end; k++)
            sum += shares[k] = end - first == 1 ? 1 : weight_of(features_of(making, k, as_before));
        for (uint32_t k = first; k < end; k++)
            shares[k] /= sum;
    }
}

enum bat_code next_static_shares(const struct flooding_side *side, const uint64_t *most_calls,
                                 float *shares, struct bat_error *error)
{
    struct shares_making making = {
        .program = side->program,
        .side = side,
        .graph = side->graph,
        .most_calls = most_calls,
        .features = malloc(((size_t)side->graph->node_count + 1) * sizeof(*making.features))};
    BAT_TRY_MEMORY(making.features, error, "for a graph");
    for (uint32_t i = 0; i < side->graph->node_count; i++)
        making.features[i] = features_of_node(&making, i);
    fill(&making, shares);
    free(making.features);
    return BAT_OK;
}
