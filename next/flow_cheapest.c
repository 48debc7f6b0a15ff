/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the cheapest flow. It begins with all arcs as wanted, where no change has a negative price;
 * then vertices have too much or too little. Each phase finds the distances from all vertices with
 * too much to the nearest with too little, and sends along all the ways of that length.
 */
#include "flow_network.h"

#include <stdlib.h>
#include <string.h>

#include "flow_leftovers.h"
#include "spec/grow.h"

#define FAR (INT64_MAX / 4)

/* Arcs that are looked at for each arc of the network before the rest is done without prices. */
#define WORK_FOR_EACH_ARC 4000u

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
    network->arc_count = 3 * graph->node_count + graph->edge_count;
    network->work_limit = (uint64_t)WORK_FOR_EACH_ARC * network->arc_count;
    size_t vertices = (size_t)network->vertex_count + 1;
    network->arcs = calloc(network->arc_count, sizeof(*network->arcs));
    network->around = malloc((size_t)network->arc_count * 2 * sizeof(*network->around));
    network->first = malloc(vertices * sizeof(*network->first));
    network->excess = malloc(vertices * sizeof(*network->excess));
    network->potential = malloc(vertices * sizeof(*network->potential));
    network->distance = malloc(vertices * sizeof(*network->distance));
    network->current = malloc(vertices * sizeof(*network->current));
    network->state = malloc(vertices);
    network->path = malloc(vertices * sizeof(*network->path));
    if (!network->arcs || !network->around || !network->first || !network->excess ||
        !network->potential || !network->distance || !network->current || !network->state ||
        !network->path)
        return false;
    set_arcs(network);
    set_around(network);
    return true;
}

void flow_network_free(struct flow_network *network)
{
    free(network->arcs);
    free(network->around);
    free(network->first);
    free(network->excess);
    free(network->potential);
    free(network->distance);
    free(network->current);
    free(network->state);
    free(network->path);
    free(network->heap);
}

/* --- Changing one arc ----------------------------------------------------------------------- */

/* A change of an arc, seen from one of its vertices: more flow out of it, or less flow into it. */
struct change {
    uint32_t to;
    int64_t price; /* of each unit */
    int64_t most;
};

/* False if nothing can be changed. */
static bool change_of(const struct flow_arc *arc, uint32_t vertex, struct change *change)
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
    if (!bat_grow(&network->heap, &network->heap_capacity, network->heap_count,
                  sizeof(*network->heap)))
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

static bool relax(struct flow_network *network, uint32_t vertex)
{
    for (uint32_t i = network->first[vertex]; i < network->first[vertex + 1]; i++) {
        struct change change;
        const struct flow_arc *arc = &network->arcs[network->around[i]];
        if (arc->from == arc->to || !change_of(arc, vertex, &change))
            continue;
        int64_t distance = network->distance[vertex] + change.price + network->potential[vertex] -
                           network->potential[change.to];
        if (distance < network->distance[change.to]) {
            network->distance[change.to] = distance;
            if (!push(network, change.to, distance))
                return false;
        }
    }
    network->work += network->first[vertex + 1] - network->first[vertex];
    return true;
}

/*
 * Find the distance to the nearest vertex with too little, and add it to the potentials; *is_there
 * is false if there is none.
 */
static bool find_distances(struct flow_network *network, bool *is_there)
{
    int64_t nearest = FAR;
    network->heap_count = 0;
    for (uint32_t i = 0; i < network->vertex_count; i++) {
        network->distance[i] = network->excess[i] > 0 ? 0 : FAR;
        if (network->excess[i] > 0 && !push(network, i, 0))
            return false;
    }
    while (network->heap_count > 0) {
        struct flow_heap_entry top = pop(network);
        if (top.distance > network->distance[top.vertex])
            continue;
        if (network->excess[top.vertex] < 0) {
            nearest = top.distance;
            break;
        }
        if (!relax(network, top.vertex))
            return false;
    }
    *is_there = nearest != FAR;
    for (uint32_t i = 0; i < network->vertex_count && *is_there; i++)
        network->potential[i] += network->distance[i] < nearest ? network->distance[i] : nearest;
    return true;
}

/* --- Sending -------------------------------------------------------------------------------- */

enum vertex_state { VERTEX_NEW, VERTEX_ON_PATH, VERTEX_DONE };

/* An arc of the vertex that leads on at no further price; its index in around, or BAT_NONE. */
static uint32_t next_free(struct flow_network *network, uint32_t vertex)
{
    for (uint32_t *at = &network->current[vertex]; *at < network->first[vertex + 1]; ++*at) {
        struct change change;
        network->work++;
        if (!change_of(&network->arcs[network->around[*at]], vertex, &change) ||
            network->state[change.to] != VERTEX_NEW)
            continue;
        if (change.price + network->potential[vertex] == network->potential[change.to])
            return *at;
    }
    return BAT_NONE;
}

/* Send along the path from a vertex with too much to one with too little. */
static void send(struct flow_network *network, uint32_t start, uint32_t length)
{
    uint32_t end = start;
    int64_t most = network->excess[start];
    struct change change;
    for (uint32_t i = 0; i < length; i++, end = change.to) {
        change_of(&network->arcs[network->path[i]], end, &change);
        most = change.most < most ? change.most : most;
    }
    most = most < -network->excess[end] ? most : -network->excess[end];
    uint32_t vertex = start;
    for (uint32_t i = 0; i < length; i++) {
        struct flow_arc *arc = &network->arcs[network->path[i]];
        bool is_forward = arc->from == vertex;
        arc->flow += is_forward ? most : -most;
        vertex = is_forward ? arc->to : arc->from;
    }
    network->excess[start] -= most;
    network->excess[end] += most;
}

/* Look for a path at no price from a vertex, and send along it. False if there is none. */
static bool send_from(struct flow_network *network, uint32_t start)
{
    uint32_t length = 0;
    uint32_t vertex = start;
    network->state[vertex] = VERTEX_ON_PATH;
    while (network->excess[vertex] >= 0) {
        uint32_t found = next_free(network, vertex);
        if (found == BAT_NONE) {
            network->state[vertex] = VERTEX_DONE;
            if (length == 0)
                return false;
            const struct flow_arc *arc = &network->arcs[network->path[--length]];
            vertex = arc->from == vertex ? arc->to : arc->from;
            network->current[vertex]++;
            continue;
        }
        const struct flow_arc *arc = &network->arcs[network->around[found]];
        network->path[length++] = network->around[found];
        vertex = arc->from == vertex ? arc->to : arc->from;
        network->state[vertex] = VERTEX_ON_PATH;
    }
    send(network, start, length);
    /* The vertices on the path may be used again. */
    vertex = start;
    network->state[vertex] = VERTEX_NEW;
    for (uint32_t i = 0; i < length; i++) {
        const struct flow_arc *arc = &network->arcs[network->path[i]];
        vertex = arc->from == vertex ? arc->to : arc->from;
        network->state[vertex] = VERTEX_NEW;
    }
    return true;
}

static void send_all(struct flow_network *network)
{
    memset(network->state, VERTEX_NEW, network->vertex_count);
    memcpy(network->current, network->first, network->vertex_count * sizeof(*network->first));
    for (uint32_t i = 0; i < network->vertex_count; i++)
        while (network->excess[i] > 0 && network->state[i] == VERTEX_NEW && send_from(network, i)) {
        }
}

/* --- All of it ------------------------------------------------------------------------------ */

static void begin_flow(struct flow_network *network, const uint64_t *wanted)
{
    const struct flow_graph *graph = network->graph;
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        struct flow_arc *arc = &network->arcs[graph->node_count + i];
        uint32_t price = graph->edges[i].share_price;
        if (price == 0)
            continue;
        arc->less = arc->more = price;
        arc->wanted = (int64_t)(wanted[i] < FLOW_MOST ? wanted[i] : FLOW_MOST);
    }
    memset(network->excess, 0, network->vertex_count * sizeof(*network->excess));
    memset(network->potential, 0, network->vertex_count * sizeof(*network->potential));
    for (uint32_t i = 0; i < network->arc_count; i++) {
        struct flow_arc *arc = &network->arcs[i];
        arc->flow = arc->wanted;
        network->excess[arc->to] += arc->flow;
        network->excess[arc->from] -= arc->flow;
    }
}

bool flow_network_solve(struct flow_network *network, const uint64_t *wanted,
                        struct flow_counts *counts)
{
    const struct flow_graph *graph = network->graph;
    begin_flow(network, wanted);
    network->work = 0;
    bool is_there = true;
    while (is_there && network->work < network->work_limit) {
        if (!find_distances(network, &is_there))
            return false;
        if (is_there)
            send_all(network);
    }
    if (is_there) {
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
