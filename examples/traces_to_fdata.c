/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translates traces of a BOLTed binary to a profile of the input binary, for llvm-bolt -data. Each
 * line of standard input is a trace: the address of a branch, its target, the address of the next
 * branch (hexadecimal), and a count.
 *
 *     traces_to_fdata BINARY OUT <traces
 *
 * The library reads profiles from files: traces in memory are written to a temporary file without
 * a name, as pre-aggregated text, and read from there.
 */
#define _POSIX_C_SOURCE 200809L
#include <batkit/bat_profile.h>

#include <inttypes.h>
#include <stdio.h>

struct trace {
    uint64_t branch, from, to;
    uint64_t count;
};

/* Read the traces of standard input into the profile. */
static enum bat_code read_traces(struct bat_profile *profile, struct bat_error *error)
{
    FILE *file = tmpfile();
    if (!file)
        return bat_fail(error, BAT_ERR_IO, "cannot make a temporary file");
    struct trace trace;
    while (scanf("%" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNu64, &trace.branch, &trace.from,
                 &trace.to, &trace.count) == 4)
        fprintf(file, "T %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", trace.branch,
                trace.from, trace.to, trace.count);
    enum bat_code code = BAT_OK;
    if (!feof(stdin) || fflush(file) != 0) {
        code = bat_fail(error, BAT_ERR_IO, "cannot read or store all traces");
    } else {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
        code = bat_profile_read(profile, path, NULL, error);
    }
    fclose(file);
    return code;
}

static enum bat_code write_fdata(const struct bat_profile *profile, struct bat_binary *binary,
                                 const char *path, struct bat_error *error)
{
    struct bat_records *records;
    enum bat_code code = bat_profile_translate(profile, binary, binary->elf, NULL,
                                               BAT_PROFILE_BRANCHES, &records, error);
    if (code != BAT_OK)
        return code;
    struct bat_output *output;
    code = bat_output_begin(path, &output, error);
    if (code == BAT_OK) {
        code = bat_records_write_fdata(records, output, error);
        if (code == BAT_OK)
            code = bat_outputs_commit(&output, 1, error);
        else
            bat_output_abandon(output);
    }
    bat_records_free(records);
    return code;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: traces_to_fdata BINARY OUT <TRACES\n");
        return 2;
    }
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(argv[1], &binary, &error);
    if (code == BAT_OK) {
        /* No build-id: it is for locations of other objects, which these traces do not have. */
        struct bat_profile_target target = {.elf = binary.elf, .is_bolted = true};
        if (bat_elf_type(binary.elf) == 3) /* ET_DYN: addresses count from the first segment */
            target.base_address = bat_elf_base_address(binary.elf);
        struct bat_profile *profile = bat_profile_new(&target);
        code = profile ? read_traces(profile, &error)
                       : bat_fail(&error, BAT_ERR_MEMORY, "out of memory");
        if (code == BAT_OK)
            code = write_fdata(profile, &binary, argv[2], &error);
        bat_profile_free(profile);
        bat_binary_close(&binary);
    }
    if (code == BAT_OK)
        return 0;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(&error, text, sizeof(text));
    fprintf(stderr, "traces_to_fdata: %s\n", text);
    return 1;
}
