/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runs a command and prints what it cost: seconds by the wall and of processor time, bytes of
 * memory at most. A large program cannot measure a small one by itself: until the child has
 * become another program, its memory is the parent's.
 */
#include <inttypes.h>
#include <stdio.h>

#include "child.h"

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bat_bench_measure COMMAND [ARGUMENT...]\n");
        return 2;
    }
    struct child_cost cost = child_run(argv + 1, "/dev/null");
    printf("%.6f %.6f %" PRIu64 "\n", cost.seconds, cost.cpu_seconds, cost.peak_memory);
    return 0;
}
