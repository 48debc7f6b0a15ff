/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles of stacks as samples of a binary: a stack's innermost place is where the processor was.
 * With sample_branches, its places are a branch stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/perf/recording.h"
#include "profile/profile.h"
#include "profile/stacks/stack_profile.h"
#include "profile/text_fields.h"
#include "read_profile.h"

/* Mark the mappings of the profile's binary. Returns the samples whose first place is in them. */
static uint64_t find_own(struct stack_profile *stacks, const struct bat_profile *profile)
{
    return stack_profile_own(stacks, bat_elf_path(profile->elf), profile->build_id,
                             profile->ignore_build_id ? 0 : profile->build_id_size);
}

/* The binary's address of a place of any mapping; BAT_ADDRESS_EXTERNAL outside of the binary. */
static uint64_t address_of(const struct bat_profile *profile, const struct stack_place *place)
{
    return place->mapping && place->mapping->is_own ? stack_place_own(place, profile->elf)
                                                    : BAT_ADDRESS_EXTERNAL;
}

static enum bat_code add_branches(struct bat_profile *profile, const struct stack_sample *sample,
                                  struct bat_error *error)
{
    struct bat_trace trace = {.to = BAT_TRACE_BRANCH_ONLY, .count = sample->count};
    if (sample->depth % 2 != 0)
        return bat_fail(error, BAT_ERR_COUNT,
                        "expected sources and targets of branches, found an odd number of "
                        "locations: %zu",
                        sample->depth);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; code == BAT_OK && i < sample->depth; i += 2) {
        trace.branch = address_of(profile, sample->places[i]);
        trace.from = address_of(profile, sample->places[i + 1]);
        if (trace.branch != BAT_ADDRESS_EXTERNAL || trace.from != BAT_ADDRESS_EXTERNAL)
            code = bat_profile_add_trace(profile, &trace, error);
        /* The next branch is older: the code behind it ran up to this one. */
        trace.to = trace.branch;
    }
    return code;
}

static enum bat_code add_samples(struct bat_profile *profile, const struct stack_profile *stacks,
                                 bool is_branches, uint64_t *inside, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; code == BAT_OK && i < stacks->sample_count; i++) {
        const struct stack_sample *sample = &stacks->samples[i];
        const uint64_t address = address_of(profile, sample->places[0]);
        if (address != BAT_ADDRESS_EXTERNAL)
            *inside += sample->count;
        if (is_branches)
            code = add_branches(profile, sample, error);
        else if (address != BAT_ADDRESS_EXTERNAL)
            code = bat_profile_add_sample(profile, address, sample->count, error);
    }
    return code;
}

/* No sample is of a binary: say of which files they are. */
static enum bat_code fail_elsewhere(const struct stack_profile *stacks, struct bat_error *error)
{
    const struct stack_mapping *most = NULL;
    for (size_t i = 0; i < stacks->mapping_count; i++)
        if (stacks->mappings[i].count != 0 && (!most || stacks->mappings[i].count > most->count))
            most = &stacks->mappings[i];
    if (!most)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples with addresses in a file, found %s",
                        stacks->sum ? "none with both" : "no samples");
    if (most->is_own)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected samples at addresses of the binary's segments, found those of "
                        "%.80s outside of them",
                        most->path);
    return bat_fail(error, BAT_ERR_MISMATCH,
                    "expected samples of the binary, found most in %.80s, build-id %.80s",
                    most->path, *most->build_id ? most->build_id : "unknown");
}

static enum bat_code add_all(struct stack_profile *stacks, struct bat_profile *const *parts,
                             size_t count, const struct bat_read_options *options,
                             struct bat_profiles_counters *counters, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    uint64_t known = 0;
    bool has_any = false;
    for (size_t i = 0; code == BAT_OK && i < count; i++) {
        struct bat_profile *part = parts[i];
        uint64_t inside = 0;
        find_own(stacks, part);
        code = add_samples(part, stacks, options->sample_branches, &inside, error);
        if (code == BAT_OK && *stacks->type)
            code = bat_profile_add_event(part, stacks->type, error);
        known += inside;
        has_any |= bat_profile_distinct(part) != 0;
        if (counters->inside)
            counters->inside[i] += inside;
    }
    counters->samples += stacks->sum;
    counters->none += stacks->sum - (known < stacks->sum ? known : stacks->sum);
    return code == BAT_OK && !has_any ? fail_elsewhere(stacks, error) : code;
}

enum bat_code bat_stacks_read(struct bat_profile *const *parts, size_t count, int file,
                              const struct bat_read_options *options,
                              struct bat_profiles_counters *counters, struct bat_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (!parts[i]->elf)
            return bat_fail(error, BAT_ERR_ARGUMENT,
                            "expected the profiled binary, without which profiles of stacks "
                            "cannot be read, found none");
    struct stack_profile *stacks;
    enum bat_code code = stack_profile_read(file, options->sample_type, &stacks, error);
    code = code ? code : add_all(stacks, parts, count, options, counters, error);
    stack_profile_free(stacks);
    return code;
}

static bool is_kernel(const struct stack_mapping *mapping)
{
    return strncmp(mapping->path, "[kernel", 7) == 0;
}

/* --- Call chains ----------------------------------------------------------------------------- */

/* Put the frames of a sample into frames[]; returns their number. */
static size_t chain_of(const struct bat_profile *profile, const struct stack_sample *sample,
                       uint64_t *frames)
{
    size_t depth = 0;
    for (size_t i = 0; i < sample->depth; i++) {
        const struct stack_place *place = sample->places[i];
        uint64_t frame = address_of(profile, place);
        const bool is_own = frame != BAT_ADDRESS_EXTERNAL;
        /* Callers have addresses in their calls or behind them. */
        if (is_own && i != 0)
            frame--;
        else if (!is_own && place->mapping && is_kernel(place->mapping))
            frame = BAT_FRAME_KERNEL;
        if (is_own || depth == 0 || frames[depth - 1] != frame)
            frames[depth++] = frame;
    }
    return depth;
}

static enum bat_code list_chains(const struct bat_profile *profile, struct stack_profile *stacks,
                                 bat_call_chain_fn *found, void *context, struct bat_error *error)
{
    size_t deepest = 1;
    find_own(stacks, profile);
    for (size_t i = 0; i < stacks->sample_count; i++)
        deepest = stacks->samples[i].depth > deepest ? stacks->samples[i].depth : deepest;
    uint64_t *frames = malloc(deepest * sizeof(*frames));
    bool goes_on = frames != NULL;
    for (size_t i = 0; goes_on && i < stacks->sample_count; i++) {
        const struct stack_sample *sample = &stacks->samples[i];
        const struct bat_call_chain chain = {
            .frames = frames, .depth = chain_of(profile, sample, frames), .count = sample->count};
        goes_on = found(&chain, context);
    }
    free(frames);
    return goes_on ? BAT_OK : bat_fail_memory(error, "for call chains");
}

enum bat_code bat_stacks_list_chains(const struct bat_profile *profile, int file,
                                     const struct bat_read_options *options,
                                     bat_call_chain_fn *found, void *context,
                                     struct bat_error *error)
{
    struct stack_profile *stacks;
    enum bat_code code = stack_profile_read(file, options->sample_type, &stacks, error);
    code = code ? code : list_chains(profile, stacks, found, context, error);
    stack_profile_free(stacks);
    return code;
}

/* --- What a profile holds --------------------------------------------------------------------- */

#define BUILD_ID_MAX ((size_t)64)

/* The files of the mappings, and their build-ids in binary form. */
struct held {
    struct perf_recorded_file *files;
    uint8_t (*build_ids)[BUILD_ID_MAX];
    size_t count;
};

/* Bytes of a build-id in hexadecimal; 0 if it is none. */
static size_t parse_build_id(const char *text, uint8_t *build_id)
{
    size_t size = 0;
    for (; *text && size < BUILD_ID_MAX; text += 2) {
        const uint8_t high = bat_hex_value((uint8_t)text[0]);
        const uint8_t low = high < 16 ? bat_hex_value((uint8_t)text[1]) : 16;
        if (low >= 16)
            return 0;
        build_id[size++] = (uint8_t)(high << 4 | low);
    }
    return *text ? 0 : size;
}

static int by_file(const void *left, const void *right)
{
    const struct perf_recorded_file *a = left;
    const struct perf_recorded_file *b = right;
    const int difference = strcmp(a->path, b->path);
    if (difference != 0)
        return difference;
    if (a->build_id_size != b->build_id_size)
        return a->build_id_size < b->build_id_size ? -1 : 1;
    return memcmp(a->build_id, b->build_id, a->build_id_size);
}

/* A file may be mapped many times. */
static void join_files(struct held *held)
{
    size_t kept = 0;
    if (held->count != 0)
        qsort(held->files, held->count, sizeof(*held->files), by_file);
    for (size_t i = 0; i < held->count; i++) {
        if (kept != 0 && by_file(&held->files[kept - 1], &held->files[i]) == 0)
            held->files[kept - 1].samples += held->files[i].samples;
        else
            held->files[kept++] = held->files[i];
    }
    held->count = kept;
}

static enum bat_code hold(const struct stack_profile *stacks, struct held *held,
                          struct perf_recording *recording, struct bat_error *error)
{
    held->files = calloc(stacks->mapping_count + 1, sizeof(*held->files));
    held->build_ids = calloc(stacks->mapping_count + 1, sizeof(*held->build_ids));
    BAT_TRY_MEMORY(held->files && held->build_ids, error, "for the files of the profile");
    for (size_t i = 0; i < stacks->mapping_count; i++) {
        const struct stack_mapping *mapping = &stacks->mappings[i];
        uint8_t *build_id = held->build_ids[held->count];
        if (mapping->count == 0)
            continue;
        held->files[held->count++] = (struct perf_recorded_file){
            .path = *mapping->path ? mapping->path : "[unknown]",
            .build_id = build_id,
            .build_id_size = parse_build_id(mapping->build_id, build_id),
            .samples = mapping->count};
        recording->placed += mapping->count;
        recording->kernel += is_kernel(mapping) ? mapping->count : 0;
    }
    join_files(held);
    perf_recording_sort(held->files, held->count);
    return BAT_OK;
}

enum bat_code bat_stacks_take_recording(int file, perf_recording_fn *take, void *context,
                                        struct bat_error *error)
{
    struct stack_profile *stacks;
    struct held held = {0};
    BAT_TRY(stack_profile_read(file, NULL, &stacks, error));
    struct perf_recording recording = {.samples = stacks->sum, .is_of_stacks = true};
    recording.event_count = *stacks->type != '\0';
    snprintf(recording.events[0], sizeof(recording.events[0]), "%s", stacks->type);
    enum bat_code code = hold(stacks, &held, &recording, error);
    recording.files = held.files;
    recording.file_count = held.count;
    code = code ? code : take(&recording, context, error);
    free(held.files);
    free(held.build_ids);
    stack_profile_free(stacks);
    return code;
}
