/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Jobs in several threads: divided into a part for each, or into stretches of many items. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bat.h"

/*
 * The number of threads for these jobs: threads, or one for each processor if that is 0; at most
 * one for each job, and most; at least 1.
 */
unsigned bat_threads_for(unsigned threads, uint64_t jobs, unsigned most);

/* The largest number of parts. */
#define BAT_PARTS_MAX 64u

/* That of parts of a job of size bytes: so few that a thread is worth its start, 8 MiB a part. */
unsigned bat_parts_count(unsigned threads, uint64_t size);

/*
 * Calls run for each of count parts (at most BAT_PARTS_MAX), an array of items of part_size bytes.
 * This thread does the first. Each other one has a thread of its own, or waits for this thread if
 * none can be created. Returns when all parts are done.
 */
void bat_parts_run(void *(*run)(void *part), void *parts, size_t part_size, unsigned count);

/* --- Stretches ---------------------------------------------------------------------------------
 * Many independent items: each thread takes the next stretch of them as soon as it is free. */

/* The most threads that work on stretches, the caller's among them. */
#define BAT_PARALLEL_MAX 8u

/*
 * Work on the items first to end - 1. thread is below the number of threads; no two calls with the
 * same number run at the same time.
 */
typedef void bat_parallel_fn(void *context, size_t first, size_t end, unsigned thread);

/* The number of threads for these stretches. */
unsigned bat_parallel_threads(unsigned threads, size_t stretches);

/*
 * Call work() for all items from 0 to count - 1, a stretch of consecutive items at a time, in the
 * calling thread and others. Returns when all is done. The order of the stretches is not defined.
 */
void bat_parallel_run(size_t count, size_t stretch, unsigned threads, bat_parallel_fn *work,
                      void *context);

/* Work on one item, which may fail. */
typedef enum bat_code bat_parallel_item_fn(void *context, size_t item, unsigned thread,
                                           struct bat_error *error);

/* The same for steps that may fail: a thread whose step failed makes no more of them. Returns what
 * the first of these threads returned. threads: as many as bat_parallel_threads() allows. */
enum bat_code bat_parallel_try(size_t count, size_t stretch, unsigned threads,
                               bat_parallel_item_fn *work, void *context, struct bat_error *error);
