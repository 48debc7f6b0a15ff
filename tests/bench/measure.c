/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runs a command and prints its cost: seconds of wall time and of processor time, and the peak
 * memory in bytes. A large program cannot measure a small one directly: until the child executes
 * the other program, it has the parent's memory.
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
