/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Programs that are measured from outside. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdint.h>

struct child_cost {
    double seconds;
    double cpu_seconds;   /* of all threads, in the kernel too */
    uint64_t peak_memory; /* bytes resident at most, mapped files included */
    uint64_t output_size; /* bytes of standard output, if they were counted */
};

/*
 * Run argv[0] from the path with standard output to output_path, or through a pipe that counts
 * it if that is NULL. Ends the process with a message if it does not end with status 0.
 */
struct child_cost child_run(char *const argv[], const char *output_path);

#endif
