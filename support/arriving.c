/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "arriving.h"

#include <unistd.h>

#include "parallel.h"
#include "temporary.h"

static void note_bytes(size_t size, void *context)
{
    struct bat_arriving *arriving = context;
    pthread_mutex_lock(&arriving->lock);
    arriving->size += size;
    if (arriving->size >= arriving->awaited)
        pthread_cond_signal(&arriving->more);
    pthread_mutex_unlock(&arriving->lock);
}

static void *copy(void *context)
{
    struct bat_arriving *arriving = context;
    enum bat_code code = bat_temporary_append(arriving->file, arriving->stream, note_bytes,
                                              arriving, &arriving->error);
    pthread_mutex_lock(&arriving->lock);
    arriving->code = code;
    arriving->is_done = true;
    pthread_cond_signal(&arriving->more);
    pthread_mutex_unlock(&arriving->lock);
    return NULL;
}

enum bat_code bat_arriving_begin(struct bat_arriving *arriving, int stream, const void *bytes,
                                 size_t size, unsigned threads, struct bat_error *error)
{
    *arriving = (struct bat_arriving){.stream = stream,
                                      .awaited = UINT64_MAX,
                                      .size = size,
                                      .lock = PTHREAD_MUTEX_INITIALIZER,
                                      .more = PTHREAD_COND_INITIALIZER};
    BAT_TRY(bat_temporary_open(&arriving->file, error));
    enum bat_code code = bat_temporary_write(arriving->file, bytes, size, error);
    if (code != BAT_OK) {
        close(arriving->file);
        return code;
    }
    arriving->has_thread = bat_parallel_threads(threads, 2) > 1 &&
                           pthread_create(&arriving->thread, NULL, copy, arriving) == 0;
    if (!arriving->has_thread)
        copy(arriving);
    return BAT_OK;
}

uint64_t bat_arriving_wait(struct bat_arriving *arriving, uint64_t size)
{
    pthread_mutex_lock(&arriving->lock);
    arriving->awaited = size;
    while (arriving->size < size && !arriving->is_done)
        pthread_cond_wait(&arriving->more, &arriving->lock);
    arriving->awaited = UINT64_MAX;
    uint64_t there = arriving->size;
    pthread_mutex_unlock(&arriving->lock);
    return there;
}

enum bat_code bat_arriving_finish(struct bat_arriving *arriving, struct bat_error *error)
{
    if (arriving->has_thread)
        pthread_join(arriving->thread, NULL);
    arriving->has_thread = false;
    if (arriving->code != BAT_OK && error)
        *error = arriving->error;
    return arriving->code;
}

void bat_arriving_close(struct bat_arriving *arriving)
{
    bat_arriving_finish(arriving, NULL);
    close(arriving->file);
}
