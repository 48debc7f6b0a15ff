/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adding one profile to another. */
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "shared_counts.h"

static enum bat_code merge_strings(struct bat_strings *strings, const struct bat_strings *from)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < from->count && code == BAT_OK; i++) {
        const char *string = bat_strings_get(from, i);
        uint32_t ignored;
        code = bat_strings_add(strings, string, strlen(string), &ignored);
    }
    return code;
}

static enum bat_code merge_foreign(struct bat_profile *profile, const struct bat_profile *from)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < from->foreign_counts.count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(&from->foreign_counts, i);
        const char *name = bat_strings_get(&from->foreign_names, (uint32_t)item[0]);
        uint32_t number;
        code = bat_strings_add(&profile->foreign_names, name, strlen(name), &number);
        const uint64_t key = number;
        if (code == BAT_OK)
            code = bat_counts_add(&profile->foreign_counts, &key, item[1], 0);
    }
    return code;
}

/* Add fdata records. The even words of a key hold a name's number; numbers has the new ones. */
static enum bat_code merge_records(struct bat_counts *counts, const struct bat_counts *from,
                                   const uint32_t *numbers)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < from->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(from, i);
        uint64_t key[BAT_COUNTS_MAX_WORDS];
        memcpy(key, item, from->words * sizeof(*key));
        for (uint32_t word = 0; word < from->words; word += 2)
            key[word] = bat_fdata_word((uint32_t)(key[word] >> 32), numbers[(uint32_t)key[word]]);
        code = bat_counts_add(counts, key, item[from->words], item[from->words + 1]);
    }
    return code;
}

static enum bat_code merge_fdata(struct bat_fdata *fdata, const struct bat_fdata *from)
{
    const struct bat_strings *names = &from->names;
    uint32_t *numbers = malloc(((size_t)names->count + 1) * sizeof(*numbers));
    if (!numbers)
        return BAT_ERR_MEMORY;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < names->count && code == BAT_OK; i++) {
        const char *name = bat_strings_get(names, i);
        code = bat_strings_add(&fdata->names, name, strlen(name), &numbers[i]);
    }
    if (code == BAT_OK)
        code = merge_records(&fdata->branches, &from->branches, numbers);
    if (code == BAT_OK)
        code = merge_records(&fdata->samples, &from->samples, numbers);
    free(numbers);
    fdata->bolted = from->bolted;
    fdata->no_lbr = from->no_lbr;
    fdata->seen = true;
    return code;
}

/* fdata files can be merged only if their headers are equal. */
static enum bat_code check_headers(const struct bat_fdata *fdata, const struct bat_fdata *from,
                                   struct bat_error *error)
{
    if (!fdata->seen)
        return BAT_OK;
    if (fdata->bolted != from->bolted)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected fdata %s \"boltedcollection\", like the fdata before, found "
                        "fdata %s it",
                        fdata->bolted ? "with" : "without", from->bolted ? "with" : "without");
    if (fdata->no_lbr != from->no_lbr)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected fdata of %s, like the fdata before, found %s",
                        fdata->no_lbr ? "basic samples (no_lbr)" : "branches",
                        from->no_lbr ? "basic samples (no_lbr)" : "branches");
    return BAT_OK;
}

static void merge_counters(struct bat_profile_counters *counters,
                           const struct bat_profile_counters *from)
{
    counters->bytes += from->bytes;
    counters->lines += from->lines;
    counters->trace_records += from->trace_records;
    counters->sample_records += from->sample_records;
    counters->fdata_records += from->fdata_records;
    counters->foreign_locations += from->foreign_locations;
    counters->perf_samples += from->perf_samples;
    counters->perf_foreign_samples += from->perf_foreign_samples;
    counters->perf_plain_samples += from->perf_plain_samples;
    counters->perf_branches += from->perf_branches;
    counters->perf_kernel_branches += from->perf_kernel_branches;
    counters->perf_dropped += from->perf_dropped;
    counters->perf_lost += from->perf_lost;
    counters->perf_unknown_records += from->perf_unknown_records;
    counters->perf_processes += from->perf_processes;
}

static enum bat_code fail_add(enum bat_code code, struct bat_error *error)
{
    if (code == BAT_OK)
        return BAT_OK;
    if (code == BAT_ERR_RANGE)
        return bat_fail(error, code,
                        "expected counts that add up to less than 2^64 for each record over all "
                        "inputs, found more");
    return bat_fail(error, code, "not enough memory for the profile");
}

enum bat_code bat_profile_take(struct bat_profile *profile, struct bat_profile *from,
                               struct bat_error *error)
{
    if (from->sum > BAT_COUNT_MAX - profile->sum)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected counts that add up to less than 2^63 over all inputs, found "
                        "more");
    profile->sum += from->sum;
    enum bat_code code = BAT_OK;
    if (from->fdata.seen) {
        code = check_headers(&profile->fdata, &from->fdata, error);
        if (code != BAT_OK)
            return code;
        code = merge_fdata(&profile->fdata, &from->fdata);
    }
    if (code == BAT_OK)
        code = bat_counts_take(&profile->traces, &from->traces);
    if (code == BAT_OK)
        code = bat_counts_take(&profile->samples, &from->samples);
    if (code == BAT_OK)
        code = bat_counts_take(&profile->returns, &from->returns);
    if (code == BAT_OK)
        code = bat_counts_take(&profile->mem_samples, &from->mem_samples);
    if (code == BAT_OK)
        code = merge_strings(&profile->events, &from->events);
    if (code == BAT_OK)
        code = merge_foreign(profile, from);
    merge_counters(&profile->counters, &from->counters);
    return fail_add(code, error);
}

/* --- Tables that several threads add to --------------------------------------------------- */

struct bat_shared_profile {
    struct bat_shared_counts *traces;
    struct bat_shared_counts *samples;
    struct bat_shared_counts *returns;
    struct bat_shared_counts *mem_samples;
};

void bat_shared_profile_free(struct bat_shared_profile *shared)
{
    if (!shared)
        return;
    bat_shared_counts_free(shared->traces);
    bat_shared_counts_free(shared->samples);
    bat_shared_counts_free(shared->returns);
    bat_shared_counts_free(shared->mem_samples);
    free(shared);
}

struct bat_shared_profile *bat_shared_profile_new(void)
{
    struct bat_shared_profile *shared = calloc(1, sizeof(*shared));
    if (!shared)
        return NULL;
    shared->traces = bat_shared_counts_new(3);
    shared->samples = bat_shared_counts_new(1);
    shared->returns = bat_shared_counts_new(1);
    shared->mem_samples = bat_shared_counts_new(2);
    if (shared->traces && shared->samples && shared->returns && shared->mem_samples)
        return shared;
    bat_shared_profile_free(shared);
    return NULL;
}

void bat_profile_share(struct bat_profile *part, struct bat_shared_profile *shared)
{
    part->traces.shared = shared->traces;
    part->samples.shared = shared->samples;
    part->returns.shared = shared->returns;
    part->mem_samples.shared = shared->mem_samples;
}

enum bat_code bat_profile_take_shared(struct bat_profile *profile,
                                      struct bat_shared_profile *shared, struct bat_error *error)
{
    enum bat_code code = bat_shared_counts_take(shared->traces, &profile->traces);
    if (code == BAT_OK)
        code = bat_shared_counts_take(shared->samples, &profile->samples);
    if (code == BAT_OK)
        code = bat_shared_counts_take(shared->returns, &profile->returns);
    if (code == BAT_OK)
        code = bat_shared_counts_take(shared->mem_samples, &profile->mem_samples);
    return fail_add(code, error);
}
