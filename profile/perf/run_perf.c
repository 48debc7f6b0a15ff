/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elfnote/descriptors.h"

extern char **environ;

/* --- Standard error ------------------------------------------------------------------------- */

/* Append bytes as part of one line: what is between words becomes one blank. */
static void add_complaint(struct perf_child *process, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && process->complaint_size + 1 < PERF_COMPLAINT_MAX; i++) {
        char byte = ' ';
        if (bytes[i] > ' ' && bytes[i] < 0x7f)
            byte = bytes[i];
        size_t used = process->complaint_size;
        if (byte != ' ' || (used != 0 && process->complaint[used - 1] != ' '))
            process->complaint[process->complaint_size++] = byte;
    }
}

/* Read all of standard error, so that perf never waits for a reader. */
static void *read_complaints(void *context)
{
    struct perf_child *process = context;
    char buffer[PERF_SOUGHT_MAX + 1024];
    size_t length = strlen(process->sought);
    size_t kept = 0; /* the end of the bytes read before: sought may begin in it */
    for (;;) {
        ssize_t got = bat_read_some(process->complaints, buffer + kept, sizeof(buffer) - kept, -1);
        if (got <= 0)
            return NULL;
        add_complaint(process, buffer + kept, (size_t)got);
        size_t size = kept + (size_t)got;
        process->has_sought |= memmem(buffer, size, process->sought, length) != NULL;
        kept = size < length ? size : length - 1;
        memmove(buffer, buffer + size - kept, kept);
    }
}

/* --- Starting ------------------------------------------------------------------------------- */

/*
 * Reset signals that perf needs: it would inherit those that are ignored or blocked here. SIGTERM
 * ends it, SIGPIPE ends it when its output is closed, and it waits for its children.
 */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t signals;
    sigemptyset(&signals);
    int failure = posix_spawnattr_setsigmask(attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGXFSZ);
    if (failure == 0)
        failure = posix_spawnattr_setsigdefault(attributes, &signals);
    if (failure == 0)
        failure =
            posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return failure;
}

static int spawn(struct perf_child *process, const char *const *arguments, int output,
                 int complaints)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0)
        return failure;
    failure = posix_spawnattr_init(&attributes);
    if (failure != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return failure;
    }
    failure = set_signals(&attributes);
    if (failure == 0)
        failure =
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(&actions, complaints, STDERR_FILENO);
    /* posix_spawnp() does not write to the arguments, although its type allows it. */
    char *const *argv;
    memcpy(&argv, &arguments, sizeof(argv));
    if (failure == 0)
        failure =
            posix_spawnp(&process->process, arguments[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static enum bat_code fail_start(int failure, const char *what, struct bat_error *error)
{
    if (failure == ENOENT)
        return bat_fail(error, BAT_ERR_IO,
                        "expected the command perf in PATH, to run %s, found none: install Linux's "
                        "perf",
                        what);
    return bat_fail(error, BAT_ERR_IO, "running %s: %s", what, strerror(failure));
}

/* Start the thread that reads standard error; if that fails, end perf. */
static int start_complainant(struct perf_child *process)
{
    int failure = pthread_create(&process->complainant, NULL, read_complaints, process);
    if (failure != 0) {
        kill(process->process, SIGTERM);
        while (waitpid(process->process, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    return failure;
}

enum bat_code perf_child_start(struct perf_child *process, const char *path,
                               const char *const *arguments, const char *what, const char *sought,
                               struct bat_error *error)
{
    const char *all[PERF_ARGUMENTS_MAX + 5] = {"perf"};
    size_t count = 1;
    for (; count <= PERF_ARGUMENTS_MAX && arguments[count - 1]; count++)
        all[count] = arguments[count - 1];
    all[count++] = "-f";
    all[count++] = "-i";
    all[count] = path;
    *process = (struct perf_child){.what = what, .sought = sought, .output = -1};
    int output[2];
    int complaints[2];
    if (pipe2(output, O_CLOEXEC) != 0)
        return fail_start(errno, what, error);
    if (pipe2(complaints, O_CLOEXEC) != 0) {
        int failure = errno;
        close(output[0]);
        close(output[1]);
        return fail_start(failure, what, error);
    }
    process->output = output[0];
    process->complaints = complaints[0];
    int failure = spawn(process, all, output[1], complaints[1]);
    close(output[1]);
    close(complaints[1]);
    if (failure == 0)
        failure = start_complainant(process);
    if (failure == 0)
        return BAT_OK;
    close(output[0]);
    close(complaints[0]);
    return fail_start(failure, what, error);
}

/* --- Ending --------------------------------------------------------------------------------- */

/* True if all of perf's output was read and perf has closed it. */
static bool is_at_end(const struct perf_child *process)
{
    char byte;
    return bat_read_some(process->output, &byte, 1, -1) == 0;
}

void perf_child_end(struct perf_child *process, int *status)
{
    *status = -1;
    if (!is_at_end(process))
        kill(process->process, SIGTERM);
    close(process->output);
    process->output = -1;
    while (waitpid(process->process, status, 0) < 0 && errno == EINTR)
        continue;
    pthread_join(process->complainant, NULL);
    close(process->complaints);
    while (process->complaint_size != 0 && process->complaint[process->complaint_size - 1] == ' ')
        process->complaint_size--;
    process->complaint[process->complaint_size] = '\0';
}

/* True for what perf says of options and fields that came with a later version. */
static bool is_too_old(const char *complaint)
{
    return strcasestr(complaint, "unknown option") || strcasestr(complaint, "invalid field") ||
           strcasestr(complaint, "unknown switch");
}

enum bat_code perf_child_fail(const struct perf_child *process, int status, struct bat_error *error)
{
    const char *complaint = process->complaint_size ? process->complaint : "it does not say why";
    if (status == -1)
        return bat_fail(error, BAT_ERR_IO,
                        "%s: expected its exit status, found that this program ignores its "
                        "children (SIGCHLD)",
                        process->what);
    if (WIFEXITED(status))
        return bat_fail(error, BAT_ERR_IO, "%s failed with exit status %d%s: %s", process->what,
                        WEXITSTATUS(status),
                        is_too_old(complaint) ? ", perf is too old for it" : "", complaint);
    return bat_fail(error, BAT_ERR_IO, "%s was ended by signal %d: %s", process->what,
                    WTERMSIG(status), complaint);
}
