/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Turns traces of a BOLTed binary into a profile of the input binary, for llvm-bolt -data. Standard
 * input has a trace a line: where a branch was, where it went to, up to where the code ran from
 * there (hexadecimal), and how often. fdata goes to standard output, and standard error gets the
 * record with most samples.
 *
 *     traces_to_fdata BINARY <traces >fdata
 *
 * Traces come from memory, and fdata goes to a function of this program: no file is needed.
 */
#include <batkit/bat_profile.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "branch from to count"; false for any other line. */
static bool parse_trace(const char *line, struct bat_trace *trace)
{
    char *at;
    *trace = (struct bat_trace){.branch = strtoull(line, &at, 16)};
    trace->from = strtoull(at, &at, 16);
    trace->to = strtoull(at, &at, 16);
    const char *count = at;
    trace->count = strtoull(count, &at, 10);
    return at != count && strspn(at, "\n") == strlen(at);
}

static enum bat_code read_traces(struct bat_profile *profile, struct bat_error *error)
{
    char line[256];
    struct bat_trace trace;
    enum bat_code code = BAT_OK;
    while (code == BAT_OK && fgets(line, sizeof(line), stdin))
        code = parse_trace(line, &trace)
                   ? bat_profile_add_trace(profile, &trace, error)
                   : bat_fail(error, BAT_ERR_SYNTAX, "expected a trace, found %s", line);
    return code;
}

/* What bat_records_write_fdata() writes, piece by piece. */
static bool print(const void *bytes, size_t size, void *file)
{
    return fwrite(bytes, 1, size, file) == size;
}

static enum bat_code write_fdata(const struct bat_records *records, struct bat_error *error)
{
    struct bat_output *output;
    enum bat_code code = bat_output_begin_callback(print, stdout, &output, error);
    if (code != BAT_OK)
        return code;
    code = bat_records_write_fdata(records, output, error);
    if (code == BAT_OK)
        return bat_outputs_commit(&output, 1, error);
    bat_output_abandon(output);
    return code;
}

static void print_hottest(const struct bat_records *records)
{
    struct bat_record record;
    struct bat_record hottest = {.count = 0};
    for (uint64_t i = 0; bat_records_get(records, i, &record); i++)
        if (record.count > hottest.count)
            hottest = record;
    if (hottest.count != 0)
        fprintf(stderr, "%s+0x%lx to %s+0x%lx: %lu\n", hottest.from.name, hottest.from.offset,
                hottest.to.name, hottest.to.offset, hottest.count);
}

static enum bat_code translate(struct bat_binary *binary, struct bat_error *error)
{
    struct bat_profile *profile;
    struct bat_records *records = NULL;
    enum bat_code code = bat_profile_new_of(binary, &profile, error);
    if (code == BAT_OK)
        code = read_traces(profile, error);
    if (code == BAT_OK)
        code = bat_profile_translate(profile, binary, NULL, &records, error);
    if (code == BAT_OK)
        code = write_fdata(records, error);
    if (code == BAT_OK)
        print_hottest(records);
    bat_records_free(records);
    bat_profile_free(profile);
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: traces_to_fdata BINARY <TRACES >FDATA\n");
        return 2;
    }
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(argv[1], &binary, &error);
    if (code == BAT_OK) {
        code = translate(&binary, &error);
        bat_binary_close(&binary);
    }
    if (code == BAT_OK)
        return 0;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(&error, text, sizeof(text));
    fprintf(stderr, "traces_to_fdata: %s\n", text);
    return 1;
}
