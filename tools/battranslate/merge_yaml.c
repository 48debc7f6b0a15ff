/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "merge_yaml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash_map_order.h"
#include "spec/escape_controls.h"
#include "string_map_order.h"
#include "tools/common/tool.h"
#include "whole_file.h"
#include "yaml_profile.h"

struct merged_yaml {
    struct yaml_profile profile;
    struct bat_strings names; /* of its functions, in their order */
    bool has_header;
};

struct merged_yaml *merged_yaml_new(void)
{
    return calloc(1, sizeof(struct merged_yaml));
}

void merged_yaml_free(struct merged_yaml *merged)
{
    if (!merged)
        return;
    yaml_profile_free(&merged->profile);
    bat_strings_free(&merged->names);
    free(merged);
}

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail_memory(error, "to merge profiles");
}

/* Print a name with its control characters escaped. */
static void put_name(FILE *file, const char *name)
{
    size_t size = strlen(name);
    char *escaped = malloc(size * BAT_ESCAPED_BYTE + 1);
    if (escaped)
        fwrite(escaped, 1, (size_t)(bat_put_escaped(escaped, name, size) - escaped), file);
    free(escaped);
}

/* --- The header ----------------------------------------------------------------------------- */

/* Append separator and more to *text. */
static enum bat_code append(char **text, const char *separator, const char *more,
                            struct bat_error *error)
{
    size_t size = strlen(*text) + strlen(separator) + strlen(more) + 1;
    char *joined = malloc(size);
    if (!joined)
        return fail_memory(error);
    snprintf(joined, size, "%s%s%s", *text, separator, more);
    free(*text);
    *text = joined;
    return BAT_OK;
}

static enum bat_code merge_header(struct yaml_profile *merged, const struct yaml_profile *part,
                                  struct bat_error *error)
{
    const uint32_t kinds = YAML_FLAG_LBR | YAML_FLAG_SAMPLE;
    if (strcmp(merged->binary, part->binary) != 0)
        tool_message(NULL, "warning: merging a profile of %s into one of %s", part->binary,
                     merged->binary);
    if (strcmp(merged->build_id, part->build_id) != 0)
        tool_message(NULL, "warning: the build-ids of merged profiles differ");
    if ((merged->flags & kinds) != (part->flags & kinds))
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected a profile of %s, as before it, found one of %s",
                        merged->flags & YAML_FLAG_LBR ? "branches (lbr)" : "samples",
                        part->flags & YAML_FLAG_LBR ? "branches (lbr)" : "samples");
    merged->flags |= part->flags;
    if (merged->has_xxh3 != part->has_xxh3)
        return bat_fail(error, BAT_ERR_MISMATCH, "expected hashes of %s, as before it, found %s",
                        merged->has_xxh3 ? "xxh3" : "std-hash",
                        part->has_xxh3 ? "xxh3" : "std-hash");
    enum bat_code code = BAT_OK;
    if (part->origin[0] && strcmp(merged->origin, part->origin) != 0)
        code = append(&merged->origin, merged->origin[0] ? "; " : "", part->origin, error);
    if (code == BAT_OK && !merged->events[0])
        code = append(&merged->events, "", part->events, error);
    if (code == BAT_OK && strcmp(merged->events, part->events) != 0) {
        tool_message(NULL, "warning: merging profiles with different sampling events");
        code = append(&merged->events, ",", part->events, error);
    }
    return code;
}

/* --- Functions ------------------------------------------------------------------------------ */

static enum bat_code add(uint64_t *sum, uint64_t value, struct bat_error *error)
{
    if (value > UINT64_MAX - *sum)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^64, found more");
    *sum += value;
    return BAT_OK;
}

static int compare_edges(const struct yaml_edge *left, const struct yaml_edge *right)
{
    if (left->at != right->at)
        return left->at < right->at ? -1 : 1;
    if (left->function != right->function)
        return left->function < right->function ? -1 : 1;
    return (left->entry > right->entry) - (left->entry < right->entry);
}

static int by_edge(const void *left_pointer, const void *right_pointer, void *edges)
{
    const struct yaml_edge *all = edges;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    int difference = compare_edges(&all[left], &all[right]);
    return difference ? difference : (left > right) - (left < right);
}

/* The numbers of the edges, sorted. NULL if there is no memory. */
static uint32_t *sort_edges(const struct yaml_edges *edges)
{
    uint32_t *order = malloc(((size_t)edges->count + 1) * sizeof(*order));
    for (uint32_t i = 0; order && i < edges->count; i++)
        order[i] = i;
    if (order && edges->count > 1)
        qsort_r(order, edges->count, sizeof(*order), by_edge, edges->all);
    return order;
}

/*
 * The first of edges that is the same edge; count if there is none. order is its first `count`
 * edges, sorted.
 */
static uint32_t find_edge(const struct yaml_edges *edges, const uint32_t *order, uint32_t count,
                          const struct yaml_edge *wanted)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_edges(&edges->all[order[middle]], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && compare_edges(&edges->all[order[low]], wanted) == 0 ? order[low] : count;
}

/* Append an edge, or add it to the one that it is. known are sorted in order. */
static enum bat_code merge_edge(struct yaml_edges *edges, const uint32_t *order, uint32_t known,
                                const struct yaml_edge *edge, struct bat_error *error)
{
    uint32_t found = find_edge(edges, order, known, edge);
    if (found != known) {
        enum bat_code code = add(&edges->all[found].count, edge->count, error);
        return code == BAT_OK ? add(&edges->all[found].mispredictions, edge->mispredictions, error)
                              : code;
    }
    if (!yaml_profile_grow(&edges->all, &edges->capacity, edges->count, sizeof(*edge)))
        return fail_memory(error);
    edges->all[edges->count++] = *edge;
    return BAT_OK;
}

/*
 * The order in which merge-fdata appends the calls of a block: the first of each offset in the
 * order of its map, which drops the others; here they follow. NULL if there is no memory.
 */
static uint32_t *order_calls(const struct yaml_edges *calls)
{
    uint32_t count = calls->count;
    uint32_t *sorted = sort_edges(calls);
    uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));
    uint64_t *keys = malloc(((size_t)count + 1) * sizeof(*keys));
    uint8_t *is_first = calloc((size_t)count + 1, 1);
    uint32_t *map = NULL;
    uint32_t first_count = 0;
    uint32_t others = 0;
    if (sorted && order && keys && is_first) {
        for (uint32_t i = 0; i < count;) {
            uint32_t first = sorted[i];
            uint64_t offset = calls->all[first].at;
            for (; i < count && calls->all[sorted[i]].at == offset; i++)
                first = sorted[i] < first ? sorted[i] : first;
            is_first[first] = 1;
        }
        /* keys and sorted hold the first calls in the file's order. */
        for (uint32_t i = 0; i < count; i++) {
            if (!is_first[i])
                continue;
            keys[first_count] = calls->all[i].at;
            sorted[first_count++] = i;
        }
        map = hash_map_order(keys, first_count);
    }
    for (uint32_t i = 0; map && i < first_count; i++)
        order[i] = sorted[map[i]];
    for (uint32_t i = 0; map && i < count; i++)
        if (!is_first[i])
            order[first_count + others++] = i;
    free(sorted);
    free(keys);
    free(is_first);
    if (!map) {
        free(order);
        return NULL;
    }
    free(map);
    return order;
}

/* Add the edges of part, in its order of merge-fdata. */
static enum bat_code merge_edges(struct yaml_edges *edges, const struct yaml_edges *part,
                                 bool are_calls, struct bat_error *error)
{
    uint32_t known = edges->count;
    uint32_t *order = sort_edges(edges);
    uint32_t *part_order = are_calls ? order_calls(part) : sort_edges(part);
    enum bat_code code = order && part_order ? BAT_OK : fail_memory(error);
    for (uint32_t i = 0; i < part->count && code == BAT_OK; i++)
        code = merge_edge(edges, order, known, &part->all[part_order[i]], error);
    free(order);
    free(part_order);
    return code;
}

static enum bat_code fail_block(const char *function, uint32_t block, const char *what,
                                struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected block %" PRIu32 " of %.200s to have the %s of the files before it, "
                    "found another",
                    block, function, what);
}

static enum bat_code merge_block(struct yaml_profile_block *block,
                                 const struct yaml_profile_block *part, const char *function,
                                 struct bat_error *error)
{
    if (block->instructions != part->instructions)
        return fail_block(function, block->index, "number of instructions", error);
    if (block->hash != part->hash)
        return fail_block(function, block->index, "hash", error);
    enum bat_code code = add(&block->executions, part->executions, error);
    if (code == BAT_OK)
        code = add(&block->events, part->events, error);
    if (code == BAT_OK)
        code = merge_edges(&block->calls, &part->calls, true, error);
    return code == BAT_OK ? merge_edges(&block->successors, &part->successors, false, error) : code;
}

static int by_index(const void *left_pointer, const void *right_pointer, void *blocks)
{
    const struct yaml_profile_block *all = blocks;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    if (all[left].index != all[right].index)
        return all[left].index < all[right].index ? -1 : 1;
    return (left > right) - (left < right);
}

static uint32_t *sort_blocks(const struct yaml_profile_function *function)
{
    uint32_t *order = malloc(((size_t)function->count + 1) * sizeof(*order));
    for (uint32_t i = 0; order && i < function->count; i++)
        order[i] = i;
    if (order && function->count > 1)
        qsort_r(order, function->count, sizeof(*order), by_index, function->blocks);
    return order;
}

/* Move a block of part to the end of function's. */
static enum bat_code take_block(struct yaml_profile_function *function,
                                struct yaml_profile_block *block, struct bat_error *error)
{
    if (!yaml_profile_grow(&function->blocks, &function->capacity, function->count, sizeof(*block)))
        return fail_memory(error);
    function->blocks[function->count++] = *block;
    block->calls = (struct yaml_edges){0};
    block->successors = (struct yaml_edges){0};
    return BAT_OK;
}

static enum bat_code merge_blocks(struct yaml_profile_function *function,
                                  struct yaml_profile_function *part, struct bat_error *error)
{
    uint32_t known = function->count;
    uint32_t *order = sort_blocks(function);
    uint32_t *part_order = sort_blocks(part);
    enum bat_code code = order && part_order ? BAT_OK : fail_memory(error);
    uint32_t next = 0;
    for (uint32_t i = 0; i < part->count && code == BAT_OK; i++) {
        struct yaml_profile_block *block = &part->blocks[part_order[i]];
        if (block->index >= function->block_count)
            code = bat_fail(error, BAT_ERR_SYNTAX,
                            "expected blocks below %" PRIu32 " in %.200s, found %" PRIu32,
                            function->block_count, function->name, block->index);
        while (next < known && function->blocks[order[next]].index < block->index)
            next++;
        if (code != BAT_OK)
            break;
        if (next < known && function->blocks[order[next]].index == block->index)
            code = merge_block(&function->blocks[order[next]], block, function->name, error);
        else
            code = take_block(function, block, error);
    }
    free(order);
    free(part_order);
    return code;
}

static enum bat_code merge_function(struct yaml_profile_function *function,
                                    struct yaml_profile_function *part, struct bat_error *error)
{
    const char *what = function->block_count != part->block_count ? "number of blocks"
                       : function->number != part->number         ? "number (fid)"
                       : function->hash != part->hash             ? "hash"
                                                                  : NULL;
    if (what)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected %.200s to have the %s of the files before it, found another",
                        function->name, what);
    enum bat_code code = add(&function->executions, part->executions, error);
    if (code == BAT_OK)
        code = add(&function->from_outside, part->from_outside, error);
    return code == BAT_OK ? merge_blocks(function, part, error) : code;
}

/* Merge a function, or move it to the end of the merged ones. */
static enum bat_code add_function(struct merged_yaml *merged, struct yaml_profile_function *part,
                                  struct bat_error *error)
{
    struct yaml_profile *profile = &merged->profile;
    uint32_t number;
    if (bat_strings_add(&merged->names, part->name, strlen(part->name), &number) != BAT_OK)
        return fail_memory(error);
    if (number < profile->count)
        return merge_function(&profile->functions[number], part, error);
    if (!yaml_profile_grow(&profile->functions, &profile->capacity, profile->count, sizeof(*part)))
        return fail_memory(error);
    profile->functions[profile->count++] = *part;
    *part = (struct yaml_profile_function){0};
    return BAT_OK;
}

/* --- Files ---------------------------------------------------------------------------------- */

static enum bat_code add_profile(struct merged_yaml *merged, struct yaml_profile *part,
                                 struct bat_error *error)
{
    struct yaml_profile *profile = &merged->profile;
    enum bat_code code = BAT_OK;
    if (merged->has_header) {
        code = merge_header(profile, part, error);
    } else {
        struct yaml_profile_function *functions = part->functions;
        uint32_t count = part->count;
        uint32_t capacity = part->capacity;
        *profile = *part;
        profile->functions = NULL;
        profile->count = profile->capacity = 0;
        *part = (struct yaml_profile){.functions = functions, .count = count, .capacity = capacity};
        merged->has_header = true;
    }
    for (uint32_t i = 0; i < part->count && code == BAT_OK; i++)
        code = add_function(merged, &part->functions[i], error);
    return code;
}

enum bat_code merged_yaml_add(struct merged_yaml *merged, const char *name, const char *path,
                              struct bat_error *error)
{
    fputs("Merging data from ", stderr);
    put_name(stderr, name);
    fputs("...\n", stderr);
    char *text;
    size_t size;
    struct yaml_profile part = {0};
    enum bat_code code = whole_file_read(path, &text, &size, error);
    if (code == BAT_OK && (size < 4 || memcmp(text, "---\n", 4) != 0))
        code = bat_fail(error, BAT_ERR_SYNTAX,
                        "expected YAML, as the files before it, found another form");
    if (code == BAT_OK)
        code = yaml_profile_read(text, size, &part, error);
    free(text);
    if (code == BAT_OK)
        code = add_profile(merged, &part, error);
    yaml_profile_free(&part);
    return code;
}

/* --- Output --------------------------------------------------------------------------------- */

struct numbered {
    const struct yaml_profile_function *functions;
    const uint32_t *places; /* of functions, in the map's order */
};

static int by_number(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct numbered *numbered = context;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    uint32_t left_number = numbered->functions[numbered->places[left]].number;
    uint32_t right_number = numbered->functions[numbered->places[right]].number;
    if (left_number != right_number)
        return left_number < right_number ? -1 : 1;
    return (left > right) - (left < right);
}

enum bat_code merged_yaml_write(struct merged_yaml *merged, struct bat_output *output,
                                struct bat_error *error)
{
    struct yaml_profile sorted = merged->profile;
    uint32_t count = sorted.count;
    uint32_t *places = string_map_order(&merged->names, NULL);
    uint32_t *order = malloc(((size_t)count + 1) * sizeof(*order));
    sorted.functions = malloc(((size_t)count + 1) * sizeof(*sorted.functions));
    enum bat_code code = BAT_ERR_MEMORY;
    if (places && order && sorted.functions) {
        struct numbered numbered = {merged->profile.functions, places};
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        if (count > 1)
            qsort_r(order, count, sizeof(*order), by_number, &numbered);
        for (uint32_t i = 0; i < count; i++)
            sorted.functions[i] = merged->profile.functions[places[order[i]]];
        code = yaml_profile_write(&sorted, output, error);
    } else {
        fail_memory(error);
    }
    free(sorted.functions);
    free(order);
    free(places);
    return code;
}

/* What the list is sorted by. */
static uint64_t printed_count(const struct yaml_profile_function *function, enum merge_print print)
{
    if (print == MERGE_PRINT_EXEC)
        return function->executions;
    uint64_t count = 0;
    for (uint32_t i = 0; i < function->count; i++)
        for (uint32_t j = 0; j < function->blocks[i].successors.count; j++)
            count += function->blocks[i].successors.all[j].count;
    return count;
}

struct printed {
    uint64_t count;
    const char *name;
};

static int by_count(const void *left_pointer, const void *right_pointer)
{
    const struct printed *left = left_pointer;
    const struct printed *right = right_pointer;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return strcmp(right->name, left->name);
}

void merged_yaml_print(struct merged_yaml *merged, FILE *file, enum merge_print print)
{
    const struct yaml_profile *profile = &merged->profile;
    fprintf(file, "Data for %" PRIu32 " unique objects successfully merged.\n", profile->count);
    struct printed *list =
        print == MERGE_PRINT_NONE ? NULL : malloc(((size_t)profile->count + 1) * sizeof(*list));
    if (!list)
        return;
    for (uint32_t i = 0; i < profile->count; i++)
        list[i] = (struct printed){printed_count(&profile->functions[i], print),
                                   profile->functions[i].name};
    qsort(list, profile->count, sizeof(*list), by_count);
    fprintf(file, "Functions sorted by %s count:\n",
            print == MERGE_PRINT_EXEC ? "execution" : "total branch");
    for (uint32_t i = 0; i < profile->count; i++) {
        put_name(file, list[i].name);
        fprintf(file, " : %" PRIu64 "\n", list[i].count);
    }
    free(list);
}
