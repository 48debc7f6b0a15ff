/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Times of contenders that are measured in turns, so that a slow moment of the machine affects
 * all. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STOPWATCH_RUNS_MAX 101

/* Seconds since a fixed moment. */
double stopwatch_now(void);

/* One contender: run() returns the seconds that count. */
struct contender {
    const char *name;
    double (*run)(void *context);
    void *context;
    uint64_t bytes; /* the bytes that one run processes */
    double seconds[STOPWATCH_RUNS_MAX];
    double median;
};

/* Run each contender once without measuring, then `runs` rounds of one run each; fills median. */
void stopwatch_race(struct contender *contenders, size_t count, unsigned runs);

/* Print a line for each contender: median, rate, and the rate in relation to contender `base`. */
void stopwatch_print(const char *title, const struct contender *contenders, size_t count,
                     size_t base);
