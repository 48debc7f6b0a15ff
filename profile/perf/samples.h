/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The samples of a recording, one by one: those of perf.data and those of text are the same from
 * here on. Internal to the library.
 */
#pragma once

#include <pthread.h>

#include "script.h"

/* A stream that several threads take samples from. */
struct perf_batches {
    pthread_mutex_t lock;
    struct perf_stream stream;
    bool is_done; /* at the stream's end, or after an error */
};

/* What is read: a stretch of the session's file, or of text that comes by a pipe. */
struct perf_stretch {
    int file;
    uint64_t start;
    uint64_t end;
    uint64_t line;                /* of text: the number of the first one */
    struct perf_batches *batches; /* instead of records from start to end; or NULL */
};

struct perf_samples {
    const struct perf_session *session;
    struct bat_error *error;
    uint64_t bytes; /* that were read */
    struct perf_stream stream;
    struct perf_script_reader text;
    /* Of batches: copies of records, each behind what else is known of it */
    struct perf_batches *batches;
    uint8_t *batch; /* NULL before the first */
    size_t batch_size;
    size_t batch_at;
    enum bat_code batch_code; /* what follows the batch; it has set the error */
};

/* To be closed in any case. */
enum bat_code perf_samples_open(struct perf_samples *samples, struct perf_session *session,
                                const struct perf_stretch *stretch, struct bat_error *error);

/* Behind an error, other threads take no more batches. */
void perf_samples_close(struct perf_samples *samples);

/* Returns the next sample, valid until the next call; *is_sample is false behind the last one. */
enum bat_code perf_samples_next(struct perf_samples *samples, struct perf_sample *sample,
                                struct perf_moment *moment, bool *is_sample);

/*
 * Complete the last sample by its branch stack, which in the text of a process without binaries may
 * be anything.
 */
static inline enum bat_code perf_samples_stack(struct perf_samples *samples,
                                               struct perf_sample *sample)
{
    return samples->session->text ? perf_script_read_stack(&samples->text, sample) : BAT_OK;
}

/*
 * After perf_processes_finish(), also if it failed: count the samples of each mapped file, for
 * messages. Whatever cannot be read is left out; what perf prints is not read again.
 */
void perf_census(struct perf_session *session);
