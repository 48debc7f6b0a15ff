/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions that are split into a hot and a cold part (f, f.cold), and have jump tables: into the
 * other part, inside of one part, and of both parts next to each other. x86-64.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOIPA __attribute__((noipa))

__attribute__((cold, noinline, noreturn)) void refuse(long what)
{
    fprintf(stderr, "bad %ld\n", what);
    exit(2);
}

volatile long state = 1;

/* The compiler's table leads into the cold part. */
NOIPA long into_cold(long what, long value)
{
    switch (what) {
    case 0:
        state += value;
        return value * 3;
    case 1:
        state ^= value;
        return value + 11;
    case 2:
        state -= 5;
        return value >> 1;
    case 3:
        refuse(what);
    case 4:
        state = value << 2;
        return value | 1;
    case 5:
        refuse(what + 1);
    case 6:
        state--;
        return ~value;
    case 7:
        return value ^ state;
    default:
        refuse(what);
    }
}

/* All targets of the table are in the hot part, which branches to the cold one. */
NOIPA long inside(long what, long value)
{
    if (value == -1)
        refuse(what);
    switch (what) {
    case 0:
        state += value;
        return value * 5;
    case 1:
        state ^= value;
        return value + 12;
    case 2:
        state -= 6;
        return value >> 2;
    case 3:
        state = value << 1;
        return value | 3;
    case 4:
        state--;
        return -value;
    case 5:
        return value ^ state;
    default:
        return what;
    }
}

/*
 * NAME(what, value), whose parts have a table each, next to each other: HOT and COLD are the
 * targets of the first entry.
 */
#define TWO_TABLES(NAME, HOT, COLD)                                                                \
    long NAME(long what, long value);                                                              \
    __asm__(".text\n\t.globl " #NAME "\n\t.type " #NAME ", @function\n" #NAME ":\n"                \
            "\ttest %rsi, %rsi\n\tjs " #NAME ".cold\n"                                             \
            "\tand $1, %edi\n\tjmp *" #NAME "_hot(,%rdi,8)\n" #NAME                                \
            "_0:\tlea 1(%rsi), %rax\n\tret\n" #NAME "_1:\tlea 2(%rsi,%rsi), %rax\n\tret\n"         \
            "\t.size " #NAME ", .-" #NAME "\n"                                                     \
            "\t.section .text.unlikely\n\t.type " #NAME ".cold, @function\n" #NAME ".cold:\n"      \
            "\tand $1, %edi\n\tjmp *" #NAME "_cold(,%rdi,8)\n" #NAME                               \
            "_2:\tlea 3(%rsi), %rax\n\tret\n" #NAME "_3:\tlea 4(%rsi,%rsi), %rax\n\tret\n"         \
            "\t.size " #NAME ".cold, .-" #NAME ".cold\n"                                           \
            "\t.section .rodata\n\t.p2align 3\n" #NAME "_hot:\t.quad " HOT ", " #NAME "_1, " #NAME \
            "_0\n" #NAME "_cold:\t.quad " COLD ", " #NAME "_3, " #NAME "_2\n\t.text\n")

TWO_TABLES(both_inside, "both_inside_0", "both_inside_2");
TWO_TABLES(cold_into_hot, "cold_into_hot_0", "cold_into_hot_0");

int main(int argc, char **argv)
{
    static const long most[] = {0, 1, 2, 4, 6, 7};
    long rounds = argc > 1 ? atol(argv[1]) : 600;
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        sum += into_cold(most[i % 6], i) + inside(i % 7, i);
        sum += both_inside(i & 1, i % 3 - 1) + cold_into_hot(i & 1, i % 5 - 1);
    }
    printf("%ld\n", sum);
    return 0;
}
