/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "infer.h"

#include <math.h>
#include <stdlib.h>

#include "branch_outcomes.h"
#include "flow_solver.h"
#include "spec/array.h"

/* Prices, for each unit of a count by which it differs. */
#define PRICE_SURE 100.0f /* a block of a sure match */
#define PRICE_EDGE 70.0f  /* a branch of two sure matches */
#define PRICE_SHARE 40.0f /* ... of which the shares are known, not the count */
#define PRICE_STATIC 10.0f
#define PRICE_ENTRY 500.0f
#define PRICE_ENTERED 30.0f   /* a landing pad, or another entry */
#define PRICE_EXIT 5000.0f    /* control ends where the code does not say so */
#define PRICE_EXIT_COLD 30.0f /* ... behind a call of what never ran: it may not return */
#define PRICE_CALL 100.0f     /* of more calls of a function than the old program made */
#define PRICE_CALL_END 300.0f /* ... that never ran, and does not return */
#define UP_FACTOR 0.6f        /* more than measured is likelier than less: samples get lost */
#define ZERO_FACTOR 0.5f      /* zero is weak: what never ran may run now */
#define PIECE_FACTOR 0.5f
#define EXTRA_FACTOR 0.4f
#define COPY_FACTOR 0.2f /* fewer than measured, where others have the code or ways, too */
#define OTHER_TABLE_FACTOR 0.1f
#define TABLES_FACTOR 4    /* so many times more jumps by tables are copies */
#define AROUND_FACTOR 0.6f /* an edge that leads past a block of the other program */
#define ROUNDED 0.999      /* counts of samples that differ by less are the same */
#define WAKE_MIN 20u   /* what runs less often tells nothing of a branch: counts differ by chance */
#define WAKE_SURE 0.3f /* ... nor what has a weaker match: it may be another block that runs */
#define NEW_WAY_FACTOR 0.1f /* share of a way that only the new program has */

struct inferring {
    const struct next_inference *given;
    const struct next_graph *a;
    const struct next_graph *b;
    struct flow_node *nodes;
    struct flow_edge *edges;
    float *shares;
    uint8_t *is_image;  /* old nodes that something is matched with */
    bool tables_differ; /* one build's compiler copied or merged jumps by tables */
    struct next_outcomes outcomes;
    uint32_t *enders; /* for each old node: how many new ones end as it */
    float power;      /* of the trust in matches and pieces: weak ones cost the less the higher */
};

void next_inferred_free(struct flow_counts *inferred)
{
    BAT_FREE_ALL(inferred->nodes, inferred->edges, inferred->entries);
    *inferred = (struct flow_counts){0};
}

static uint32_t price(float value)
{
    return value < 1 ? 1 : (uint32_t)(value + 0.5f);
}

static uint64_t round_count(double count)
{
    return count < 0 ? 0 : count >= (double)FLOW_MOST ? FLOW_MOST : (uint64_t)(count + 0.5);
}

static struct flow_wish wish(double count, float value)
{
    float up = round_count(count) == 0 ? ZERO_FACTOR : UP_FACTOR;
    return (struct flow_wish){round_count(count), price(value), price(value * up)};
}

static const struct next_matched *matched(const struct inferring *inferring, uint32_t node)
{
    static const struct next_matched nothing = {.old_of = BAT_NONE,
                                                .begins_as = BAT_NONE,
                                                .ends_as = BAT_NONE,
                                                .piece_of = BAT_NONE,
                                                .copy_of = BAT_NONE};
    const struct next_match *match = inferring->a ? inferring->given->match : NULL;
    return match ? &match->all[node] : &nothing;
}

/* From 0 to 1. */
static float trust(const struct inferring *inferring, const struct next_matched *match)
{
    /* Measured: of matches that are no likelier than others, 4 of 10 are right; 0.1 more, 7. */
    float distinct = fminf(0.8f, fmaxf(0.1f, 0.45f + 3 * match->margin));
    float alike = 0.2f + 0.8f * fmaxf(0.1f, match->confidence);
    return powf((distinct + alike) / 2, inferring->power);
}

static bool ends_in_table(const struct next_graph *graph, uint32_t node)
{
    return graph->out[node] < graph->out[node + 1] &&
           graph->links[graph->out[node]].kind == NEXT_EDGE_TABLE;
}

/* A jump by a table that is one in one build, and in the other at the end of each of its cases, has
 * other counts. */
static bool is_other_table(const struct inferring *inferring, uint32_t node)
{
    return inferring->tables_differ && ends_in_table(inferring->b, node);
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* What is known of what a node calls. */
struct called {
    uint64_t most; /* how often it was called in the old program */
    bool stops;    /* one of them does not return */
};

static struct called find_called(const struct inferring *inferring, uint32_t node)
{
    const struct next_program *program = inferring->given->new_side->program;
    const uint64_t *most_of = inferring->given->most_calls;
    const struct next_instruction *code = inferring->b->nodes[node].code;
    struct called called = {.most = UINT64_MAX};
    for (uint32_t i = 0; i < inferring->b->nodes[node].code_count && most_of; i++) {
        if (code[i].callee == BAT_NONE)
            continue;
        const uint64_t most = most_of[code[i].callee];
        called.most = most < called.most ? most : called.most;
        called.stops = called.stops || next_never_returns(program, code[i].callee);
    }
    return called;
}

static uint32_t ways(const struct next_graph *graph, uint32_t node)
{
    return graph->out[node + 1] - graph->out[node];
}

static float measured_link(const struct inferring *inferring, uint32_t link, double *count);

/* True if all of some links are the old program's, where they had less than that. numbers: of the
 * links to a node: one of a matched node has what that had at most; NULL: those from a node are one
 * after the other. */
static bool had_less(const struct inferring *inferring, const uint32_t *numbers, uint32_t first,
                     uint32_t end, double least)
{
    double sum = 0;
    for (uint32_t i = first; i < end; i++) {
        uint32_t link = numbers ? numbers[i] : i;
        uint32_t from = matched(inferring, inferring->b->links[link].from)->old_of;
        double count;
        if (measured_link(inferring, link, &count) <= 0) {
            if (!numbers || from == BAT_NONE || !inferring->a->nodes[from].is_reached)
                return false;
            count = inferring->a->nodes[from].count;
        }
        sum += count;
    }
    return first < end && sum < least;
}

/* True if the ways to a node, or those from it, are only some of the old node's, and others ran,
 * too: that part of its count is elsewhere now, as when a compiler copies a return. */
static bool has_fewer_ways(const struct inferring *inferring, uint32_t node, uint32_t old_node)
{
    const struct next_graph *a = inferring->a;
    const struct next_graph *b = inferring->b;
    const struct next_segment *at = next_first_segment(b, node);
    double least = a->nodes[old_node].count * ROUNDED;
    bool is_entered =
        node == b->entry ||
        (at->begins && next_segment_block(inferring->given->new_side->program, at)->is_entered);
    uint32_t arrivals = b->into[node + 1] - b->into[node];
    return (!is_entered && arrivals < a->into[old_node + 1] - a->into[old_node] &&
            had_less(inferring, b->by_target, b->into[node], b->into[node + 1], least)) ||
           (ways(b, node) < ways(a, old_node) &&
            had_less(inferring, NULL, b->out[node], b->out[node + 1], least));
}

static struct flow_wish wish_of_node(const struct inferring *inferring, uint32_t node,
                                     struct called called)
{
    const struct next_matched *match = matched(inferring, node);
    double scale = inferring->given->scale;
    if (called.stops && called.most == 0)
        return (struct flow_wish){0, 0, price(PRICE_CALL_END)};
    if (match->old_of != BAT_NONE && inferring->a->nodes[match->old_of].is_reached) {
        const struct next_node *old_node = &inferring->a->nodes[match->old_of];
        float value = PRICE_SURE * trust(inferring, match) * (match->extra > 0 ? EXTRA_FACTOR : 1);
        if (is_other_table(inferring, node))
            value *= OTHER_TABLE_FACTOR;
        struct flow_wish made = wish((old_node->count + match->extra) * scale, value);
        if (match->is_copied || has_fewer_ways(inferring, node, match->old_of))
            made.less = price(value * COPY_FACTOR);
        return made;
    }
    if (match->piece_of != BAT_NONE && inferring->a->nodes[match->piece_of].is_reached) {
        float value = PRICE_SURE * PIECE_FACTOR * powf(match->confidence, inferring->power);
        struct flow_wish made = wish(inferring->a->nodes[match->piece_of].count * scale, value);
        if (match->is_copied)
            made.less = price(value * COPY_FACTOR);
        return made;
    }
    if (called.most < UINT64_MAX)
        return (struct flow_wish){round_count((double)called.most * scale), 0, price(PRICE_CALL)};
    return (struct flow_wish){0};
}

static struct flow_wish wish_of_exit(const struct inferring *inferring, uint32_t node,
                                     struct called called)
{
    const struct next_segment *at = next_last_segment(inferring->b, node);
    const struct next_block *block = next_segment_block(inferring->given->new_side->program, at);
    /* What returns from a callee in place of its call goes on behind the call. */
    bool may_leave = at->ends && at->context == 0 &&
                     (block->end == NEXT_END_RETURN || block->end == NEXT_END_TAIL ||
                      block->end == NEXT_END_TAIL_IF || block->end == NEXT_END_TRAP);
    /* A program ends in exit(), though there is code behind the call. */
    if (may_leave || (called.stops && called.most > 0) ||
        inferring->b->out[node] == inferring->b->out[node + 1])
        return (struct flow_wish){0};
    return (struct flow_wish){0, 0, price(called.most == 0 ? PRICE_EXIT_COLD : PRICE_EXIT)};
}

static struct flow_wish wish_of_entry(const struct inferring *inferring, uint32_t node)
{
    const struct next_inference *given = inferring->given;
    const struct next_segment *at = next_first_segment(inferring->b, node);
    if (node == inferring->b->entry)
        return wish(given->entries, PRICE_ENTRY);
    /* Callees in place of calls have entry points, too. */
    bool is_called = at->context > 0 && inferring->b->contexts[at->context].entry == node;
    if (!next_segment_block(given->new_side->program, at)->is_entered || !at->begins || is_called)
        return (struct flow_wish){0, 0, FLOW_BOUND};
    uint32_t old_node = matched(inferring, node)->old_of;
    double count = old_node != BAT_NONE && given->entered ? given->entered[old_node] : 0;
    return wish(count * given->scale, PRICE_ENTERED);
}

/* --- Links ---------------------------------------------------------------------------------- */

/* How well the ends of two blocks agree. */
static float likeness_of_ends(const struct inferring *inferring, uint32_t old_node, uint32_t node)
{
    uint32_t olds = ways(inferring->a, old_node);
    uint32_t news = ways(inferring->b, node);
    if (olds == 2 && news == 2)
        return flooding_compare(inferring->given->old_side->conditions[old_node],
                                inferring->given->new_side->conditions[node]) == CONDITION_OTHER
                   ? 0.45f
                   : 1;
    return (olds <= 1 && news <= 1) || (olds > 2 && news > 2) ? 1 : 0.4f;
}

/* The count of the old link between two nodes. False if there is none. */
static bool old_link(const struct inferring *inferring, uint32_t from, uint32_t to, double *count)
{
    const struct next_graph *graph = inferring->a;
    bool is_there = false;
    *count = 0;
    for (uint32_t i = graph->out[from]; i < graph->out[from + 1]; i++)
        if (graph->links[i].to == to) {
            *count += graph->links[i].count;
            is_there = true;
        }
    return is_there;
}

/* The old program has blocks between the two that nothing is matched with. */
static bool old_link_around(const struct inferring *inferring, uint32_t from, uint32_t to,
                            double *count)
{
    const struct next_graph *graph = inferring->a;
    bool is_there = false;
    *count = 0;
    for (uint32_t i = graph->out[from]; i < graph->out[from + 1]; i++) {
        uint32_t between = graph->links[i].to;
        if (inferring->is_image[between] || ways(graph, between) != 1 ||
            graph->links[graph->out[between]].to != to)
            continue;
        *count += graph->links[i].count;
        is_there = true;
    }
    return is_there;
}

/* True if the new node leads directly to something that begins as the old one. */
static bool leads_to(const struct inferring *inferring, uint32_t node, uint32_t old_node)
{
    const struct next_graph *graph = inferring->b;
    for (uint32_t i = graph->out[node]; i < graph->out[node + 1]; i++)
        if (matched(inferring, graph->links[i].to)->begins_as == old_node)
            return true;
    return false;
}

/* True if the branches of two nodes test the same value, and their ways are known. */
static bool is_same_test(const struct inferring *inferring, uint32_t old_node, uint32_t node)
{
    const uint32_t tested = inferring->a->tested[old_node];
    return tested != 0 && tested == inferring->b->tested[node] && ways(inferring->b, node) == 2 &&
           ways(inferring->a, old_node) == 2 && likeness_of_ends(inferring, old_node, node) == 1;
}

/* The old count of a link; its price, or 0 if nothing is known. A test of the same value tells of
 * its ways whatever they lead to. */
static float measured_link(const struct inferring *inferring, uint32_t link, double *count)
{
    const struct next_link *all = &inferring->b->links[link];
    uint32_t from = matched(inferring, all->from)->ends_as;
    uint32_t to = matched(inferring, all->to)->begins_as;
    if (from == BAT_NONE || !inferring->a->nodes[from].is_reached || inferring->enders[from] > 1 ||
        is_other_table(inferring, all->from))
        return 0;
    const struct next_matched *from_match = matched(inferring, all->from);
    const struct next_matched *to_match = matched(inferring, all->to);
    float from_trust = from_match->old_of != BAT_NONE ? trust(inferring, from_match) : 0.4f;
    float to_trust = to_match->old_of != BAT_NONE ? trust(inferring, to_match) : 0.4f;
    float trusted =
        is_same_test(inferring, from, all->from) ? from_trust : fminf(from_trust, to_trust);
    float value = PRICE_EDGE * trusted * likeness_of_ends(inferring, from, all->from);
    if (to != BAT_NONE)
        return old_link(inferring, from, to, count)          ? value
               : old_link_around(inferring, from, to, count) ? value * AROUND_FACTOR
                                                             : 0;
    if (ways(inferring->b, all->to) != 1)
        return 0;
    to = matched(inferring, inferring->b->links[inferring->b->out[all->to]].to)->begins_as;
    if (to == BAT_NONE || leads_to(inferring, all->from, to) ||
        !old_link(inferring, from, to, count))
        return 0;
    return value * AROUND_FACTOR;
}

/* True if something that ran in the old program, or may have, is where a link leads. */
static bool is_known_way(const struct inferring *inferring, uint32_t link)
{
    const struct next_matched *match = matched(inferring, inferring->b->links[link].to);
    uint32_t old_node = match->old_of != BAT_NONE ? match->old_of : match->piece_of;
    return inferring->a && old_node != BAT_NONE &&
           (inferring->a->nodes[old_node].count > 0 || !inferring->a->nodes[old_node].is_reached);
}

/* Ways that ran in the old program are likelier than new ones. */
static void lower_new_ways(struct inferring *inferring, uint32_t node)
{
    const struct next_graph *graph = inferring->b;
    uint32_t known = 0;
    for (uint32_t i = graph->out[node]; i < graph->out[node + 1]; i++)
        known += is_known_way(inferring, i);
    if (known == 0 || known == ways(graph, node))
        return;
    float sum = 0;
    for (uint32_t i = graph->out[node]; i < graph->out[node + 1]; i++) {
        if (!is_known_way(inferring, i))
            inferring->shares[i] *= NEW_WAY_FACTOR;
        sum += inferring->shares[i];
    }
    for (uint32_t i = graph->out[node]; i < graph->out[node + 1]; i++)
        inferring->shares[i] /= sum;
}

/* The shares of the matched old branch, for the two links of a node. False if not known. */
static bool take_old_shares(const struct inferring *inferring, uint32_t node, float shares[2])
{
    const struct next_graph *a = inferring->a;
    const struct next_graph *b = inferring->b;
    uint32_t from = matched(inferring, node)->ends_as;
    if (from == BAT_NONE || ways(b, node) != 2 || ways(a, from) != 2)
        return false;
    enum flooding_condition condition = flooding_compare(
        inferring->given->old_side->conditions[from], inferring->given->new_side->conditions[node]);
    const struct next_link *olds = &a->links[a->out[from]];
    const struct next_link *news = &b->links[b->out[node]];
    double sum = olds[0].whole + olds[1].whole;
    if (condition == CONDITION_OTHER || !(sum > 0) || olds[0].kind == olds[1].kind ||
        news[0].kind == news[1].kind)
        return false;
    bool is_crossed = (olds[0].kind == news[0].kind) == (condition == CONDITION_INVERSE);
    shares[0] = (float)(olds[is_crossed].whole / sum);
    shares[1] = 1 - shares[0];
    return true;
}

/* True if the branch of a node tests another value than the old one that it is matched with.
 * *is_known: both values are known. */
static bool tests_other_value(const struct inferring *inferring, uint32_t node, bool *is_known)
{
    const uint32_t from = matched(inferring, node)->ends_as;
    *is_known = false;
    if (from == BAT_NONE)
        return false;
    const uint32_t old_tested = inferring->a->tested[from];
    const uint32_t tested = inferring->b->tested[node];
    *is_known = old_tested != 0 && tested != 0;
    return old_tested != tested;
}

/* What the old program tells of the shares of a node's ways: their price, or 0 for nothing.
 * *is_other: its counts tell nothing, as two tests have changed places. */
static float find_old_shares(const struct inferring *inferring, uint32_t node, float shares[2],
                             bool *is_other)
{
    const struct next_matched *match = matched(inferring, node);
    const bool has_old = take_old_shares(inferring, node, shares);
    bool is_known;
    bool is_only;
    *is_other = tests_other_value(inferring, node, &is_known);
    if ((!has_old || *is_other) &&
        next_outcomes_shares(&inferring->outcomes, inferring->given->new_side, node, shares,
                             &is_only)) {
        *is_other = *is_other && is_known && is_only;
        return *is_other ? PRICE_EDGE : PRICE_SHARE;
    }
    *is_other = false;
    float content = match->old_of != BAT_NONE ? match->content : 0;
    return has_old ? PRICE_SHARE * (0.4f + 0.6f * content) : 0;
}

static void set_links(struct inferring *inferring, uint32_t node, struct called called)
{
    const struct next_graph *graph = inferring->b;
    uint32_t first = graph->out[node];
    float old_shares[2];
    bool is_other;
    const float share_price = find_old_shares(inferring, node, old_shares, &is_other);
    for (uint32_t i = first; i < graph->out[node + 1]; i++) {
        struct flow_edge *edge = &inferring->edges[i];
        double count;
        float value = is_other ? 0 : measured_link(inferring, i, &count);
        *edge = (struct flow_edge){.from = graph->links[i].from, .to = graph->links[i].to};
        if (value > 0) {
            edge->count = wish(count * inferring->given->scale, value);
            edge->count.more = edge->count.less;
            continue;
        }
        float share = share_price > 0 ? old_shares[i - first] : inferring->shares[i];
        edge->share = (uint32_t)(share * FLOW_WHOLE + 0.5f);
        edge->share_price = price(share_price > 0 ? share_price : PRICE_STATIC);
        if (ways(graph, node) == 1)
            edge->share_price = 1;
        if (called.stops) {
            edge->share_price = 0;
            edge->count = wish(0, PRICE_EDGE);
        }
    }
}

/* --- What never ran -------------------------------------------------------------------------- */

enum awake { UNKNOWN, ASLEEP, AWAKE };

/* Tell of each node that never ran whether it or a dominator is awake; the others are asleep. */
static void spread(const struct next_graph *graph, const uint32_t *dominators, uint8_t *all)
{
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].count > 0 || (all[i] == UNKNOWN && dominators[i] == BAT_NONE))
            all[i] = ASLEEP;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t known = i;
        while (all[known] == UNKNOWN)
            known = dominators[known];
        for (uint32_t at = i; all[at] == UNKNOWN; at = dominators[at])
            all[at] = all[known];
    }
}

enum bat_code next_wake(struct next_graph *old_graph, const uint32_t *dominators,
                        const struct next_match *match, const uint64_t *counts,
                        struct bat_error *error)
{
    uint8_t *all = calloc((size_t)old_graph->node_count + 1, sizeof(*all));
    BAT_TRY_MEMORY(all, error, "for counts of blocks");
    for (uint32_t j = 0; j < match->count; j++)
        if (match->all[j].old_of != BAT_NONE && match->all[j].confidence >= WAKE_SURE &&
            counts[j] >= WAKE_MIN)
            all[match->all[j].old_of] = AWAKE;
    spread(old_graph, dominators, all);
    for (uint32_t i = 0; i < old_graph->node_count; i++)
        old_graph->nodes[i].is_reached &= all[i] != AWAKE;
    free(all);
    return BAT_OK;
}

/* --- All of it ------------------------------------------------------------------------------ */

static bool allocate_counts(const struct next_graph *graph, struct flow_counts *counts)
{
    size_t nodes = (size_t)graph->node_count + 1;
    size_t links = (size_t)graph->link_count + 1;
    *counts = (struct flow_counts){.nodes = calloc(nodes, sizeof(*counts->nodes)),
                                   .edges = calloc(links, sizeof(*counts->edges)),
                                   .entries = calloc(nodes, sizeof(*counts->entries))};
    return counts->nodes && counts->edges && counts->entries;
}

static bool allocate(struct inferring *inferring)
{
    size_t nodes = (size_t)inferring->b->node_count + 1;
    size_t links = (size_t)inferring->b->link_count + 1;
    inferring->nodes = calloc(nodes, sizeof(*inferring->nodes));
    inferring->edges = calloc(links, sizeof(*inferring->edges));
    inferring->shares = malloc(links * sizeof(*inferring->shares));
    inferring->is_image = calloc(inferring->a ? (size_t)inferring->a->node_count + 1 : 1, 1);
    inferring->enders =
        calloc(inferring->a ? (size_t)inferring->a->node_count + 1 : 1, sizeof(*inferring->enders));
    return inferring->nodes && inferring->edges && inferring->shares && inferring->is_image &&
           inferring->enders;
}

static uint32_t count_tables(const struct next_graph *graph)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        count += ends_in_table(graph, i);
    return count;
}

static void prepare(struct inferring *inferring)
{
    uint32_t olds = inferring->a ? count_tables(inferring->a) : 0;
    uint32_t news = count_tables(inferring->b);
    inferring->tables_differ = olds > TABLES_FACTOR * news || news > TABLES_FACTOR * olds;
    for (uint32_t i = 0; i < inferring->b->node_count && inferring->given->match; i++) {
        const struct next_matched *match = matched(inferring, i);
        if (match->ends_as != BAT_NONE)
            inferring->enders[match->ends_as]++;
        if (match->old_of != BAT_NONE)
            inferring->is_image[match->old_of] = 1;
        if (match->piece_of != BAT_NONE)
            inferring->is_image[match->piece_of] = 1;
    }
    for (uint32_t i = 0; i < inferring->b->link_count; i++)
        inferring->shares[i] = inferring->given->shares[i];
    for (uint32_t i = 0; i < inferring->b->node_count; i++)
        lower_new_ways(inferring, i);
}

/* Find the counts that cost least, by a power of the trust in matches. */
static enum bat_code solve(struct inferring *inferring, const struct flow_graph *graph, float power,
                           struct flow_counts *counts, struct bat_error *error)
{
    inferring->power = power;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct called called = find_called(inferring, i);
        inferring->nodes[i] = (struct flow_node){.count = wish_of_node(inferring, i, called),
                                                 .entry = wish_of_entry(inferring, i),
                                                 .exit = wish_of_exit(inferring, i, called)};
        set_links(inferring, i, called);
    }
    return flow_solve(graph, counts, error);
}

enum bat_code next_infer(const struct next_inference *inference, struct flow_counts *inferred,
                         struct bat_error *error)
{
    struct inferring inferring = {.given = inference,
                                  .a = inference->old_side ? inference->old_side->graph : NULL,
                                  .b = inference->new_side->graph};
    struct flow_counts other;
    bool has_memory = allocate_counts(inferring.b, inferred);
    has_memory = allocate_counts(inferring.b, &other) && has_memory;
    has_memory = allocate(&inferring) && has_memory;
    enum bat_code code = has_memory ? BAT_OK : bat_fail_memory(error, "for counts of blocks");
    const struct flow_graph graph = {.nodes = inferring.nodes,
                                     .edges = inferring.edges,
                                     .node_count = inferring.b->node_count,
                                     .edge_count = inferring.b->link_count,
                                     .entry = inferring.b->entry,
                                     .is_brief = inference->is_brief};
    code = code ? code
                : next_outcomes_open(inference->old_side, inference->new_side, &inferring.outcomes,
                                     error);
    if (code == BAT_OK)
        prepare(&inferring);
    code = code ? code : solve(&inferring, &graph, 1, inferred, error);
    if (!inference->is_brief) {
        code = code ? code : solve(&inferring, &graph, 2, &other, error);
        code = code ? code : flow_mean(&graph, inferred, &other, error);
    }
    next_inferred_free(&other);
    next_outcomes_free(&inferring.outcomes);
    BAT_FREE_ALL(inferring.nodes, inferring.edges, inferring.shares, inferring.is_image,
                 inferring.enders);
    return code;
}
