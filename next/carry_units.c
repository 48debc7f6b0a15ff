/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Infers the counts of changed functions, pair by pair. */
#include <stdlib.h>
#include <string.h>

#include "binary/functions/name_parts.h"
#include "carrying.h"
#include "infer.h"
#include "spec/array.h"
#include "support/key_sort.h"
#include "support/parallel.h"
#include "values.h"

/* Pairs that are inferred at once: so many, or of so many blocks. */
#define BATCH_PAIRS 1024u
#define BATCH_NODES 65536u
#define BATCH_FIRST 32u /* pairs of the first one, as no thread works while it is opened, ... */
#define BATCH_FACTOR 4u /* ... and so many times more in each of the next */

/* Functions that have the last part of the counts together are inferred with less work, if there
 * are many: few are quick. */
#define BRIEF_SHARE 0.1
#define FULL_MIN 256u

/* A pair of functions, with all that is made to compare them; or a new one of which nothing is
 * known but how often it is entered. */
struct unit_pair {
    bool is_new;
    double entries; /* how often the new one is entered */
    double scale;   /* of the old one's counts */
    bool is_brief;
    struct next_graph graphs[2]; /* old, new */
    struct flooding_side sides[2];
    struct next_match match;
    struct flow_counts inferred;
    double *entered; /* for each old node */
    float *shares;   /* of the new graph's links, by the code alone */
    enum bat_code code;
    struct bat_error error;
};

static void pair_free(struct unit_pair *pair)
{
    next_inferred_free(&pair->inferred);
    next_match_free(&pair->match);
    for (unsigned side = 0; side < 2; side++) {
        flooding_free(&pair->sides[side]);
        next_graph_free(&pair->graphs[side]);
    }
    BAT_FREE_ALL(pair->entered, pair->shares);
}

void next_new_counts_free(struct next_new_counts *counts)
{
    if (counts)
        BAT_FREE_ALL(counts->blocks, counts->edges, counts->entered, counts->is_known, counts);
}

enum bat_code next_new_counts_of(struct next_carrying *carrying, uint32_t unit,
                                 struct next_new_counts **counts)
{
    const struct next_unit *code_of;
    BAT_TRY(next_unit_get(&carrying->news, unit, &code_of, carrying->error));
    *counts = carrying->counts[unit];
    if (*counts)
        return BAT_OK;
    struct next_new_counts *made = calloc(1, sizeof(*made));
    if (!made)
        return bat_fail_memory(carrying->error, "for counts");
    carrying->counts[unit] = *counts = made;
    made->blocks = calloc((size_t)code_of->block_count + 1, sizeof(*made->blocks));
    made->entered = calloc((size_t)code_of->block_count + 1, sizeof(*made->entered));
    made->edges = calloc((size_t)code_of->edge_count + 1, sizeof(*made->edges));
    made->is_known = calloc((size_t)code_of->block_count + 1, 1);
    return made->blocks && made->entered && made->edges && made->is_known
               ? BAT_OK
               : bat_fail_memory(carrying->error, "for counts");
}

/* --- The result ----------------------------------------------------------------------------- */

/* The old node that a new one is, or is a piece of; BAT_NONE. */
static uint32_t old_node_of(const struct next_matched *match)
{
    return match->old_of != BAT_NONE ? match->old_of : match->piece_of;
}

static bool is_known(const struct unit_pair *pair, uint32_t node)
{
    return pair->match.all && old_node_of(&pair->match.all[node]) != BAT_NONE;
}

/* Add the counts of a node of the new graph to those of its segments' units. */
static enum bat_code add_node_counts(struct next_carrying *carrying, const struct unit_pair *pair,
                                     uint32_t node)
{
    const struct next_graph *graph = &pair->graphs[1];
    const uint64_t count = pair->inferred.nodes[node];
    const uint64_t known = is_known(pair, node) ? count : 0;
    for (uint32_t i = graph->nodes[node].first; i < graph->nodes[node].end; i++) {
        const struct next_segment *segment = &graph->segments[i];
        struct next_new_counts *counts;
        BAT_TRY(next_new_counts_of(carrying, segment->unit, &counts));
        if (segment->edge != BAT_NONE)
            counts->edges[segment->edge] += count;
        if (!segment->begins)
            continue;
        counts->blocks[segment->block] += count;
        if (i == graph->nodes[node].first && node != graph->entry)
            counts->entered[segment->block] += pair->inferred.entries[node];
        counts->is_known[segment->block] |= pair->is_new || is_known(pair, node);
        /* What a call was replaced by may be new, though its caller has a match. */
        if (segment->context == next_first_segment(graph, node)->context)
            counts->known += known;
        carrying->report->blocks += count;
        carrying->report->blocks_matched += known;
    }
    return BAT_OK;
}

/* Add the counts of the graph to those of its units. */
static enum bat_code add_counts(struct next_carrying *carrying, const struct unit_pair *pair)
{
    const struct next_graph *graph = &pair->graphs[1];
    for (uint32_t i = 0; i < graph->node_count; i++)
        BAT_TRY(add_node_counts(carrying, pair, i));
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct next_link *link = &graph->links[i];
        if (link->edge != BAT_NONE)
            carrying->counts[next_last_segment(graph, link->from)->unit]->edges[link->edge] +=
                pair->inferred.edges[i];
    }
    carrying->counts[graph->contexts[0].unit]->entries += pair->inferred.entries[graph->entry];
    for (uint32_t i = 1; i < graph->context_count; i++)
        carrying->counts[graph->contexts[i].unit]->entries +=
            pair->inferred.nodes[graph->contexts[i].caller];
    return BAT_OK;
}

/* All instructions of a node, with the part that each is in. */
struct code_walk {
    const struct next_program *program;
    const struct next_graph *graph;
    uint32_t segment;
    uint32_t end; /* of the segments */
    uint32_t at;  /* in the unit's instructions */
};

static struct code_walk begin_walk(const struct next_program *program,
                                   const struct next_graph *graph, uint32_t node)
{
    const uint32_t first = graph->nodes[node].first;
    return (struct code_walk){program, graph, first, graph->nodes[node].end,
                              graph->segments[first].first};
}

/* The next one that calls by pointer, or directly; NULL. *function: the part that it is in. */
static const struct next_instruction *next_call(struct code_walk *walk, bool by_pointer,
                                                uint32_t *function)
{
    while (walk->segment < walk->end) {
        const struct next_segment *segment = &walk->graph->segments[walk->segment];
        const struct next_instruction *code = walk->program->units[segment->unit]->instructions;
        const struct next_block *block = next_segment_block(walk->program, segment);
        *function = block->function;
        while ((by_pointer || block->has_callees) && walk->at < segment->end) {
            const struct next_instruction *found = &code[walk->at++];
            if (by_pointer ? (found->flags & NEXT_IS_INDIRECT) != 0 : found->callee != BAT_NONE)
                return found;
        }
        if (++walk->segment < walk->end)
            walk->at = segment[1].first;
    }
    return NULL;
}

/* Calls by pointer of two matched nodes are the same, in their order. */
static enum bat_code add_origins(struct next_carrying *carrying, const struct unit_pair *pair,
                                 uint32_t new_node)
{
    uint32_t old_node = pair->match.all[new_node].old_of;
    if (old_node == BAT_NONE)
        return BAT_OK;
    struct code_walk olds = begin_walk(&carrying->olds, &pair->graphs[0], old_node);
    struct code_walk news = begin_walk(&carrying->news, &pair->graphs[1], new_node);
    struct next_call_origin origin;
    const struct next_instruction *a;
    const struct next_instruction *b;
    while ((a = next_call(&olds, true, &origin.old_function)) != NULL &&
           (b = next_call(&news, true, &origin.function)) != NULL) {
        origin.offset = b->offset;
        origin.old_offset = a->offset;
        if (!BAT_APPEND(carrying->origins, carrying->origin_count, carrying->origin_capacity,
                        origin))
            return bat_fail_memory(carrying->error, "for calls");
    }
    return BAT_OK;
}

/* The unit that starts where an instruction calls; BAT_NONE. */
static uint32_t called_unit(const struct next_program *program,
                            const struct next_instruction *instruction)
{
    uint32_t unit = program->unit_of[instruction->callee];
    return unit != BAT_NONE && program->first_part[unit] == instruction->callee ? unit : BAT_NONE;
}

/* Matched nodes with calls: the new function of one may stand for the old one in its place. */
static enum bat_code add_replacements(struct next_carrying *carrying, const struct unit_pair *pair,
                                      uint32_t new_node)
{
    uint32_t old_node = pair->match.all[new_node].old_of;
    if (old_node == BAT_NONE)
        return BAT_OK;
    struct code_walk olds = begin_walk(&carrying->olds, &pair->graphs[0], old_node);
    struct code_walk news = begin_walk(&carrying->news, &pair->graphs[1], new_node);
    uint32_t function;
    const struct next_instruction *a;
    const struct next_instruction *b;
    while ((a = next_call(&olds, false, &function)) != NULL &&
           (b = next_call(&news, false, &function)) != NULL) {
        uint32_t old_unit = called_unit(&carrying->olds, a);
        uint32_t new_unit = called_unit(&carrying->news, b);
        if (old_unit == BAT_NONE || new_unit == BAT_NONE ||
            carrying->pairs.old_of[new_unit] != BAT_NONE || !carrying->measured.units[old_unit])
            continue;
        if (!BAT_APPEND(
                carrying->replacements, carrying->replacement_count, carrying->replacement_capacity,
                (struct next_replacement){new_unit, old_unit, pair->inferred.nodes[new_node]}))
            return bat_fail_memory(carrying->error, "for calls");
    }
    return BAT_OK;
}

/* --- A pair --------------------------------------------------------------------------------- */

/* How often each old node was entered from elsewhere. */
static enum bat_code find_entered(struct next_carrying *carrying, struct unit_pair *pair)
{
    const struct next_graph *graph = &pair->graphs[0];
    pair->entered = calloc((size_t)graph->node_count + 1, sizeof(*pair->entered));
    if (!pair->entered)
        return bat_fail_memory(carrying->error, "for counts");
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct next_segment *at = next_first_segment(graph, i);
        if (at->begins && at->context == 0 && carrying->measured.units[at->unit])
            pair->entered[i] = (double)carrying->measured.units[at->unit]->entered[at->block];
    }
    return BAT_OK;
}

/* The new graph of a pair. */
static enum bat_code open_new(struct next_carrying *carrying, uint32_t new_unit,
                              struct next_inlining inlining, struct unit_pair *pair)
{
    BAT_TRY(next_graph_make(&carrying->news, NULL, new_unit, inlining, &pair->graphs[1],
                            carrying->error));
    return flooding_open(&carrying->news, &pair->graphs[1], &pair->sides[1], carrying->error);
}

/* Read all that inferring needs: programs change with it, but not behind it. */
static enum bat_code open_pair(struct next_carrying *carrying, uint32_t old_unit, uint32_t new_unit,
                               struct unit_pair *pair)
{
    struct next_inlining inlining[2];
    if (pair->is_new)
        return open_new(carrying, new_unit, (struct next_inlining){0}, pair);
    enum bat_code code = next_choose_inlining(carrying, old_unit, new_unit, inlining);
    if (code == BAT_OK)
        code = next_graph_make(&carrying->olds, &carrying->measured, old_unit, inlining[0],
                               &pair->graphs[0], carrying->error);
    if (code == BAT_OK)
        code = next_find_tested(&carrying->olds, &pair->graphs[0], carrying->error);
    if (code == BAT_OK)
        code = flooding_open(&carrying->olds, &pair->graphs[0], &pair->sides[0], carrying->error);
    code = code ? code : open_new(carrying, new_unit, inlining[1], pair);
    code = code ? code : next_find_tested(&carrying->news, &pair->graphs[1], carrying->error);
    code =
        code ? code : next_keep_shared_tests(&pair->graphs[0], &pair->graphs[1], carrying->error);
    return code ? code : find_entered(carrying, pair);
}

/* True for the function to explain: its name, or that without the number that tells it from others.
 */
static bool is_explained(const struct next_carrying *carrying, uint32_t unit)
{
    const char *name = next_unit_name(&carrying->news, unit);
    const char *wanted = carrying->options->explain;
    size_t length = strlen(wanted);
    return strcmp(name, wanted) == 0 ||
           (unnumbered_name_length(name) == length && memcmp(name, wanted, length) == 0);
}

/* Explain a segment of a new node; the old one at its place in the node that this is, if it is one,
 * was that. */
static void explain_segment(const struct next_carrying *carrying, const struct unit_pair *pair,
                            uint32_t node, uint32_t number)
{
    static const struct next_matched nothing = {.old_of = BAT_NONE, .piece_of = BAT_NONE};
    const struct next_matched *match = pair->is_new ? &nothing : &pair->match.all[node];
    const struct next_segment *segment = &pair->graphs[1].segments[number];
    const struct next_block *block = next_segment_block(&carrying->news, segment);
    const uint32_t old_node = old_node_of(match);
    struct next_explained explained = {.unit = next_unit_name(&carrying->news, segment->unit),
                                       .function = carrying->news.all[block->function].name,
                                       .offset = block->start,
                                       .is_piece = match->old_of == BAT_NONE,
                                       .confidence = match->confidence,
                                       .content = match->content,
                                       .count = pair->inferred.nodes[node]};
    if (old_node != BAT_NONE) {
        const struct next_node *old = &pair->graphs[0].nodes[old_node];
        const uint32_t place = number - pair->graphs[1].nodes[node].first;
        const uint32_t last = old->end - old->first - 1;
        const struct next_segment *other =
            &pair->graphs[0].segments[old->first + (place < last ? place : last)];
        const struct next_block *old_block = next_segment_block(&carrying->olds, other);
        explained.old_function = carrying->olds.all[old_block->function].name;
        explained.old_offset = old_block->start;
        explained.old_count = (uint64_t)old->count;
    }
    carrying->options->explained(&explained, carrying->options->explain_context);
}

/* Explain those blocks of a pair, if that is wanted, that are of the function: it may be a part.
 * Of all functions, those that stand in place of calls are not explained there. */
static void explain(const struct next_carrying *carrying, const struct unit_pair *pair)
{
    const struct next_carry_options *options = carrying->options;
    const struct next_graph *graph = &pair->graphs[1];
    for (uint32_t i = 0; options->explained && i < graph->node_count; i++)
        for (uint32_t k = graph->nodes[i].first; k < graph->nodes[i].end; k++)
            if (options->explain ? is_explained(carrying, graph->segments[k].unit)
                                 : graph->segments[k].context == 0)
                explain_segment(carrying, pair, i, k);
}

/* False for a function of which no block could be read. */
static bool is_readable(const struct unit_pair *pair)
{
    return (pair->is_new || pair->graphs[0].node_count > 0) && pair->graphs[1].node_count > 0;
}

static enum bat_code find_shares(const struct next_carrying *carrying, struct unit_pair *pair)
{
    pair->shares = malloc(((size_t)pair->graphs[1].link_count + 1) * sizeof(*pair->shares));
    BAT_TRY_MEMORY(pair->shares, &pair->error, "for counts of blocks");
    return next_static_shares(&pair->sides[1], carrying->most_calls, pair->shares, &pair->error);
}

/* Infer the counts of a new function from how often it is entered, and what its code tells. */
static void infer_alone(const struct next_carrying *carrying, struct unit_pair *pair)
{
    const struct next_inference inference = {.new_side = &pair->sides[1],
                                             .most_calls = carrying->most_calls,
                                             .shares = pair->shares,
                                             .scale = 1,
                                             .entries = pair->entries,
                                             .is_brief = true};
    pair->code = next_infer(&inference, &pair->inferred, &pair->error);
}

/* Infer the counts of a pair that is open. It changes the pair alone. */
static void infer_pair(const struct next_carrying *carrying, struct unit_pair *pair)
{
    if (!is_readable(pair))
        return;
    pair->code = find_shares(carrying, pair);
    if (pair->code != BAT_OK)
        return;
    if (pair->is_new) {
        infer_alone(carrying, pair);
        return;
    }
    pair->code = next_match_blocks(&pair->sides[0], &pair->sides[1], pair->is_brief, &pair->match,
                                   &pair->error);
    struct next_inference inference = {.old_side = &pair->sides[0],
                                       .new_side = &pair->sides[1],
                                       .match = &pair->match,
                                       .most_calls = carrying->most_calls,
                                       .shares = pair->shares,
                                       .scale = pair->scale,
                                       .entries = pair->entries,
                                       .entered = pair->entered,
                                       .is_brief = true}; /* for the second match */
    if (pair->code == BAT_OK)
        pair->code = next_infer(&inference, &pair->inferred, &pair->error);
    if (pair->is_brief || pair->code != BAT_OK)
        return;
    pair->code = next_wake(&pair->graphs[0], pair->sides[0].dominators, &pair->match,
                           pair->inferred.nodes, &pair->error);
    if (pair->code == BAT_OK)
        pair->code = next_match_again(&pair->sides[0], &pair->sides[1], pair->inferred.nodes,
                                      pair->scale, &pair->match, &pair->error);
    next_inferred_free(&pair->inferred);
    inference.is_brief = false;
    if (pair->code == BAT_OK)
        pair->code = next_infer(&inference, &pair->inferred, &pair->error);
}

/* How often the blocks of each context of the old graph ran, and how often those of them that are
 * in the new one. */
struct context_counts {
    double all;
    double found;
};

/* Count the calls that the old graph has blocks in place of, if at least half of these are in the
 * new one: it has inlined them. */
static enum bat_code add_inlined(struct next_carrying *carrying, const struct unit_pair *pair)
{
    const struct next_graph *graph = &pair->graphs[0];
    if (graph->context_count <= 1)
        return BAT_OK;
    struct context_counts *counts = calloc(graph->context_count, sizeof(*counts));
    BAT_TRY_MEMORY(counts, carrying->error, "for calls");
    for (uint32_t i = 0; i < graph->node_count; i++)
        for (uint32_t k = graph->nodes[i].first; k < graph->nodes[i].end; k++)
            counts[graph->segments[k].context].all += graph->nodes[i].count;
    for (uint32_t j = 0; j < pair->match.count; j++) {
        const uint32_t i = old_node_of(&pair->match.all[j]);
        for (uint32_t k = 0; i != BAT_NONE && k < graph->nodes[i].end - graph->nodes[i].first; k++)
            counts[next_first_segment(graph, i)[k].context].found += graph->nodes[i].count;
    }
    for (uint32_t i = 1; i < graph->context_count; i++) {
        const struct next_context *context = &graph->contexts[i];
        if (counts[i].found >= counts[i].all / 2)
            carrying->inlined[context->unit] += graph->nodes[context->caller].count * pair->scale;
    }
    free(counts);
    return BAT_OK;
}

/* Add what was inferred to the new program's counts. */
static enum bat_code add_pair(struct next_carrying *carrying, const struct unit_pair *pair)
{
    if (pair->code != BAT_OK)
        *carrying->error = pair->error;
    if (pair->code != BAT_OK || !is_readable(pair))
        return pair->code;
    carrying->report->limited += pair->inferred.was_limited;
    explain(carrying, pair);
    enum bat_code code = add_inlined(carrying, pair);
    code = code ? code : add_counts(carrying, pair);
    for (uint32_t i = 0; i < pair->match.count && code == BAT_OK; i++) {
        code = add_origins(carrying, pair, i);
        code = code ? code : add_replacements(carrying, pair, i);
    }
    return code;
}

/* --- All pairs ------------------------------------------------------------------------------ */

struct batch {
    struct unit_pair *pairs;           /* they stay in place: their parts refer to each other */
    const struct bat_sort_key *sorted; /* the largest first */
    uint32_t count;
};

/* Two batches: while the pairs of one are inferred, those of the next are opened. */
struct batches {
    struct next_carrying *carrying;
    const struct next_unit_pair *all;
    uint32_t count;
    uint32_t next;     /* of all: those before were opened */
    uint32_t capacity; /* of a batch */
    uint32_t most;     /* pairs of the next batch */
    struct batch opened;
    struct batch inferred;
    enum bat_code code; /* of opening */
};

static uint32_t nodes_of(const struct unit_pair *pair)
{
    return pair->graphs[0].node_count + pair->graphs[1].node_count;
}

static void empty_batch(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        pair_free(&batch->pairs[i]);
    batch->count = 0;
}

/* Open the next pairs, until the batch is full, in place of those that were added. */
static void open_batch(struct batches *batches)
{
    struct next_carrying *carrying = batches->carrying;
    struct batch *batch = &batches->opened;
    uint32_t nodes = 0;
    empty_batch(batch);
    while (batches->next < batches->count && batch->count < batches->most && nodes < BATCH_NODES &&
           batches->code == BAT_OK) {
        const struct next_unit_pair *units = &batches->all[batches->next++];
        struct unit_pair *pair = &batch->pairs[batch->count++];
        *pair = (struct unit_pair){.is_new = units->old_unit == BAT_NONE,
                                   .entries = units->entries,
                                   .scale = units->scale,
                                   .is_brief = units->is_brief};
        batches->code = open_pair(carrying, units->old_unit, units->new_unit, pair);
        nodes += nodes_of(pair);
    }
    batches->most = batches->capacity / BATCH_FACTOR < batches->most ? batches->capacity
                                                                     : batches->most * BATCH_FACTOR;
}

/* The first item is to open the next batch, the others are the pairs of the one that is open. */
static void work_on_batches(void *context, size_t first, size_t end, unsigned thread)
{
    struct batches *batches = context;
    (void)thread;
    for (size_t i = first; i < end; i++)
        if (i == 0)
            open_batch(batches);
        else
            infer_pair(batches->carrying,
                       &batches->inferred.pairs[batches->inferred.sorted[i - 1].value]);
}

/*
 * Infer the pairs of a batch in several threads, one of which opens the next batch; then add their
 * counts in order. The largest pairs come first, so that no thread works on one when the others are
 * done.
 */
static enum bat_code run_batch(struct batches *batches)
{
    struct next_carrying *carrying = batches->carrying;
    struct batch *batch = &batches->inferred;
    unsigned threads = bat_parallel_threads(carrying->options->threads, (size_t)batch->count + 1);
    struct bat_sort_key *order = malloc((2 * (size_t)batch->count + 1) * sizeof(*order));
    if (!order)
        return bat_fail_memory(carrying->error, "for functions");
    for (uint32_t i = 0; i < batch->count; i++)
        order[i] =
            (struct bat_sort_key){.key = UINT32_MAX - nodes_of(&batch->pairs[i]), .value = i};
    batch->sorted = bat_sort_keys(order, order + batch->count, batch->count);
    bat_parallel_run((size_t)batch->count + 1, 1, threads, work_on_batches, batches);
    free(order);
    enum bat_code code = batches->code;
    for (uint32_t i = 0; i < batch->count && code == BAT_OK; i++)
        code = add_pair(carrying, &batch->pairs[i]);
    return code;
}

enum bat_code next_infer_pairs(struct next_carrying *carrying, const struct next_unit_pair *pairs,
                               uint32_t count)
{
    struct batches batches = {.carrying = carrying,
                              .all = pairs,
                              .count = count,
                              .capacity = count < BATCH_PAIRS ? count : BATCH_PAIRS,
                              .most = count < BATCH_FIRST ? count : BATCH_FIRST};
    batches.opened.pairs = bat_array_new(batches.capacity, sizeof(struct unit_pair));
    batches.inferred.pairs = bat_array_new(batches.capacity, sizeof(struct unit_pair));
    if (!batches.opened.pairs || !batches.inferred.pairs)
        batches.code = bat_fail_memory(carrying->error, "for functions");
    open_batch(&batches);
    while (batches.opened.count > 0 && batches.code == BAT_OK) {
        const struct batch added = batches.inferred;
        batches.inferred = batches.opened;
        batches.opened = added;
        batches.code = run_batch(&batches);
    }
    empty_batch(&batches.opened);
    empty_batch(&batches.inferred);
    BAT_FREE_ALL(batches.opened.pairs, batches.inferred.pairs);
    return batches.code;
}

/* Set is_brief of the pairs with the fewest counts, which together have BRIEF_SHARE of them. */
static enum bat_code choose_brief(const struct next_carrying *carrying,
                                  struct next_unit_pair *pairs, uint32_t count)
{
    struct bat_sort_key *keys = malloc((2 * (size_t)count + 1) * sizeof(*keys));
    BAT_TRY_MEMORY(keys, carrying->error, "for functions");
    double left = 0;
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = (struct bat_sort_key){.key = carrying->measured.units[pairs[i].old_unit]->total,
                                        .value = i};
        left += BRIEF_SHARE * (double)keys[i].key;
    }
    const struct bat_sort_key *sorted = bat_sort_keys(keys, keys + count, count);
    for (uint32_t i = 0; i + FULL_MIN < count && left >= (double)sorted[i].key; i++) {
        left -= (double)sorted[i].key;
        pairs[sorted[i].value].is_brief = true;
    }
    free(keys);
    return BAT_OK;
}

/* True if a unit of the old program has samples, and a partner with other code. */
static bool is_changed(const struct next_carrying *carrying, uint32_t old_unit)
{
    const struct next_counts *counts = carrying->measured.units[old_unit];
    return counts && carrying->pairs.new_of[old_unit] != BAT_NONE && !carrying->is_same[old_unit] &&
           (counts->total > 0 || counts->entry > 0);
}

/* Note of all that a unit calls that it does. */
static void note_calls(const struct next_unit *unit, uint32_t caller, uint32_t *called_by)
{
    for (uint32_t i = 0; i < unit->instruction_count; i++)
        if (unit->instructions[i].callee != BAT_NONE)
            called_by[unit->instructions[i].callee] = caller;
}

/*
 * Mark the old units that a changed function called, and its partner does not call: their callers
 * may have inlined them. called_by, for the functions of both programs, is for this. Linear in the
 * recorded calls and in the code of changed functions that made them.
 */
static void find_inlined(const struct next_carrying *carrying, uint32_t *called_by[2],
                         uint8_t *may_be_inlined)
{
    const struct next_program *olds = &carrying->olds;
    const struct next_program *news = &carrying->news;
    for (size_t i = 0; i < carrying->measured.call_count; i++) {
        const struct next_call *call = &carrying->measured.calls[i];
        const uint32_t caller = olds->unit_of[call->function];
        const uint32_t called = call->target == BAT_NONE ? BAT_NONE : olds->unit_of[call->target];
        if (caller == BAT_NONE || !is_changed(carrying, caller))
            continue;
        if (i == 0 || call[-1].function != call->function) {
            note_calls(olds->units[caller], call->function, called_by[0]);
            note_calls(news->units[carrying->pairs.new_of[caller]], call->function, called_by[1]);
        }
        if (called == BAT_NONE || caller == called || olds->first_part[called] != call->target ||
            carrying->pairs.new_of[called] == BAT_NONE ||
            next_members_of(carrying, called).count > 0)
            continue;
        const uint32_t function = news->first_part[carrying->pairs.new_of[called]];
        if (called_by[0][call->target] == call->function &&
            called_by[1][function] != call->function)
            may_be_inlined[called] = 1;
    }
}

/* The numbers of functions, all BAT_NONE; NULL without memory. */
static uint32_t *new_numbers(uint32_t count)
{
    uint32_t *numbers = malloc(((size_t)count + 1) * sizeof(*numbers));
    for (uint32_t i = 0; i < count && numbers; i++)
        numbers[i] = BAT_NONE;
    return numbers;
}

static struct next_unit_pair pair_of(const struct next_carrying *carrying, uint32_t old_unit)
{
    return (struct next_unit_pair){.old_unit = old_unit,
                                   .new_unit = carrying->pairs.new_of[old_unit],
                                   .entries = (double)carrying->measured.units[old_unit]->entry,
                                   .scale = 1};
}

/* Infer those that may have been inlined: what their callers have inlined is there now, not here;
 * but what these still call is here. */
static enum bat_code infer_inlined(struct next_carrying *carrying, const uint8_t *may_be_inlined,
                                   struct next_unit_pair *pairs, uint32_t count)
{
    uint32_t kept = 0;
    double *calls = calloc((size_t)carrying->news.unit_count + 1, sizeof(*calls));
    BAT_TRY_MEMORY(calls, carrying->error, "for calls");
    next_count_calls(carrying, false, calls);
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++)
        if (may_be_inlined[i] && carrying->is_same[i] && carrying->inlined[i] > 0) {
            carrying->is_same[i] = 0;
            pairs[count++] = pair_of(carrying, i);
        }
    for (uint32_t i = 0; i < count; i++) {
        struct next_unit_pair pair = pairs[i];
        const double rest = pair.entries - carrying->inlined[pair.old_unit];
        const double left = rest > calls[pair.new_unit] ? rest : calls[pair.new_unit];
        if (left < pair.entries)
            pair.scale = left / pair.entries;
        pair.entries *= pair.scale;
        if (pair.scale > 0)
            pairs[kept++] = pair;
    }
    free(calls);
    return next_infer_pairs(carrying, pairs, kept);
}

enum bat_code next_infer_changed(struct next_carrying *carrying)
{
    const uint32_t units = carrying->olds.unit_count;
    struct next_unit_pair *pairs = malloc(((size_t)units + 1) * sizeof(*pairs));
    struct next_unit_pair *later = malloc(((size_t)units + 1) * sizeof(*later));
    uint8_t *may_be_inlined = calloc((size_t)units + 1, 1);
    uint32_t *called_by[2] = {new_numbers(carrying->olds.function_count),
                              new_numbers(carrying->news.function_count)};
    uint32_t count = 0;
    uint32_t later_count = 0;
    enum bat_code code = pairs && later && may_be_inlined && called_by[0] && called_by[1]
                             ? BAT_OK
                             : bat_fail_memory(carrying->error, "for functions");
    if (code == BAT_OK)
        find_inlined(carrying, called_by, may_be_inlined);
    for (uint32_t i = 0; i < units && code == BAT_OK; i++)
        if (is_changed(carrying, i))
            pairs[count++] = pair_of(carrying, i);
    code = code ? code : choose_brief(carrying, pairs, count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++)
        if (may_be_inlined[pairs[i].old_unit])
            later[later_count++] = pairs[i];
        else
            pairs[kept++] = pairs[i];
    code = code ? code : next_infer_pairs(carrying, pairs, kept);
    code = code ? code : infer_inlined(carrying, may_be_inlined, later, later_count);
    BAT_FREE_ALL(pairs, later, may_be_inlined, called_by[0], called_by[1]);
    return code;
}
