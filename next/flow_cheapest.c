/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the cheapest flow. It begins with all arcs as wanted, where no change has a negative price;
 * then vertices have too much or too little. From each vertex with too much, it is sent to the
 * nearest one with too little, by the cheapest way; what is farther is not looked at.
 */
#include "flow_network.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"

/* --- Arcs ------------------------------------------------------------------------------------- */

static uint32_t from_of(const struct flow_network *network, uint32_t arc)
{
    return network->ends[network->arcs[arc].in].other;
}

static uint32_t to_of(const struct flow_network *network, uint32_t arc)
{
    return network->ends[network->arcs[arc].out].other;
}

static struct flow_wish wish_of(const struct flow_network *network, uint32_t arc)
{
    const struct flow_graph *graph = network->graph;
    const uint32_t nodes = graph->node_count;
    const uint32_t edge = arc - nodes;
    const uint32_t outer = edge - graph->edge_count;
    struct flow_wish wish;
    if (arc < nodes)
        wish = graph->nodes[arc].count;
    else if (edge >= graph->edge_count)
        wish = outer < nodes ? graph->nodes[outer].entry : graph->nodes[outer - nodes].exit;
    else if (graph->edges[edge].share_price == 0)
        wish = graph->edges[edge].count;
    else
        wish = (struct flow_wish){network->wanted[edge], graph->edges[edge].share_price,
                                  graph->edges[edge].share_price};
    wish.wanted = wish.wanted < FLOW_MOST ? wish.wanted : FLOW_MOST;
    return wish;
}

/* --- What is left over, without prices -------------------------------------------------------- */

/* True for an arc that stands for a bound: used only if the tree has no other way. */
static bool is_bound(const struct flow_network *network, uint32_t arc)
{
    return wish_of(network, arc).more >= FLOW_BOUND;
}

/* Add to the tree what a vertex is connected with, against or along the arcs. */
static void grow_tree(struct flow_network *network, uint32_t vertex, bool is_forward,
                      bool with_bounds, uint32_t *queue, uint32_t *end)
{
    for (uint32_t i = network->vertices[vertex].first; i < network->vertices[vertex + 1].first;
         i++) {
        uint32_t index = network->ends[i].arc;
        uint32_t other = network->ends[i].other;
        if ((network->arcs[index].out == i) != is_forward || network->state[other] ||
            (is_bound(network, index) && !with_bounds))
            continue;
        network->state[other] = 1;
        network->vertices[other].path = index;
        queue[(*end)++] = other;
    }
}

/* Vertices in breadth-first order from outside; path has the arc by which each was found. */
static uint32_t find_tree(struct flow_network *network, bool is_forward, uint32_t *queue)
{
    uint32_t outside = network->vertex_count - 1;
    uint32_t end = 0;
    memset(network->state, 0, network->vertex_count);
    network->state[outside] = 1;
    queue[end++] = outside;
    for (uint32_t at = 0; at < end; at++)
        grow_tree(network, queue[at], is_forward, false, queue, &end);
    for (uint32_t at = 0; at < end; at++)
        grow_tree(network, queue[at], is_forward, true, queue, &end);
    return end;
}

/*
 * Raise flows until no vertex has too much or too little: what is missing comes along the arcs of a
 * tree from outside, what is too much goes along those of a tree to outside. False without memory.
 */
static bool flow_balance_leftovers(struct flow_network *network)
{
    uint32_t *queue = malloc(((size_t)network->vertex_count + 1) * sizeof(*queue));
    if (!queue)
        return false;
    for (unsigned is_forward = 0; is_forward < 2; is_forward++) {
        uint32_t count = find_tree(network, is_forward, queue);
        for (uint32_t at = count; at-- > 1;) {
            uint32_t vertex = queue[at];
            const struct flow_vertex *at_vertex = &network->vertices[vertex];
            int64_t left = is_forward ? -at_vertex->excess : at_vertex->excess;
            if (left <= 0)
                continue;
            network->arcs[at_vertex->path].flow += left;
            network->vertices[to_of(network, at_vertex->path)].excess += left;
            network->vertices[from_of(network, at_vertex->path)].excess -= left;
        }
    }
    free(queue);
    return true;
}

/*
 * Networks of so many blocks are solved in less time: a round begins with the flow of the round
 * before, and what is no nearer than a vertex with too little is not looked at. Among flows of the
 * same price that finds others, which are farther from the wanted shares.
 */
#define LARGE_MIN 1024u

#define FAR (INT64_MAX / 4)

/* Arcs that are looked at for each arc of the network before the rest is done without prices. */
#define WORK_FOR_EACH_ARC 500u

/* --- Making it ------------------------------------------------------------------------------ */

struct route {
    uint32_t from;
    uint32_t to;
};

static struct route route_of(const struct flow_graph *graph, uint32_t arc)
{
    const uint32_t nodes = graph->node_count;
    const uint32_t edge = arc - nodes;
    const uint32_t outer = edge - graph->edge_count;
    if (arc < nodes)
        return (struct route){2 * arc, 2 * arc + 1};
    if (edge < graph->edge_count)
        return (struct route){2 * graph->edges[edge].from + 1, 2 * graph->edges[edge].to};
    return outer < nodes ? (struct route){2 * nodes, 2 * outer}
                         : (struct route){2 * (outer - nodes) + 1, 2 * nodes};
}

static void set_entries(struct flow_network *network)
{
    const struct flow_graph *graph = network->graph;
    for (uint32_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].entry.more < FLOW_BOUND || graph->nodes[i].entry.wanted > 0)
            network->entries[network->entry_count++] = graph->node_count + graph->edge_count + i;
}

/* Add an end of an arc to those of a vertex. */
static uint32_t add_end(struct flow_network *network, uint32_t vertex, uint32_t other, uint32_t arc)
{
    const uint32_t place = network->vertices[vertex].first++;
    network->ends[place] = (struct flow_end){.other = other, .arc = arc};
    return place;
}

static void set_ends(struct flow_network *network)
{
    struct flow_vertex *vertices = network->vertices;
    for (uint32_t i = 0; i < network->arc_count; i++) {
        const struct route route = route_of(network->graph, i);
        vertices[route.from + 1].first++;
        vertices[route.to + 1].first++;
    }
    for (uint32_t i = 0; i < network->vertex_count; i++)
        vertices[i + 1].first += vertices[i].first;
    for (uint32_t i = 0; i < network->arc_count; i++) {
        const struct route route = route_of(network->graph, i);
        network->arcs[i].out = add_end(network, route.from, route.to, i);
        network->arcs[i].in = add_end(network, route.to, route.from, i);
    }
    for (uint32_t i = network->vertex_count; i > 0; i--)
        vertices[i].first = vertices[i - 1].first;
    vertices[0].first = 0;
}

bool flow_network_begin(struct flow_network *network, const struct flow_graph *graph)
{
    network->graph = graph;
    network->vertex_count = 2 * graph->node_count + 1;
    network->is_large = graph->node_count >= LARGE_MIN;
    network->arc_count = 3 * graph->node_count + graph->edge_count;
    network->work_limit = (uint64_t)WORK_FOR_EACH_ARC * network->arc_count;
    size_t vertices = (size_t)network->vertex_count + 1;
    size_t nodes = (size_t)graph->node_count + 1;
    network->arcs = calloc(network->arc_count, sizeof(*network->arcs));
    network->ends = malloc((size_t)network->arc_count * 2 * sizeof(*network->ends));
    network->vertices = calloc(vertices, sizeof(*network->vertices));
    network->reached = malloc(vertices * sizeof(*network->reached));
    network->state = malloc(vertices);
    network->entries = malloc(nodes * sizeof(*network->entries));
    network->exits = malloc(nodes * sizeof(*network->exits));
    network->exit_place = malloc(nodes * sizeof(*network->exit_place));
    if (!network->arcs || !network->ends || !network->vertices || !network->reached ||
        !network->state || !network->entries || !network->exits || !network->exit_place)
        return false;
    set_entries(network);
    set_ends(network);
    return true;
}

void flow_network_free(struct flow_network *network)
{
    BAT_FREE_ALL(network->arcs, network->ends, network->vertices, network->reached, network->state,
                 network->entries, network->exits, network->exit_place, network->heap);
}

/* --- Changing one arc ----------------------------------------------------------------------- */

/* Note whether an arc is an exit with a flow. */
static void set_exit(struct flow_network *network, uint32_t arc)
{
    if (to_of(network, arc) != network->vertex_count - 1)
        return;
    uint32_t *place = &network->exit_place[from_of(network, arc) / 2];
    bool has_flow = network->arcs[arc].flow > 0;
    if (has_flow && *place == BAT_NONE) {
        *place = network->exit_count;
        network->exits[network->exit_count++] = arc;
    } else if (!has_flow && *place != BAT_NONE) {
        uint32_t last = network->exits[--network->exit_count];
        network->exits[*place] = last;
        network->exit_place[from_of(network, last) / 2] = *place;
        *place = BAT_NONE;
    }
}

/* Set an arc's flow, and what its changes cost then. */
static void set_flow(struct flow_network *network, uint32_t index, int64_t flow)
{
    struct flow_arc *arc = &network->arcs[index];
    const struct flow_wish wish = wish_of(network, index);
    const int64_t above = flow - (int64_t)wish.wanted;
    network->vertices[to_of(network, index)].excess += flow - arc->flow;
    network->vertices[from_of(network, index)].excess -= flow - arc->flow;
    arc->flow = flow;
    network->ends[arc->out].price = above < 0 ? -(int32_t)wish.less : (int32_t)wish.more;
    network->ends[arc->in].price = flow <= 0   ? FLOW_FIXED
                                   : above > 0 ? -(int32_t)wish.more
                                               : (int32_t)wish.less;
    set_exit(network, index);
}

/* How much the flow on the way to a vertex can change at one price. */
static int64_t most_change(const struct flow_network *network, uint32_t arc, uint32_t vertex)
{
    const int64_t flow = network->arcs[arc].flow;
    const int64_t above = flow - (int64_t)wish_of(network, arc).wanted;
    if (to_of(network, arc) == vertex)
        return above < 0 ? -above : FAR;
    return above > 0 ? above : flow;
}

/* --- Distances ------------------------------------------------------------------------------ */

static bool push(struct flow_network *network, uint32_t vertex, int64_t distance)
{
    if (!BAT_GROW(network->heap, network->heap_count, network->heap_capacity))
        return false;
    struct flow_heap_entry *heap = network->heap;
    size_t at = network->heap_count++;
    for (; at > 0 && heap[(at - 1) / 2].distance > distance; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = (struct flow_heap_entry){distance, vertex};
    return true;
}

static struct flow_heap_entry pop(struct flow_network *network)
{
    struct flow_heap_entry *heap = network->heap;
    const size_t count = --network->heap_count;
    const struct flow_heap_entry top = heap[0];
    const struct flow_heap_entry last = heap[count]; /* it stays there, behind the others */
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += heap[child + 1].distance < heap[child].distance;
        if (heap[child].distance >= last.distance)
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* Vertex can be reached at a distance, by an arc (BAT_NONE: it is where the search begins). */
static bool reach(struct flow_network *network, uint32_t vertex, int64_t distance, uint32_t arc)
{
    struct flow_vertex *to = &network->vertices[vertex];
    if (distance >= network->bound)
        return true;
    if (to->excess < 0) {
        network->bound = distance + !network->is_large;
        network->found = vertex;
    }
    if (to->distance == FAR)
        network->reached[network->reached_count++] = vertex;
    to->distance = distance;
    to->path = arc;
    return push(network, vertex, distance);
}

/* What an arc of a vertex leads to; here: the vertex's distance, with its potential. */
static inline bool relax_end(struct flow_network *network, int64_t here, const struct flow_end *end)
{
    const struct flow_vertex *to = &network->vertices[end->other];
    const int64_t price = end->price == FLOW_FIXED ? 2 * FAR : end->price;
    const int64_t distance = here + price - to->potential;
    return distance >= to->distance || reach(network, end->other, distance, end->arc);
}

static bool relax(struct flow_network *network, uint32_t vertex)
{
    const struct flow_vertex *from = &network->vertices[vertex];
    const uint32_t end = from[1].first;
    const int64_t here = from->distance + from->potential;
    bool is_fine = true;
    network->work += end - from->first;
    for (uint32_t i = from->first; i < end && is_fine; i++)
        is_fine = relax_end(network, here, &network->ends[i]);
    return is_fine;
}

/*
 * Outside has arcs to and from all nodes. Few of them matter: entries that are no bounds, and exits
 * that have a flow. The others are looked at when all that is nearer was: no potential is above 0,
 * so no way through a bound is shorter than its price.
 */
static bool relax_outside(struct flow_network *network)
{
    const uint32_t outside = network->vertex_count - 1;
    const struct flow_vertex *from = &network->vertices[outside];
    const int64_t here = from->distance + from->potential;
    bool is_fine = true;
    network->work += network->entry_count + network->exit_count;
    for (uint32_t i = 0; i < network->entry_count && is_fine; i++)
        is_fine = relax_end(network, here, &network->ends[network->arcs[network->entries[i]].out]);
    for (uint32_t i = 0; i < network->exit_count && is_fine; i++)
        is_fine = relax_end(network, here, &network->ends[network->arcs[network->exits[i]].in]);
    return is_fine && push(network, network->vertex_count, here + FLOW_BOUND);
}

/*
 * Find the nearest vertex with too little (BAT_NONE: there is none), and the way to it. Vertices
 * that are nearer get their distance from it as a change of their potential.
 */
static bool find_nearest(struct flow_network *network, uint32_t start, uint32_t *nearest)
{
    uint32_t outside = network->vertex_count - 1;
    network->heap_count = 0;
    network->reached_count = 0;
    network->bound = FAR;
    *nearest = BAT_NONE;
    bool is_fine = reach(network, start, 0, BAT_NONE);
    while (is_fine && network->heap_count > 0 && *nearest == BAT_NONE) {
        struct flow_heap_entry top = pop(network);
        if (top.distance >= network->bound)
            break;
        if (top.vertex == network->vertex_count)
            is_fine = relax(network, outside);
        else if (top.distance > network->vertices[top.vertex].distance)
            continue;
        else if (network->vertices[top.vertex].excess < 0)
            *nearest = top.vertex;
        else
            is_fine = top.vertex == outside ? relax_outside(network) : relax(network, top.vertex);
    }
    if (*nearest == BAT_NONE && network->bound < FAR)
        *nearest = network->found;
    int64_t most = *nearest == BAT_NONE ? 0 : network->vertices[*nearest].distance;
    for (uint32_t i = 0; i < network->reached_count; i++) {
        struct flow_vertex *vertex = &network->vertices[network->reached[i]];
        if (vertex->distance < most)
            vertex->potential += vertex->distance - most;
        vertex->distance = FAR;
    }
    return is_fine;
}

/* --- Sending -------------------------------------------------------------------------------- */

/* The vertex before this one on the way that was found. */
static uint32_t before(const struct flow_network *network, uint32_t vertex)
{
    const uint32_t arc = network->vertices[vertex].path;
    const uint32_t from = from_of(network, arc);
    return from == vertex ? to_of(network, arc) : from;
}

/* Send as much as one price allows along the way that was found, from start to end. */
static void send(struct flow_network *network, uint32_t start, uint32_t end)
{
    const struct flow_vertex *vertices = network->vertices;
    int64_t most = vertices[start].excess;
    most = most < -vertices[end].excess ? most : -vertices[end].excess;
    for (uint32_t vertex = end; vertex != start; vertex = before(network, vertex)) {
        const int64_t change = most_change(network, vertices[vertex].path, vertex);
        most = change < most ? change : most;
    }
    for (uint32_t vertex = end; vertex != start; vertex = before(network, vertex)) {
        const uint32_t arc = vertices[vertex].path;
        set_flow(network, arc,
                 network->arcs[arc].flow + (to_of(network, arc) == vertex ? most : -most));
    }
}

/* Send what the vertices have too much; *is_limited is true if work ended it before. */
static bool send_all(struct flow_network *network, bool *is_limited)
{
    for (uint32_t i = 0; i < network->vertex_count; i++)
        network->vertices[i].distance = FAR;
    for (uint32_t i = 0; i < network->vertex_count; i++) {
        uint32_t end = 0;
        while (network->vertices[i].excess > 0 && end != BAT_NONE &&
               network->work < network->work_limit) {
            if (!find_nearest(network, i, &end))
                return false;
            if (end != BAT_NONE)
                send(network, i, end);
        }
    }
    *is_limited = network->work >= network->work_limit;
    return true;
}

/* --- All of it ------------------------------------------------------------------------------ */

/* The first flow: all arcs as wanted, where no change has a negative price. */
static void begin_flow(struct flow_network *network)
{
    for (uint32_t i = 0; i < network->graph->node_count; i++)
        network->exit_place[i] = BAT_NONE;
    network->exit_count = 0;
    for (uint32_t i = 0; i < network->vertex_count; i++)
        network->vertices[i].excess = network->vertices[i].potential = 0;
    for (uint32_t i = 0; i < network->arc_count; i++) {
        network->arcs[i].flow = 0;
        set_flow(network, i, (int64_t)wish_of(network, i).wanted);
    }
}

/* Change an arc's flow as little as possible so that no change of it has a negative price, with the
 * potentials as they are. */
static void settle_arc(struct flow_network *network, uint32_t index)
{
    const struct flow_wish wish = wish_of(network, index);
    const int64_t wanted = (int64_t)wish.wanted;
    const int64_t now = network->arcs[index].flow;
    int64_t gain = network->vertices[from_of(network, index)].potential -
                   network->vertices[to_of(network, index)].potential;
    int64_t least = gain >= (int64_t)wish.less ? 0 : wanted;
    int64_t most = gain > (int64_t)wish.less ? 0 : gain <= -(int64_t)wish.more ? INT64_MAX : wanted;
    int64_t flow = now < least ? least : now > most ? most : now;
    set_flow(network, index, flow);
}

/* Set what edges with a share want, and a flow to begin with: that of the round before, if any. */
static void set_wanted(struct flow_network *network, const uint64_t *wanted)
{
    const struct flow_graph *graph = network->graph;
    network->wanted = wanted;
    if (!network->is_solved)
        begin_flow(network);
    else
        for (uint32_t i = 0; i < graph->edge_count; i++)
            if (graph->edges[i].share_price != 0)
                settle_arc(network, graph->node_count + i);
}

bool flow_network_solve(struct flow_network *network, const uint64_t *wanted,
                        struct flow_counts *counts)
{
    const struct flow_graph *graph = network->graph;
    set_wanted(network, wanted);
    network->work = 0;
    bool is_limited;
    if (!send_all(network, &is_limited))
        return false;
    network->is_solved = network->is_large && !is_limited;
    if (is_limited) {
        counts->was_limited = true;
        if (!flow_balance_leftovers(network))
            return false;
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        counts->nodes[i] = (uint64_t)network->arcs[i].flow;
        counts->entries[i] =
            (uint64_t)network->arcs[graph->node_count + graph->edge_count + i].flow;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++)
        counts->edges[i] = (uint64_t)network->arcs[graph->node_count + i].flow;
    return true;
}
