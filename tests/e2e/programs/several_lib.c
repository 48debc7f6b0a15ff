/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A library of several_main.c: branches of several frequencies, and calls of another library. */
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define OWN(name) NAME(name, UNIT)

__attribute__((noinline)) static unsigned mix(unsigned value)
{
    for (unsigned i = 0; i < value % 5; i++)
        value = value & 1 ? value * 3 + 1 : value / 2 + UNIT;
    return value;
}

__attribute__((noinline)) static unsigned rare(unsigned value)
{
    return value % 7 == 0 ? mix(value) : value + 1;
}

unsigned OWN(work)(unsigned value, unsigned (*next)(unsigned))
{
    unsigned sum = 0;
    for (unsigned i = 0; i < 20; i++) {
        switch ((value + i) % 4) {
        case 0:
            sum += mix(i + value);
            break;
        case 1:
            sum += next ? next(i) : i;
            break;
        case 2:
            sum ^= rare(sum + i);
            break;
        default:
            sum++;
        }
    }
    return sum;
}
