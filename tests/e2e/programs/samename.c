/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compiled once for each UNIT and linked together: local functions of the same names in files of
 * the same name. samename_main.c calls the units.
 */
#define JOIN(a, b) a##b
#define UNIT_NAME(n) JOIN(unit_, n)

int UNIT_NAME(UNIT)(int value);

__attribute__((noinline)) static int step(int value)
{
    if (value % (UNIT + 2) == 0)
        return value / 2 + UNIT;
    return value * 3 - UNIT;
}

__attribute__((noinline)) static int clamp(int value)
{
    int rounds = 0;
    while (value > 1000 + UNIT || value < -1000) {
        value = value / (UNIT + 3);
        if (++rounds > 100)
            return UNIT;
    }
    return value;
}

__attribute__((noinline)) static int unused_but_kept(int value)
{
    for (int i = 0; i < UNIT; i++)
        value ^= value << i;
    return value;
}

int UNIT_NAME(UNIT)(int value)
{
    for (int i = 0; i < UNIT + 3; i++) {
        value = clamp(step(value));
        if (value == -987654)
            value = unused_but_kept(value);
    }
    return value;
}
