/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The other unit: with -flto its function is inlined into the first one's. */
volatile int sink;

static int twice(int value)
{
    return sink ? value + value : value;
}

int shared_step(int value, int by)
{
    return twice(value) - by;
}

/* Nobody calls it: the linker drops it where it may. */
int unused(int value)
{
    return twice(value) * sink;
}
