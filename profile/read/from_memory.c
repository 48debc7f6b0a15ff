/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples from memory: a trace, a basic sample, a load at a time. */
#include <string.h>

#include "profile/perf/binary.h"
#include "profile/profile.h"

static bool is_constant(uint64_t address)
{
    return address == BAT_ADDRESS_EXTERNAL || address >= BAT_TRACE_EXTERNAL_RETURN;
}

/* An address as the binary has it. */
static uint64_t own_address(const struct bat_profile *profile, uint64_t address)
{
    if (!profile->is_mapped || is_constant(address))
        return address;
    uint64_t own = address - profile->bias;
    return own - profile->low < profile->high - profile->low ? own : BAT_ADDRESS_EXTERNAL;
}

/* Check that the count fits into the profile's sum. */
static enum bat_code check_count(const struct bat_profile *profile, uint64_t count,
                                 struct bat_error *error)
{
    if (count <= BAT_COUNT_MAX - profile->sum)
        return BAT_OK;
    return bat_fail(error, BAT_ERR_RANGE,
                    "expected counts that add up to less than 2^63, found more");
}

static enum bat_code fail_add(enum bat_code code, struct bat_error *error)
{
    if (code == BAT_ERR_RANGE)
        return bat_fail(error, code,
                        "expected mispredictions that add up to less than 2^64 for each trace, "
                        "found more");
    return bat_fail(error, code, "not enough memory for the profile");
}

enum bat_code bat_profile_add_trace(struct bat_profile *profile, const struct bat_trace *trace,
                                    struct bat_error *error)
{
    BAT_TRY(check_count(profile, trace->count, error));
    enum bat_code code = BAT_OK;
    uint64_t key[3] = {own_address(profile, trace->branch), own_address(profile, trace->from),
                       own_address(profile, trace->to)};
    if (trace->is_return && key[0] == BAT_ADDRESS_EXTERNAL)
        key[0] = BAT_TRACE_EXTERNAL_RETURN;
    bool is_known_return = trace->is_return && !is_constant(key[0]);
    if (is_known_return)
        code = bat_counts_reserve(&profile->returns);
    code = code ? code : bat_counts_add(&profile->traces, key, trace->count, trace->mispredictions);
    if (code == BAT_OK && is_known_return)
        code = bat_counts_add(&profile->returns, key, 0, 0);
    if (code != BAT_OK)
        return fail_add(code, error);
    profile->sum += trace->count;
    profile->counters.trace_records++;
    return BAT_OK;
}

enum bat_code bat_profile_add_sample(struct bat_profile *profile, uint64_t address, uint64_t count,
                                     struct bat_error *error)
{
    BAT_TRY(check_count(profile, count, error));
    const uint64_t key = own_address(profile, address);
    enum bat_code code = bat_counts_add(&profile->samples, &key, count, 0);
    if (code != BAT_OK)
        return fail_add(code, error);
    profile->sum += count;
    profile->counters.sample_records++;
    return BAT_OK;
}

enum bat_code bat_profile_add_load(struct bat_profile *profile, uint64_t address,
                                   uint64_t data_address, uint64_t count, struct bat_error *error)
{
    BAT_TRY(check_count(profile, count, error));
    uint64_t key[2] = {own_address(profile, address), own_address(profile, data_address)};
    if (is_constant(key[0]))
        return BAT_OK;
    /* Data that is not the binary's stays where the process has it. */
    if (key[1] == BAT_ADDRESS_EXTERNAL)
        key[1] = data_address;
    enum bat_code code = bat_counts_add(&profile->mem_samples, key, count, 0);
    if (code != BAT_OK)
        return fail_add(code, error);
    profile->sum += count;
    return BAT_OK;
}

enum bat_code bat_profile_add_event(struct bat_profile *profile, const char *name,
                                    struct bat_error *error)
{
    uint32_t ignored;
    if (*name == '\0')
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected the name of an event, found none");
    enum bat_code code = bat_strings_add(&profile->events, name, strlen(name), &ignored);
    profile->names_events = profile->names_events || code == BAT_OK;
    return code == BAT_OK ? BAT_OK : fail_add(code, error);
}

enum bat_code bat_profile_set_mapping(struct bat_profile *profile,
                                      const struct bat_mapping *mapping, struct bat_error *error)
{
    if (!mapping) {
        profile->is_mapped = false;
        return BAT_OK;
    }
    if (!profile->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a profile that knows its binary, found one without");
    struct perf_binary binary;
    BAT_TRY(perf_binary_init(&binary, profile, error));
    uint64_t bias;
    if (!perf_binary_bias(&binary, mapping->address, mapping->size, mapping->file_offset, &bias))
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected a mapping of the binary's code, found one that has none of it");
    profile->is_mapped = true;
    profile->bias = bias;
    profile->low = binary.low;
    profile->high = binary.high;
    return BAT_OK;
}
