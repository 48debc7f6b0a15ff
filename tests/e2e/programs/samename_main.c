/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls units of samename.c, some of them much more often than others. */
#include <stdio.h>
#include <stdlib.h>

int unit_0(int), unit_1(int), unit_2(int), unit_3(int), unit_4(int), unit_5(int), unit_6(int),
    unit_7(int);

__attribute__((noinline)) static int step(int value)
{
    return value % 2 ? value + 5 : value - 4;
}

int main(int argc, char **argv)
{
    static int (*const units[])(int) = {unit_0, unit_1, unit_2, unit_3,
                                        unit_4, unit_5, unit_6, unit_7};
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    int value = 1;
    for (int i = 0; i < rounds; i++) {
        value = units[(i * i) % 8](value + i);
        value = step(value);
        if (i % 50 == 0)
            value += units[i / 50 % 8](value);
    }
    printf("%d rounds, value %d\n", rounds, value);
    return 0;
}
