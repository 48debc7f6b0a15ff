/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading perf.data with perf itself: spec/perf-script.md 4. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/line_blocks.h"
#include "run_perf.h"
#include "script.h"

struct run {
    const char *path; /* of perf.data */
    const struct bat_read_options *options;
    struct perf_binary *binaries;
    uint32_t binary_count;
    struct perf_processes processes;
    struct perf_script_reader reader;
    struct perf_shares *shares;
    uint64_t bytes; /* of perf's output */
    uint64_t lines;
    uint64_t lost;
    struct bat_error *error;
};

typedef enum bat_code line_fn(struct run *run, struct perf_script_line *line);

/* --- Lines of perf's output ----------------------------------------------------------------- */

static enum bat_code do_build_id(struct run *run, struct perf_script_line *line)
{
    return perf_script_read_build_id(&run->processes, line);
}

static enum bat_code do_record(struct run *run, struct perf_script_line *line)
{
    const uint8_t *newline = rawmemchr(line->start, '\n');
    const uint8_t *record = memmem(line->start, (size_t)(newline - line->start), PERF_SCRIPT_RECORD,
                                   sizeof(PERF_SCRIPT_RECORD) - 1);
    return record ? perf_script_read_record(&run->processes, line, record, line->lines->line,
                                            &run->lost)
                  : BAT_OK;
}

static enum bat_code do_sample(struct run *run, struct perf_script_line *line)
{
    return perf_script_read_sample(&run->reader, line);
}

/* --- Running perf --------------------------------------------------------------------------- */

static enum bat_code do_lines(struct run *run, struct bat_lines *lines, line_fn *do_line)
{
    enum bat_code code = BAT_OK;
    while (lines->at < lines->end && code == BAT_OK) {
        struct perf_script_line line = {.lines = lines, .start = lines->at, .at = lines->at};
        code = do_line(run, &line);
        lines->at = (const uint8_t *)rawmemchr(lines->at, '\n') + 1;
        lines->line++;
    }
    return code;
}

/* Read all of perf's output. An error has the line of that output. */
static enum bat_code read_output(struct run *run, const struct perf_child *process,
                                 line_fn *do_line)
{
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, process->output, true, 0, UINT64_MAX, run->error);
    uint64_t line = 1;
    size_t size = 1;
    while (code == BAT_OK && size != 0) {
        const uint8_t *text;
        code = bat_input_next(&input, line, &text, &size, run->error);
        if (code != BAT_OK || size == 0)
            break;
        struct bat_lines lines = {
            .at = text, .end = text + size, .line = line, .error = run->error};
        code = do_lines(run, &lines, do_line);
        line = lines.line;
        run->bytes += size;
        if (run->options->progress)
            run->options->progress(size, run->options->progress_context);
    }
    bat_input_close(&input);
    run->lines += line - 1;
    return code;
}

/* A run of perf. */
struct command {
    const char *const *arguments; /* -f -i FILE follow */
    const char *what;
    line_fn *do_line;
    const char *pardoned; /* an error of perf's that is none here; or "" */
};

/* Run perf. *is_pardoned says whether it failed with the error that is pardoned. */
static enum bat_code run_perf(struct run *run, const struct command *command, bool *is_pardoned)
{
    struct perf_child process;
    enum bat_code code = perf_child_start_on(&process, run->path, command->arguments, command->what,
                                             command->pardoned, run->error);
    if (code != BAT_OK)
        return code;
    code = read_output(run, &process, command->do_line);
    int status;
    perf_child_end(&process, &status);
    *is_pardoned = status != 0 && process.has_sought;
    if (code == BAT_OK && status != 0 && !process.has_sought)
        code = perf_child_fail(&process, status, run->error);
    return code;
}

/* --- The commands of perf ------------------------------------------------------------------- */

/* perf's errors if the samples of an event have no such field, as a time; and for accessed data. */
static const char no_field[] = "Cannot print '";
static const char no_addresses[] = "Cannot print 'addr' field";

static enum bat_code read_processes(struct run *run)
{
    static const char *const list[] = {"buildid-list", NULL};
    static const char *const events[] = {
        "script", "--show-mmap-events", "--show-task-events", "--no-itrace", "--ns", NULL};
    const struct command commands[] = {
        {list, "perf buildid-list", do_build_id, no_addresses},
        {events, "perf script --show-mmap-events", do_record, no_addresses}};
    bool ignored;
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && code == BAT_OK; i++)
        code = run_perf(run, &commands[i], &ignored);
    if (perf_script_records_have_times(&run->processes))
        run->reader.order = PERF_SCRIPT_BY_TIME;
    run->reader.position = UINT64_MAX; /* records of equal times were before */
    if (code == BAT_OK)
        code = perf_processes_finish(&run->processes, run->reader.order != PERF_SCRIPT_LAST,
                                     run->options, run->error);
    return code;
}

/* Read samples of these fields behind the process and, if all samples have it, the time. */
static enum bat_code read_fields(struct run *run, const char *fields, const char *option,
                                 const char *what)
{
    char with_time[64];
    char without[64];
    snprintf(with_time, sizeof(with_time), "pid,time,%s", fields);
    snprintf(without, sizeof(without), "pid,%s", fields);
    const char *timed[] = {"script", "-F", with_time, "--ns", option, NULL};
    const char *plain[] = {"script", "-F", without, option, NULL};
    bool is_pardoned = true;
    const struct command first = {timed, what, do_sample, no_field};
    enum bat_code code = BAT_OK;
    if (run->reader.order == PERF_SCRIPT_BY_TIME)
        code = run_perf(run, &first, &is_pardoned);
    const struct command second = {plain, what, do_sample, no_addresses};
    if (code == BAT_OK && is_pardoned)
        code = run_perf(run, &second, &is_pardoned);
    return code;
}

static enum bat_code read_stacks(struct run *run, const char *itrace)
{
    if (!itrace)
        return read_fields(run, "brstack", NULL, "perf script -F pid,brstack");
    size_t size = strlen(itrace) + sizeof("--itrace=");
    char *option = malloc(size);
    if (!option)
        return bat_fail_memory(run->error, "to run perf");
    snprintf(option, size, "--itrace=%s", itrace);
    const char *what = run->options->arm_spe
                           ? "perf script -F pid,brstack --itrace=bl, which needs perf 6.15,"
                           : "perf script -F pid,brstack --itrace";
    enum bat_code code = read_fields(run, "brstack", option, what);
    free(option);
    return code;
}

/* Trace data gives branches only, no memory samples. */
static enum bat_code read_samples(struct run *run)
{
    const struct bat_read_options *options = run->options;
    const char *itrace = options->arm_spe ? "bl" : options->itrace;
    enum bat_code code;
    if (options->basic_samples && !options->arm_spe)
        code = read_fields(run, "event,ip", NULL, "perf script -F pid,event,ip");
    else
        code = read_stacks(run, itrace);
    if (code == BAT_OK && !itrace)
        code = read_fields(run, "event,addr,ip", NULL, "perf script -F pid,event,addr,ip");
    return code;
}

/* SPE's branches are those of AArch64. */
static enum bat_code check_machines(const struct run *run)
{
    for (uint32_t i = 0; i < run->binary_count; i++)
        if (run->options->arm_spe && bat_elf_machine(run->binaries[i].elf) != EM_AARCH64)
            return bat_fail(run->error, BAT_ERR_MISMATCH,
                            "expected a binary for AArch64, which alone has SPE, found one for "
                            "another machine");
    return BAT_OK;
}

static enum bat_code finish(struct run *run)
{
    bool *has_full_stack = calloc((size_t)run->binary_count + 1, sizeof(*has_full_stack));
    if (!has_full_stack)
        return bat_fail_memory(run->error, "to read the profile");
    enum bat_code code =
        perf_script_reader_finish(&run->reader, has_full_stack, run->shares, run->error);
    free(has_full_stack);
    return code;
}

static enum bat_code run_all(struct run *run, struct bat_profile *const *profiles)
{
    enum bat_code code = check_machines(run);
    if (code == BAT_OK)
        code = read_processes(run);
    if (code == BAT_OK)
        code = read_samples(run);
    if (code == BAT_OK)
        code = finish(run);
    if (code != BAT_OK)
        return code;
    for (uint32_t i = 0; i < run->binary_count; i++) {
        struct bat_profile_counters *counters = &profiles[i]->counters;
        counters->bytes += run->bytes;
        counters->lines += run->lines;
        counters->perf_lost += run->lost;
        counters->perf_processes += perf_processes_count(&run->processes, i);
    }
    return perf_script_check(profiles, run->binaries, run->binary_count, run->options, run->error);
}

enum bat_code perf_script_run_several(struct bat_profile *const *profiles, uint32_t count,
                                      const char *path, const struct bat_read_options *options,
                                      struct perf_shares *shares, struct bat_error *error)
{
    struct perf_binary *binaries = calloc((size_t)count + 1, sizeof(*binaries));
    struct run run = {.path = path,
                      .options = options,
                      .binaries = binaries,
                      .binary_count = count,
                      .shares = shares,
                      .error = error};
    enum bat_code code = BAT_OK;
    if (!binaries)
        code = bat_fail_memory(error, "to read the profile");
    for (uint32_t i = 0; i < count && code == BAT_OK; i++)
        code = perf_binary_init(&binaries[i], profiles[i], error);
    perf_processes_init(&run.processes, binaries, count);
    if (code == BAT_OK && !perf_script_reader_init(&run.reader, profiles, &run.processes, options))
        code = bat_fail_memory(error, "to read the profile");
    if (code == BAT_OK)
        code = run_all(&run, profiles);
    perf_script_reader_free(&run.reader);
    perf_processes_free(&run.processes);
    free(binaries);
    return code;
}
