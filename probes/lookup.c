/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_probes.h"
#include "spec/order.h"

uint32_t bat_probes_between(const struct bat_probes *probes, uint64_t start, uint64_t end,
                            uint32_t *first)
{
    *first = BAT_COUNT_BELOW(probes->probes, probes->probe_count, address, start);
    return start < end ? BAT_COUNT_BELOW(probes->probes, probes->probe_count, address, end) - *first
                       : 0;
}

const struct bat_probe_function *bat_probes_function(const struct bat_probes *probes, uint64_t guid)
{
    const uint32_t found = BAT_COUNT_BELOW(probes->functions, probes->function_count, guid, guid);
    return found < probes->function_count && probes->functions[found].guid == guid
               ? &probes->functions[found]
               : NULL;
}

/* The number of bodies with GUIDs below this one; with it, too, if is_through. */
static uint32_t bodies_below(const struct bat_probes *probes, uint64_t guid, bool is_through)
{
    struct bat_search search = {.high = probes->body_count};
    while (bat_search_next(&search)) {
        const uint64_t found = probes->nodes[probes->bodies[search.middle]].guid;
        bat_search_go(&search, found < guid || (is_through && found == guid));
    }
    return (uint32_t)search.low;
}

uint32_t bat_probes_bodies(const struct bat_probes *probes, uint64_t guid, uint32_t *first)
{
    *first = bodies_below(probes, guid, false);
    return bodies_below(probes, guid, true) - *first;
}

uint32_t bat_probes_top(const struct bat_probes *probes, uint32_t node)
{
    while (probes->nodes[node].parent != BAT_NONE)
        node = probes->nodes[node].parent;
    return node;
}
