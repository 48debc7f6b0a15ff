/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "spec/escape_controls.h"
#include "support/string_table.h"
#include "tools/common/tool.h"
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
    char *joined;
    if (asprintf(&joined, "%s%s%s", *text, separator, more) < 0)
        return fail_memory(error);
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

/* Merge a function, or move it to the end of the merged ones. */
static enum bat_code add_function(struct merged_yaml *merged, struct yaml_profile_function *part,
                                  struct bat_error *error)
{
    struct yaml_profile *profile = &merged->profile;
    uint32_t number;
    if (bat_strings_add(&merged->names, part->name, strlen(part->name), &number) != BAT_OK)
        return fail_memory(error);
    if (number < profile->count)
        return yaml_profile_add_function(&profile->functions[number], part, error);
    enum bat_code code = yaml_profile_sort_function(part, error);
    if (code != BAT_OK)
        return code;
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
    struct yaml_profile part = {0};
    enum bat_code code = yaml_profile_read_file(path, &part, error);
    if (code == BAT_OK)
        code = add_profile(merged, &part, error);
    yaml_profile_free(&part);
    return code;
}

/* --- Output --------------------------------------------------------------------------------- */

enum bat_code merged_yaml_write(struct merged_yaml *merged, struct bat_output *output,
                                struct bat_error *error)
{
    struct yaml_profile *profile = &merged->profile;
    yaml_profile_sort(profile->functions, profile->count, sizeof(*profile->functions),
                      yaml_by_number);
    return yaml_profile_write(profile, output, error);
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
