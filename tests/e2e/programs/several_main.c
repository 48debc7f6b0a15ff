/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program with four libraries, made of several_lib.c, that call each other through it. */
#include <stdio.h>

typedef unsigned next_fn(unsigned value);

unsigned work0(unsigned value, next_fn *next);
unsigned work1(unsigned value, next_fn *next);
unsigned work2(unsigned value, next_fn *next);
unsigned work3(unsigned value, next_fn *next);

static unsigned last(unsigned value)
{
    return work3(value, 0);
}

static unsigned second(unsigned value)
{
    return value % 3 ? work2(value, last) : work1(value, last);
}

int main(void)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 60; i++)
        sum = sum * 31 + work0(i, i % 2 ? second : last);
    printf("%u\n", sum);
    return 0;
}
