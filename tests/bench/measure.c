/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Runs a command and prints its cost: seconds of wall time and of processor time, and the peak
 * memory in bytes. A large program cannot measure a small one directly: until the child executes
 * the other program, it has the parent's memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stopwatch.h"

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t child;
    int status;
    if (argc < 2) {
        fprintf(stderr, "usage: bat_bench_measure COMMAND [ARGUMENT...]\n");
        return 2;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const double start = stopwatch_now();
    const int reason = posix_spawnp(&child, argv[1], &actions, NULL, argv + 1, environ);
    if (reason != 0 || wait4(child, &status, 0, &usage) != child) {
        fprintf(stderr, "bat_bench_measure: %s: %s\n", argv[1], strerror(reason ? reason : errno));
        return 1;
    }
    const double seconds = stopwatch_now() - start;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bat_bench_measure: %s: expected exit status 0, found wait status 0x%x\n",
                argv[1], (unsigned)status);
        return 1;
    }
    printf("%.6f %.6f %ld\n", seconds, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
           usage.ru_maxrss * 1024);
    return 0;
}
