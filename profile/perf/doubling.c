/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Processors with branch stacks of 32 entries sometimes hold the newest entry twice. The first
 * sample of the binary, by time, that has 32 entries shows such a processor; from this sample on,
 * the two newest entries of every sample are left out, as perf2bolt does it.
 */
#include <stdlib.h>

#include "samples.h"
#include "spec/order.h"

/* True if 32 entries of the sample's branch stack are used: the kernel's only on request. */
static bool has_doubling_size(const struct perf_sample *sample, bool keeps_kernel)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < sample->branch_count; i++) {
        const uint8_t *branch = sample->branches + i * PERF_BRANCH_SIZE;
        count += keeps_kernel || (bat_load64(branch) < PERF_KERNEL_ADDRESS &&
                                  bat_load64(branch + 8) < PERF_KERNEL_ADDRESS);
    }
    return count == PERF_DOUBLING_ENTRIES;
}

/* The latest doubling_since of all binaries that have one: nothing is looked for after it. */
static struct perf_moment latest(const struct perf_session *session)
{
    struct perf_moment result = {0, 0};
    for (uint32_t i = 0; i < session->binary_count; i++)
        if (session->binaries[i].doubles_entry &&
            perf_moment_before(result, session->doubling_since[i]))
            result = session->doubling_since[i];
    return result;
}

/* A sample with a full stack counts for all binaries that the process has. */
static bool use_sample(struct perf_session *session, const struct perf_sample *sample,
                       uint32_t process, struct perf_moment moment)
{
    size_t count;
    bool is_used = false;
    const struct perf_span *spans = perf_processes_spans(&session->processes, process, &count);
    for (size_t first = 0, end; spans && first < count; first = end) {
        uint32_t number = spans[first].binary;
        const struct perf_binary *binary = &session->binaries[number];
        end = first + BAT_COUNT_UP_TO(spans + first, count - first, binary, number);
        if (binary->doubles_entry && perf_moment_before(moment, session->doubling_since[number]) &&
            has_doubling_size(sample, perf_session_keeps_kernel(session, binary)) &&
            perf_spans_at(spans + first, end - first, moment, NULL)) {
            session->doubling_since[number] = moment;
            is_used = true;
        }
    }
    return is_used;
}

bool perf_session_note_doubling(struct perf_session *session, const struct perf_sample *sample,
                                struct perf_moment moment)
{
    if (!sample->has_process || sample->branch_count < PERF_DOUBLING_ENTRIES)
        return false;
    bool is_used = use_sample(session, sample, sample->process, moment);
    return use_sample(session, sample, PERF_KERNEL_PROCESS, moment) || is_used;
}

/*
 * Look for such samples before doubling_since in a stretch. In text without times, those behind the
 * limit need not be read.
 */
static enum bat_code search(struct perf_session *session, const struct perf_stretch *stretch,
                            struct bat_error *error)
{
    struct perf_samples samples;
    enum bat_code code = perf_samples_open(&samples, session, stretch, error);
    struct perf_moment limit = latest(session);
    struct perf_sample sample;
    struct perf_moment moment;
    bool is_sample = true;
    while (code == BAT_OK && is_sample) {
        code = perf_samples_next(&samples, &sample, &moment, &is_sample);
        if (code != BAT_OK || !is_sample || !sample.uses_stack)
            continue;
        if (perf_moment_before(moment, limit))
            code = perf_samples_stack(&samples, &sample);
        else if (session->text && session->text->order != PERF_SCRIPT_BY_TIME)
            break;
        if (code == BAT_OK && perf_session_note_doubling(session, &sample, moment))
            limit = latest(session);
    }
    perf_samples_close(&samples);
    return code;
}

/* The chunk with the earliest full stack, if it may be before a doubling_since; else NULL. */
static struct perf_chunk *next_chunk(struct perf_session *session)
{
    struct perf_moment limit = latest(session);
    struct perf_chunk *best = NULL;
    for (uint32_t i = 0; i < session->chunk_count; i++) {
        struct perf_chunk *chunk = &session->chunks[i];
        struct perf_moment earliest = {chunk->min_time, chunk->position};
        if (chunk->has_full_stack && perf_moment_before(earliest, limit) &&
            (!best || chunk->min_time < best->min_time))
            best = chunk;
    }
    return best;
}

void perf_session_sort_doublings(struct perf_session *session)
{
    session->doubling_count = 0;
    for (uint32_t i = 0; i < session->binary_count; i++)
        if (session->doubling_since[i].position != UINT64_MAX)
            session->doublings[session->doubling_count++] =
                (struct perf_change){.binary = i, .since = session->doubling_since[i]};
    qsort(session->doublings, session->doubling_count, sizeof(*session->doublings),
          perf_compare_changes);
}

enum bat_code perf_session_find_doubling(struct perf_session *session, struct bat_error *error)
{
    for (uint32_t i = 0; i < session->binary_count; i++)
        session->doubling_since[i] = (struct perf_moment){UINT64_MAX, UINT64_MAX};
    session->doublings = calloc((size_t)session->binary_count + 1, sizeof(*session->doublings));
    BAT_TRY_MEMORY(session->doublings, error, "to read the profile");
    if (!session->doubles_entry || (session->options->basic_samples && !session->text))
        return BAT_OK;
    struct perf_stretch stretch = {
        .file = session->file, .start = session->data_start, .end = session->data_end};
    struct perf_chunk *chunk = next_chunk(session);
    /* Compressed records cannot be read without those before them. */
    enum bat_code code = BAT_OK;
    if (chunk && session->is_compressed) {
        code = search(session, &stretch, error);
        chunk = NULL;
    }
    for (; chunk && code == BAT_OK; chunk = next_chunk(session)) {
        const struct perf_chunk *next = chunk + 1;
        stretch.start = chunk->position;
        stretch.line = chunk->line;
        stretch.end =
            next < session->chunks + session->chunk_count ? next->position : session->data_end;
        code = search(session, &stretch, error);
        chunk->has_full_stack = false;
    }
    perf_session_sort_doublings(session);
    return code;
}
