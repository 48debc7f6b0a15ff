/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#define PART_SIZE_MIN ((uint64_t)8 << 20)

unsigned bat_threads_for(unsigned threads, uint64_t jobs, unsigned most)
{
    long processors = threads == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    uint64_t count = processors > 0 ? (uint64_t)processors : threads;
    if (count > jobs)
        count = jobs;
    if (count > most)
        count = most;
    return count ? (unsigned)count : 1;
}

unsigned bat_parts_count(unsigned threads, uint64_t size)
{
    return bat_threads_for(threads, size / PART_SIZE_MIN, BAT_PARTS_MAX);
}

void bat_parts_run(void *(*run)(void *part), void *parts, size_t part_size, unsigned count)
{
    char *part = parts;
    pthread_t threads[BAT_PARTS_MAX];
    bool is_started[BAT_PARTS_MAX] = {false};
    for (unsigned i = 1; i < count; i++)
        is_started[i] = pthread_create(&threads[i], NULL, run, part + i * part_size) == 0;
    run(part);
    for (unsigned i = 1; i < count; i++) {
        if (is_started[i])
            pthread_join(threads[i], NULL);
        else
            run(part + i * part_size);
    }
}

/* --- Stretches ------------------------------------------------------------------------------ */

/* The stretches that are left, for all threads. */
struct queue {
    _Atomic(size_t) next;
    size_t count;
    size_t stretch;
    bat_parallel_fn *work;
    void *context;
};

struct worker {
    struct queue *queue;
    unsigned number;
};

static void *run_stretches(void *context)
{
    const struct worker *worker = context;
    struct queue *queue = worker->queue;
    for (;;) {
        size_t first = atomic_fetch_add(&queue->next, queue->stretch);
        if (first >= queue->count)
            return NULL;
        size_t left = queue->count - first;
        size_t size = left < queue->stretch ? left : queue->stretch;
        queue->work(queue->context, first, first + size, worker->number);
    }
}

unsigned bat_parallel_threads(unsigned threads, size_t stretches)
{
    return bat_threads_for(threads, stretches, BAT_PARALLEL_MAX);
}

void bat_parallel_run(size_t count, size_t stretch, unsigned threads, bat_parallel_fn *work,
                      void *context)
{
    struct queue queue = {.count = count, .stretch = stretch, .work = work, .context = context};
    struct worker workers[BAT_PARALLEL_MAX];
    for (unsigned i = 0; i < threads; i++)
        workers[i] = (struct worker){&queue, i};
    bat_parts_run(run_stretches, workers, sizeof(workers[0]), threads);
}

/* Steps that may fail. */
struct trying {
    bat_parallel_item_fn *work;
    void *context;
    enum bat_code codes[BAT_PARALLEL_MAX];
    struct bat_error errors[BAT_PARALLEL_MAX];
};

static void try_some(void *context, size_t first, size_t end, unsigned thread)
{
    struct trying *trying = context;
    for (size_t i = first; i < end && trying->codes[thread] == BAT_OK; i++)
        trying->codes[thread] = trying->work(trying->context, i, thread, &trying->errors[thread]);
}

enum bat_code bat_parallel_try(size_t count, size_t stretch, unsigned threads,
                               bat_parallel_item_fn *work, void *context, struct bat_error *error)
{
    struct trying trying = {.work = work, .context = context};
    threads = bat_parallel_threads(threads, count / stretch);
    bat_parallel_run(count, stretch, threads, try_some, &trying);
    for (unsigned i = 0; i < threads; i++)
        if (trying.codes[i] != BAT_OK) {
            *error = trying.errors[i];
            return trying.codes[i];
        }
    return BAT_OK;
}
