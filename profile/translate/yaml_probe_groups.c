/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which nodes of a block have the same probes: spec/pseudo-probes.md 4. */
#include "spec/order.h"
#include "yaml_string.h"

#include <stdbool.h>
#include <stdlib.h>

/* Compare the ids of two nodes as lists. */
static int compare_ids(const uint64_t *probes, const struct bat_yaml_group *left,
                       const struct bat_yaml_group *right)
{
    const uint32_t size = left->end - left->first;
    if (size != right->end - right->first)
        return size < right->end - right->first ? -1 : 1;
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t ids[2] = {(uint32_t)probes[left->first + i],
                                 (uint32_t)probes[right->first + i]};
        if (ids[0] != ids[1])
            return ids[0] < ids[1] ? -1 : 1;
    }
    return 0;
}

static int compare_lists(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct bat_yaml_group *left = left_pointer;
    const struct bat_yaml_group *right = right_pointer;
    const int difference = compare_ids(context, left, right);
    return difference ? difference : (left->first > right->first) - (left->first < right->first);
}

uint32_t bat_yaml_probe_groups(const uint64_t *probes, uint32_t count,
                               struct bat_yaml_group *groups)
{
    uint32_t group_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || probes[i - 1] >> 32 != probes[i] >> 32)
            groups[group_count++].first = i;
        groups[group_count - 1].end = i + 1;
    }
    if (group_count > 1)
        qsort_r(groups, group_count, sizeof(*groups), compare_lists, (void *)probes);
    for (uint32_t i = 0; i < group_count; i++) {
        const bool is_same = i != 0 && compare_ids(probes, &groups[i - 1], &groups[i]) == 0;
        groups[i].entry = is_same ? groups[i - 1].entry : groups[i].first;
    }
    BAT_SORT_BY_TWO(groups, group_count, entry, first);
    return group_count;
}
