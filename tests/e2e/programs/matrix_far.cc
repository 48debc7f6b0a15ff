// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix.h"

namespace
{
inline long wide(long value)
{
    return three_times(value) ^ sink;
}
} // namespace

int Counter::far_away(int by)
{
    Step step = {by};
    if (by > 100)
        return (int)wide(add(step));
    return add(step) + step.twice();
}
