/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/yaml/yaml_lists.h"
#include "support/string_table.h"

struct bat_merged_yaml {
    struct bat_yaml_profile profile;
    struct bat_strings names; /* of its functions, in their order */
    bool has_header;
};

struct bat_merged_yaml *bat_merged_yaml_new(void)
{
    return calloc(1, sizeof(struct bat_merged_yaml));
}

void bat_merged_yaml_free(struct bat_merged_yaml *merged)
{
    if (!merged)
        return;
    bat_yaml_profile_free(&merged->profile);
    bat_strings_free(&merged->names);
    free(merged);
}

/* --- The header ----------------------------------------------------------------------------- */

/* Append separator and more to *text. */
static enum bat_code append(char **text, const char *separator, const char *more,
                            struct bat_error *error)
{
    char *joined;
    if (asprintf(&joined, "%s%s%s", *text, separator, more) < 0)
        return bat_fail_memory(error, "to merge profiles");
    free(*text);
    *text = joined;
    return BAT_OK;
}

static enum bat_code merge_header(struct bat_yaml_profile *merged,
                                  const struct bat_yaml_profile *part, struct bat_error *error)
{
    const uint32_t kinds = BAT_YAML_FLAG_LBR | BAT_YAML_FLAG_SAMPLE;
    if ((merged->flags & kinds) != (part->flags & kinds))
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected a profile of %s, as before it, found one of %s",
                        merged->flags & BAT_YAML_FLAG_LBR ? "branches (lbr)" : "samples",
                        part->flags & BAT_YAML_FLAG_LBR ? "branches (lbr)" : "samples");
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
    if (code == BAT_OK && strcmp(merged->events, part->events) != 0)
        code = append(&merged->events, ",", part->events, error);
    return code;
}

/* --- Functions ------------------------------------------------------------------------------ */

/* Merge a function, or move it to the end of the merged ones. */
static enum bat_code add_function(struct bat_merged_yaml *merged,
                                  struct bat_yaml_profile_function *part, struct bat_error *error)
{
    struct bat_yaml_profile *profile = &merged->profile;
    uint32_t number;
    if (bat_strings_add(&merged->names, part->name, strlen(part->name), &number) != BAT_OK)
        return bat_fail_memory(error, "to merge profiles");
    if (number < profile->count)
        return bat_yaml_profile_add_function(&profile->functions[number], part, error);
    BAT_TRY(bat_yaml_profile_sort_function(part, error));
    if (!bat_yaml_profile_grow(&profile->functions, &profile->capacity, profile->count,
                               sizeof(*part)))
        return bat_fail_memory(error, "to merge profiles");
    profile->functions[profile->count++] = *part;
    *part = (struct bat_yaml_profile_function){0};
    return BAT_OK;
}

/* --- Profiles ------------------------------------------------------------------------------- */

enum bat_code bat_merged_yaml_add(struct bat_merged_yaml *merged, struct bat_yaml_profile *part,
                                  struct bat_error *error)
{
    struct bat_yaml_profile *profile = &merged->profile;
    enum bat_code code = BAT_OK;
    if (merged->has_header) {
        code = merge_header(profile, part, error);
        code = code ? code : bat_yaml_profile_add_tables(profile, part, error);
    } else {
        struct bat_yaml_profile_function *functions = part->functions;
        uint32_t count = part->count;
        uint32_t capacity = part->capacity;
        *profile = *part;
        profile->functions = NULL;
        profile->count = profile->capacity = 0;
        *part =
            (struct bat_yaml_profile){.functions = functions, .count = count, .capacity = capacity};
        merged->has_header = true;
    }
    for (uint32_t i = 0; i < part->count && code == BAT_OK; i++)
        code = add_function(merged, &part->functions[i], error);
    return code;
}

const struct bat_yaml_profile *bat_merged_yaml_profile(const struct bat_merged_yaml *merged)
{
    return &merged->profile;
}

/* --- Output --------------------------------------------------------------------------------- */

enum bat_code bat_merged_yaml_write(struct bat_merged_yaml *merged, struct bat_output *output,
                                    struct bat_error *error)
{
    struct bat_yaml_profile *profile = &merged->profile;
    bat_yaml_sort_list(profile->functions, profile->count, sizeof(*profile->functions),
                       bat_yaml_by_number);
    return bat_yaml_profile_write(profile, output, error);
}
