/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_function.h"

#include <stdlib.h>
#include <string.h>

/* --- Numbers ---------------------------------------------------------------------------------- */

uint32_t *bat_yaml_numbers(const struct bat_records *records)
{
    const struct bat_function_symbol *all = records->symbols;
    uint32_t count = records->function_count;
    uint32_t *numbers = malloc(((size_t)count + 1) * sizeof(*numbers));
    if (!numbers)
        return NULL;
    uint32_t next = 1;
    for (uint32_t i = 0; i < count; i++)
        if (!(all[i].flags & BAT_FUNCTION_LATE))
            numbers[i] = next++;
    uint32_t header = BAT_NONE; /* of the section, if it has no number yet */
    for (uint32_t i = 0; i < count; i++) {
        if (!(all[i].flags & BAT_FUNCTION_LATE) || all[i].flags & BAT_FUNCTION_FDE)
            continue;
        if (all[i].flags & BAT_FUNCTION_PLT_START && header != BAT_NONE) {
            numbers[header] = next++;
            header = BAT_NONE;
        }
        if (all[i].flags & BAT_FUNCTION_PLT_HEADER)
            header = i;
        else
            numbers[i] = next++;
    }
    if (header != BAT_NONE)
        numbers[header] = next++;
    for (uint32_t i = 0; i < count; i++)
        if (all[i].flags & BAT_FUNCTION_LATE && all[i].flags & BAT_FUNCTION_FDE)
            numbers[i] = next++;
    return numbers;
}

/* --- Order ------------------------------------------------------------------------------------ */

/* perf2bolt sorts "f/file.c/1" as "f/N", whose N follows the addresses. */
struct bat_yaml_key bat_yaml_key(const char *name)
{
    const char *first = strchr(name, '/');
    bool has_file = first && strchr(first + 1, '/');
    return (struct bat_yaml_key){name, has_file ? (size_t)(first + 1 - name) : strlen(name)};
}

int bat_yaml_compare_keys(const struct bat_yaml_key *left, const struct bat_yaml_key *right)
{
    size_t common = left->size < right->size ? left->size : right->size;
    int difference = memcmp(left->name, right->name, common);
    return difference ? difference : (left->size > right->size) - (left->size < right->size);
}

static int compare_targets(const struct bat_records *records, const uint64_t *left,
                           const uint64_t *right)
{
    bool is_known[2] = {left[2] >> 32 == BAT_KIND_SYMBOL, right[2] >> 32 == BAT_KIND_SYMBOL};
    if (!is_known[0] || !is_known[1])
        return is_known[0] - is_known[1];
    bool is_escaped;
    const char *left_name = bat_records_name(records, (uint32_t)left[2], &is_escaped);
    const char *right_name = bat_records_name(records, (uint32_t)right[2], &is_escaped);
    return strcmp(left_name, right_name);
}

static int compare_calls(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct bat_records *records = context;
    const uint64_t *left = bat_records_branch(records, *(const uint32_t *)left_pointer);
    const uint64_t *right = bat_records_branch(records, *(const uint32_t *)right_pointer);
    if (left[1] != right[1])
        return left[1] < right[1] ? -1 : 1;
    int difference = compare_targets(records, left, right);
    return difference ? difference : (left[3] > right[3]) - (left[3] < right[3]);
}

void bat_yaml_sort_calls(const struct bat_records *records, uint32_t *calls, uint32_t count)
{
    if (count > 1)
        qsort_r(calls, count, sizeof(*calls), compare_calls, (void *)records);
}
