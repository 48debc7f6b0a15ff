/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "translate.h"

#include <argp.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_merge.h"
#include "first_file.h"
#include "spec/array.h"
#include "spec/escape_controls.h"
#include "spec/order.h"

/* The list of functions that is printed. */
enum merge_print { MERGE_PRINT_NONE, MERGE_PRINT_EXEC, MERGE_PRINT_BRANCHES };

enum option_key { KEY_PRINT = 0x300, KEY_HELP, KEY_PRINT_OPTIONS, KEY_PRINT_ALL_OPTIONS };

struct request {
    const char *output; /* NULL: standard output */
    enum merge_print print;
    bool quiet;
    char **paths; /* as given */
    size_t path_count;
    char **files; /* all regular files of these; owned */
    size_t file_count;
    size_t file_capacity;
};

/* --- Files ---------------------------------------------------------------------------------- */

static bool add_file(struct request *request, const char *path)
{
    if (!BAT_GROW(request->files, request->file_count, request->file_capacity))
        return false;
    char *copy = strdup(path);
    if (copy)
        request->files[request->file_count++] = copy;
    return copy != NULL;
}

static int by_name(const FTSENT **left, const FTSENT **right)
{
    return strcmp((*left)->fts_name, (*right)->fts_name);
}

/* Add the file at path, or all files in the folder there. */
static enum tool_exit add_path(struct request *request, char *path)
{
    struct stat file;
    if (stat(path, &file) == 0 && !S_ISDIR(file.st_mode)) {
        if (add_file(request, path))
            return TOOL_FINE;
        return tool_no_memory(NULL);
    }
    char *const paths[] = {path, NULL};
    FTS *walk = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    bool fits = walk != NULL;
    bool is_found = false;
    for (FTSENT *entry; fits && (entry = fts_read(walk)) != NULL;) {
        is_found = is_found || entry->fts_info != FTS_NS;
        if (entry->fts_info == FTS_F)
            fits = add_file(request, entry->fts_path);
    }
    if (walk)
        fts_close(walk);
    if (!fits)
        tool_no_memory(NULL);
    else if (!is_found)
        tool_message(path, "No such file or directory");
    return fits && is_found ? TOOL_FINE : TOOL_BAD;
}

static enum tool_exit list_files(struct request *request)
{
    enum tool_exit status = TOOL_FINE;
    for (size_t i = 0; i < request->path_count && status == TOOL_FINE; i++) {
        char *path = request->paths[i];
        char *comma = access(path, F_OK) == 0 ? NULL : strchr(path, ',');
        for (; comma && status == TOOL_FINE; comma = strchr(path, ',')) {
            *comma = '\0';
            status = *path ? add_path(request, path) : TOOL_FINE;
            path = comma + 1;
        }
        status = status ? status : add_path(request, path);
    }
    if (status == TOOL_FINE && request->file_count == 0)
        status = tool_message(NULL, "expected a profile, found none in %s", request->paths[0]);
    return status;
}

/* --- Messages ------------------------------------------------------------------------------- */

/* Print a name with its control characters escaped. */
static void put_name(FILE *file, const char *name)
{
    size_t size = strlen(name);
    char *escaped = malloc(size * BAT_ESCAPED_BYTE + 1);
    if (escaped)
        fwrite(escaped, 1, (size_t)(bat_put_escaped(escaped, name, size) - escaped), file);
    free(escaped);
}

/* What the list is sorted by. */
static uint64_t printed_count(const struct bat_yaml_profile_function *function,
                              enum merge_print print)
{
    if (print == MERGE_PRINT_EXEC)
        return function->executions;
    uint64_t count = 0;
    for (uint32_t i = 0; i < function->count; i++)
        for (uint32_t j = 0; j < function->blocks[i].successors.count; j++)
            count += function->blocks[i].successors.all[j].count;
    return count;
}

struct printed {
    uint64_t count;
    const char *name;
};

/* Print the number of functions, and the list. */
static void print_merged(const struct bat_yaml_profile *profile, FILE *file, enum merge_print print)
{
    fprintf(file, "Data for %u unique objects successfully merged.\n", profile->count);
    struct printed *list =
        print == MERGE_PRINT_NONE ? NULL : malloc(((size_t)profile->count + 1) * sizeof(*list));
    if (!list)
        return;
    for (uint32_t i = 0; i < profile->count; i++)
        list[i] = (struct printed){printed_count(&profile->functions[i], print),
                                   profile->functions[i].name};
    BAT_SORT(list, profile->count, BAT_DESCENDING(struct printed, count),
             BAT_DESCENDING(struct printed, name));
    fprintf(file, "Functions sorted by %s count:\n",
            print == MERGE_PRINT_EXEC ? "execution" : "total branch");
    for (uint32_t i = 0; i < profile->count; i++) {
        put_name(file, list[i].name);
        fprintf(file, " : %lu\n", list[i].count);
    }
    free(list);
}

/* --- Merging -------------------------------------------------------------------------------- */

/* Add a YAML profile; say in what it differs from those before it. */
static enum bat_code add_yaml(struct bat_merged_yaml *merged, const char *name, const char *path,
                              struct bat_error *error)
{
    fputs("Merging data from ", stderr);
    put_name(stderr, name);
    fputs("...\n", stderr);
    struct bat_yaml_profile part;
    enum bat_code code = bat_yaml_profile_read_file(path, &part, error);
    const struct bat_yaml_profile *before = bat_merged_yaml_profile(merged);
    const bool is_first = !before->binary;
    if (code == BAT_OK && !is_first && strcmp(before->binary, part.binary) != 0)
        tool_message(NULL, "warning: merging a profile of %s into one of %s", part.binary,
                     before->binary);
    if (code == BAT_OK && !is_first && strcmp(before->build_id, part.build_id) != 0)
        tool_message(NULL, "warning: the build-ids of merged profiles differ");
    const bool are_others = code == BAT_OK && !is_first && before->events[0] &&
                            strcmp(before->events, part.events) != 0;
    code = code ? code : bat_merged_yaml_add(merged, &part, error);
    if (code == BAT_OK && are_others)
        tool_message(NULL, "warning: merging profiles with different sampling events");
    bat_yaml_profile_free(&part);
    return code;
}

static enum tool_exit merge_files(const struct request *request, const struct first_file *first,
                                  struct bat_output *output)
{
    struct bat_error error;
    struct bat_merged_fdata *fdata = first->is_yaml ? NULL : bat_merged_fdata_new();
    struct bat_merged_yaml *yaml = first->is_yaml ? bat_merged_yaml_new() : NULL;
    if (!fdata && !yaml)
        return tool_no_memory(NULL);
    enum tool_exit status = TOOL_FINE;
    for (size_t i = 0; i < request->file_count && status == TOOL_FINE; i++) {
        const char *name = request->files[i];
        const char *path = i == 0 ? first->path : name;
        if ((yaml ? add_yaml(yaml, name, path, &error)
                  : bat_merged_fdata_add(fdata, path, &error)) != BAT_OK)
            status = tool_report(name, &error);
    }
    if (status == TOOL_FINE && output &&
        (yaml ? bat_merged_yaml_write(yaml, output, &error)
              : bat_merged_fdata_write(fdata, output, &error)) != BAT_OK)
        status = tool_report(NULL, &error);
    if (status == TOOL_FINE && yaml)
        print_merged(bat_merged_yaml_profile(yaml), stderr, request->print);
    else if (status == TOOL_FINE)
        fprintf(stderr, "Profile from %zu files merged.\n", request->file_count);
    bat_merged_yaml_free(yaml);
    bat_merged_fdata_free(fdata);
    return status;
}

static enum tool_exit merge(const struct request *request, const struct first_file *first)
{
    struct bat_error error;
    struct bat_output *output = NULL;
    /* merge-fdata's -q is for YAML alone. */
    if ((!request->quiet || !first->is_yaml) &&
        bat_output_begin(request->output ? request->output : "-", &output, &error) != BAT_OK)
        return tool_report(NULL, &error);
    if (output && bat_outputs_check(&output, 1, (const char *const *)request->files,
                                    request->file_count, &error) != BAT_OK) {
        bat_output_abandon(output);
        return tool_report(NULL, &error);
    }
    enum tool_exit status = merge_files(request, first, output);
    if (status == TOOL_FINE && output)
        return tool_commit(NULL, &output, 1);
    bat_output_abandon(output);
    return status;
}

static enum tool_exit run(const struct request *request)
{
    struct bat_error error;
    struct first_file first;
    if (first_file_open(request->files[0], &first, &error) != BAT_OK)
        return tool_report(request->files[0], &error);
    enum tool_exit status = merge(request, &first);
    first_file_close(&first);
    return status;
}

/* --- Options -------------------------------------------------------------------------------- */

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    static const char *const prints[] = {[MERGE_PRINT_NONE] = "none",
                                         [MERGE_PRINT_EXEC] = "exec",
                                         [MERGE_PRINT_BRANCHES] = "branches",
                                         NULL};
    struct request *request = state->input;
    static const char *const ignored[] = {"print-options", "print-all-options"};
    if (key == 'o')
        key = TOOL_KEY(TOOL_TEXT, struct request, output);
    if (tool_set_field(request, state->root_argp->options, key, argument, state))
        return 0;
    switch (key) {
    case 'q':
        request->quiet = tool_parse_bool("q", argument, state);
        return 0;
    case KEY_PRINT_OPTIONS:
    case KEY_PRINT_ALL_OPTIONS:
        tool_parse_bool(ignored[key - KEY_PRINT_OPTIONS], argument, state);
        return 0;
    case KEY_HELP:
        argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
        return 0;
    case KEY_PRINT:
        request->print = (enum merge_print)tool_parse_word(
            "print", prints, "none, exec or branches", argument, state);
        return 0;
    case ARGP_KEY_ARG:
        request->paths[request->path_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (request->path_count == 0)
            argp_error(state, "expected at least one profile, found none");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum tool_exit merge_fdata_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"print", KEY_PRINT, "none|exec|branches", 0,
         "Of YAML, print the functions by their executions or branches to standard error", 0},
        {"o", 'o', "FILE", 0, "Write the merged profile to FILE (default: standard output)", 0},
        {"q", 'q', "0|1", OPTION_ARG_OPTIONAL, "Do not write merged YAML", 0},
        {"h", KEY_HELP, NULL, OPTION_HIDDEN, NULL, 0},
        {"help-hidden", KEY_HELP, NULL, OPTION_HIDDEN, NULL, 0},
        {"help-list", KEY_HELP, NULL, OPTION_HIDDEN, NULL, 0},
        {"help-list-hidden", KEY_HELP, NULL, OPTION_HIDDEN, NULL, 0},
        {"print-options", KEY_PRINT_OPTIONS, "0|1", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 0},
        {"print-all-options", KEY_PRINT_ALL_OPTIONS, "0|1", OPTION_ARG_OPTIONAL | OPTION_HIDDEN,
         NULL, 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse_option,
        "PROFILE...",
        "Add up profiles for llvm-bolt: fdata or YAML, as merge-fdata does. The sum is sorted. A "
        "PROFILE may be a folder.\vExit status: 0 fine, 1 bad input, 2 wrong usage.",
        NULL,
        NULL,
        NULL};
    struct request request = {.paths = calloc((size_t)argc, sizeof(*request.paths))};
    enum tool_exit status = TOOL_BAD;
    if (!request.paths)
        tool_no_memory(NULL);
    else if (tool_parse(&argp, NULL, argc, argv, ARGP_LONG_ONLY, &request))
        status = list_files(&request);
    status = status ? status : run(&request);
    for (size_t i = 0; i < request.file_count; i++)
        free(request.files[i]);
    BAT_FREE_ALL(request.files, request.paths);
    return status;
}
