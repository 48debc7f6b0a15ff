/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls functions of secondary.S at their starts and in their middles. */
#include <stdio.h>
#include <stdlib.h>

/* Both entries run into the same loop: sum of 1 + 2 + ... + n, the second one from `start` on. */
unsigned long sum_to(unsigned long n);
unsigned long sum_to_from(unsigned long n, unsigned long start);
/* Three entries: n steps of the Collatz sequence, its triple step alone, its half step alone. */
unsigned long collatz(unsigned long value, unsigned long steps);
unsigned long collatz_triple(unsigned long value, unsigned long steps);
unsigned long collatz_half(unsigned long value, unsigned long steps);

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    unsigned long sum = 0;
    for (unsigned long i = 1; i <= rounds; i++) {
        sum += sum_to(i % 50);
        sum = sum * 3 + sum_to_from(i % 30, sum % 7);
        sum += collatz(i, i % 20 + 1);
        if (i % 3 == 0)
            sum ^= collatz_triple(i * 2 + 1, 3);
        if (i % 5 == 0)
            sum ^= collatz_half(i * 2, 2);
    }
    printf("%lu rounds, sum %016lx\n", rounds, sum);
    return 0;
}
