/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stopwatch.h"

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bat_bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static uint64_t count_bytes(int descriptor)
{
    static char buffer[1 << 16];
    uint64_t total = 0;
    ssize_t got;
    while ((got = read(descriptor, buffer, sizeof(buffer))) > 0)
        total += (uint64_t)got;
    if (got < 0)
        give_up("pipe");
    return total;
}

/* Direct the child's standard output; *counted gets the end to read from, or -1. */
static int open_output(const char *output_path, int *counted)
{
    *counted = -1;
    if (output_path) {
        int file = open(output_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0)
            give_up(output_path);
        return file;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        give_up("pipe");
    *counted = ends[0];
    return ends[1];
}

static pid_t start_child(char *const argv[], int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t child;
    int reason = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (reason != 0) {
        errno = reason;
        give_up(argv[0]);
    }
    return child;
}

struct child_cost child_run(char *const argv[], const char *output_path)
{
    struct child_cost cost = {0};
    int counted;
    int output = open_output(output_path, &counted);
    double start = stopwatch_now();
    pid_t child = start_child(argv, output);
    close(output);
    if (counted >= 0)
        cost.output_size = count_bytes(counted);
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child)
        give_up("wait4");
    cost.seconds = stopwatch_now() - start;
    cost.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    cost.peak_memory = (uint64_t)usage.ru_maxrss * 1024;
    if (counted >= 0)
        close(counted);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "bat_bench: %s: expected exit status 0, found wait status 0x%x\n", argv[0],
                (unsigned)status);
        exit(1);
    }
    return cost;
}
