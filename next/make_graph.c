/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "make_graph.h"

#include <stdlib.h>

#include "join_segments.h"
#include "source_lines.h"
#include "spec/array.h"
#include "spec/order.h"

struct graph_making {
    struct next_program *program;
    const struct next_measured *measured;
    struct next_inlining inlining;
    struct next_made_segment *made;
    uint32_t made_count;
    size_t made_capacity;
    uint32_t placed; /* segments in place of calls */
    struct next_graph *graph;
    struct bat_error *error;
};

/* One unit, in place of a call or as a whole. */
struct instance {
    const struct next_unit *code;
    const struct next_counts *counts; /* or NULL */
    uint32_t unit;
    uint32_t context;
    uint32_t depth;
    double scale;     /* of its counts */
    uint32_t *first;  /* for each block its first segment */
    uint32_t *last;   /* ... and its last; BAT_NONE if a tail call there was replaced */
    uint32_t *leaves; /* segments that return to the caller */
    size_t leave_count;
    size_t leave_capacity;
};

static enum bat_code fail_memory(const struct graph_making *making)
{
    return bat_fail_memory(making->error, "for a graph");
}

void next_graph_free(struct next_graph *graph)
{
    BAT_FREE_ALL(graph->nodes, graph->segments, graph->links, graph->contexts, graph->code,
                 graph->out, graph->into, graph->by_target, graph->taken, graph->on, graph->tested);
    *graph = (struct next_graph){0};
}

static bool add_link(struct next_graph *graph, const struct next_link *link)
{
    return BAT_APPEND(graph->links, graph->link_count, graph->link_capacity, *link);
}

static bool add_leave(struct instance *instance, uint32_t segment)
{
    return BAT_APPEND(instance->leaves, instance->leave_count, instance->leave_capacity, segment);
}

/* True if a call may be replaced: its unit is wanted, and not being replaced already. */
static bool is_replaced(const struct graph_making *making, const struct instance *instance,
                        const struct next_instruction *call, uint32_t *unit)
{
    if (!making->inlining.units || call->callee == BAT_NONE || instance->depth >= NEXT_INLINE_DEPTH)
        return false;
    *unit = making->program->unit_of[call->callee];
    if (*unit == BAT_NONE || !making->inlining.units[*unit] ||
        making->program->first_part[*unit] != call->callee || *unit == instance->unit ||
        making->placed + making->program->units[*unit]->block_count >
            making->inlining.segments_max >> instance->depth)
        return false;
    const struct next_context *contexts = making->graph->contexts;
    for (uint32_t at = instance->context; at != 0; at = contexts[at].parent)
        if (contexts[at].unit == *unit)
            return false;
    return contexts[0].unit != *unit;
}

static enum bat_code add_instance(struct graph_making *making, struct instance *instance);

static void instance_free(struct instance *instance)
{
    BAT_FREE_ALL(instance->first, instance->last, instance->leaves);
}

static uint32_t add_segment(struct graph_making *making, const struct instance *instance,
                            uint32_t block, uint32_t first, uint32_t end, double count)
{
    const struct next_block *from = &instance->code->blocks[block];
    const struct next_segment segment = {
        .unit = instance->unit,
        .block = block,
        .first = first,
        .end = end,
        .context = instance->context,
        .edge = BAT_NONE,
        .begins = first == from->first_instruction,
        .ends = end == from->first_instruction + from->instruction_count,
    };
    if (!BAT_APPEND(
            making->made, making->made_count, making->made_capacity,
            (struct next_made_segment){.segment = segment,
                                       .is_reached = !instance->counts || instance->scale > 0,
                                       .count = count}))
        return BAT_NONE;
    making->placed += instance->context != 0;
    return making->made_count - 1;
}

/* Put a unit in place of a call, the instruction behind a segment. */
static enum bat_code replace_call(struct graph_making *making, const struct instance *outer,
                                  uint32_t call, uint32_t segment, uint32_t unit,
                                  struct instance *inner)
{
    struct next_graph *graph = making->graph;
    const struct next_source *source = outer->code->source;
    double count = making->made[segment].count;
    *inner =
        (struct instance){.unit = unit, .context = graph->context_count, .depth = outer->depth + 1};
    if (making->measured)
        inner->counts = making->measured->units[unit];
    if (inner->counts && inner->counts->entry > 0)
        inner->scale = count / (double)inner->counts->entry;
    if (!BAT_APPEND(graph->contexts, graph->context_count, graph->context_capacity,
                    (struct next_context){.unit = unit,
                                          .parent = outer->context,
                                          .caller = segment,
                                          .place = source ? source->of[call] : BAT_NONE}))
        return fail_memory(making);
    BAT_TRY(add_instance(making, inner));
    graph->contexts[inner->context].entry = inner->first[0];
    const struct next_link link = {
        .from = segment, .to = inner->first[0], .edge = BAT_NONE, .count = count};
    return add_link(graph, &link) ? BAT_OK : fail_memory(making);
}

/* Links from where a replaced call returns to what is behind it. */
static enum bat_code link_returns(struct graph_making *making, const struct instance *inner,
                                  uint32_t to)
{
    for (size_t i = 0; i < inner->leave_count; i++) {
        const struct next_link link = {.from = inner->leaves[i],
                                       .to = to,
                                       .edge = BAT_NONE,
                                       .count = making->made[inner->leaves[i]].count};
        if (!add_link(making->graph, &link))
            return fail_memory(making);
    }
    return BAT_OK;
}

static enum bat_code add_block(struct graph_making *making, struct instance *instance,
                               uint32_t index)
{
    const struct next_block *block = &instance->code->blocks[index];
    uint32_t end = block->first_instruction + block->instruction_count;
    uint32_t low = block->first_instruction;
    double count = instance->counts ? (double)instance->counts->blocks[index] * instance->scale : 0;
    struct instance inner = {0};
    bool is_behind_call = false;
    enum bat_code code = BAT_OK;
    for (uint32_t i = low; i <= end && code == BAT_OK; i++) {
        uint32_t unit = BAT_NONE;
        bool is_cut = i < end && block->end != NEXT_END_TAIL_IF &&
                      is_replaced(making, instance, &instance->code->instructions[i], &unit);
        if (i < end && !is_cut)
            continue;
        bool is_tail = is_cut && !(instance->code->instructions[i].flags & NEXT_IS_CALL);
        uint32_t segment = add_segment(making, instance, index, low, i, count);
        if (segment == BAT_NONE)
            code = fail_memory(making);
        if (low == block->first_instruction)
            instance->first[index] = segment;
        if (code == BAT_OK && is_behind_call)
            code = link_returns(making, &inner, segment);
        instance_free(&inner);
        inner = (struct instance){0};
        instance->last[index] = segment;
        low = i + 1;
        if (!is_cut || code != BAT_OK)
            continue;
        code = replace_call(making, instance, i, segment, unit, &inner);
        is_behind_call = true;
        if (code != BAT_OK || !is_tail)
            continue;
        /* A tail call: what it returns to is the caller's caller. */
        instance->last[index] = BAT_NONE;
        for (size_t k = 0; k < inner.leave_count; k++)
            if (!add_leave(instance, inner.leaves[k]))
                code = fail_memory(making);
        break;
    }
    instance_free(&inner);
    bool leaves = block->end == NEXT_END_RETURN || block->end == NEXT_END_TAIL;
    if (code == BAT_OK && instance->last[index] != BAT_NONE && leaves &&
        !add_leave(instance, instance->last[index]))
        code = fail_memory(making);
    return code;
}

static enum bat_code add_links(struct graph_making *making, const struct instance *instance)
{
    const struct next_unit *code = instance->code;
    for (uint32_t i = 0; i < code->edge_count; i++) {
        const struct next_edge *edge = &code->edges[i];
        if (code->blocks[edge->from].is_padding || instance->last[edge->from] == BAT_NONE)
            continue;
        double whole = instance->counts ? (double)instance->counts->edges[i] : 0;
        const struct next_link link = {.from = instance->last[edge->from],
                                       .to = instance->first[edge->to],
                                       .edge = i,
                                       .kind = edge->kind,
                                       .count = whole * instance->scale,
                                       .whole = whole};
        if (link.to != BAT_NONE && !add_link(making->graph, &link))
            return fail_memory(making);
    }
    return BAT_OK;
}

static enum bat_code add_instance(struct graph_making *making, struct instance *instance)
{
    BAT_TRY(next_unit_get(making->program, instance->unit, &instance->code, making->error));
    BAT_TRY(next_source_get(making->program, instance->unit, making->error));
    enum bat_code code = BAT_OK;
    size_t count = instance->code->block_count;
    instance->first = malloc((count + 1) * sizeof(*instance->first));
    instance->last = malloc((count + 1) * sizeof(*instance->last));
    if (!instance->first || !instance->last)
        return fail_memory(making);
    for (size_t i = 0; i < count; i++)
        instance->first[i] = instance->last[i] = BAT_NONE;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++)
        if (!instance->code->blocks[i].is_padding)
            code = add_block(making, instance, i);
    return code ? code : add_links(making, instance);
}

/* --- Order ---------------------------------------------------------------------------------- */

static enum bat_code sort_links(struct graph_making *making)
{
    struct next_graph *graph = making->graph;
    uint32_t nodes = graph->node_count;
    BAT_SORT_BY_TWO(graph->links, graph->link_count, from, edge);
    graph->out = calloc((size_t)nodes + 2, sizeof(*graph->out));
    graph->into = calloc((size_t)nodes + 2, sizeof(*graph->into));
    graph->by_target = malloc(((size_t)graph->link_count + 1) * sizeof(*graph->by_target));
    graph->taken = malloc(((size_t)nodes + 1) * sizeof(*graph->taken));
    graph->on = malloc(((size_t)nodes + 1) * sizeof(*graph->on));
    if (!graph->out || !graph->into || !graph->by_target || !graph->taken || !graph->on)
        return fail_memory(making);
    for (uint32_t i = 0; i < nodes; i++)
        graph->taken[i] = graph->on[i] = BAT_NONE;
    for (uint32_t i = 0; i < graph->link_count; i++) {
        const struct next_link *link = &graph->links[i];
        graph->out[link->from + 1]++;
        graph->into[link->to + 2]++;
        if (link->kind == NEXT_EDGE_TAKEN)
            graph->taken[link->from] = link->to;
        else if (link->kind == NEXT_EDGE_ON && graph->on[link->from] == BAT_NONE)
            graph->on[link->from] = link->to;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        graph->out[i + 1] += graph->out[i];
        graph->into[i + 2] += graph->into[i + 1];
    }
    for (uint32_t i = 0; i < graph->link_count; i++)
        graph->by_target[graph->into[graph->links[i].to + 1]++] = i;
    return BAT_OK;
}

enum bat_code next_graph_make(struct next_program *program, const struct next_measured *measured,
                              uint32_t unit, struct next_inlining inlining,
                              struct next_graph *graph, struct bat_error *error)
{
    *graph = (struct next_graph){0};
    struct graph_making making = {.program = program,
                                  .measured = measured,
                                  .inlining = inlining,
                                  .graph = graph,
                                  .error = error};
    struct instance whole = {.unit = unit, .scale = 1};
    if (measured)
        whole.counts = measured->units[unit];
    if (!BAT_GROW(graph->contexts, 0, graph->context_capacity))
        return fail_memory(&making);
    graph->contexts[graph->context_count++] = (struct next_context){.unit = unit};
    enum bat_code code = add_instance(&making, &whole);
    if (code == BAT_OK && making.made_count > 0)
        graph->entry = whole.first[0];
    instance_free(&whole);
    code = code ? code : next_join_segments(program, making.made, making.made_count, graph, error);
    free(making.made);
    BAT_SHRINK(graph->links, graph->link_count);
    return code ? code : sort_links(&making);
}
