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

/* --- What is left over, without prices -------------------------------------------------------- */

/* True for an arc that stands for a bound: used only if the tree has no other way. */
static bool is_bound(const struct flow_arc *arc)
{
    return arc->more >= FLOW_BOUND;
}

/* Add to the tree what a vertex is connected with, against or along the arcs. */
static void grow_tree(struct flow_network *network, uint32_t vertex, bool is_forward,
                      bool with_bounds, uint32_t *queue, uint32_t *end)
{
    for (uint32_t i = network->first[vertex]; i < network->first[vertex + 1]; i++) {
        uint32_t index = network->around[i];
        const struct flow_arc *arc = &network->arcs[index];
        uint32_t other = is_forward ? arc->to : arc->from;
        if ((is_forward ? arc->from : arc->to) != vertex || network->state[other] ||
            (is_bound(arc) && !with_bounds))
            continue;
        network->state[other] = 1;
        network->path[other] = index;
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
            int64_t left = is_forward ? -network->excess[vertex] : network->excess[vertex];
            if (left <= 0)
                continue;
            struct flow_arc *arc = &network->arcs[network->path[vertex]];
            arc->flow += left;
            network->excess[arc->to] += left;
            network->excess[arc->from] -= left;
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

static void set_arc(struct flow_network *network, uint32_t i, uint32_t from, uint32_t to,
                    const struct flow_wish *wish)
{
    uint64_t wanted = wish->wanted < FLOW_MOST ? wish->wanted : FLOW_MOST;
    network->arcs[i] = (struct flow_arc){
        .from = from, .to = to, .less = wish->less, .more = wish->more, .wanted = (int64_t)wanted};
}

static void set_arcs(struct flow_network *network)
{
    const struct flow_graph *graph = network->graph;
    uint32_t nodes = graph->node_count;
    uint32_t outside = 2 * nodes;
    for (uint32_t i = 0; i < nodes; i++) {
        const struct flow_node *node = &graph->nodes[i];
        set_arc(network, i, 2 * i, 2 * i + 1, &node->count);
        set_arc(network, nodes + graph->edge_count + i, outside, 2 * i, &node->entry);
        if (node->entry.more < FLOW_BOUND || node->entry.wanted > 0)
            network->entries[network->entry_count++] = nodes + graph->edge_count + i;
        set_arc(network, 2 * nodes + graph->edge_count + i, 2 * i + 1, outside, &node->exit);
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const struct flow_edge *edge = &graph->edges[i];
        set_arc(network, nodes + i, 2 * edge->from + 1, 2 * edge->to, &edge->count);
    }
}

static void set_around(struct flow_network *network)
{
    uint32_t *first = network->first;
    memset(first, 0, ((size_t)network->vertex_count + 1) * sizeof(*first));
    for (uint32_t i = 0; i < network->arc_count; i++) {
        first[network->arcs[i].from + 1]++;
        first[network->arcs[i].to + 1]++;
    }
    for (uint32_t i = 0; i < network->vertex_count; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < network->arc_count; i++) {
        network->around[first[network->arcs[i].from]++] = i;
        network->around[first[network->arcs[i].to]++] = i;
    }
    for (uint32_t i = network->vertex_count; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
}

bool flow_network_begin(struct flow_network *network, const struct flow_graph *graph)
{
    network->graph = graph;
    network->vertex_count = 2 * graph->node_count + 1;
    network->is_large = graph->node_count >= LARGE_MIN;
    network->arc_count = 3 * graph->node_count + graph->edge_count;
    network->work_limit = (uint64_t)WORK_FOR_EACH_ARC * network->arc_count;
    size_t vertices = (size_t)network->vertex_count + 1;
    network->arcs = calloc(network->arc_count, sizeof(*network->arcs));
    network->around = malloc((size_t)network->arc_count * 2 * sizeof(*network->around));
    network->first = malloc(vertices * sizeof(*network->first));
    network->excess = malloc(vertices * sizeof(*network->excess));
    network->potential = malloc(vertices * sizeof(*network->potential));
    network->distance = malloc(vertices * sizeof(*network->distance));
    network->reached = malloc(vertices * sizeof(*network->reached));
    network->state = malloc(vertices);
    network->path = malloc(vertices * sizeof(*network->path));
    network->entries = malloc(vertices * sizeof(*network->entries));
    network->exits = malloc(vertices * sizeof(*network->exits));
    network->exit_place = malloc(vertices * sizeof(*network->exit_place));
    if (!network->arcs || !network->around || !network->first || !network->excess ||
        !network->potential || !network->distance || !network->reached || !network->state ||
        !network->path || !network->entries || !network->exits || !network->exit_place)
        return false;
    set_arcs(network);
    set_around(network);
    return true;
}

void flow_network_free(struct flow_network *network)
{
    BAT_FREE_ALL(network->arcs, network->around, network->first, network->excess,
                 network->potential, network->distance, network->reached, network->state,
                 network->path, network->entries, network->exits, network->exit_place,
                 network->heap);
}

/* --- Changing one arc ----------------------------------------------------------------------- */

/* A change of an arc, seen from one of its vertices: more flow out of it, or less flow into it. */
struct change {
    uint32_t to;
    int64_t price; /* of each unit */
    int64_t most;
};

/* False if nothing can be changed. */
static inline bool change_of(const struct flow_arc *arc, uint32_t vertex, struct change *change)
{
    if (arc->from == vertex) {
        bool is_below = arc->flow < arc->wanted;
        *change = (struct change){.to = arc->to,
                                  .price = is_below ? -(int64_t)arc->less : arc->more,
                                  .most = is_below ? arc->wanted - arc->flow : FAR};
        return true;
    }
    bool is_above = arc->flow > arc->wanted;
    *change = (struct change){.to = arc->from,
                              .price = is_above ? -(int64_t)arc->more : arc->less,
                              .most = is_above ? arc->flow - arc->wanted : arc->flow};
    return arc->flow > 0;
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
    struct flow_heap_entry top = heap[0];
    struct flow_heap_entry last = heap[--network->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < network->heap_count; at = child) {
        if (child + 1 < network->heap_count && heap[child + 1].distance < heap[child].distance)
            child++;
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
    if (distance >= network->distance[vertex] || distance >= network->bound + !network->is_large)
        return true;
    if (network->excess[vertex] < 0) {
        network->bound = distance;
        network->found = vertex;
    }
    if (network->distance[vertex] == FAR)
        network->reached[network->reached_count++] = vertex;
    network->distance[vertex] = distance;
    network->path[vertex] = arc;
    return push(network, vertex, distance);
}

/* What an arc of a vertex leads to; here: the vertex's distance, with its potential. */
static inline bool relax_arc(struct flow_network *network, uint32_t vertex, int64_t here,
                             uint32_t index)
{
    struct change change;
    const struct flow_arc *arc = &network->arcs[index];
    if (arc->from == arc->to || !change_of(arc, vertex, &change))
        return true;
    int64_t distance = here + change.price - network->potential[change.to];
    return distance >= network->distance[change.to] || reach(network, change.to, distance, index);
}

static bool relax(struct flow_network *network, uint32_t vertex)
{
    const uint32_t end = network->first[vertex + 1];
    const int64_t here = network->distance[vertex] + network->potential[vertex];
    bool is_fine = true;
    network->work += end - network->first[vertex];
    for (uint32_t i = network->first[vertex]; i < end && is_fine; i++)
        is_fine = relax_arc(network, vertex, here, network->around[i]);
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
    const int64_t here = network->distance[outside] + network->potential[outside];
    bool is_fine = true;
    network->work += network->entry_count + network->exit_count;
    for (uint32_t i = 0; i < network->entry_count && is_fine; i++)
        is_fine = relax_arc(network, outside, here, network->entries[i]);
    for (uint32_t i = 0; i < network->exit_count && is_fine; i++)
        is_fine = relax_arc(network, outside, here, network->exits[i]);
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
        if (network->is_large && top.distance >= network->bound) {
            *nearest = network->found;
            break;
        }
        if (top.vertex == network->vertex_count) {
            is_fine = relax(network, outside);
            continue;
        }
        if (top.distance > network->distance[top.vertex])
            continue;
        if (network->excess[top.vertex] < 0)
            *nearest = top.vertex;
        else
            is_fine = top.vertex == outside ? relax_outside(network) : relax(network, top.vertex);
    }
    if (*nearest == BAT_NONE && network->bound < FAR)
        *nearest = network->found;
    int64_t most = *nearest == BAT_NONE ? 0 : network->distance[*nearest];
    for (uint32_t i = 0; i < network->reached_count; i++) {
        uint32_t vertex = network->reached[i];
        if (network->distance[vertex] < most)
            network->potential[vertex] += network->distance[vertex] - most;
        network->distance[vertex] = FAR;
    }
    return is_fine;
}

/* --- Sending -------------------------------------------------------------------------------- */

/* The vertex before this one on the way that was found. */
static uint32_t before(const struct flow_network *network, uint32_t vertex)
{
    const struct flow_arc *arc = &network->arcs[network->path[vertex]];
    return arc->from == vertex ? arc->to : arc->from;
}

/* Note whether an arc is an exit with a flow. */
static void set_exit(struct flow_network *network, uint32_t arc)
{
    if (network->arcs[arc].to != network->vertex_count - 1)
        return;
    uint32_t *place = &network->exit_place[network->arcs[arc].from / 2];
    bool has_flow = network->arcs[arc].flow > 0;
    if (has_flow && *place == BAT_NONE) {
        *place = network->exit_count;
        network->exits[network->exit_count++] = arc;
    } else if (!has_flow && *place != BAT_NONE) {
        uint32_t last = network->exits[--network->exit_count];
        network->exits[*place] = last;
        network->exit_place[network->arcs[last].from / 2] = *place;
        *place = BAT_NONE;
    }
}

/* Send as much as one price allows along the way that was found, from start to end. */
static void send(struct flow_network *network, uint32_t start, uint32_t end)
{
    int64_t most = network->excess[start];
    most = most < -network->excess[end] ? most : -network->excess[end];
    for (uint32_t vertex = end; vertex != start; vertex = before(network, vertex)) {
        struct change change;
        change_of(&network->arcs[network->path[vertex]], before(network, vertex), &change);
        most = change.most < most ? change.most : most;
    }
    for (uint32_t vertex = end; vertex != start; vertex = before(network, vertex)) {
        struct flow_arc *arc = &network->arcs[network->path[vertex]];
        arc->flow += arc->to == vertex ? most : -most;
        set_exit(network, network->path[vertex]);
    }
    network->excess[start] -= most;
    network->excess[end] += most;
}

/* Send what the vertices have too much; *is_limited is true if work ended it before. */
static bool send_all(struct flow_network *network, bool *is_limited)
{
    for (uint32_t i = 0; i < network->vertex_count; i++)
        network->distance[i] = FAR;
    for (uint32_t i = 0; i < network->vertex_count; i++) {
        uint32_t end = 0;
        while (network->excess[i] > 0 && end != BAT_NONE && network->work < network->work_limit) {
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

static void set_flow(struct flow_network *network, uint32_t index, int64_t flow)
{
    struct flow_arc *arc = &network->arcs[index];
    network->excess[arc->to] += flow - arc->flow;
    network->excess[arc->from] -= flow - arc->flow;
    arc->flow = flow;
    set_exit(network, index);
}

/* The first flow: all arcs as wanted, where no change has a negative price. */
static void begin_flow(struct flow_network *network)
{
    for (uint32_t i = 0; i < network->graph->node_count; i++)
        network->exit_place[i] = BAT_NONE;
    network->exit_count = 0;
    memset(network->excess, 0, network->vertex_count * sizeof(*network->excess));
    memset(network->potential, 0, network->vertex_count * sizeof(*network->potential));
    for (uint32_t i = 0; i < network->arc_count; i++) {
        network->arcs[i].flow = 0;
        set_flow(network, i, network->arcs[i].wanted);
    }
}

/* Change an arc's flow as little as possible so that no change of it has a negative price, with the
 * potentials as they are. */
static void settle_arc(struct flow_network *network, uint32_t index)
{
    const struct flow_arc *arc = &network->arcs[index];
    int64_t gain = network->potential[arc->from] - network->potential[arc->to];
    int64_t least = gain >= (int64_t)arc->less ? 0 : arc->wanted;
    int64_t most = gain > (int64_t)arc->less     ? 0
                   : gain <= -(int64_t)arc->more ? INT64_MAX
                                                 : arc->wanted;
    int64_t flow = arc->flow < least ? least : arc->flow > most ? most : arc->flow;
    set_flow(network, index, flow);
}

/* Set what edges with a share want, and a flow to begin with: that of the round before, if any. */
static void set_wanted(struct flow_network *network, const uint64_t *wanted)
{
    const struct flow_graph *graph = network->graph;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        struct flow_arc *arc = &network->arcs[graph->node_count + i];
        uint32_t price = graph->edges[i].share_price;
        if (price == 0)
            continue;
        arc->less = arc->more = price;
        arc->wanted = (int64_t)(wanted[i] < FLOW_MOST ? wanted[i] : FLOW_MOST);
        if (network->is_solved)
            settle_arc(network, graph->node_count + i);
    }
    if (!network->is_solved)
        begin_flow(network);
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
