/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Creating and freeing profiles, their options and sums. */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

struct bat_profile *bat_profile_new(const struct bat_profile_target *target)
{
    struct bat_profile *profile = calloc(1, sizeof(*profile));
    if (!profile)
        return NULL;
    profile->base_address = target->base_address;
    profile->ignore_build_id = target->ignore_build_id;
    profile->elf = target->elf;
    profile->is_bolted = target->is_bolted;
    profile->traces = bat_counts_new(3);
    profile->samples = bat_counts_new(1);
    profile->returns = bat_counts_new(1);
    profile->mem_samples = bat_counts_new(2);
    profile->foreign_counts = bat_counts_new(1);
    profile->fdata.branches = bat_counts_new(4);
    profile->fdata.samples = bat_counts_new(2);
    if (target->build_id_size == 0)
        return profile;
    profile->build_id = malloc(target->build_id_size);
    if (!profile->build_id) {
        free(profile);
        return NULL;
    }
    memcpy(profile->build_id, target->build_id, target->build_id_size);
    profile->build_id_size = target->build_id_size;
    return profile;
}

void bat_profile_free(struct bat_profile *profile)
{
    if (!profile)
        return;
    bat_loading_free(profile->loading);
    free(profile->build_id);
    bat_counts_free(&profile->traces);
    bat_counts_free(&profile->samples);
    bat_counts_free(&profile->returns);
    bat_counts_free(&profile->mem_samples);
    bat_strings_free(&profile->events);
    bat_strings_free(&profile->foreign_names);
    bat_counts_free(&profile->foreign_counts);
    bat_strings_free(&profile->fdata.names);
    bat_counts_free(&profile->fdata.branches);
    bat_counts_free(&profile->fdata.samples);
    free(profile);
}

void bat_profile_prepare(struct bat_profile *profile, struct bat_binary *binary,
                         struct bat_elf *symbols)
{
    bat_loading_free(profile->loading);
    profile->loading = binary->elf ? bat_loading_begin(binary, symbols) : NULL;
}

struct bat_profile_counters bat_profile_counters(const struct bat_profile *profile)
{
    return profile->counters;
}

uint64_t bat_profile_distinct(const struct bat_profile *profile)
{
    return (uint64_t)profile->traces.count + profile->samples.count +
           profile->fdata.branches.count + profile->fdata.samples.count;
}

uint64_t bat_profile_memory_samples(const struct bat_profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->mem_samples.count; i++)
        sum += bat_counts_item(&profile->mem_samples, i)[2];
    return sum;
}

void bat_profile_drop_memory(struct bat_profile *profile)
{
    bat_counts_free(&profile->mem_samples);
}

void bat_profile_keep_all_records(struct bat_profile *profile, bool keep)
{
    profile->keeps_all_records = keep;
}

void bat_profile_expect_judgement(struct bat_profile *profile, bool expect)
{
    profile->will_be_judged = expect;
}

void bat_profile_keep_unknown_data(struct bat_profile *profile, bool keep)
{
    profile->keeps_unknown_data = keep;
}

const char *bat_profile_foreign_id(const struct bat_profile *profile)
{
    const uint64_t *most = NULL;
    for (uint32_t i = 0; i < profile->foreign_counts.count; i++) {
        const uint64_t *item = bat_counts_item(&profile->foreign_counts, i);
        if (!most || item[1] > most[1])
            most = item;
    }
    return most ? bat_strings_get(&profile->foreign_names, (uint32_t)most[0]) : NULL;
}

enum bat_profile_kind bat_profile_main_kind(const struct bat_profile *profile)
{
    bool has_branches = profile->traces.count != 0 || profile->fdata.branches.count != 0;
    bool has_samples = profile->samples.count != 0 || profile->fdata.no_lbr;
    return has_samples && !has_branches ? BAT_PROFILE_SAMPLES : BAT_PROFILE_BRANCHES;
}

struct bat_profile *bat_profile_new_part(const struct bat_profile *profile)
{
    struct bat_profile_target target = {.build_id = profile->build_id,
                                        .build_id_size = profile->build_id_size,
                                        .base_address = profile->base_address,
                                        .ignore_build_id = profile->ignore_build_id,
                                        .elf = profile->elf,
                                        .is_bolted = profile->is_bolted};
    return bat_profile_new(&target);
}
