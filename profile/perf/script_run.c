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
