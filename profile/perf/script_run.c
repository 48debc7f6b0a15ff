/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Letting perf print perf.data, to be read or to be written as one text: spec/perf-script.md 4. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "branch_filter.h"
#include "elfnote/descriptors.h"
#include "script.h"
#include "support/temporary.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

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

#define PERF_ARGUMENTS_MAX 12u

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

/*
 * Start perf, without a shell, with at most PERF_ARGUMENTS_MAX arguments, of which the last is
 * NULL, and the options that name the file. Standard input is /dev/null, and signals have their
 * defaults. sought has at most PERF_SOUGHT_MAX bytes. After success perf_child_end() must follow.
 */
static enum bat_code perf_child_start(struct perf_child *process, const char *path,
                                      const char *const *arguments, const char *what,
                                      const char *sought, struct bat_error *error)
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

/*
 * Wait for perf to end; it is ended by SIGTERM if its output was not read to the end. *status is
 * what waitpid() gives. Afterwards complaint holds the beginning of its standard error as one line,
 * and has_sought tells whether sought was anywhere in its standard error.
 */
static void perf_child_end(struct perf_child *process, int *status)
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

/* Fail with the status and the beginning of perf's standard error as message. */
static enum bat_code perf_child_fail(const struct perf_child *process, int status,
                                     struct bat_error *error)
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

/* --- Running perf --------------------------------------------------------------------------- */

/* perf's errors if the samples of an event have no such field, as a time; and for accessed data. */
static const char no_field[] = "Cannot print '";
static const char no_addresses[] = "Cannot print 'addr' field";

/* Where the output of perf goes. */
struct run {
    const char *path; /* of perf.data */
    perf_output_fn *read;
    void *context;
    struct bat_error *error;
};

/*
 * Run perf with these arguments and then -f -i FILE. *is_pardoned, unless it is NULL, says whether
 * it failed with the error that is pardoned.
 */
static enum bat_code run_perf(const struct run *run, enum perf_script_content content,
                              const char *const *arguments, const char *what, const char *pardoned,
                              bool *is_pardoned)
{
    struct perf_child process;
    BAT_TRY(perf_child_start(&process, run->path, arguments, what, pardoned, run->error));
    enum bat_code code = run->read(process.output, content, run->context);
    int status;
    perf_child_end(&process, &status);
    if (is_pardoned)
        *is_pardoned = status != 0 && process.has_sought;
    if (code == BAT_OK && status != 0 && !process.has_sought)
        code = perf_child_fail(&process, status, run->error);
    return code;
}

static enum bat_code run_build_ids(const struct run *run)
{
    static const char *const list[] = {"buildid-list", NULL};
    return run_perf(run, PERF_SCRIPT_BUILD_IDS, list, "perf buildid-list", no_addresses, NULL);
}

/* Print these fields behind the process and, if all samples have it, the time. */
static enum bat_code run_fields(const struct run *run, bool with_times, const char *fields,
                                const char *option, const char *what)
{
    char with_time[64];
    char without[64];
    snprintf(with_time, sizeof(with_time), "pid,time,%s", fields);
    snprintf(without, sizeof(without), "pid,%s", fields);
    const char *timed[] = {"script", "-F", with_time, "--ns", option, NULL};
    const char *plain[] = {"script", "-F", without, option, NULL};
    bool is_pardoned = true;
    enum bat_code code = BAT_OK;
    if (with_times)
        code = run_perf(run, PERF_SCRIPT_SAMPLES, timed, what, no_field, &is_pardoned);
    if (code == BAT_OK && is_pardoned)
        code = run_perf(run, PERF_SCRIPT_SAMPLES, plain, what, no_addresses, NULL);
    return code;
}

/* Print the basic samples or branch stacks. */
static enum bat_code run_main(const struct run *run, const struct bat_read_options *options,
                              bool with_times)
{
    const char *itrace = options->arm_spe ? "bl" : options->itrace;
    if (options->basic_samples && !options->arm_spe)
        return run_fields(run, with_times, "event,ip", NULL, "perf script -F pid,event,ip");
    if (!itrace)
        return run_fields(run, with_times, "brstack", NULL, "perf script -F pid,brstack");
    char *option;
    if (asprintf(&option, "--itrace=%s", itrace) < 0)
        return bat_fail_memory(run->error, "to run perf");
    const char *what = options->arm_spe
                           ? "perf script -F pid,brstack --itrace=bl, which needs perf 6.15,"
                           : "perf script -F pid,brstack --itrace";
    enum bat_code code = run_fields(run, with_times, "brstack", option, what);
    free(option);
    return code;
}

/* Print the loads. */
static enum bat_code run_loads(const struct run *run, bool with_times)
{
    return run_fields(run, with_times, "event,addr,ip", NULL, "perf script -F pid,event,addr,ip");
}

enum bat_code perf_script_run_records(const char *path, perf_output_fn *read, void *context,
                                      struct bat_error *error)
{
    static const char *const events[] = {
        "script", "--header", "--show-mmap-events", "--show-task-events", "--no-itrace",
        "--ns",   NULL};
    const struct run run = {path, read, context, error};
    BAT_TRY(run_build_ids(&run));
    return run_perf(&run, PERF_SCRIPT_RECORDS, events, "perf script --show-mmap-events",
                    no_addresses, NULL);
}

enum bat_code perf_script_run_samples(const char *path, const struct bat_read_options *options,
                                      bool with_times, perf_output_fn *read, void *context,
                                      struct bat_error *error)
{
    const struct run run = {path, read, context, error};
    enum bat_code code = run_main(&run, options, with_times);
    /* Trace data gives branches only, no memory samples. */
    return code == BAT_OK && !options->itrace && !options->arm_spe ? run_loads(&run, with_times)
                                                                   : code;
}

/* --- Writing -------------------------------------------------------------------------------- */

/* The first line has as many bytes as perf2bolt's, without the newline. */
#define HEAD_SIZE 132u
#define BLOCK_SIZE ((size_t)1 << 16)

/* What perf has printed, and its sections. */
struct text {
    int file;
    uint8_t *block;
    uint64_t size;
    char head[2 * HEAD_SIZE];
    int head_size;
    struct bat_error *error;
};

static void add_size(size_t size, void *context)
{
    struct text *text = context;
    text->size += size;
}

/* Append all that perf prints to the file. */
static enum bat_code keep_output(int output, enum perf_script_content content, void *context)
{
    (void)content;
    const struct text *text = context;
    return bat_temporary_append(text->file, output, add_size, context, text->error);
}

/* What was printed since the last section is a section. */
static void end_section(struct text *text, const char *name)
{
    text->head_size +=
        snprintf(text->head + text->head_size, sizeof(text->head) - (size_t)text->head_size,
                 "%s=%lx;", name, text->size);
    text->size = 0;
}

/* Append the lines of perf's header that say which branches events were restricted to. */
static enum bat_code keep_filters(int output, enum perf_script_content content, void *context)
{
    (void)content;
    struct text *text = context;
    struct bat_input input;
    size_t size = 1;
    enum bat_code code = bat_input_open(&input, output, true, 0, UINT64_MAX, text->error);
    while (code == BAT_OK && size != 0) {
        const uint8_t *at;
        code = bat_input_next(&input, 1, &at, &size, text->error);
        for (size_t left = code == BAT_OK ? size : 0, length; left != 0; left -= length) {
            const uint8_t *newline = rawmemchr(at, '\n');
            length = (size_t)(newline + 1 - at);
            if (code == BAT_OK && perf_branch_filter_of_line(at, newline) != 0) {
                code = bat_temporary_write(text->file, at, length, text->error);
                text->size += length;
            }
            at = newline + 1;
        }
    }
    bat_input_close(&input);
    return code;
}

/* The sections in perf2bolt's order. */
static enum bat_code add_sections(struct text *text, const char *path,
                                  const struct bat_read_options *options)
{
    static const char *const header[] = {"script", "--header-only", NULL};
    static const char *const maps[] = {"script", "--show-mmap-events", "--no-itrace", NULL};
    static const char *const tasks[] = {"script", "--show-task-events", "--no-itrace", NULL};
    const struct run run = {path, keep_output, text, text->error};
    const struct run filters = {path, keep_filters, text, text->error};
    enum bat_code code = run_build_ids(&run);
    end_section(text, PERF_SCRIPT_MAGIC "BUILDIDS");
    if (code == BAT_OK && !options->basic_samples)
        code = run_perf(&filters, PERF_SCRIPT_RECORDS, header, "perf", no_addresses, NULL);
    code = code ? code : run_perf(&run, PERF_SCRIPT_RECORDS, maps, "perf", no_addresses, NULL);
    end_section(text, "MMAP");
    code = code ? code : run_main(&run, options, false);
    end_section(text, "MAIN");
    code = code ? code : run_perf(&run, PERF_SCRIPT_RECORDS, tasks, "perf", no_addresses, NULL);
    end_section(text, "TASK");
    if (code != BAT_OK || (options->itrace && !options->arm_spe))
        return code;
    code = run_loads(&run, false);
    end_section(text, "MEM");
    return code;
}

static enum bat_code write_text(struct text *text, struct bat_output *output)
{
    while (text->head_size < (int)HEAD_SIZE)
        text->head[text->head_size++] = ' ';
    text->head[text->head_size++] = '\n';
    enum bat_code code = bat_output_write(output, text->head, (size_t)text->head_size, text->error);
    ssize_t got = 1;
    for (off_t offset = 0; code == BAT_OK && got > 0; offset += got) {
        got = bat_read_some(text->file, text->block, BLOCK_SIZE, offset);
        code = got < 0 ? bat_fail(text->error, BAT_ERR_IO, "reading: %s", strerror(errno))
                       : bat_output_write(output, text->block, (size_t)got, text->error);
    }
    return code;
}

enum bat_code bat_perf_script_write(const char *path, const struct bat_read_options *options,
                                    struct bat_output *output, struct bat_error *error)
{
    static const struct bat_read_options defaults = {.size = sizeof(defaults)};
    struct text text = {.error = error, .block = malloc(BLOCK_SIZE)};
    BAT_TRY_MEMORY(text.block, error, "to run perf");
    enum bat_code code = bat_temporary_open(&text.file, error);
    if (code == BAT_OK) {
        code = add_sections(&text, path, options ? options : &defaults);
        code = code ? code : write_text(&text, output);
        close(text.file);
    }
    free(text.block);
    return code;
}
