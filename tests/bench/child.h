/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Child programs that are measured. */
#pragma once

#include <stdint.h>

struct child_cost {
    double seconds;
    double cpu_seconds;   /* of all threads, in the kernel too */
    uint64_t peak_memory; /* bytes resident at most, mapped files included */
    uint64_t output_size; /* bytes of standard output, if they were counted */
};

/*
 * Run argv[0] from the path with standard output to output_path or, if that is NULL, to a pipe that
 * counts the bytes. Ends this process with a message if the child does not end with status 0.
 */
struct child_cost child_run(char *const argv[], const char *output_path);
