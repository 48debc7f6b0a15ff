/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The text that perf prints of perf.data, in one file: spec/perf-script.md 1. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_perf.h"
#include "script.h"
#include "support/temporary.h"

/* The first line has as many bytes as perf2bolt's, without the newline. */
#define HEAD_SIZE 132u
#define BLOCK_SIZE ((size_t)1 << 16)
/* The output of one run of perf. */
struct part {
    const char *name;
    uint64_t size;
};

struct text {
    const char *path; /* of perf.data */
    int file;         /* what perf has printed */
    struct part parts[5];
    unsigned part_count;
    uint8_t *block;
    struct bat_error *error;
};

/* Append all that perf prints to the file. */
static enum bat_code keep_output(struct text *text, int output, uint64_t *size)
{
    for (;;) {
        ssize_t got = read(output, text->block, BLOCK_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return bat_fail(text->error, BAT_ERR_IO, "reading from perf: %s", strerror(errno));
        if (got == 0)
            return BAT_OK;
        *size += (uint64_t)got;
        enum bat_code code = bat_temporary_write(text->file, text->block, (size_t)got, text->error);
        if (code != BAT_OK)
            return code;
    }
}

/* Run perf with these arguments and then -f -i FILE, and keep what it prints as a section. */
static enum bat_code add_part(struct text *text, const char *name, const char *const *arguments)
{
    struct perf_child process;
    enum bat_code code = perf_child_start_on(&process, text->path, arguments, "perf",
                                             "Cannot print 'addr' field", text->error);
    if (code != BAT_OK)
        return code;
    struct part *part = &text->parts[text->part_count++];
    *part = (struct part){.name = name};
    code = keep_output(text, process.output, &part->size);
    int status;
    perf_child_end(&process, &status);
    if (code == BAT_OK && status != 0 && !process.has_sought)
        code = perf_child_fail(&process, status, text->error);
    return code;
}

static enum bat_code add_samples(struct text *text, const struct bat_read_options *options)
{
    static const char *const basic[] = {"script", "-F", "pid,event,ip", NULL};
    static const char *const stacks[] = {"script", "-F", "pid,brstack", NULL};
    const char *itrace = options->arm_spe ? "bl" : options->itrace;
    if (options->basic_samples && !options->arm_spe)
        return add_part(text, "MAIN", basic);
    if (!itrace)
        return add_part(text, "MAIN", stacks);
    size_t size = strlen(itrace) + sizeof("--itrace=");
    char *option = malloc(size);
    if (!option)
        return bat_fail_memory(text->error, "to run perf");
    snprintf(option, size, "--itrace=%s", itrace);
    const char *const traced[] = {"script", "-F", "pid,brstack", option, NULL};
    enum bat_code code = add_part(text, "MAIN", traced);
    free(option);
    return code;
}

/* The sections in perf2bolt's order. */
static enum bat_code add_parts(struct text *text, const struct bat_read_options *options)
{
    static const char *const ids[] = {"buildid-list", NULL};
    static const char *const maps[] = {"script", "--show-mmap-events", "--no-itrace", NULL};
    static const char *const tasks[] = {"script", "--show-task-events", "--no-itrace", NULL};
    static const char *const loads[] = {"script", "-F", "pid,event,addr,ip", NULL};
    enum bat_code code = add_part(text, "BUILDIDS", ids);
    if (code == BAT_OK)
        code = add_part(text, "MMAP", maps);
    if (code == BAT_OK)
        code = add_samples(text, options);
    if (code == BAT_OK)
        code = add_part(text, "TASK", tasks);
    return code == BAT_OK && (!options->itrace || options->arm_spe) ? add_part(text, "MEM", loads)
                                                                    : code;
}

static enum bat_code write_head(const struct text *text, struct bat_output *output)
{
    char head[2 * HEAD_SIZE];
    int size = snprintf(head, sizeof(head), PERF_SCRIPT_MAGIC);
    for (unsigned i = 0; i < text->part_count; i++)
        size += snprintf(head + size, sizeof(head) - (size_t)size, "%s=%" PRIx64 ";",
                         text->parts[i].name, text->parts[i].size);
    while (size < (int)HEAD_SIZE)
        head[size++] = ' ';
    head[size++] = '\n';
    return bat_output_write(output, head, (size_t)size, text->error);
}

static enum bat_code write_kept(const struct text *text, struct bat_output *output)
{
    off_t offset = 0;
    for (;;) {
        ssize_t got = pread(text->file, text->block, BLOCK_SIZE, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return bat_fail(text->error, BAT_ERR_IO, "reading: %s", strerror(errno));
        if (got == 0)
            return BAT_OK;
        offset += got;
        enum bat_code code = bat_output_write(output, text->block, (size_t)got, text->error);
        if (code != BAT_OK)
            return code;
    }
}

enum bat_code bat_perf_script_write(const char *path, const struct bat_read_options *options,
                                    struct bat_output *output, struct bat_error *error)
{
    static const struct bat_read_options defaults = {.size = sizeof(defaults)};
    struct text text = {.path = path, .error = error, .block = malloc(BLOCK_SIZE)};
    if (!text.block)
        return bat_fail_memory(error, "to run perf");
    enum bat_code code = bat_temporary_open(&text.file, error);
    if (code == BAT_OK) {
        code = add_parts(&text, options ? options : &defaults);
        if (code == BAT_OK)
            code = write_head(&text, output);
        if (code == BAT_OK)
            code = write_kept(&text, output);
        close(text.file);
    }
    free(text.block);
    return code;
}
