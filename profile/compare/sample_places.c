/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "overlaps.h"

void sample_places_free(struct sample_places *places)
{
    bat_strings_free(&places->names);
    bat_counts_free(&places->calls);
    *places = (struct sample_places){0};
}

enum bat_code sample_places_name(struct sample_places *places, const char *name, size_t size,
                                 uint32_t *number, struct bat_error *error)
{
    return bat_strings_add(&places->names, name, size, number) == BAT_OK
               ? BAT_OK
               : bat_fail_memory(error, "for the profile's places");
}

enum bat_code sample_places_call(struct sample_places *places, uint64_t outer,
                                 struct sample_line line, uint32_t name, uint64_t *call,
                                 struct bat_error *error)
{
    struct bat_counts *calls = &places->calls;
    if (!places->is_begun)
        *calls = bat_counts_new(3);
    places->is_begun = true;
    const uint64_t key[3] = {outer, (uint64_t)line.line << 32 | line.discriminator, name};
    const uint64_t *found = bat_counts_find(calls, key);
    if (!found && bat_counts_add(calls, key, 0, 0) != BAT_OK)
        return bat_fail_memory(error, "for the profile's places");
    /* Items are numbered in the order in which they were added. */
    *call = found ? (uint64_t)(found - calls->items) / (calls->words + 2) + 1 : calls->count;
    return BAT_OK;
}
