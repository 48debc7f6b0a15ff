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

/*
 * Set [*low, *high] to where the first function is whose GUID is not below guid. GUIDs are hashes,
 * spread evenly: it is close to the place in proportion, and the steps away from there double.
 */
static void near_function(const struct bat_probes *probes, uint64_t guid, uint32_t *low,
                          uint32_t *high)
{
    const uint64_t count = probes->function_count;
    uint64_t at = (uint64_t)((unsigned __int128)guid * count >> 64);
    const bool is_below = at < count && probes->functions[at].guid < guid;
    for (uint64_t step = 1;; step *= 2) {
        const uint64_t next = is_below ? at + step : at - step;
        if (is_below ? next >= count : step > at)
            break;
        if ((probes->functions[next].guid < guid) != is_below) {
            *low = (uint32_t)(is_below ? at + 1 : next + 1);
            *high = (uint32_t)(is_below ? next : at);
            return;
        }
        at = next;
    }
    *low = (uint32_t)(is_below ? at + 1 : 0);
    *high = (uint32_t)(is_below ? count : at);
}

const struct bat_probe_function *bat_probes_function(const struct bat_probes *probes, uint64_t guid)
{
    uint32_t low;
    uint32_t high;
    near_function(probes, guid, &low, &high);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (probes->functions[middle].guid < guid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < probes->function_count && probes->functions[low].guid == guid
               ? &probes->functions[low]
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
