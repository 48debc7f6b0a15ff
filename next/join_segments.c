/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where one segment is all that leads to another, and leads nowhere else, a compiler may have made
 * one block of the two: a call that was inlined, code that a jump led to. So they are one here.
 */
#include "join_segments.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"

struct joining {
    const struct next_program *program;
    const struct next_made_segment *made;
    uint32_t made_count;
    struct next_graph *graph;
    uint32_t code_count; /* of graph->code */
    uint32_t *ways;      /* links from each segment that was made */
    uint32_t *arrivals;  /* links to each */
    uint32_t *next;      /* of each: the link to the next one of its node; BAT_NONE */
    uint32_t *node_of;   /* of each; BAT_NONE: it has none yet */
    uint8_t *is_joined;  /* for each: another one leads to it in its node */
};

static bool allocate(struct joining *joining)
{
    struct next_graph *graph = joining->graph;
    const size_t count = (size_t)joining->made_count + 1;
    graph->nodes = malloc(count * sizeof(*graph->nodes));
    graph->segments = malloc(count * sizeof(*graph->segments));
    joining->ways = calloc(count, sizeof(*joining->ways));
    joining->arrivals = calloc(count, sizeof(*joining->arrivals));
    joining->next = malloc(count * sizeof(*joining->next));
    joining->node_of = malloc(count * sizeof(*joining->node_of));
    joining->is_joined = calloc(count, 1);
    return graph->nodes && graph->segments && joining->ways && joining->arrivals && joining->next &&
           joining->node_of && joining->is_joined;
}

/* True if what a link leads from and to run as often, if it is the only one of both. */
static bool joins(const struct joining *joining, const struct next_link *link)
{
    const struct next_graph *graph = joining->graph;
    const struct next_segment *from = &joining->made[link->from].segment;
    const struct next_segment *to = &joining->made[link->to].segment;
    const bool is_called = to->context > 0 && graph->contexts[to->context].entry == link->to;
    const bool is_entered = to->begins && next_segment_block(joining->program, to)->is_entered;
    const bool may_leave =
        from->ends && next_segment_block(joining->program, from)->end == NEXT_END_TAIL_IF;
    return link->from != link->to && link->to != graph->entry && (is_called || !is_entered) &&
           !may_leave && joining->made[link->from].is_reached == joining->made[link->to].is_reached;
}

/* Find what follows each segment. False without memory for the code. */
static bool find_joined(struct joining *joining)
{
    struct next_graph *graph = joining->graph;
    size_t count = 0;
    for (uint32_t k = 0; k < graph->link_count; k++) {
        joining->ways[graph->links[k].from]++;
        joining->arrivals[graph->links[k].to]++;
    }
    for (uint32_t i = 0; i < joining->made_count; i++)
        joining->next[i] = joining->node_of[i] = BAT_NONE;
    for (uint32_t k = 0; k < graph->link_count; k++) {
        const struct next_link *link = &graph->links[k];
        if (joining->ways[link->from] == 1 && joining->arrivals[link->to] == 1 &&
            joins(joining, link)) {
            joining->next[link->from] = k;
            joining->is_joined[link->to] = 1;
        }
    }
    for (uint32_t i = 0; i < joining->made_count; i++)
        if (joining->is_joined[i] || joining->next[i] != BAT_NONE)
            count += joining->made[i].segment.end - joining->made[i].segment.first;
    graph->code = malloc((count + 1) * sizeof(*graph->code));
    return graph->code;
}

/* The number of a segment's instructions, without a jump or return to the next one of its node. */
static uint32_t own_code(const struct joining *joining, const struct next_segment *segment,
                         uint32_t link)
{
    const struct next_unit *unit = joining->program->units[segment->unit];
    const bool is_left_out =
        link != BAT_NONE && segment->ends && segment->end > segment->first &&
        (segment->edge != BAT_NONE ? !next_is_fall_through(unit, &unit->edges[segment->edge])
                                   : unit->blocks[segment->block].end == NEXT_END_RETURN);
    return segment->end - segment->first - is_left_out;
}

/* Make a node of a segment and those that follow it. */
static void add_node(struct joining *joining, uint32_t first)
{
    struct next_graph *graph = joining->graph;
    struct next_node *node = &graph->nodes[graph->node_count];
    const struct next_made_segment *begin = &joining->made[first];
    const bool is_one = joining->next[first] == BAT_NONE;
    *node = (struct next_node){
        .first = graph->segment_count,
        .is_reached = begin->is_reached,
        .code = is_one ? joining->program->units[begin->segment.unit]->instructions +
                             begin->segment.first
                       : graph->code + joining->code_count,
        .count = begin->count};
    for (uint32_t at = first; at != BAT_NONE;) {
        uint32_t link = joining->next[at];
        if (link != BAT_NONE && graph->links[link].to == first) /* round a circle */
            link = joining->next[at] = BAT_NONE;
        struct next_segment *segment = &graph->segments[graph->segment_count++];
        *segment = joining->made[at].segment;
        segment->edge = link == BAT_NONE ? BAT_NONE : graph->links[link].edge;
        const uint32_t count = own_code(joining, segment, link);
        if (!is_one) {
            memcpy(graph->code + joining->code_count,
                   joining->program->units[segment->unit]->instructions + segment->first,
                   count * sizeof(*graph->code));
            joining->code_count += count;
        }
        node->code_count += count;
        joining->node_of[at] = graph->node_count;
        at = link == BAT_NONE ? BAT_NONE : graph->links[link].to;
    }
    node->end = graph->segment_count;
    graph->node_count++;
}

/* Let the links and what else there is be of nodes. */
static void rename_all(struct joining *joining)
{
    struct next_graph *graph = joining->graph;
    const uint32_t *node_of = joining->node_of;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < graph->link_count; k++) {
        struct next_link link = graph->links[k];
        if (joining->next[link.from] == k)
            continue;
        link.from = node_of[link.from];
        link.to = node_of[link.to];
        graph->links[kept++] = link;
    }
    graph->link_count = kept;
    for (uint32_t i = 1; i < graph->context_count; i++) {
        graph->contexts[i].caller = node_of[graph->contexts[i].caller];
        graph->contexts[i].entry = node_of[graph->contexts[i].entry];
    }
    if (graph->node_count > 0)
        graph->entry = node_of[graph->entry];
}

enum bat_code next_join_segments(const struct next_program *program,
                                 const struct next_made_segment *made, uint32_t count,
                                 struct next_graph *graph, struct bat_error *error)
{
    struct joining joining = {
        .program = program, .made = made, .made_count = count, .graph = graph};
    const bool has_memory = allocate(&joining) && find_joined(&joining);
    for (uint32_t i = 0; i < count && has_memory; i++)
        if (!joining.is_joined[i])
            add_node(&joining, i);
    /* What is left leads in circles that nothing enters: any segment is the first one. */
    for (uint32_t i = 0; i < count && has_memory; i++)
        if (joining.node_of[i] == BAT_NONE)
            add_node(&joining, i);
    if (has_memory) {
        rename_all(&joining);
        BAT_SHRINK(graph->nodes, graph->node_count);
    }
    BAT_FREE_ALL(joining.ways, joining.arrivals, joining.next, joining.node_of, joining.is_joined);
    return has_memory ? BAT_OK : bat_fail_memory(error, "for a graph");
}
