/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Times of things that are measured in turns, so that a slow moment of the machine hits all. */
#ifndef BENCH_STOPWATCH_H
#define BENCH_STOPWATCH_H

#include <stddef.h>
#include <stdint.h>

#define STOPWATCH_RUNS_MAX 101

/* Seconds since some moment. */
double stopwatch_now(void);

/* One thing that is measured: run() returns the seconds that count. */
struct contender {
    const char *name;
    double (*run)(void *context);
    void *context;
    uint64_t bytes; /* that one run works through */
    double seconds[STOPWATCH_RUNS_MAX];
    double median;
};

/* Each contender once without measuring, then runs rounds of one run each; fills median. */
void stopwatch_race(struct contender *contenders, size_t count, unsigned runs);

/* A line for each: medians, rates, and rates in relation to the contender number base. */
void stopwatch_print(const char *title, const struct contender *contenders, size_t count,
                     size_t base);

#endif
