/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pseudo probes of YAML profiles, added up: spec/pseudo-probes.md 4. */
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "spec/order.h"
#include "yaml_lists.h"

/* --- Tables --------------------------------------------------------------------------------- */

/* A number and its place in a list. */
struct placed {
    uint64_t number;
    uint32_t place;
};

/* For each element: is it the first with its number? NULL if there is no memory. */
static bool *find_first(const void *list, uint32_t count, size_t size)
{
    struct placed *sorted = bat_array_new(count, sizeof(*sorted));
    bool *is_first = calloc((size_t)count + 1, sizeof(*is_first));
    if (!sorted || !is_first) {
        BAT_FREE_ALL(sorted, is_first);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&sorted[i].number, (const char *)list + i * size, sizeof(sorted[i].number));
        sorted[i].place = i;
    }
    BAT_SORT_BY_TWO(sorted, count, number, place);
    for (uint32_t i = 0; i < count; i++)
        is_first[sorted[i].place] = i == 0 || sorted[i - 1].number != sorted[i].number;
    free(sorted);
    return is_first;
}

/* Append elements that begin with a number, and keep the first of each number. */
static bool add_list(void *list, uint32_t *count, uint32_t *capacity, const void *more,
                     uint32_t more_count, size_t size)
{
    size_t larger = *capacity;
    if (more_count > UINT32_MAX / 2 - *count ||
        !bat_reserve(list, &larger, *count, more_count, size))
        return false;
    *capacity = (uint32_t)larger;
    char *all = *(char **)list;
    memcpy(all + *count * size, more, more_count * size);
    const uint32_t sum = *count + more_count;
    bool *is_first = find_first(all, sum, size);
    if (!is_first)
        return false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sum; i++)
        if (is_first[i])
            memmove(all + kept++ * size, all + i * size, size);
    *count = kept;
    free(is_first);
    return true;
}

enum bat_code bat_yaml_profile_add_tables(struct bat_yaml_profile *profile,
                                          const struct bat_yaml_profile *more,
                                          struct bat_error *error)
{
    if (more->guid_count != 0 &&
        !add_list(&profile->guids, &profile->guid_count, &profile->guid_capacity, more->guids,
                  more->guid_count, sizeof(*more->guids)))
        return bat_fail_memory(error, "to merge pseudo probes");
    if (more->hash_count != 0 &&
        !add_list(&profile->hashes, &profile->hash_count, &profile->hash_capacity, more->hashes,
                  more->hash_count, sizeof(*more->hashes)))
        return bat_fail_memory(error, "to merge pseudo probes");
    return BAT_OK;
}

/* --- Trees ---------------------------------------------------------------------------------- */

static bool is_same_node(const struct bat_yaml_node *left, const struct bat_yaml_node *right)
{
    return left->guid == right->guid && left->parent == right->parent &&
           left->call_site == right->call_site;
}

static bool is_same_tree(const struct bat_yaml_profile_function *left,
                         const struct bat_yaml_profile_function *right)
{
    if (left->node_count != right->node_count)
        return false;
    for (uint32_t i = 0; i < left->node_count; i++)
        if (!is_same_node(&left->nodes[i], &right->nodes[i]))
            return false;
    return true;
}

/* Give the probes of a function the nodes that numbers has for theirs. */
static void renumber_probes(struct bat_yaml_profile_function *function, const uint32_t *numbers)
{
    for (uint32_t i = 0; i < function->count; i++) {
        struct bat_yaml_profile_block *block = &function->blocks[i];
        for (uint32_t j = 0; j < block->probe_count; j++)
            block->probes[j] =
                (uint64_t)numbers[block->probes[j] >> 32] << 32 | (uint32_t)block->probes[j];
        bat_yaml_profile_sort_probes(block);
        for (uint32_t j = 0; j < block->calls.count; j++)
            if (block->calls.all[j].probe != 0)
                block->calls.all[j].probe_node = numbers[block->calls.all[j].probe_node];
    }
}

void bat_yaml_profile_drop_probes(struct bat_yaml_profile_function *function)
{
    for (uint32_t i = 0; i < function->count; i++) {
        struct bat_yaml_profile_block *block = &function->blocks[i];
        uint32_t kept = 0;
        block->probe_count = 0;
        for (uint32_t j = 0; j < block->calls.count; j++) {
            struct bat_yaml_edge call = block->calls.all[j];
            if (bat_yaml_is_uncounted(&call))
                continue;
            call.probe = call.probe_node = 0;
            call.is_indirect = false;
            block->calls.all[kept++] = call;
        }
        block->calls.count = kept;
    }
    function->node_count = 0;
}

/* What is needed to join two trees. */
struct joining {
    struct bat_yaml_node *nodes; /* of the first tree, then what it lacks of the second one */
    uint32_t count;
    uint32_t *sorted;  /* the first tree's nodes below the root, by parent, GUID, call site */
    uint32_t *numbers; /* of the second tree's nodes, among all */
    uint32_t *used;    /* by place in sorted: how many of the equal nodes from there on are used */
    uint32_t *places;  /* of all nodes, breadth first */
    uint32_t *queue;   /* all nodes in that order */
    uint32_t *child;   /* the first child of each, or BAT_NONE */
    uint32_t *sibling; /* the next child of its parent, or BAT_NONE */
};

static int compare_nodes(const struct bat_yaml_node *left, const struct bat_yaml_node *right)
{
    int order = bat_compare_numbers(left->parent, right->parent);
    order = order ? order : bat_compare_numbers(left->guid, right->guid);
    return order ? order : bat_compare_numbers(left->call_site, right->call_site);
}

static int compare_sorted(const void *left_pointer, const void *right_pointer, void *nodes_pointer)
{
    const uint32_t left = *(const uint32_t *)left_pointer;
    const uint32_t right = *(const uint32_t *)right_pointer;
    const struct bat_yaml_node *nodes = nodes_pointer;
    const int order = compare_nodes(&nodes[left], &nodes[right]);
    return order ? order : bat_compare_numbers(left, right);
}

/* The node of the first tree that is this one, and not used yet; BAT_NONE if there is none. */
static uint32_t find_node(const struct joining *joining, uint32_t count,
                          const struct bat_yaml_node *node)
{
    struct bat_search search = {.high = count};
    while (bat_search_next(&search))
        bat_search_go(&search,
                      compare_nodes(&joining->nodes[joining->sorted[search.middle]], node) < 0);
    const uint32_t first = (uint32_t)search.low;
    if (first == count)
        return BAT_NONE;
    const uint32_t place = first + joining->used[first];
    if (place >= count || compare_nodes(&joining->nodes[joining->sorted[place]], node) != 0)
        return BAT_NONE;
    joining->used[first]++;
    return joining->sorted[place];
}

/* Number the second tree's nodes; those that the first one lacks are appended. */
static void match_nodes(struct joining *joining, const struct bat_yaml_profile_function *function,
                        const struct bat_yaml_profile_function *more)
{
    joining->count = function->node_count;
    memcpy(joining->nodes, function->nodes, function->node_count * sizeof(*function->nodes));
    const uint32_t below = function->node_count - 1; /* all but the root */
    for (uint32_t i = 0; i < below; i++)
        joining->sorted[i] = i + 1;
    if (below > 1)
        qsort_r(joining->sorted, below, sizeof(*joining->sorted), compare_sorted, joining->nodes);
    joining->numbers[0] = 0;
    for (uint32_t i = 1; i < more->node_count; i++) {
        struct bat_yaml_node node = more->nodes[i];
        node.parent = joining->numbers[node.parent];
        uint32_t found = find_node(joining, below, &node);
        if (found == BAT_NONE) {
            found = joining->count++;
            joining->nodes[found] = node;
        }
        joining->numbers[i] = found;
    }
}

/* Put all nodes into queue, breadth first, and their places there into places. */
static void order_nodes(struct joining *joining)
{
    for (uint32_t i = 0; i < joining->count; i++)
        joining->child[i] = joining->sibling[i] = BAT_NONE;
    for (uint32_t i = joining->count; i-- > 1;) {
        joining->sibling[i] = joining->child[joining->nodes[i].parent];
        joining->child[joining->nodes[i].parent] = i;
    }
    uint32_t end = 1;
    joining->queue[0] = 0;
    for (uint32_t i = 0; i < end; i++) {
        joining->places[joining->queue[i]] = i;
        for (uint32_t child = joining->child[joining->queue[i]]; child != BAT_NONE;
             child = joining->sibling[child])
            joining->queue[end++] = child;
    }
}

static bool begin_joining(struct joining *joining, size_t first, size_t second)
{
    const size_t both = first + second;
    joining->nodes = bat_array_new(both, sizeof(*joining->nodes));
    joining->sorted = bat_array_new(first, sizeof(*joining->sorted));
    joining->numbers = bat_array_new(second, sizeof(*joining->numbers));
    joining->used = calloc(first + 1, sizeof(*joining->used));
    joining->places = bat_array_new(both, sizeof(*joining->places));
    joining->queue = bat_array_new(both, sizeof(*joining->queue));
    joining->child = bat_array_new(both, sizeof(*joining->child));
    joining->sibling = bat_array_new(both, sizeof(*joining->sibling));
    return joining->nodes && joining->sorted && joining->numbers && joining->used &&
           joining->places && joining->queue && joining->child && joining->sibling;
}

static void end_joining(struct joining *joining)
{
    BAT_FREE_ALL(joining->nodes, joining->sorted, joining->numbers, joining->used, joining->places,
                 joining->queue, joining->child, joining->sibling);
}

/* The joined tree, breadth first, in a new array. NULL if there is no memory. */
static struct bat_yaml_node *joined_nodes(const struct joining *joining)
{
    struct bat_yaml_node *nodes = bat_array_new(joining->count, sizeof(*nodes));
    for (uint32_t i = 0; nodes && i < joining->count; i++) {
        nodes[i] = joining->nodes[joining->queue[i]];
        nodes[i].parent = joining->places[nodes[i].parent];
    }
    return nodes;
}

static bool join(struct bat_yaml_profile_function *function, struct bat_yaml_profile_function *more,
                 struct joining *joining)
{
    if (!begin_joining(joining, function->node_count, more->node_count))
        return false;
    match_nodes(joining, function, more);
    order_nodes(joining);
    struct bat_yaml_node *nodes = joined_nodes(joining);
    if (!nodes)
        return false;
    for (uint32_t i = 0; i < more->node_count; i++)
        joining->numbers[i] = joining->places[joining->numbers[i]];
    renumber_probes(function, joining->places);
    renumber_probes(more, joining->numbers);
    free(function->nodes);
    function->nodes = nodes;
    function->node_count = function->node_capacity = joining->count;
    return true;
}

enum bat_code bat_yaml_profile_join_trees(struct bat_yaml_profile_function *function,
                                          struct bat_yaml_profile_function *more,
                                          struct bat_error *error)
{
    if (more->node_count == 0 || is_same_tree(function, more))
        return BAT_OK;
    if (function->node_count == 0) {
        free(function->nodes);
        function->nodes = more->nodes;
        function->node_count = more->node_count;
        function->node_capacity = more->node_capacity;
        more->nodes = NULL;
        more->node_count = more->node_capacity = 0;
        return BAT_OK;
    }
    if (function->nodes[0].guid != more->nodes[0].guid) {
        bat_yaml_profile_drop_probes(more);
        return BAT_OK;
    }
    struct joining joining = {0};
    const bool has_memory = join(function, more, &joining);
    end_joining(&joining);
    return has_memory ? BAT_OK : bat_fail_memory(error, "to merge pseudo probes");
}

/* --- Blocks --------------------------------------------------------------------------------- */

void bat_yaml_profile_sort_probes(struct bat_yaml_profile_block *block)
{
    bat_yaml_sort_list(block->probes, block->probe_count, sizeof(*block->probes), bat_compare_u64);
}

enum bat_code bat_yaml_profile_add_probes(struct bat_yaml_profile_block *block,
                                          const struct bat_yaml_profile_block *more,
                                          struct bat_error *error)
{
    const uint32_t own = block->probe_count;
    uint32_t next = 0;
    bat_yaml_profile_sort_probes(block);
    for (uint32_t i = 0; i < more->probe_count; i++) {
        while (next < own && block->probes[next] < more->probes[i])
            next++;
        if (next < own && block->probes[next] == more->probes[i]) {
            next++;
            continue;
        }
        if (!bat_yaml_profile_grow(&block->probes, &block->probe_capacity, block->probe_count,
                                   sizeof(*block->probes)))
            return bat_fail_memory(error, "to merge pseudo probes");
        block->probes[block->probe_count++] = more->probes[i];
    }
    bat_yaml_profile_sort_probes(block);
    return BAT_OK;
}

void bat_yaml_profile_place_probes(struct bat_yaml_edges *calls)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < calls->count;) {
        const uint32_t first = i;
        const struct bat_yaml_edge *with = NULL; /* a call at this place with a probe */
        for (; i < calls->count && calls->all[i].at == calls->all[first].at; i++)
            if (calls->all[i].probe != 0)
                with = &calls->all[i];
        const struct bat_yaml_edge probe = with ? *with : (struct bat_yaml_edge){0};
        for (uint32_t j = first; j < i; j++) {
            struct bat_yaml_edge call = calls->all[j];
            if (i - first > 1 && bat_yaml_is_uncounted(&call))
                continue;
            if (call.probe == 0) {
                call.probe = probe.probe;
                call.probe_node = probe.probe_node;
                call.is_indirect = probe.is_indirect;
            }
            calls->all[kept++] = call;
        }
    }
    calls->count = kept;
}
