/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Calls by pointers, which llvm-bolt promotes to direct calls and inlines: of more functions than
 * it compares with, at the start of a block, and at the end of a function that is inlined itself.
 * And conditional branches to other functions (promoted.S), whose code it inlines. For x86-64.
 */
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif

/* --- More callees than comparisons ---------------------------------------------------------- */

ALONE static long add(long value)
{
    return value & 4 ? value + 3 : value;
}

ALONE static long subtract(long value)
{
    return value & 8 ? value - 5 : value + 1;
}

long leave(long value); /* in promoted.S */

/* In this order the first two are compared with; the others are called by the pointer. */
static long (*const steps[])(long) = {add,      add,      add,      add,      add,
                                      subtract, subtract, subtract, subtract, leave};

ALONE static long run(long value)
{
    long sum = 0;
    for (int i = 0; i < 10; i++)
        sum += steps[i](value + i) & 255;
    return sum;
}

/* --- A call that begins a block --------------------------------------------------------------- */

struct object {
    long value;
    long (*is_true)(const struct object *object);
};

ALONE static long number_is_true(const struct object *object)
{
    return object->value != 0;
}

ALONE static long is_true(const struct object *object)
{
    if (!object)
        return 0;
    if (object->is_true)
        return object->is_true(object) > 0;
    return 2;
}

/* --- A call at the end of an inlined function ------------------------------------------------- */

static long released;
static long pool[32];

ALONE static void to_pool(long *counters, long value)
{
    volatile long on_stack = value; /* BOLT inlines such a function only at the end of others */
    if (on_stack & 1)
        counters[value & 31]++;
    else if (value & 8)
        released += counters[value & 31];
    else
        released++;
}

struct {
    void (*release)(long *counters, long value);
    long *counters;
} memory = {to_pool, pool};

ALONE static void release(long value)
{
    void (*to)(long *counters, long value) = memory.release;
    __asm__("" : "+r"(to)); /* BOLT promotes only jumps by a register */
    to(memory.counters, value);
}

ALONE static long hold(long value)
{
    long kept = value & 7;
    if (kept != 3)
        release(value + kept);
    if (kept > 5)
        kept += value / 3;
    return kept;
}

int main(int count, char **arguments)
{
    long rounds = count > 1 ? atol(arguments[1]) : 100;
    long sum = 0;
    for (long i = 0; i < rounds; i++) {
        struct object number = {i % 3, i % 7 ? number_is_true : NULL};
        sum += run(i) + is_true(i % 5 ? &number : NULL) + hold(i);
    }
    printf("%ld %ld\n", sum, released);
    return 0;
}
