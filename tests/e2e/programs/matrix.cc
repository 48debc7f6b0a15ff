// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix.h"

volatile int sink;

static __attribute__((noinline)) int rarely(Counter &counter, int value)
{
    Counter::Step step = {value};
    return counter.add(step) - counter.far_away(value);
}

static inline int often(Counter &counter, int value)
{
    Counter::Step step = {value + 1};
    return counter.add(step) + three_times(value);
}

extern "C" int _start(int value)
{
    Counter counter = {value};
    int sum = often(counter, value);
    for (int i = 0; i < (value & 7); i++)
        sum += often(counter, i) + counter.far_away(i);
    if (__builtin_expect(sum == 7, 0))
        sum -= rarely(counter, sum);
    return sum;
}
