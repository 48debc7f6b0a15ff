/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_parts.h"

#include <pthread.h>
#include <stdlib.h>

#include "parallel.h"

/* The state of a text. */
struct text_state {
    struct bat_parted_text *text;
    void *state; /* of its source */
    size_t parts;
    size_t next; /* the first part that no thread has taken */
    size_t turn; /* the part that is to be written next; the output is its thread's */
    bool is_begun;
    bool has_parts; /* begin() has told their number */
};

/* What all threads share. The lock guards all of it, and how the texts ended. */
struct queue {
    struct text_state *texts;
    size_t count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct worker {
    struct queue *queue;
    struct text_state *text; /* that it works on */
    size_t part;
    struct bat_text_writer writer;
    struct bat_error error;
    unsigned number;
};

/* Note that a text has failed, unless it has already. Its parts are not needed any more. */
static void fail_text(struct text_state *text, enum bat_code code, const struct bat_error *error)
{
    if (text->text->code != BAT_OK)
        return;
    text->text->code = code;
    text->text->error = *error;
}

enum task { TASK_NONE, TASK_BEGIN, TASK_PART };

/* Find what to do: beginnings first, then parts. Each thread begins with another text: threads with
 * different outputs do not wait for each other. */
static enum task find_task(struct worker *worker, bool *must_wait)
{
    const struct queue *queue = worker->queue;
    *must_wait = false;
    for (size_t i = 0; i < queue->count; i++) {
        worker->text = &queue->texts[i];
        if (worker->text->text->code == BAT_OK && !worker->text->is_begun) {
            worker->text->is_begun = true;
            return TASK_BEGIN;
        }
    }
    for (size_t i = 0; i < queue->count; i++) {
        worker->text = &queue->texts[(worker->number + i) % queue->count];
        if (worker->text->text->code != BAT_OK)
            continue;
        if (worker->text->next < worker->text->parts) {
            worker->part = worker->text->next++;
            return TASK_PART;
        }
        *must_wait |= !worker->text->has_parts;
    }
    return TASK_NONE;
}

static enum task take_task(struct worker *worker)
{
    struct queue *queue = worker->queue;
    bool must_wait;
    pthread_mutex_lock(&queue->lock);
    enum task task;
    while ((task = find_task(worker, &must_wait)) == TASK_NONE && must_wait)
        pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return task;
}

static void begin_text(struct worker *worker)
{
    struct queue *queue = worker->queue;
    struct text_state *text = worker->text;
    void *state = NULL;
    size_t parts = 0;
    enum bat_code code =
        text->text->source->begin(text->text->subject, &state, &parts, &worker->error);
    pthread_mutex_lock(&queue->lock);
    text->state = state;
    text->parts = parts;
    text->has_parts = true;
    if (code != BAT_OK)
        fail_text(text, code, &worker->error);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* Wait until the worker's part may be written. Threads take parts in order: there is always one
 * that need not wait. */
static enum bat_code await_turn(void *context)
{
    struct worker *worker = context;
    struct queue *queue = worker->queue;
    const struct text_state *text = worker->text;
    pthread_mutex_lock(&queue->lock);
    while (text->text->code == BAT_OK && text->turn != worker->part)
        pthread_cond_wait(&queue->changed, &queue->lock);
    enum bat_code code = text->text->code;
    if (code != BAT_OK)
        worker->error = text->text->error;
    pthread_mutex_unlock(&queue->lock);
    return code;
}

/* Make a part in the writer's buffer, and write it when it has its turn or the buffer is full. */
static void write_part(struct worker *worker)
{
    struct queue *queue = worker->queue;
    struct text_state *text = worker->text;
    struct bat_text_writer *writer = &worker->writer;
    writer->output = text->text->output;
    writer->used = 0;
    writer->code = BAT_OK;
    enum bat_code code = text->text->source->write(text->state, worker->part, worker->number,
                                                   writer, &worker->error);
    code = code ? code : await_turn(worker);
    if (code == BAT_OK) {
        bat_text_flush(writer);
        code = writer->code;
    }
    pthread_mutex_lock(&queue->lock);
    if (code == BAT_OK)
        text->turn++;
    else
        fail_text(text, code, &worker->error);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* Without a buffer the first worker, which may be the only one, has to give up. */
static void fail_all(struct worker *worker, enum bat_code code)
{
    struct queue *queue = worker->queue;
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < queue->count; i++)
        fail_text(&queue->texts[i], code, &worker->error);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void *run_worker(void *context)
{
    struct worker *worker = context;
    enum bat_code code = bat_text_begin(&worker->writer, NULL, &worker->error);
    if (code != BAT_OK) {
        if (worker->number == 0)
            fail_all(worker, code);
        return NULL;
    }
    worker->writer.before_output = await_turn;
    worker->writer.context = worker;
    for (enum task task; (task = take_task(worker)) != TASK_NONE;)
        (task == TASK_BEGIN ? begin_text : write_part)(worker);
    free(worker->writer.buffer);
    return NULL;
}

static void write_all(struct queue *queue, unsigned threads)
{
    struct worker workers[BAT_PARALLEL_MAX];
    for (unsigned i = 0; i < threads; i++)
        workers[i] = (struct worker){.queue = queue, .number = i};
    bat_parts_run(run_worker, workers, sizeof(workers[0]), threads);
    for (size_t i = 0; i < queue->count; i++)
        if (queue->texts[i].is_begun)
            queue->texts[i].text->source->end(queue->texts[i].state);
}

void bat_texts_write(struct bat_parted_text *texts, size_t count, unsigned threads)
{
    threads = bat_parallel_threads(threads, BAT_PARALLEL_MAX);
    struct queue queue = {.texts = calloc(count, sizeof(*queue.texts)),
                          .count = count,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    for (size_t i = 0; i < count; i++) {
        if (queue.texts)
            queue.texts[i].text = &texts[i];
        else
            texts[i].code = bat_fail_memory(&texts[i].error, "to write the profile");
    }
    if (queue.texts)
        write_all(&queue, threads);
    free(queue.texts);
}
