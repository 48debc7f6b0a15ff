/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An interpreter that goes from operation to operation by computed gotos; one goes on into the
 * next. */
#include <stdio.h>
#include <stdlib.h>

enum { ADD, DOUBLE, SKIP_ODD, HALVE, LOOP, STOP, BUMP };

static volatile unsigned added;

static const unsigned char program[] = {ADD,      SKIP_ODD, HALVE, DOUBLE, BUMP,
                                        SKIP_ODD, ADD,      BUMP,  LOOP,   STOP};

__attribute__((noinline)) static unsigned run(const unsigned char *code, unsigned rounds)
{
    static const void *const operations[] = {&&add,  &&twice, &&skip_odd, &&halve,
                                             &&loop, &&stop,  &&bump};
    const unsigned char *at = code;
    unsigned value = 1;
    goto *operations[*at];
bump:
    added++;
add:
    added += 3;
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
