/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A program for RISC-V without a library: loops, a switch, a tail call, functions hot and cold. */

static volatile int sink;

__attribute__((noinline)) static int work(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0)
            sum += i;
        else if (i % 7 == 1)
            sum ^= i;
        else
            sum -= 2;
    }
    return sum;
}

__attribute__((noinline)) static int cold(int n)
{
    sink = n;
    return n * 3;
}

__attribute__((noinline)) static int other(int n)
{
    switch (n & 7) {
    case 0:
        return 5;
    case 1:
        return 9;
    case 2:
        return cold(n);
    case 3:
        return 77;
    case 4:
        return n - 4;
    case 5:
        return 1;
    case 6:
        return 8;
    default:
        return 3;
    }
}

void _start(void)
{
    int sum = 0;
    for (int i = 0; i < 200; i++) {
        sum += work(i);
        sum += other(i);
    }
    sink = sum;
    register long status __asm__("a0") = 0;
    register long call __asm__("a7") = 93; /* exit */
    __asm__ volatile("ecall" : : "r"(status), "r"(call));
    __builtin_unreachable();
}
