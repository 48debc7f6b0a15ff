/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call chains of various depths: recursion, and a function that the C library calls. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sink;
static void *volatile frame;

__attribute__((noinline)) static void work(unsigned long rounds)
{
    /* It has a frame of its own then: without one, a leaf's caller is missing in the chain. */
    frame = __builtin_frame_address(0);
    for (unsigned long i = 0; i < rounds; i++)
        sink += i % 7 ? i : sink % 3;
}

__attribute__((noinline)) static void descend(int depth, unsigned long rounds)
{
    work(rounds);
    if (depth > 0)
        descend(depth - 1, rounds);
    work(rounds / 2);
}

__attribute__((noinline)) static void other_way(unsigned long rounds)
{
    work(2 * rounds);
    descend(3, rounds);
    work(rounds);
}

static int compare(const void *left, const void *right)
{
    work(200);
    return *(const int *)left - *(const int *)right;
}

int main(int count, char **arguments)
{
    static int numbers[300];
    unsigned long rounds = count > 1 ? strtoul(arguments[1], NULL, 0) : 1;
    for (unsigned long round = 0; round < rounds; round++) {
        for (int i = 0; i < 300; i++)
            numbers[i] = rand();
        qsort(numbers, 300, sizeof(numbers[0]), compare);
        other_way(20000);
        descend(1, 20000);
    }
    printf("%lu\n", sink);
    return 0;
}
