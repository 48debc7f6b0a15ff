/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A function with a cold part that is executed. */
__attribute__((cold, noinline)) void rare(int *sum)
{
    *sum += 7;
}

__attribute__((noinline)) int divide(int i, int *sum)
{
    int result = i;
    if (i % 10 == 3) {
        rare(sum);
        result += *sum;
        rare(sum);
        result ^= *sum;
    }
    *sum += result;
    return result;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        divide(i, &sum);
    return sum == 5;
}
