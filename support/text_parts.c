/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_parts.h"

#include <pthread.h>
#include <stdlib.h>

#include "parallel.h"

/* The most buffers of all threads. Each part that is not written yet has one. */
#define BUFFERS_MAX (BAT_TEXT_WAITING_PARTS * BAT_PARALLEL_MAX)

/* A part that is made and not written. */
struct waiting_part {
    char *buffer; /* NULL: no such part */
    size_t size;
};

/* The state of a text. */
struct text_state {
    struct bat_parted_text *text;
    void *state; /* of its source */
    size_t parts;
    size_t next; /* the first part that no thread has taken */
    size_t turn; /* the part that is to be written next */
    bool is_begun;
    bool has_parts;  /* begin() has told their number */
    bool is_writing; /* a thread writes to the output */
    /* Part i is at i % BUFFERS_MAX: fewer parts have been taken and not been written. */
    struct waiting_part waiting[BUFFERS_MAX];
};

/* What all threads share. The lock guards all of it, and how the texts ended. */
struct queue {
    struct text_state *texts;
    size_t count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned sleepers;          /* threads that wait for a change */
    char *buffers[BUFFERS_MAX]; /* that are free */
    size_t free_count;
    size_t buffer_count; /* free or not */
    size_t buffers_max;
};

struct worker {
    struct queue *queue;
    struct text_state *text; /* that it works on */
    size_t part;
    struct bat_text_writer writer;
    struct bat_error error;
    unsigned number;
    bool has_turn; /* its part is longer than the buffer, and is being written */
};

/* --- With the lock held ----------------------------------------------------------------------- */

static void sleep_until_changed(struct queue *queue)
{
    queue->sleepers++;
    pthread_cond_wait(&queue->changed, &queue->lock);
    queue->sleepers--;
}

static void tell_change(struct queue *queue)
{
    if (queue->sleepers != 0)
        pthread_cond_broadcast(&queue->changed);
}

static void give_back(struct queue *queue, char *buffer)
{
    queue->buffers[queue->free_count++] = buffer;
    tell_change(queue);
}

/* Note that a text has failed. Its parts are not needed any more. */
static void fail_text(struct queue *queue, struct text_state *text, enum bat_code code,
                      const struct bat_error *error)
{
    if (text->text->code == BAT_OK) {
        text->text->code = code;
        text->text->error = *error;
    }
    for (size_t i = 0; i < BUFFERS_MAX; i++) {
        if (text->waiting[i].buffer)
            give_back(queue, text->waiting[i].buffer);
        text->waiting[i].buffer = NULL;
    }
    tell_change(queue);
}

enum task { TASK_NONE, TASK_BEGIN, TASK_PART };

/* Find what to do: beginnings first, then parts in the order of the texts. */
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
        worker->text = &queue->texts[i];
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

static bool is_my_turn(const struct worker *worker)
{
    return worker->text->turn == worker->part && !worker->text->is_writing;
}

/* Write the parts that wait for nothing but their turn. The output is this thread's. */
static void write_waiting(struct worker *worker)
{
    struct queue *queue = worker->queue;
    struct text_state *text = worker->text;
    for (;;) {
        struct waiting_part *slot = &text->waiting[text->turn % BUFFERS_MAX];
        const struct waiting_part part = *slot;
        if (!part.buffer || text->text->code != BAT_OK)
            return;
        slot->buffer = NULL;
        pthread_mutex_unlock(&queue->lock);
        enum bat_code code =
            bat_output_write(text->text->output, part.buffer, part.size, &worker->error);
        pthread_mutex_lock(&queue->lock);
        give_back(queue, part.buffer);
        if (code != BAT_OK)
            fail_text(queue, text, code, &worker->error);
        text->turn++;
    }
}

/* Write the rest of the worker's own part, whose turn it is, and what waits for it. */
static void write_own(struct worker *worker)
{
    struct queue *queue = worker->queue;
    struct text_state *text = worker->text;
    text->is_writing = true;
    pthread_mutex_unlock(&queue->lock);
    worker->has_turn = true;
    bat_text_flush(&worker->writer);
    worker->has_turn = false;
    pthread_mutex_lock(&queue->lock);
    if (worker->writer.code != BAT_OK)
        fail_text(queue, text, worker->writer.code, &worker->error);
    text->turn++;
    write_waiting(worker);
    text->is_writing = false;
    tell_change(queue);
}

/* Get another buffer. There will be one: those of parts that wait become free in time. */
static char *next_buffer(struct queue *queue)
{
    while (queue->free_count == 0 && queue->buffer_count < queue->buffers_max) {
        char *buffer = malloc(BAT_TEXT_BUFFER + BAT_PUT_SLACK);
        if (!buffer)
            break;
        queue->buffer_count++;
        return buffer;
    }
    while (queue->free_count == 0)
        sleep_until_changed(queue);
    return queue->buffers[--queue->free_count];
}

/* Leave the worker's part to the thread that writes the part before. */
static void leave_waiting(struct worker *worker)
{
    struct bat_text_writer *writer = &worker->writer;
    worker->text->waiting[worker->part % BUFFERS_MAX] =
        (struct waiting_part){writer->buffer, writer->used};
    writer->buffer = next_buffer(worker->queue);
    writer->used = 0;
}

/* --- A worker --------------------------------------------------------------------------------- */

static enum task take_task(struct worker *worker)
{
    struct queue *queue = worker->queue;
    bool must_wait;
    pthread_mutex_lock(&queue->lock);
    enum task task;
    while ((task = find_task(worker, &must_wait)) == TASK_NONE && must_wait)
        sleep_until_changed(queue);
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
        fail_text(queue, text, code, &worker->error);
    tell_change(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* Wait until the worker's part, which its buffer cannot hold, may be written. */
static enum bat_code await_turn(void *context)
{
    struct worker *worker = context;
    struct queue *queue = worker->queue;
    struct text_state *text = worker->text;
    if (worker->has_turn)
        return BAT_OK;
    pthread_mutex_lock(&queue->lock);
    while (text->text->code == BAT_OK && !is_my_turn(worker))
        sleep_until_changed(queue);
    enum bat_code code = text->text->code;
    if (code == BAT_OK) {
        text->is_writing = true;
        worker->has_turn = true;
    } else {
        worker->error = text->text->error;
    }
    pthread_mutex_unlock(&queue->lock);
    return code;
}

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
    code = code ? code : writer->code;
    pthread_mutex_lock(&queue->lock);
    if (code != BAT_OK) {
        text->is_writing &= !worker->has_turn;
        fail_text(queue, text, code, &worker->error);
    } else if (text->text->code == BAT_OK) {
        if (worker->has_turn || is_my_turn(worker))
            write_own(worker);
        else
            leave_waiting(worker);
    }
    worker->has_turn = false;
    pthread_mutex_unlock(&queue->lock);
}

/* Without a buffer the first worker, which may be the only one, has to give up. */
static void fail_all(struct worker *worker, enum bat_code code)
{
    struct queue *queue = worker->queue;
    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < queue->count; i++)
        fail_text(queue, &queue->texts[i], code, &worker->error);
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
    for (;;) {
        switch (take_task(worker)) {
        case TASK_BEGIN:
            begin_text(worker);
            break;
        case TASK_PART:
            write_part(worker);
            break;
        case TASK_NONE:
            free(worker->writer.buffer);
            return NULL;
        }
    }
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
    while (queue->free_count != 0)
        free(queue->buffers[--queue->free_count]);
}

void bat_texts_write(struct bat_parted_text *texts, size_t count, unsigned threads)
{
    threads = bat_parallel_threads(threads, BAT_PARALLEL_MAX);
    struct queue queue = {.texts = calloc(count, sizeof(*queue.texts)),
                          .count = count,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER,
                          .buffers_max = (size_t)threads * (BAT_TEXT_WAITING_PARTS - 1)};
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
