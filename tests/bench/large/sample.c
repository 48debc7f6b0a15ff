/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the large program compiles while it is recorded: little, as each instruction is emulated. */
struct point {
    int x;
    char name[20];
};

int weigh(const int *numbers, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[i] * (i ^ 3);
    return sum;
}

int place(const struct point *point)
{
    return point->x + point->name[3];
}

int main(int argc, char **argv)
{
    int numbers[10];
    for (int i = 0; i < 10; i++)
        numbers[i] = argc * i;
    return weigh(numbers, 10) + (argv[0] != 0);
}
