/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Creating and freeing profiles, their options and sums. */
#include "profile.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elfnote/bat_elf.h"
#include "spec/little_endian.h"
#include "spec/options.h"

/* True if .dynamic says that the file is a position-independent executable. */
static bool is_marked_executable(const struct bat_elf *elf)
{
    const struct bat_section *dynamic = bat_elf_section(elf, ".dynamic");
    uint64_t size = 0;
    const uint8_t *at = dynamic ? bat_elf_at_address(elf, dynamic->address, &size) : NULL;
    if (!at)
        return false;
    for (size = size < dynamic->size ? size : dynamic->size; size >= 16; at += 16, size -= 16)
        if (bat_load64(at) == DT_FLAGS_1)
            return (bat_load64(at + 8) & DF_1_PIE) != 0;
    return false;
}

/* A shared object that no interpreter starts and that is no static executable. */
static bool is_library(const struct bat_elf *elf)
{
    return bat_elf_type(elf) == ET_DYN && !bat_elf_section(elf, ".interp") &&
           !is_marked_executable(elf);
}

/* target has its size. NULL if there is no memory. */
static struct bat_profile *new_profile(const struct bat_profile_target *target)
{
    struct bat_profile *profile = calloc(1, sizeof(*profile));
    if (!profile)
        return NULL;
    profile->base_address = target->base_address;
    profile->ignore_build_id = target->ignore_build_id;
    profile->elf = target->elf;
    profile->is_bolted = target->is_bolted;
    profile->is_library = target->elf && is_library(target->elf);
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

enum bat_code bat_profile_new(const struct bat_profile_target *target, struct bat_profile **profile,
                              struct bat_error *error)
{
    *profile = NULL;
    struct bat_profile_target own;
    BAT_TRY(bat_options_copy(&own, sizeof(own), target, "bat_profile_target", error));
    *profile = new_profile(&own);
    return *profile ? BAT_OK : bat_fail_memory(error, "for a profile");
}

enum bat_code bat_profile_new_of(const struct bat_binary *binary, struct bat_profile **profile,
                                 struct bat_error *error)
{
    *profile = NULL;
    if (!binary->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected an ELF file, found a raw note");
    struct bat_profile_target target = {
        .size = sizeof(target), .elf = binary->elf, .is_bolted = binary->note != NULL};
    target.build_id = bat_elf_build_id(binary->elf, &target.build_id_size);
    return bat_profile_new(&target, profile, error);
}

void bat_profile_free(struct bat_profile *profile)
{
    if (!profile)
        return;
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

uint64_t bat_profile_records_read(const struct bat_profile *profile)
{
    const struct bat_profile_counters *read = &profile->counters;
    return read->trace_records + read->sample_records + read->fdata_records +
           read->perf_plain_samples + read->perf_used_samples;
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

struct bat_balances bat_profile_sums(const struct bat_profile *profile)
{
    struct bat_balances sums = {.loads.in = bat_profile_memory_samples(profile)};
    for (uint32_t i = 0; i < profile->traces.count; i++) {
        const uint64_t *trace = bat_counts_item(&profile->traces, i);
        sums.branches.in += trace[0] < BAT_TRACE_EXTERNAL_RETURN ? trace[3] : 0;
        sums.runs.in += trace[2] == BAT_TRACE_BRANCH_ONLY ? 0 : trace[3];
        sums.mispredictions.in += trace[4];
    }
    for (uint32_t i = 0; i < profile->samples.count; i++)
        sums.samples.in += bat_counts_item(&profile->samples, i)[1];
    return sums;
}

uint64_t bat_balance_missing(const struct bat_balance *balance)
{
    return balance->in + balance->made - balance->out - balance->joined - balance->left_out -
           balance->invalid - balance->outside;
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

const char *bat_profile_elsewhere(const struct bat_profile *profile)
{
    return profile->elsewhere;
}

enum bat_profile_kind bat_profile_main_kind(const struct bat_profile *profile)
{
    bool has_branches = profile->traces.count != 0 || profile->fdata.branches.count != 0;
    bool has_samples = profile->samples.count != 0 || profile->fdata.no_lbr;
    return has_samples && !has_branches ? BAT_PROFILE_SAMPLES : BAT_PROFILE_BRANCHES;
}

struct bat_profile *bat_profile_new_part(const struct bat_profile *profile)
{
    const struct bat_profile_target target = {.build_id = profile->build_id,
                                              .build_id_size = profile->build_id_size,
                                              .base_address = profile->base_address,
                                              .ignore_build_id = profile->ignore_build_id,
                                              .elf = profile->elf,
                                              .is_bolted = profile->is_bolted};
    struct bat_profile *part = new_profile(&target);
    if (part)
        part->joint = profile->joint;
    return part;
}
