/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Blocks without code in BOLT's output, in front of one that a branch goes to: jumps to the next
 * instruction, which BOLT drops, and no-operations, which it drops as well. x86-64.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOIPA __attribute__((noipa))

volatile long state;

NOIPA void small(void)
{
    state++;
}

NOIPA void big(void)
{
    state ^= state << 3;
    state += 5;
}

#define CALL(CODE)                                                                                 \
    __asm__ volatile(CODE                                                                          \
                     :                                                                             \
                     : "r"(f)                                                                      \
                     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc")

/* The compiler makes two copies of what comes before the jump: one falls into it, one jumps there.
 */
NOIPA long to_jump(long rounds, void (**functions)(void))
{
    long i = 0;
    do {
        void (*f)(void) = (i & 1) ? functions[0] : functions[1];
        CALL("jmp 1f\n1:\tcall *%0\n\tjmp 2f\n2:\n");
        i++;
    } while (i < rounds);
    return state;
}

/* The loop's only branch goes behind the no-operations in front of it. */
NOIPA long behind_padding(long rounds)
{
    long sum = 0;
    __asm__(
        "test %1, %1\n\tjle 2f\n\tjmp 1f\n\t.p2align 5\n1:\tadd %1, %0\n\tdec %1\n\tjne 1b\n2:\n"
        : "+r"(sum), "+r"(rounds)
        :
        : "cc");
    return sum;
}

/* The same where control falls through them. */
NOIPA long over_padding(long rounds)
{
    long sum = 0;
    __asm__("test %1, %1\n\tjle 2f\n\tlea 1(%0), %0\n\t.p2align 5\n1:\tadd %1, %0\n\tdec %1\n\t"
            "jne 1b\n2:\n"
            : "+r"(sum), "+r"(rounds)
            :
            : "cc");
    return sum;
}

int main(int argc, char **argv)
{
    void (*functions[])(void) = {small, big};
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    printf("%ld %ld %ld\n", to_jump(rounds, functions), behind_padding(rounds),
           over_padding(rounds));
    return 0;
}
