/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The second pass over the records: samples become traces, basic and memory samples. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample.h"
#include "session.h"

/* The fewest bytes that are worth a thread, and the most threads. */
#define STRETCH_MIN ((uint64_t)8 << 20)
#define THREADS_MAX 64u

/* Records that one thread reads, and the profile that they are added to. */
struct stretch {
    const struct perf_session *session;
    uint64_t start;
    uint64_t end;
    struct bat_profile *profile;
    bool *has_event; /* for each event, whether the profile has its name */
    enum bat_code code;
    struct bat_error error;
    pthread_t thread;
};

/* --- Samples ------------------------------------------------------------------------------ */

static enum bat_code fail_add(enum bat_code code, const struct perf_record *record,
                              struct bat_error *error)
{
    if (code == BAT_ERR_RANGE)
        return bat_fail_at(error, code, BAT_PLACE_FILE, record->offset,
                           "expected counts that add up to less than 2^64, found more");
    return bat_fail(error, code, "not enough memory for the profile");
}

/* Add the name of an event at its first sample. */
static enum bat_code add_event(struct stretch *stretch, const struct perf_attribute *attribute)
{
    size_t number = (size_t)(attribute - stretch->session->attributes.items);
    if (stretch->has_event[number])
        return BAT_OK;
    stretch->has_event[number] = true;
    char name[256];
    perf_attribute_name(attribute, name, sizeof(name));
    uint32_t ignored;
    return bat_strings_add(&stretch->profile->events, name, strlen(name), &ignored);
}

/*
 * Add the traces of a branch stack. Each entry is a branch; the fall-through after it ends at the
 * source of the next newer entry. The newest entries, as many as skipped, are left out.
 */
static enum bat_code add_branches(struct stretch *stretch, const struct perf_sample *sample,
                                  const struct perf_span *span, uint64_t skipped)
{
    struct bat_profile *profile = stretch->profile;
    const struct perf_binary *binary = &stretch->session->binary;
    const uint64_t kernel =
        stretch->session->options->keep_kernel_branches ? UINT64_MAX : PERF_KERNEL_ADDRESS;
    uint64_t trace[3] = {0, 0, BAT_TRACE_BRANCH_ONLY};
    uint64_t left_out = 0;
    uint64_t seen = 0;
    enum bat_code code = BAT_OK;
    for (uint64_t i = 0; i < sample->branch_count && code == BAT_OK; i++) {
        const uint8_t *branch = sample->branches + i * PERF_BRANCH_SIZE;
        uint64_t from = perf_u64(branch);
        uint64_t to = perf_u64(branch + 8);
        if (from >= kernel || to >= kernel) {
            left_out++;
            continue;
        }
        if (seen++ < skipped)
            continue;
        trace[0] = perf_own_address(binary, span, from);
        trace[1] = perf_own_address(binary, span, to);
        code = bat_counts_add_three_later(&profile->traces, &profile->trace_batch, trace, 1,
                                          perf_u64(branch + 16) & PERF_BRANCH_MISPREDICTED);
        trace[2] = trace[0];
    }
    uint64_t dropped = seen < skipped ? seen : skipped;
    profile->counters.perf_branches += sample->branch_count;
    profile->counters.perf_kernel_branches += left_out;
    profile->counters.perf_dropped += dropped;
    profile->counters.trace_records += seen - dropped;
    if (seen == 0)
        profile->counters.perf_plain_samples++;
    return code;
}

static enum bat_code add_basic_sample(struct stretch *stretch, const struct perf_sample *sample,
                                      const struct perf_span *span)
{
    if (sample->ip == 0)
        return BAT_OK;
    const uint64_t address = perf_own_address(&stretch->session->binary, span, sample->ip);
    stretch->profile->counters.sample_records++;
    return bat_counts_add(&stretch->profile->samples, &address, 1, 0);
}

/* Add a load by the binary. An address that it read outside the binary stays the process's. */
static enum bat_code add_memory_load(struct stretch *stretch, const struct perf_sample *sample,
                                     const struct perf_span *span)
{
    const struct perf_binary *binary = &stretch->session->binary;
    uint64_t key[2] = {perf_own_address(binary, span, sample->ip),
                       perf_own_address(binary, span, sample->address)};
    if (key[0] == BAT_ADDRESS_EXTERNAL || key[0] == UINT64_MAX)
        return BAT_OK;
    if (key[1] == BAT_ADDRESS_EXTERNAL)
        key[1] = sample->address;
    return bat_counts_add(&stretch->profile->mem_samples, key, 1, 0);
}

static enum bat_code add_sample(struct stretch *stretch, const struct perf_record *record)
{
    const struct perf_session *session = stretch->session;
    struct perf_sample sample;
    enum bat_code code = perf_sample_parse(&session->attributes, record, &sample, &stretch->error);
    if (code != BAT_OK)
        return code;
    struct perf_moment moment = perf_session_moment(session, record, sample.time);
    const struct perf_span *span =
        sample.has_process ? perf_processes_find(&session->processes, sample.process, moment)
                           : NULL;
    if (!span) {
        stretch->profile->counters.perf_foreign_samples++;
        return BAT_OK;
    }
    code = add_event(stretch, sample.attribute);
    if (code == BAT_OK && session->options->basic_samples)
        code = add_basic_sample(stretch, &sample, span);
    else if (code == BAT_OK)
        code = add_branches(stretch, &sample, span,
                            perf_moment_before(moment, session->doubling_since) ? 0 : 2);
    if (code == BAT_OK && sample.attribute->is_memory_load)
        code = add_memory_load(stretch, &sample, span);
    return code == BAT_OK ? BAT_OK : fail_add(code, record, &stretch->error);
}

/* --- Stretches ---------------------------------------------------------------------------- */

static enum bat_code read_records(struct stretch *stretch, struct perf_stream *stream)
{
    uint64_t reported = 0;
    for (;;) {
        struct perf_record record;
        enum bat_code code = perf_stream_next(stream, &record, &stretch->error);
        if (code == BAT_OK && record.type == RECORD_SAMPLE && record.bytes)
            code = add_sample(stretch, &record);
        if (code != BAT_OK || !record.bytes)
            return code;
        if (stream->bytes_read != reported)
            perf_session_progress(stretch->session, stream->bytes_read - reported);
        reported = stream->bytes_read;
    }
}

static void *run_stretch(void *context)
{
    struct stretch *stretch = context;
    const struct perf_session *session = stretch->session;
    stretch->has_event = calloc(session->attributes.count, sizeof(bool));
    if (!stretch->has_event) {
        stretch->code = bat_fail(&stretch->error, BAT_ERR_MEMORY, "not enough memory");
        return NULL;
    }
    struct perf_stream stream;
    enum bat_code code =
        perf_stream_open(&stream, session->file, stretch->start, stretch->end, &stretch->error);
    if (code == BAT_OK)
        code = read_records(stretch, &stream);
    if (code == BAT_OK) {
        code = bat_counts_flush(&stretch->profile->traces, &stretch->profile->trace_batch);
        if (code != BAT_OK)
            code = bat_fail(&stretch->error, code, "not enough memory for the profile");
    }
    perf_stream_close(&stream);
    free(stretch->has_event);
    stretch->code = code;
    return NULL;
}

static unsigned count_stretches(const struct perf_session *session)
{
    /* Compressed records are one stream, which cannot be divided. */
    if (session->is_compressed)
        return 1;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t count = session->options->threads;
    if (count == 0)
        count = processors > 0 ? (uint64_t)processors : 1;
    uint64_t count_max = (session->data_end - session->data_start) / STRETCH_MIN;
    if (count > count_max)
        count = count_max;
    if (count > THREADS_MAX)
        count = THREADS_MAX;
    return count ? (unsigned)count : 1;
}

/* The start of stretch i of count, which is the start of a chunk. */
static uint64_t stretch_start(const struct perf_session *session, unsigned i, unsigned count)
{
    uint64_t chunk = (uint64_t)session->chunk_count * i / count;
    return i == 0 || chunk == 0 ? session->data_start : session->chunks[chunk].position;
}

/* Read all stretches: the first in this thread, each other one in a new thread. */
static void run_stretches(struct stretch *stretches, unsigned count)
{
    bool started[THREADS_MAX] = {false};
    for (unsigned i = 1; i < count; i++)
        started[i] = pthread_create(&stretches[i].thread, NULL, run_stretch, &stretches[i]) == 0;
    run_stretch(&stretches[0]);
    for (unsigned i = 1; i < count; i++) {
        if (started[i])
            pthread_join(stretches[i].thread, NULL);
        else
            run_stretch(&stretches[i]);
    }
}

static enum bat_code gather(struct bat_profile *profile, struct stretch *stretch,
                            struct bat_error *error)
{
    if (stretch->code == BAT_OK) {
        enum bat_code code = bat_profile_take(profile, stretch->profile, error);
        bat_profile_free(stretch->profile);
        stretch->profile = NULL;
        return code;
    }
    if (error)
        *error = stretch->error;
    return stretch->code;
}

enum bat_code perf_session_collect(struct perf_session *session, struct bat_profile *profile,
                                   struct bat_error *error)
{
    unsigned count = count_stretches(session);
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    struct bat_shared_profile *shared = count > 1 ? bat_shared_profile_new() : NULL;
    enum bat_code code = BAT_OK;
    if (!stretches || (count > 1 && !shared))
        code = bat_fail(error, BAT_ERR_MEMORY, "not enough memory to read the profile");
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        stretches[i] = (struct stretch){.session = session,
                                        .start = stretch_start(session, i, count),
                                        .end = i + 1 < count ? stretch_start(session, i + 1, count)
                                                             : session->data_end,
                                        .profile = bat_profile_new_part(profile)};
        if (!stretches[i].profile)
            code = bat_fail(error, BAT_ERR_MEMORY, "not enough memory to read the profile");
        else if (shared)
            bat_profile_share(stretches[i].profile, shared);
    }
    if (code == BAT_OK)
        run_stretches(stretches, count);
    for (unsigned i = 0; i < count && code == BAT_OK; i++)
        code = gather(profile, &stretches[i], error);
    if (code == BAT_OK && shared)
        code = bat_profile_take_shared(profile, shared, error);
    for (unsigned i = 0; stretches && i < count; i++)
        bat_profile_free(stretches[i].profile);
    bat_shared_profile_free(shared);
    free(stretches);
    return code;
}
