/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/array.h"
#include "translate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum option_key {
    KEY_HELP = 0x200,
    KEY_JOBS,
    KEY_JOBS_SHORT,
    KEY_VERBOSITY,
    KEY_PID,
    KEY_MAX_SAMPLES,
    KEY_DENSITY_CUTOFF,
    KEY_DENSITY_THRESHOLD,
    KEY_BLOCK_SIZE,
    KEY_LINE_SIZE,
    KEY_MIN_ADDRESS,
    KEY_MAX_ADDRESS,
    KEY_FUNCTIONS,
    KEY_JUMP_TABLES,
    KEY_THREAD_COUNT,
    /* The last: each flag has a key of its own, so that an error can name it. */
    KEY_FLAG_WITHOUT_EFFECT,
};

#define FLAGS_WITHOUT_EFFECT 13

/* --- Values --------------------------------------------------------------------------------- */

static uint64_t parse_number(const char *name, const char *text, struct argp_state *state)
{
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, text[0] == '0' ? 0 : 10); /* as LLVM reads 0x10, 010 */
    if (text[0] < '0' || text[0] > '9' || *end || errno == ERANGE)
        argp_error(state, "--%s: expected a number, found \"%s\"", name, text);
    return number;
}

/* Add the processes of a list such as 1,2. Numbers follow each other with commas between. */
static void add_processes(struct translate_request *request, const char *text,
                          struct argp_state *state)
{
    for (const char *at = text;; at++) {
        char *end;
        unsigned long process = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || (*end && *end != ',') || process > INT32_MAX)
            argp_error(state, "--pid: expected numbers of processes, found \"%s\"", text);
        if (!BAT_APPEND(request->processes, request->reading.process_count,
                        request->process_capacity, (int32_t)process))
            argp_failure(state, TOOL_BAD, 0, "not enough memory");
        request->reading.processes = request->processes;
        if (!*end)
            return;
        at = end;
    }
}

static void add_profile(struct translate_request *request, struct argp_state *state,
                        const char *path)
{
    if (!BAT_APPEND(request->profiles, request->profile_count, request->profile_capacity, path))
        argp_failure(state, TOOL_BAD, 0, "not enough memory");
}

void perf2bolt_add_profiles(struct translate_request *request, struct argp_state *state, char *path)
{
    char *comma = access(path, F_OK) == 0 ? NULL : strchr(path, ',');
    for (; comma; comma = strchr(path, ',')) {
        *comma = '\0';
        if (*path)
            add_profile(request, state, path);
        path = comma + 1;
    }
    if (*path || request->profile_count == 0)
        add_profile(request, state, path);
}

void perf2bolt_free(struct translate_request *request)
{
    BAT_FREE_ALL(request->profiles, request->processes);
}

/* --- Options -------------------------------------------------------------------------------- */

static const char *name_of(int key)
{
    const struct argp_option *option = perf2bolt_argp.options;
    while (option->key != key)
        option++;
    return option->name;
}

/* How llvm-bolt is to treat jump tables; profiles have the same records. */
static void check_jump_tables(const char *text, struct argp_state *state)
{
    static const char *const ways[] = {"none", "basic", "move", "split", "aggressive"};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(text, ways[i]) == 0)
            return;
    argp_error(state,
               "--jump-tables: expected none, basic, move, split or aggressive, found \"%s\"",
               text);
}

static error_t parse_density_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *request = state->input;
    char *end;
    uint64_t number;
    switch (key) {
    case KEY_DENSITY_CUTOFF:
        number = parse_number("profile-density-cutoff-hot", argument, state);
        if (number > 1000000)
            argp_error(state,
                       "--profile-density-cutoff-hot: expected at most 1000000, found \"%s\"",
                       argument);
        request->density_cutoff = (uint32_t)number;
        return 0;
    case KEY_DENSITY_THRESHOLD:
        request->density_threshold = strtod(argument, &end);
        if (end == argument || *end || !(request->density_threshold >= 0))
            argp_error(state, "--profile-density-threshold: expected a number, found \"%s\"",
                       argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_heatmap_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *request = state->input;
    struct heatmap_options *heatmap = &request->heatmap;
    uint64_t number;
    switch (key) {
    case KEY_BLOCK_SIZE:
        if (!heatmap_parse_sizes(argument, heatmap))
            argp_error(state,
                       "--block-size: expected sizes such as 64,4K,256K, each a multiple of the "
                       "one before, found \"%s\"",
                       argument);
        return 0;
    case KEY_LINE_SIZE:
        number = parse_number("line-size", argument, state);
        if (number == 0 || number > HEATMAP_LINE_MAX)
            argp_error(state, "--line-size: expected a number from 1 to %u, found \"%s\"",
                       HEATMAP_LINE_MAX, argument);
        heatmap->line_size = (uint32_t)number;
        return 0;
    case KEY_MIN_ADDRESS:
        heatmap->min_address = parse_number("min-address", argument, state);
        return 0;
    case KEY_MAX_ADDRESS:
        heatmap->max_address = parse_number("max-address", argument, state);
        return 0;
    default:
        return parse_density_option(key, argument, state);
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *request = state->input;
    if (tool_set_field(request, perf2bolt_argp.options, key, argument, state))
        return 0;
    if (key >= KEY_FLAG_WITHOUT_EFFECT && key < KEY_FLAG_WITHOUT_EFFECT + FLAGS_WITHOUT_EFFECT) {
        tool_parse_bool(name_of(key), argument, state);
        return 0;
    }
    switch (key) {
    case KEY_HELP:
        argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
        return 0;
    case KEY_FUNCTIONS:
        return 0;
    case KEY_JUMP_TABLES:
        check_jump_tables(argument, state);
        return 0;
    case KEY_JOBS:
    case KEY_JOBS_SHORT:
    case KEY_THREAD_COUNT:
    case KEY_VERBOSITY:
        parse_number(name_of(key), argument, state);
        return 0;
    case KEY_PID:
        add_processes(request, argument, state);
        return 0;
    case KEY_MAX_SAMPLES:
        request->reading.samples_max = parse_number("max-samples", argument, state);
        if (request->reading.samples_max == 0)
            argp_error(state, "--max-samples: expected a number above 0, found \"%s\"", argument);
        return 0;
    default:
        return parse_heatmap_option(key, argument, state);
    }
}

/* An option of true or false that changes nothing here: the manual page has a table of these. */
#define WITHOUT_EFFECT(number, name)                                                               \
    {                                                                                              \
        name, KEY_FLAG_WITHOUT_EFFECT + (number), "0|1", OPTION_ARG_OPTIONAL | OPTION_HIDDEN,      \
            NULL, 2                                                                                \
    }

#define LIKE_HELP(name)                                                                            \
    {                                                                                              \
        name, KEY_HELP, NULL, OPTION_HIDDEN, NULL, -1                                              \
    }

static const struct argp_option options[] = {
    {"pid", KEY_PID, "N,...", 0, "Of perf.data, use the samples of these processes only", 2},
    {"max-samples", KEY_MAX_SAMPLES, "N", 0,
     "Of perf.data, use only the first N samples with branch stacks", 2},
    {"impute-trace-fall-through", SETS(TOOL_BOOL, impute_runs), "0|1", OPTION_ARG_OPTIONAL,
     "Let the run behind a branch whose end was not sampled be as long as the others behind this "
     "branch are on average",
     2},
    {"yaml-extern", SETS(TOOL_BOOL, yaml_extern), "0|1", OPTION_ARG_OPTIONAL,
     "In YAML, write how often functions were entered from outside, as perf2bolt 23 does (extern)",
     4},
    {"profile-write-pseudo-probes", SETS(TOOL_BOOL, yaml_probes), "0|1", OPTION_ARG_OPTIONAL,
     "In YAML, write the pseudo probes of blocks and calls, if BINARY has them", 4},
    {"show-density", SETS(TOOL_BOOL, show_density), "0|1", OPTION_ARG_OPTIONAL,
     "In the text report, print how often the bytes of hot functions were executed", 4},
    {"profile-density-cutoff-hot", KEY_DENSITY_CUTOFF, "N", 0,
     "For --show-density: the millionths of the samples that make functions hot (default: 990000)",
     4},
    {"profile-density-threshold", KEY_DENSITY_THRESHOLD, "N", 0,
     "For --show-density: ask for more samples below this density (default: 60)", 4},
    {NULL, 0, NULL, 0, "Heat maps:", 5},
    {"heatmap", SETS(TOOL_TEXT, heatmap.path), "FILE", 0,
     "Write a heat map of BINARY's code to FILE, as llvm-bolt-heatmap does, with its lists and "
     "coarser maps beside it; - is standard output",
     5},
    {"block-size", KEY_BLOCK_SIZE, "SIZE,...", 0,
     "Bytes of a letter of the heat map, and of coarser ones (default: 64,4K,256K)", 5},
    {"line-size", KEY_LINE_SIZE, "N", 0, "Letters in a line of the heat map (default: 256)", 5},
    {"min-address", KEY_MIN_ADDRESS, "ADDR", 0, "The first address in the heat map", 5},
    {"max-address", KEY_MAX_ADDRESS, "ADDR", 0, "The last one (default: 0xffffffff)", 5},
    {"print-mappings", SETS(TOOL_BOOL, heatmap.prints_mappings), "0|1", OPTION_ARG_OPTIONAL,
     "List the sections in the heat map's legend", 5},
    {"perfdata-jobs", KEY_JOBS, "N", OPTION_HIDDEN, NULL, 2},
    {"pj", KEY_JOBS_SHORT, "N", OPTION_HIDDEN, NULL, 2},
    {"v", KEY_VERBOSITY, "N", OPTION_HIDDEN, NULL, 2},
    {"funcs", KEY_FUNCTIONS, "NAME,...", OPTION_HIDDEN, NULL, 2},
    {"funcs-file", KEY_FUNCTIONS, "FILE", OPTION_HIDDEN, NULL, 2},
    {"jump-tables", KEY_JUMP_TABLES, "HOW", OPTION_HIDDEN, NULL, 2},
    {"skip-funcs", KEY_FUNCTIONS, "NAME,...", OPTION_HIDDEN, NULL, 2},
    {"skip-funcs-file", KEY_FUNCTIONS, "FILE", OPTION_HIDDEN, NULL, 2},
    {"thread-count", KEY_THREAD_COUNT, "N", OPTION_HIDDEN, NULL, 2},
    WITHOUT_EFFECT(0, "aggregate-only"),
    WITHOUT_EFFECT(1, "bolt-info"),
    WITHOUT_EFFECT(2, "print-all-options"),
    WITHOUT_EFFECT(3, "print-options"),
    WITHOUT_EFFECT(4, "profile-use-dfs"),
    WITHOUT_EFFECT(5, "strict"),
    WITHOUT_EFFECT(6, "time-aggr"),
    WITHOUT_EFFECT(7, "time-rewrite"),
    WITHOUT_EFFECT(8, "infer-stale-profile"),
    WITHOUT_EFFECT(9, "lite"),
    WITHOUT_EFFECT(10, "no-threads"),
    WITHOUT_EFFECT(11, "report-stale"),
    WITHOUT_EFFECT(12, "use-old-text"),
    LIKE_HELP("help-hidden"),
    LIKE_HELP("help-list"),
    LIKE_HELP("help-list-hidden"),
    {0},
};

const struct argp perf2bolt_argp = {options, parse_option, NULL, NULL, NULL, NULL, NULL};
