/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An interpreter that goes from operation to operation by computed gotos. */
#include <stdio.h>
#include <stdlib.h>

enum { ADD, DOUBLE, SKIP_ODD, HALVE, LOOP, STOP };

static const unsigned char program[] = {ADD, SKIP_ODD, HALVE, DOUBLE, SKIP_ODD, ADD, LOOP, STOP};

__attribute__((noinline)) static unsigned run(const unsigned char *code, unsigned rounds)
{
    static const void *const operations[] = {&&add, &&twice, &&skip_odd, &&halve, &&loop, &&stop};
    const unsigned char *at = code;
    unsigned value = 1;
    goto *operations[*at];
add:
    value += 3;
    goto *operations[*++at];
twice:
    value *= 2;
    goto *operations[*++at];
skip_odd:
    at += value & 1;
    goto *operations[*++at];
halve:
    value /= 2;
    goto *operations[*++at];
loop:
    if (rounds-- != 0) {
        at = code;
        goto *operations[*at];
    }
    goto *operations[*++at];
stop:
    return value;
}

int main(int argc, char **argv)
{
    printf("%u\n", run(program, argc > 1 ? (unsigned)atoi(argv[1]) : 100));
    return 0;
}
