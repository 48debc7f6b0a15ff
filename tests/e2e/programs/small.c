/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A few functions with loops, a jump table, recursion and paths that are hardly ever taken: enough
 * for BOLT to reorder and to split, small enough to read every byte of the note.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

enum opcode { PUSH, ADD, MULTIPLY, SWAP, DUPLICATE, DROP, JUMP_IF, HALT };

struct instruction {
    enum opcode opcode;
    unsigned operand;
};

struct machine {
    unsigned stack[16];
    unsigned depth;
    unsigned long steps;
};

NOINLINE static void die(const char *reason, unsigned long step)
{
    fprintf(stderr, "small: %s at step %lu\n", reason, step);
    exit(1);
}

NOINLINE static void push(struct machine *machine, unsigned value)
{
    if (machine->depth == 16)
        die("stack overflow", machine->steps);
    machine->stack[machine->depth++] = value;
}

NOINLINE static unsigned pop(struct machine *machine)
{
    if (machine->depth == 0)
        die("stack underflow", machine->steps);
    return machine->stack[--machine->depth];
}

NOINLINE static unsigned interpret(struct machine *machine, const struct instruction *code)
{
    for (unsigned pc = 0;; machine->steps++) {
        struct instruction now = code[pc++];
        unsigned a, b;
        switch (now.opcode) {
        case PUSH:
            push(machine, now.operand);
            break;
        case ADD:
            push(machine, pop(machine) + pop(machine));
            break;
        case MULTIPLY:
            push(machine, pop(machine) * pop(machine));
            break;
        case SWAP:
            a = pop(machine);
            b = pop(machine);
            push(machine, a);
            push(machine, b);
            break;
        case DUPLICATE:
            a = pop(machine);
            push(machine, a);
            push(machine, a);
            break;
        case DROP:
            pop(machine);
            break;
        case JUMP_IF:
            a = pop(machine);
            if (a != 0)
                pc = now.operand;
            push(machine, a);
            break;
        case HALT:
            return pop(machine);
        default:
            die("bad opcode", machine->steps);
        }
        if (machine->steps > 1000000)
            die("no end in sight", machine->steps);
    }
}

NOINLINE static unsigned partition(unsigned *values, unsigned count)
{
    unsigned pivot = values[count / 2];
    unsigned low = 0, high = count - 1;
    for (;;) {
        while (values[low] < pivot)
            low++;
        while (values[high] > pivot)
            high--;
        if (low >= high)
            return high + 1;
        unsigned swapped = values[low];
        values[low++] = values[high];
        values[high--] = swapped;
    }
}

NOINLINE static void sort(unsigned *values, unsigned count)
{
    while (count > 1) {
        unsigned left = partition(values, count);
        if (left == count)
            left--;
        sort(values, left);
        values += left;
        count -= left;
    }
}

NOINLINE static unsigned checksum(const unsigned *values, unsigned count)
{
    unsigned sum = 1;
    for (unsigned i = 0; i < count; i++) {
        if (i > 0 && values[i - 1] > values[i])
            die("not sorted", i);
        sum = sum * 33 + values[i];
        if (sum % 251 == 250)
            sum ^= 0x5bd1e995u;
    }
    return sum;
}

int main(int argc, char **argv)
{
    static unsigned values[512];
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
    unsigned sum = 0;
    for (unsigned round = 1; round <= rounds; round++) {
        /* counts down from `round` and squares what is left of a sum */
        const struct instruction code[] = {
            {PUSH, 7},      {PUSH, round}, {SWAP, 0}, {PUSH, 3},    {MULTIPLY, 0},
            {SWAP, 0},      {PUSH, ~0u},   {ADD, 0},  {JUMP_IF, 2}, {DROP, 0},
            {DUPLICATE, 0}, {MULTIPLY, 0}, {HALT, 0},
        };
        struct machine machine = {.depth = 0};
        unsigned seed = interpret(&machine, code);
        for (unsigned i = 0; i < 512; i++)
            values[i] = (seed = seed * 1103515245u + 12345u) >> 8;
        sort(values, 512);
        sum = sum * 17 + checksum(values, 512);
    }
    printf("%u rounds, sum %08x\n", rounds, sum);
    return 0;
}
