/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Samples of one stream for several threads. Compressed records cannot be divided: whichever thread
 * needs samples unpacks the next ones, while the others work on theirs. Internal to the library.
 */
#ifndef BAT_PROFILE_PERF_BATCHES_H
#define BAT_PROFILE_PERF_BATCHES_H

#include <pthread.h>

#include "stream.h"

/* A stream that several threads take samples from. */
struct perf_batches {
    pthread_mutex_t lock;
    struct perf_stream stream;
    bool is_done; /* at the stream's end, or after an error */
};

/* A thread's samples: copies of records, each behind what else is known of it. */
struct perf_batch {
    uint8_t *bytes; /* NULL before the first */
    size_t size;
    size_t at;
    uint64_t bytes_read; /* of the file, for these samples */
};

/* Take the next samples: none, with size 0, at the end. Fails as perf_stream_next(). */
enum bat_code perf_batches_take(struct perf_batches *batches, struct perf_batch *batch,
                                struct bat_error *error);

/* Let the other threads take no more. */
void perf_batches_stop(struct perf_batches *batches);

/* The next sample of a batch; false behind the last. */
bool perf_batch_next(struct perf_batch *batch, struct perf_record *record);

#endif
