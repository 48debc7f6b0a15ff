/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What several profiles agree on. */
#include <stdlib.h>
#include <string.h>

#include "yaml_lists.h"

static uint64_t smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* --- Sorting -------------------------------------------------------------------------------- */

static enum bat_code sort_function(struct bat_yaml_profile_function *function,
                                   struct bat_error *error)
{
    struct bat_yaml_profile_block *blocks = function->blocks;
    bat_yaml_sort_list(blocks, function->count, sizeof(*blocks), bat_yaml_by_index);
    for (uint32_t i = 1; i < function->count; i++)
        if (blocks[i - 1].index == blocks[i].index)
            return bat_fail(error, BAT_ERR_SYNTAX,
                            "expected each block of %.200s once, found two of %u", function->name,
                            blocks[i].index);
    return bat_yaml_profile_sort_function(function, error);
}

enum bat_code bat_yaml_profile_sort(struct bat_yaml_profile *profile, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    bat_yaml_sort_list(profile->functions, profile->count, sizeof(*profile->functions),
                       bat_yaml_by_name);
    for (uint32_t i = 0; i < profile->count && code == BAT_OK; i++) {
        struct bat_yaml_profile_function *function = &profile->functions[i];
        if (i > 0 && bat_yaml_by_name(&function[-1], function) == 0)
            return bat_fail(error, BAT_ERR_SYNTAX,
                            "expected each function once, found two of %.200s", function->name);
        code = sort_function(function, error);
    }
    return code;
}

/* --- What both have ------------------------------------------------------------------------- */

static void keep_edges(struct bat_yaml_edges *edges, const struct bat_yaml_edges *from)
{
    uint32_t kept = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < edges->count; i++) {
        struct bat_yaml_edge edge = edges->all[i];
        while (next < from->count && bat_yaml_by_place(&from->all[next], &edge) < 0)
            next++;
        if (next == from->count || bat_yaml_by_place(&from->all[next], &edge) != 0)
            continue;
        edge.count = smaller(edge.count, from->all[next].count);
        edge.mispredictions = smaller(edge.mispredictions, from->all[next].mispredictions);
        edges->all[kept++] = edge;
    }
    edges->count = kept;
}

static enum bat_code keep_block(struct bat_yaml_profile_block *block,
                                const struct bat_yaml_profile_block *from, const char *function,
                                struct bat_error *error)
{
    BAT_TRY(bat_yaml_profile_check_block(block, from, function, error));
    block->executions = smaller(block->executions, from->executions);
    block->events = smaller(block->events, from->events);
    keep_edges(&block->calls, &from->calls);
    keep_edges(&block->successors, &from->successors);
    return BAT_OK;
}

static enum bat_code keep_function(struct bat_yaml_profile_function *function,
                                   const struct bat_yaml_profile_function *from,
                                   struct bat_error *error)
{
    BAT_TRY(bat_yaml_profile_check_function(function, from, error));
    enum bat_code code = BAT_OK;
    function->executions = smaller(function->executions, from->executions);
    function->from_outside = smaller(function->from_outside, from->from_outside);
    uint32_t kept = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < function->count; i++) {
        struct bat_yaml_profile_block *block = &function->blocks[i];
        while (next < from->count && bat_yaml_by_index(&from->blocks[next], block) < 0)
            next++;
        bool is_common = next < from->count && from->blocks[next].index == block->index;
        if (is_common && code == BAT_OK)
            code = keep_block(block, &from->blocks[next], function->name, error);
        if (is_common)
            function->blocks[kept++] = *block;
        else
            bat_yaml_profile_free_block(block);
    }
    function->count = kept;
    return code;
}

/* Replace *own by the other string if that comes first: the result depends on no order. */
static enum bat_code keep_string(char **own, const char *other, struct bat_error *error)
{
    if (strcmp(*own, other) <= 0)
        return BAT_OK;
    char *copy = strdup(other);
    BAT_TRY_MEMORY(copy, error, "for the header");
    free(*own);
    *own = copy;
    return BAT_OK;
}

static enum bat_code keep_header(struct bat_yaml_profile *profile,
                                 const struct bat_yaml_profile *from, struct bat_error *error)
{
    const uint32_t kinds = BAT_YAML_FLAG_LBR | BAT_YAML_FLAG_SAMPLE;
    const char *what = (profile->flags & kinds) != (from->flags & kinds) ? "profile-flags"
                       : profile->has_xxh3 != from->has_xxh3             ? "hash-func"
                       : profile->is_dfs_order != from->is_dfs_order     ? "dfs-order"
                       : strcmp(profile->build_id, from->build_id) != 0  ? "binary-build-id"
                                                                         : NULL;
    if (what)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected the %s of the profiles before, found another", what);
    profile->flags &= from->flags;
    enum bat_code code = keep_string(&profile->binary, from->binary, error);
    code = code ? code : keep_string(&profile->origin, from->origin, error);
    return code ? code : keep_string(&profile->events, from->events, error);
}

enum bat_code bat_yaml_profile_keep_common(struct bat_yaml_profile *profile,
                                           const struct bat_yaml_profile *from,
                                           struct bat_error *error)
{
    enum bat_code code = keep_header(profile, from, error);
    uint32_t kept = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        struct bat_yaml_profile_function *function = &profile->functions[i];
        while (next < from->count && bat_yaml_by_name(&from->functions[next], function) < 0)
            next++;
        bool is_common =
            next < from->count && bat_yaml_by_name(&from->functions[next], function) == 0;
        if (is_common && code == BAT_OK)
            code = keep_function(function, &from->functions[next], error);
        if (is_common)
            profile->functions[kept++] = *function;
        else
            bat_yaml_profile_free_function(function);
    }
    profile->count = kept;
    return code;
}

/* --- The end -------------------------------------------------------------------------------- */

static void drop_unknown_calls(const struct bat_yaml_profile *profile, struct bat_yaml_edges *calls)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < calls->count; i++)
        if (calls->all[i].function == 0 || bat_yaml_profile_find(profile, calls->all[i].function))
            calls->all[kept++] = calls->all[i];
    calls->count = kept;
}

static uint64_t counted_calls(const struct bat_yaml_edges *calls)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < calls->count; i++)
        count += !bat_yaml_is_uncounted(&calls->all[i]);
    return count;
}

uint64_t bat_yaml_profile_finish_common(struct bat_yaml_profile *profile)
{
    uint64_t records = 0;
    bat_yaml_sort_list(profile->functions, profile->count, sizeof(*profile->functions),
                       bat_yaml_by_number);
    for (uint32_t i = 0; i < profile->count; i++) {
        struct bat_yaml_profile_function *function = &profile->functions[i];
        uint32_t kept = 0;
        for (uint32_t j = 0; j < function->count; j++) {
            struct bat_yaml_profile_block *block = &function->blocks[j];
            drop_unknown_calls(profile, &block->calls);
            uint64_t edges = counted_calls(&block->calls) + block->successors.count;
            records += edges + (block->events != 0);
            if (edges == 0 && block->executions == 0 && block->events == 0)
                bat_yaml_profile_free_block(block);
            else
                function->blocks[kept++] = *block;
        }
        function->count = kept;
    }
    return records;
}
