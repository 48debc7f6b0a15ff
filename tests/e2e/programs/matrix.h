// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of two units: a class whose functions are inlined, and a template.
#pragma once

extern volatile int sink;

struct Counter {
    int value;
    struct Step {
        int by;
        int twice() const
        {
            return by * 2 + sink;
        }
    };
    inline int add(const Step &step)
    {
        value += step.by;
        if (value & 1)
            sink = value;
        return value + step.twice();
    }
    int far_away(int by);
};

template <typename T> inline T three_times(T value)
{
    T sum = 0;
    for (int i = 0; i < 3; i++)
        sum += value + (T)sink;
    return sum;
}
