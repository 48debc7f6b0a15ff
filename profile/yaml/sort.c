/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_lists.h"

#include <string.h>

#include "spec/array.h"
#include "spec/order.h"

/* --- Order ---------------------------------------------------------------------------------- */

int bat_yaml_by_place(const void *left_pointer, const void *right_pointer)
{
    const struct bat_yaml_edge *left = left_pointer;
    const struct bat_yaml_edge *right = right_pointer;
    int order = bat_compare_numbers(left->at, right->at);
    order = order ? order : bat_compare_numbers(left->function, right->function);
    return order ? order : bat_compare_numbers(left->entry, right->entry);
}

int bat_yaml_by_index(const void *left, const void *right)
{
    return bat_compare_numbers(((const struct bat_yaml_profile_block *)left)->index,
                               ((const struct bat_yaml_profile_block *)right)->index);
}

int bat_yaml_by_name(const void *left, const void *right)
{
    return strcmp(((const struct bat_yaml_profile_function *)left)->name,
                  ((const struct bat_yaml_profile_function *)right)->name);
}

/* Functions of one number are not expected; their names make the order the same always. */
int bat_yaml_by_number(const void *left, const void *right)
{
    int order = bat_compare_numbers(((const struct bat_yaml_profile_function *)left)->number,
                                    ((const struct bat_yaml_profile_function *)right)->number);
    return order ? order : bat_yaml_by_name(left, right);
}

const struct bat_yaml_profile_function *
bat_yaml_profile_find(const struct bat_yaml_profile *profile, uint32_t number)
{
    uint32_t i = BAT_COUNT_BELOW(profile->functions, profile->count, number, number);
    bool is_found = i < profile->count && profile->functions[i].number == number;
    return is_found ? &profile->functions[i] : NULL;
}

/* --- Sums ----------------------------------------------------------------------------------- */

static enum bat_code add(uint64_t *sum, uint64_t value, struct bat_error *error)
{
    if (__builtin_add_overflow(*sum, value, sum))
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^64, found more");
    return BAT_OK;
}

/* Append `more` elements of size bytes to a list. */
static enum bat_code append(void *list, uint32_t *count, uint32_t *capacity, const void *more,
                            uint32_t more_count, size_t size, struct bat_error *error)
{
    size_t larger = *capacity;
    if (more_count == 0)
        return BAT_OK;
    if (more_count > UINT32_MAX / 2 - *count ||
        !bat_reserve(list, &larger, *count, more_count, size))
        return bat_fail_memory(error, "to merge profiles");
    memcpy(*(char **)list + *count * size, more, more_count * size);
    *capacity = (uint32_t)larger;
    *count += more_count;
    return BAT_OK;
}

static enum bat_code append_edges(struct bat_yaml_edges *edges, const struct bat_yaml_edges *more,
                                  struct bat_error *error)
{
    return append(&edges->all, &edges->count, &edges->capacity, more->all, more->count,
                  sizeof(*more->all), error);
}

static enum bat_code sort_edges(struct bat_yaml_edges *edges, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    uint32_t kept = 0;
    bat_yaml_sort_list(edges->all, edges->count, sizeof(*edges->all), bat_yaml_by_place);
    for (uint32_t i = 0; i < edges->count && code == BAT_OK; i++) {
        struct bat_yaml_edge *last = kept ? &edges->all[kept - 1] : NULL;
        const struct bat_yaml_edge edge = edges->all[i];
        if (!last || bat_yaml_by_place(last, &edge) != 0) {
            edges->all[kept++] = edge;
            continue;
        }
        if (last->probe == 0) {
            last->probe = edge.probe;
            last->probe_node = edge.probe_node;
            last->is_indirect = edge.is_indirect;
        }
        code = add(&last->count, edge.count, error);
        code = code ? code : add(&last->mispredictions, edge.mispredictions, error);
    }
    edges->count = kept;
    return code;
}

/* The edges of the sum are yet to be sorted. */
static enum bat_code add_block(struct bat_yaml_profile_block *block,
                               const struct bat_yaml_profile_block *more, const char *function,
                               struct bat_error *error)
{
    enum bat_code code = bat_yaml_profile_check_block(more, block, function, error);
    code = code ? code : add(&block->executions, more->executions, error);
    code = code ? code : add(&block->events, more->events, error);
    code = code ? code : append_edges(&block->calls, &more->calls, error);
    code = code ? code : bat_yaml_profile_add_probes(block, more, error);
    return code ? code : append_edges(&block->successors, &more->successors, error);
}

enum bat_code bat_yaml_profile_sort_function(struct bat_yaml_profile_function *function,
                                             struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    uint32_t kept = 0;
    bat_yaml_sort_list(function->blocks, function->count, sizeof(*function->blocks),
                       bat_yaml_by_index);
    for (uint32_t i = 0; i < function->count; i++) {
        struct bat_yaml_profile_block *block = &function->blocks[i];
        struct bat_yaml_profile_block *last = kept ? &function->blocks[kept - 1] : NULL;
        if (!last || last->index != block->index) {
            function->blocks[kept++] = *block;
            continue;
        }
        code = code ? code : add_block(last, block, function->name, error);
        bat_yaml_profile_free_block(block);
    }
    function->count = kept;
    for (uint32_t i = 0; i < kept && code == BAT_OK; i++) {
        code = sort_edges(&function->blocks[i].calls, error);
        bat_yaml_profile_place_probes(&function->blocks[i].calls);
        code = code ? code : sort_edges(&function->blocks[i].successors, error);
    }
    return code;
}

enum bat_code bat_yaml_profile_add_function(struct bat_yaml_profile_function *function,
                                            struct bat_yaml_profile_function *more,
                                            struct bat_error *error)
{
    enum bat_code code = bat_yaml_profile_check_function(more, function, error);
    for (uint32_t i = 0; i < more->count && code == BAT_OK; i++)
        if (more->blocks[i].index >= more->block_count)
            code = bat_fail(error, BAT_ERR_SYNTAX, "expected blocks below %u in %.200s, found %u",
                            more->block_count, more->name, more->blocks[i].index);
    code = code ? code : add(&function->executions, more->executions, error);
    code = code ? code : add(&function->from_outside, more->from_outside, error);
    code = code ? code : bat_yaml_profile_join_trees(function, more, error);
    if (code == BAT_OK)
        code = append(&function->blocks, &function->count, &function->capacity, more->blocks,
                      more->count, sizeof(*more->blocks), error);
    if (code != BAT_OK)
        return code;
    more->count = 0;
    return bat_yaml_profile_sort_function(function, error);
}

/* --- Differences ---------------------------------------------------------------------------- */

enum bat_code bat_yaml_profile_check_function(const struct bat_yaml_profile_function *function,
                                              const struct bat_yaml_profile_function *other,
                                              struct bat_error *error)
{
    const char *what = function->block_count != other->block_count ? "number of blocks"
                       : function->number != other->number         ? "number (fid)"
                       : function->hash != other->hash             ? "hash"
                                                                   : NULL;
    return what ? bat_fail(error, BAT_ERR_MISMATCH,
                           "expected %.200s to have the %s of the profiles before, found another",
                           function->name, what)
                : BAT_OK;
}

enum bat_code bat_yaml_profile_check_block(const struct bat_yaml_profile_block *block,
                                           const struct bat_yaml_profile_block *other,
                                           const char *function, struct bat_error *error)
{
    const char *what = block->hash != other->hash                   ? "hash"
                       : block->instructions != other->instructions ? "number of instructions"
                                                                    : NULL;
    return what ? bat_fail(error, BAT_ERR_MISMATCH,
                           "expected block %u of %.200s to have the %s of the profiles before, "
                           "found another",
                           block->index, function, what)
                : BAT_OK;
}
