/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program without a library whose functions are inlined into each other, over two units. */
int shared_step(int value, int by);
extern volatile int sink;

static inline int leaf(int value)
{
    if (value & 1)
        sink = value;
    return value * 3 + sink;
}

static inline int middle(int value)
{
    int sum = leaf(value) + leaf(value >> 1);
    for (int i = 0; i < (value & 7); i++)
        sum += shared_step(sum, i);
    return sum;
}

__attribute__((noinline)) static int rarely(int value)
{
    return leaf(value) - middle(value);
}

int _start(int value)
{
    int sum = middle(value);
    if (__builtin_expect(sum == 7, 0))
        sum -= rarely(sum);
    return sum + leaf(sum);
}
