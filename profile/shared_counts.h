/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A table that several threads add to. Each adds to a table of its own, which when it is full gives
 * all it has to the shared one, instead of growing: so memory grows with distinct keys, not with
 * threads. Internal to the library.
 */
#ifndef BAT_PROFILE_SHARED_COUNTS_H
#define BAT_PROFILE_SHARED_COUNTS_H

#include <pthread.h>

#include "counts.h"

#define BAT_SHARDS 64u

/* Keys are spread over tables that have locks of their own, so that threads seldom wait. */
struct bat_shared_counts {
    uint64_t seed;
    struct bat_shard {
        pthread_mutex_t lock;
        struct bat_counts counts;
    } shards[BAT_SHARDS];
};

/* An empty one for keys of words words; NULL without memory. */
struct bat_shared_counts *bat_shared_counts_new(uint32_t words);
void bat_shared_counts_free(struct bat_shared_counts *shared);

/* Move all of counts there: it is empty afterwards, and keeps its memory. Errors as of
 * bat_counts_add(). For any thread. */
enum bat_code bat_shared_counts_give(struct bat_shared_counts *shared, struct bat_counts *counts);

/* Move all to counts. For one thread, when the others are done. */
enum bat_code bat_shared_counts_take(struct bat_shared_counts *shared, struct bat_counts *counts);

#endif
