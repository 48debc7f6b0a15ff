/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Enough samples that threads seldom wait for each other, and few enough for their caches. */
#define BATCH_SIZE ((size_t)1 << 18)

/* The longest record, with what stands before it. */
#define ENTRY_MAX (sizeof(struct perf_record) + UINT16_MAX + 8)

/* Records begin at multiples of 8. */
static size_t entry_size(const struct perf_record *record)
{
    return sizeof(*record) + (((size_t)record->size + 7) & ~(size_t)7);
}

static void put(struct perf_batch *batch, const struct perf_record *record)
{
    uint8_t *at = batch->bytes + batch->size;
    memcpy(at, record, sizeof(*record));
    memcpy(at + sizeof(*record), record->bytes, record->size);
    batch->size += entry_size(record);
}

static enum bat_code fill(struct perf_batches *batches, struct perf_batch *batch,
                          struct bat_error *error)
{
    while (batch->size + ENTRY_MAX <= BATCH_SIZE) {
        struct perf_record record;
        enum bat_code code = perf_stream_next(&batches->stream, &record, error);
        if (code != BAT_OK || !record.bytes) {
            batches->is_done = true;
            return code;
        }
        if (record.type == RECORD_SAMPLE)
            put(batch, &record);
    }
    return BAT_OK;
}

enum bat_code perf_batches_take(struct perf_batches *batches, struct perf_batch *batch,
                                struct bat_error *error)
{
    batch->size = batch->at = 0;
    if (!batch->bytes)
        batch->bytes = malloc(BATCH_SIZE);
    if (!batch->bytes)
        return bat_fail_memory(error, "to read the profile");
    pthread_mutex_lock(&batches->lock);
    uint64_t before = batches->stream.bytes_read;
    enum bat_code code = batches->is_done ? BAT_OK : fill(batches, batch, error);
    batch->bytes_read = batches->stream.bytes_read - before;
    pthread_mutex_unlock(&batches->lock);
    return code;
}

void perf_batches_stop(struct perf_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    batches->is_done = true;
    pthread_mutex_unlock(&batches->lock);
}

bool perf_batch_next(struct perf_batch *batch, struct perf_record *record)
{
    if (batch->at == batch->size)
        return false;
    memcpy(record, batch->bytes + batch->at, sizeof(*record));
    record->bytes = batch->bytes + batch->at + sizeof(*record);
    batch->at += entry_size(record);
    return true;
}
