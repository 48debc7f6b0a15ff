/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Running perf, and what it prints. Internal to the library. */
#ifndef BAT_PROFILE_PERF_PROCESS_H
#define BAT_PROFILE_PERF_PROCESS_H

#include <pthread.h>
#include <sys/types.h>

#include "bat.h"

#define PERF_COMPLAINT_MAX 400u

/* A perf that runs. */
struct perf_process {
    const char *what; /* "perf script", for errors */
    pid_t process;
    int output;            /* to read from; -1 when it is closed */
    int complaints;        /* its standard error, which a thread reads */
    pthread_t complainant; /* that thread */
    char complaint[PERF_COMPLAINT_MAX];
    size_t complaint_size;
    const char *sought; /* looked for in all that it complains of */
    bool has_sought;
};

/* The longest text that can be sought in complaints. */
#define PERF_SOUGHT_MAX 64u

/*
 * Start perf with these arguments, arguments[0] being "perf", the last NULL. It reads nothing from
 * standard input, and has the signals' defaults. No shell is involved. sought: at most
 * PERF_SOUGHT_MAX bytes. After success perf_process_end() must follow.
 */
enum bat_code perf_process_start(struct perf_process *process, const char *const *arguments,
                                 const char *what, const char *sought, struct bat_error *error);

/*
 * Wait for its end. If its output was not read to the end, it is stopped. *status is its exit
 * status; not 0 if it was killed. Then complaint holds the beginning of what it printed on
 * standard error, in one line, and has_sought says whether sought stood anywhere in it.
 */
void perf_process_end(struct perf_process *process, int *status);

/* Fail with what it complained of. */
enum bat_code perf_process_fail(const struct perf_process *process, int status,
                                struct bat_error *error);

#endif
