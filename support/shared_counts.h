/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A table that several threads add to. Each thread adds to its own table; when that is full, its
 * items move to the shared table. So memory grows with the distinct keys, not with the threads.
 * Internal to the library.
 */
#pragma once

#include <pthread.h>

#include "counts.h"

#define BAT_SHARDS 64u

/* Keys are spread over tables with a lock each, so that threads seldom wait. */
struct bat_shared_counts {
    uint64_t seed;
    struct bat_shard {
        pthread_mutex_t lock;
        struct bat_counts counts;
    } shards[BAT_SHARDS];
};

/* Create an empty table for keys of `words` words; NULL if there is no memory. */
struct bat_shared_counts *bat_shared_counts_new(uint32_t words);
void bat_shared_counts_free(struct bat_shared_counts *shared);

/*
 * From now on counts moves its items to shared instead of growing beyond BAT_SHARED_LIMIT; several
 * threads may do so, each with counts of its own. shared may be NULL: nothing is moved.
 */
void bat_counts_share(struct bat_counts *counts, struct bat_shared_counts *shared);

/* Move all items to counts. Call this from one thread, after the others have ended. */
enum bat_code bat_shared_counts_take(struct bat_shared_counts *shared, struct bat_counts *counts);
