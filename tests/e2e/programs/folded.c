/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions with equal code, which llvm-bolt -icf folds: red, blue, and others that are called by
 * them, by themselves, by a jump at the end, and by pointers. How often each is called, and which
 * way it takes, tells them apart.
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif

/* An even value takes one way, an odd one the other. */
#define STEP(name)                                                                                 \
    ALONE static int name(int value)                                                               \
    {                                                                                              \
        if (value & 1)                                                                             \
            return value * 3 + 1;                                                                  \
        return value / 2;                                                                          \
    }

/* Calls another one six times, three times with an even value. */
#define WALK(name, step)                                                                           \
    ALONE static int name(int value)                                                               \
    {                                                                                              \
        int sum = 0;                                                                               \
        for (int i = 0; i < 6; i++)                                                                \
            sum += step(value + i);                                                                \
        return sum;                                                                                \
    }

/* Ends with a call of another one, which compilers make a jump. */
#define LAST(name, step)                                                                           \
    ALONE static int name(int value)                                                               \
    {                                                                                              \
        return step(value + 2);                                                                    \
    }

/* Calls itself. */
#define DEEP(name)                                                                                 \
    ALONE static int name(int depth)                                                               \
    {                                                                                              \
        if (depth == 0)                                                                            \
            return 1;                                                                              \
        return 3 * name(depth - 1) + depth;                                                        \
    }

STEP(step_red)
STEP(step_blue)
STEP(step_unused)
WALK(walk_red, step_red)
WALK(walk_blue, step_blue)
LAST(last_red, walk_red)
LAST(last_blue, walk_blue)
DEEP(deep_red)
DEEP(deep_blue)

/* Known by their addresses alone, but for some calls. */
ALONE static int held_red(int value)
{
    return value ^ 0x55;
}

ALONE static int held_blue(int value)
{
    return value ^ 0x55;
}

ALONE static int red(int round)
{
    return last_red(2 * round) + walk_red(2 * round) + deep_red(3);
}

ALONE static int blue(int round)
{
    return last_blue(2 * round + 1) + step_blue(2 * round + 1) + deep_blue(3);
}

int main(int argc, char **argv)
{
    static int (*const volatile held[])(int) = {held_red, held_blue, held_blue};
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    unsigned sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum = 5 * sum + (unsigned)red(i);
        for (int j = 0; j < 3; j++)
            sum = 7 * sum + (unsigned)blue(i + j);
        sum += (unsigned)held[i % 3](i) + (unsigned)held_blue(i);
    }
    if (rounds < 0)
        sum += (unsigned)step_unused(rounds);
    printf("%d rounds, sum %u\n", rounds, sum);
    return 0;
}
