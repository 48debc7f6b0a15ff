/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "flow_leftovers.h"

#include <stdlib.h>
#include <string.h>

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

bool flow_balance_leftovers(struct flow_network *network)
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
