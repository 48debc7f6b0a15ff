// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/*
 * Calls of everything in odd_functions_*.S. Compiled without UNIT it is the main file; with UNIT=N
 * one of several equal files with functions of equal names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef UNIT

#define NAME_OF(unit) unit_##unit
#define NAME(unit) NAME_OF(unit)

static int counter;

static __attribute__((noinline)) int helper(int x)
{
    counter += x;
    return x * UNIT + counter;
}

static __attribute__((noinline)) int same(int x)
{
    return x + 7;
}

int (*volatile NAME(UNIT))(int) = helper;

int call(int x);
__attribute__((weak, noinline)) int call(int x)
{
    printf("%d\n", same(x));
    return helper(x) * same(x);
}

#else

int helper = 3; /* data that is called like the functions */
static int same = 4;

extern int (*volatile unit_0)(int), (*volatile unit_1)(int), (*volatile unit_2)(int);
int call(int);
int assembly(void), no_size(void), sized(void), alias_global(void), after_object(void);
int by_resolver(void), gap_end(void);

void *(*volatile pointer)(size_t) = malloc; /* used through the GOT as well */

int main(int argc, char **argv)
{
    int sum = 0;
    for (int i = 0; i < 100; i++) {
        sum += call(i) + unit_0(i) + unit_1(i) + unit_2(i);
        sum += assembly() + no_size() + sized() + alias_global() + after_object();
        sum += by_resolver() + gap_end();
        char *text = pointer(10);
        memset(text, argc, 10);
        sum += (int)strlen(argv[0]);
        free(text);
    }
    same += sum;
    printf("%d\n", same);
    return 0;
}

#endif
