/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "samples.h"

#include <stdlib.h>
#include <string.h>

/* Enough samples that threads seldom wait for each other, and few enough for their caches. */
#define BATCH_SIZE ((size_t)1 << 18)

/* The longest record, with what stands before it. */
#define ENTRY_MAX (sizeof(struct perf_record) + UINT16_MAX + 8)

/* --- Batches ------------------------------------------------------------------------------ */

static void put(struct perf_samples *samples, const struct perf_record *record)
{
    uint8_t *at = samples->batch + samples->batch_size;
    memcpy(at, record, sizeof(*record));
    memcpy(at + sizeof(*record), record->bytes, record->size);
    /* Records begin at multiples of 8. */
    samples->batch_size += sizeof(*record) + (((size_t)record->size + 7) & ~(size_t)7);
}

static enum bat_code fill(struct perf_samples *samples)
{
    struct perf_batches *batches = samples->batches;
    while (!batches->is_done && samples->batch_size + ENTRY_MAX <= BATCH_SIZE) {
        struct perf_record record;
        enum bat_code code = perf_stream_next(&batches->stream, &record, samples->error);
        batches->is_done = code != BAT_OK || !record.bytes;
        if (batches->is_done)
            return code;
        if (record.type == RECORD_SAMPLE)
            put(samples, &record);
    }
    return BAT_OK;
}

/* Take the next samples: none at the end. */
static enum bat_code take(struct perf_samples *samples)
{
    struct perf_batches *batches = samples->batches;
    samples->batch_size = samples->batch_at = 0;
    if (!samples->batch)
        samples->batch = malloc(BATCH_SIZE);
    BAT_TRY_MEMORY(samples->batch, samples->error, "to read the profile");
    pthread_mutex_lock(&batches->lock);
    uint64_t before = batches->stream.bytes_read;
    enum bat_code code = fill(samples);
    samples->bytes += batches->stream.bytes_read - before;
    pthread_mutex_unlock(&batches->lock);
    return code;
}

/* An error behind the last samples does not keep errors in them from being found. */
static enum bat_code next_of_batch(struct perf_samples *samples, struct perf_record *record)
{
    *record = (struct perf_record){.bytes = NULL};
    if (samples->batch_at == samples->batch_size && samples->batch_code == BAT_OK)
        samples->batch_code = take(samples);
    if (samples->batch_at == samples->batch_size)
        return samples->batch_code;
    const uint8_t *at = samples->batch + samples->batch_at;
    memcpy(record, at, sizeof(*record));
    record->bytes = at + sizeof(*record);
    samples->batch_at += sizeof(*record) + (((size_t)record->size + 7) & ~(size_t)7);
    return BAT_OK;
}

/* --- Samples ------------------------------------------------------------------------------ */

enum bat_code perf_samples_open(struct perf_samples *samples, struct perf_session *session,
                                const struct perf_stretch *stretch, struct bat_error *error)
{
    *samples =
        (struct perf_samples){.session = session, .error = error, .batches = stretch->batches};
    if (session->text)
        return perf_script_open(&samples->text, session->text, stretch->file, stretch->start,
                                stretch->end, stretch->line, error);
    return stretch->batches
               ? BAT_OK
               : perf_session_open(session, &samples->stream, stretch->start, stretch->end, error);
}

void perf_samples_close(struct perf_samples *samples)
{
    if (samples->batches) {
        pthread_mutex_lock(&samples->batches->lock);
        samples->batches->is_done = true;
        pthread_mutex_unlock(&samples->batches->lock);
    }
    free(samples->batch);
    perf_stream_close(&samples->stream);
    perf_script_close(&samples->text);
}

/* The next record of a sample; its bytes are NULL at the end. */
static enum bat_code next_record(struct perf_samples *samples, struct perf_record *record)
{
    if (samples->batches)
        return next_of_batch(samples, record);
    enum bat_code code;
    do
        code = perf_stream_next(&samples->stream, record, samples->error);
    while (code == BAT_OK && record->bytes && record->type != RECORD_SAMPLE);
    samples->bytes = samples->stream.bytes_read;
    return code;
}

enum bat_code perf_samples_next(struct perf_samples *samples, struct perf_sample *sample,
                                struct perf_moment *moment, bool *is_sample)
{
    const struct perf_session *session = samples->session;
    struct perf_record record;
    *is_sample = false;
    enum bat_code code;
    if (session->text) {
        code = perf_script_next(&samples->text, sample, moment, is_sample);
        samples->bytes = samples->text.bytes;
        return code;
    }
    code = next_record(samples, &record);
    if (code != BAT_OK || !record.bytes)
        return code;
    BAT_TRY(perf_sample_parse(&session->attributes, &record, sample, samples->error));
    sample->event = (uint32_t)(sample->attribute - session->attributes.items);
    sample->has_process &= !perf_record_is_guest(&record);
    sample->uses_ip = session->options->basic_samples;
    sample->uses_stack = !sample->uses_ip;
    sample->is_load = sample->attribute->is_memory_load;
    *moment = perf_session_moment(session, &record, sample->time);
    *is_sample = true;
    return BAT_OK;
}
