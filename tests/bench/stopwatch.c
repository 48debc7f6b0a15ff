/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stopwatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double stopwatch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

void stopwatch_race(struct contender *contenders, size_t count, unsigned runs)
{
    for (size_t i = 0; i < count; i++)
        contenders[i].run(contenders[i].context);
    for (unsigned run = 0; run < runs; run++)
        for (size_t i = 0; i < count; i++)
            contenders[i].seconds[run] = contenders[i].run(contenders[i].context);
    for (size_t i = 0; i < count; i++) {
        qsort(contenders[i].seconds, runs, sizeof(double), compare_doubles);
        contenders[i].median = contenders[i].seconds[runs / 2];
    }
}

void stopwatch_print(const char *title, const struct contender *contenders, size_t count,
                     size_t base)
{
    const struct contender *other = &contenders[base];
    double base_rate = (double)other->bytes / other->median;
    printf("\n%-44s %9s %9s %9s %9s\n", title, "median ms", "best ms", "MB/s", "ratio");
    for (size_t i = 0; i < count; i++) {
        const struct contender *now = &contenders[i];
        double rate = (double)now->bytes / now->median;
        printf("  %-42s %9.1f %9.1f %9.0f %9.2f\n", now->name, now->median * 1e3,
               now->seconds[0] * 1e3, rate / 1e6, rate / base_rate);
    }
}
