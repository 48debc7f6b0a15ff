/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Running perf and reading its output. Internal to the library. */
#ifndef BAT_PROFILE_PERF_RUN_PERF_H
#define BAT_PROFILE_PERF_RUN_PERF_H

#include <pthread.h>
#include <sys/types.h>

#include "bat.h"

#define PERF_COMPLAINT_MAX 400u

/* A running perf. */
struct perf_child {
    const char *what; /* "perf script", for errors */
    pid_t process;
    int output;            /* to read from; -1 when it is closed */
    int complaints;        /* its standard error, which a thread reads */
    pthread_t complainant; /* that thread */
    char complaint[PERF_COMPLAINT_MAX];
    size_t complaint_size;
    const char *sought; /* text that is looked for in its standard error */
    bool has_sought;    /* it was found */
};

/* The longest text that can be sought. */
#define PERF_SOUGHT_MAX 64u

/*
 * Start perf, without a shell. arguments[0] is "perf", the last argument is NULL. Standard input is
 * /dev/null, and signals have their defaults. sought has at most PERF_SOUGHT_MAX bytes. After
 * success perf_child_end() must follow.
 */
enum bat_code perf_child_start(struct perf_child *process, const char *const *arguments,
                               const char *what, const char *sought, struct bat_error *error);

/* The same with "perf", at most PERF_ARGUMENTS_MAX arguments, and the options that name the file.
 */
#define PERF_ARGUMENTS_MAX 12u
enum bat_code perf_child_start_on(struct perf_child *process, const char *path,
                                  const char *const *arguments, const char *what,
                                  const char *sought, struct bat_error *error);

/*
 * Wait for perf to end; it is ended by SIGTERM if its output was not read to the end. *status is
 * what waitpid() gives. Afterwards complaint holds the beginning of its standard error as one line,
 * and has_sought tells whether sought was anywhere in its standard error.
 */
void perf_child_end(struct perf_child *process, int *status);

/* Fail with the status and the beginning of perf's standard error as message. */
enum bat_code perf_child_fail(const struct perf_child *process, int status,
                              struct bat_error *error);

#endif
