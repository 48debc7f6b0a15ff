/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate: translate a profile of a BOLTed binary to its input binary. */
#include <argp.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"
#include "translate.h"

enum option_key {
    KEY_YAML = 'w',
    KEY_FORMAT = 0x100,
    KEY_PREAGGREGATED,
    KEY_SAMPLES,
    KEY_SYMBOLS,
    KEY_NOTE,
    KEY_IGNORE_BUILD_ID,
    KEY_REPORT,
    KEY_THREADS,
    KEY_PID,
    KEY_IGNORE_INTERRUPTS,
    KEY_PERF_SCRIPT,
    KEY_ITRACE,
    KEY_SPE,
    KEY_PARSE_MEMORY,
    KEY_FILTER_MEMORY,
    KEY_DEBUG_FILE,
    KEY_ORIGINAL,
    KEY_PARITY,
};

/*
 * Convert perf2bolt's arguments to those of getopt. perf2bolt also takes "-o=FILE", which getopt
 * would read as a file "=FILE" or as the start of a long option: such an argument is split in two.
 * Its verbosity ("-v", "-v 1", "-v=1"), which argp would take for --version, is left out. Returns
 * the new arguments, which the caller frees, or NULL if there is no memory.
 */
static char **split_arguments(int *argc, char **argv)
{
    char **split = calloc((size_t)*argc * 2 + 1, sizeof(*split));
    if (!split)
        return NULL;
    int count = 0;
    for (int i = 0; i < *argc; i++) {
        const char *name = i > 0 && argv[i][0] == '-' ? argv[i] + 1 + (argv[i][1] == '-') : "";
        if (name[0] == 'v' && (name[1] == '\0' || name[1] == '=')) {
            const char *level = name[1] == '\0' && i + 1 < *argc ? argv[i + 1] : "";
            bool has_level = level[0] && level[strspn(level, "0123456789")] == '\0';
            i += has_level;
            continue;
        }
        if (!name[0] || !strchr("pow", name[0]) || name[1] != '=' || argv[i][1] == '-') {
            split[count++] = argv[i];
            continue;
        }
        static char options_alone[3][3] = {"-p", "-o", "-w"};
        split[count++] = options_alone[name[0] == 'p' ? 0 : name[0] == 'o' ? 1 : 2];
        split[count++] = argv[i] + 3;
    }
    *argc = count;
    return split;
}

static void add_profile(struct translate_request *arguments, struct argp_state *state,
                        const char *path)
{
    const char **grown =
        realloc(arguments->profiles, (arguments->profile_count + 1) * sizeof(*grown));
    if (!grown) {
        argp_failure(state, TOOL_BAD, 0, "not enough memory");
        return;
    }
    arguments->profiles = grown;
    arguments->profiles[arguments->profile_count++] = path;
}

static unsigned parse_threads(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long threads = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || threads > 64)
        argp_error(state, "--threads: expected a number from 0 to 64, found \"%s\"", text);
    return (unsigned)threads;
}

static int32_t parse_process(const char *text, struct argp_state *state)
{
    char *end;
    unsigned long process = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || process > INT32_MAX)
        argp_error(state, "--pid: expected the number of a process, found \"%s\"", text);
    return (int32_t)process;
}

/* The values that perf2bolt takes for true and false. Without a value, text is NULL: true. */
static bool parse_bool(const char *name, const char *text, struct argp_state *state)
{
    bool is_true = !text || strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0;
    if (!is_true && strcmp(text, "0") != 0 && strcasecmp(text, "false") != 0)
        argp_error(state, "--%s: expected 0 or 1, found \"%s\"", name, text);
    return is_true;
}

static enum translate_format parse_format(const char *text, struct argp_state *state)
{
    static const char *const formats[] = {
        [FORMAT_FDATA] = "fdata",     [FORMAT_YAML] = "yaml",       [FORMAT_PREAGG] = "preagg",
        [FORMAT_AUTOFDO] = "autofdo", [FORMAT_PROFGEN] = "profgen",
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(text, formats[i]) == 0)
            return (enum translate_format)i;
    argp_error(state, "--format: expected fdata, yaml, preagg, autofdo or profgen, found \"%s\"",
               text);
    return FORMAT_FDATA;
}

static error_t parse_file_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *arguments = state->input;
    switch (key) {
    case 'p':
        add_profile(arguments, state, argument);
        return 0;
    case 'o':
        arguments->output = argument;
        return 0;
    case KEY_YAML:
        arguments->yaml = argument;
        return 0;
    case KEY_SYMBOLS:
        arguments->symbols = argument;
        return 0;
    case KEY_NOTE:
        arguments->note = argument;
        return 0;
    case KEY_ORIGINAL:
        arguments->original = argument;
        return 0;
    case KEY_DEBUG_FILE:
        arguments->debug_file = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Options for perf.data and for perf script's text. */
static error_t parse_perf_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *arguments = state->input;
    switch (key) {
    case KEY_PID:
        arguments->process = parse_process(argument, state);
        arguments->has_process = true;
        return 0;
    case KEY_IGNORE_INTERRUPTS:
        arguments->keep_interrupts = !parse_bool("ignore-interrupt-lbr", argument, state);
        return 0;
    case KEY_PERF_SCRIPT:
        arguments->by_perf_script = true;
        return 0;
    case KEY_ITRACE:
        arguments->itrace = argument;
        return 0;
    case KEY_SPE:
        arguments->arm_spe = parse_bool("spe", argument, state);
        return 0;
    case KEY_PARSE_MEMORY:
        arguments->drop_memory = !parse_bool("parse-mem-profile", argument, state);
        return 0;
    case KEY_FILTER_MEMORY:
        arguments->keep_unknown_data = !parse_bool("filter-mem-profile", argument, state);
        return 0;
    default:
        return parse_file_option(key, argument, state);
    }
}

static error_t check_arguments(const struct translate_request *arguments, struct argp_state *state)
{
    if (!arguments->binary)
        argp_error(state, "expected the BOLTed BINARY, found no argument");
    if (arguments->profile_count == 0)
        argp_error(state, "expected a profile (-p FILE), found none");
    if (!arguments->output && !arguments->yaml)
        argp_error(state, "expected an output file (-o FILE or -w FILE), found none");
    if (arguments->output && arguments->yaml && strcmp(arguments->output, arguments->yaml) == 0)
        argp_error(state, "expected two different files for -o and -w, found \"%s\" twice",
                   arguments->output);
    if (arguments->yaml && arguments->format > FORMAT_YAML)
        argp_error(state, "expected -o alone with --format=preagg, autofdo and profgen, which make "
                          "no records for BOLT, found -w too");
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *arguments = state->input;
    switch (key) {
    case KEY_FORMAT:
        arguments->format = parse_format(argument, state);
        return 0;
    case KEY_PREAGGREGATED:
        return 0;
    case KEY_PARITY:
        arguments->parity = true;
        return 0;
    case KEY_SAMPLES:
        arguments->basic_samples = true;
        return 0;
    case KEY_IGNORE_BUILD_ID:
        arguments->ignore_build_id = true;
        return 0;
    case 'q':
        arguments->quiet = true;
        return 0;
    case KEY_REPORT:
        if (strcmp(argument, "text") != 0 && strcmp(argument, "json") != 0)
            argp_error(state, "--report: expected text or json, found \"%s\"", argument);
        arguments->json_report = argument[0] == 'j';
        return 0;
    case KEY_THREADS:
        arguments->threads = parse_threads(argument, state);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->binary)
            argp_error(state, "expected one BINARY, found \"%s\" too", argument);
        arguments->binary = argument;
        return 0;
    case ARGP_KEY_END:
        return check_arguments(arguments, state);
    default:
        return parse_perf_option(key, argument, state);
    }
}

static const struct argp_option options[] = {
    {"perfdata", 'p', "FILE", 0,
     "A profile of BINARY: perf.data, text of perf script, pre-aggregated, or fdata of an earlier "
     "run; - is standard input. May be given many times: all are added up",
     1},
    {"output", 'o', "FILE", 0, "Write the translated profile to FILE; - is standard output", 1},
    {"yaml", KEY_YAML, "FILE", 0, "Write it as YAML to FILE, too", 1},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "What -o writes: fdata (the default), yaml, preagg, autofdo, profgen. preagg is the samples, "
     "added up but not translated, as pre-aggregated text; BINARY then needs neither note nor "
     "symbols. autofdo is LLVM's sample profile for clang -fprofile-sample-use. profgen is the "
     "profile that llvm-profgen --unsymbolized-profile reads",
     1},
    {"profile-format", KEY_FORMAT, "FORMAT", 0, "The same, as perf2bolt calls it", 1},
    {"pa", KEY_PREAGGREGATED, NULL, 0,
     "Accepted for compatibility with perf2bolt: forms are recognised", 2},
    {"ps", KEY_PREAGGREGATED, NULL, OPTION_ALIAS, NULL, 2},
    {"basic-events", KEY_SAMPLES, NULL, 0,
     "Translate basic samples (S records, or where perf.data has samples) and leave branches out; "
     "the default for a pre-aggregated profile without branches",
     2},
    {"ba", KEY_SAMPLES, NULL, OPTION_ALIAS, NULL, 2},
    {"nl", KEY_SAMPLES, NULL, OPTION_ALIAS, NULL, 2},
    {"pid", KEY_PID, "N", 0, "Of perf.data, use the samples of process N only", 2},
    {"ignore-interrupt-lbr", KEY_IGNORE_INTERRUPTS, "0|1", OPTION_ARG_OPTIONAL,
     "Of perf.data, leave out branches from and to the kernel (default: 1)", 2},
    {"parse-mem-profile", KEY_PARSE_MEMORY, "0|1", OPTION_ARG_OPTIONAL,
     "Use samples of loads from memory, if there are any (default: 1)", 2},
    {"filter-mem-profile", KEY_FILTER_MEMORY, "0|1", OPTION_ARG_OPTIONAL,
     "Leave out loads of other data than BINARY's, such as stack and heap (default: 1)", 2},
    {"perf-script", KEY_PERF_SCRIPT, NULL, 0,
     "Run perf script on perf.data, and read what it prints", 2},
    {"itrace", KEY_ITRACE, "OPTIONS", 0,
     "The same, with branch stacks that perf script --itrace=OPTIONS makes from trace data", 2},
    {"spe", KEY_SPE, "0|1", OPTION_ARG_OPTIONAL,
     "The same for trace data of Arm's SPE (perf 6.14 or later)", 2},
    {"symbols", KEY_SYMBOLS, "FILE", 0,
     "Take symbols from FILE, an unstripped copy of BINARY with the same build-id", 3},
    {"note", KEY_NOTE, "FILE", 0,
     "Take the BAT note from FILE, as batinject --extract wrote it, not from BINARY", 3},
    {"original", KEY_ORIGINAL, "FILE", 0,
     "The input binary from which llvm-bolt made BINARY: the profile is moved to its addresses, "
     "and local functions have the names that they have there",
     3},
    {"debug-file", KEY_DEBUG_FILE, "FILE", 0,
     "For autofdo: take DWARF from FILE, not from the program or the file that its build-id or "
     ".gnu_debuglink names",
     3},
    {"ignore-build-id", KEY_IGNORE_BUILD_ID, NULL, 0,
     "Accept every build-id in a profile, and those of --symbols and --original", 3},
    {"parity", KEY_PARITY, NULL, 0,
     "Make all records that perf2bolt makes, also those for which llvm-bolt refuses the profile of "
     "a function",
     4},
    {"threads", KEY_THREADS, "N", 0,
     "Read large profiles with N threads (default: one for each processor)", 4},
    {"report", KEY_REPORT, "text|json", 0, "How to report at the end (default: text)", 4},
    {NULL, 'q', NULL, 0, "Print no report", 4},
    {0},
};

/* True if name, up to its "=", is an option or the beginning of one. */
static bool is_option(const char *name)
{
    static const char *const of_argp[] = {"help", "usage", "version"};
    size_t length = strcspn(name, "=");
    if (length == 1 && strchr("powqV?", name[0]))
        return true;
    for (size_t i = 0; i < sizeof(of_argp) / sizeof(of_argp[0]); i++)
        if (strncmp(name, of_argp[i], length) == 0)
            return true;
    for (const struct argp_option *option = options; option->name || option->key; option++)
        if (option->name && strncmp(name, option->name, length) == 0)
            return true;
    return false;
}

/*
 * getopt would take "-print-only" for -p with the file "rint-only": here a value may not follow a
 * letter directly. Returns the first argument that begins with one dash and is not an option, or
 * NULL.
 */
static const char *find_unknown_option(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (argv[i][0] == '-' && argv[i][1] != '-' && argv[i][1] && !is_option(argv[i] + 1))
            return argv[i];
    return NULL;
}

static const char documentation[] =
    "Translate a profile sampled on BINARY, which llvm-bolt wrote with --enable-bat, into a "
    "profile of the binary that llvm-bolt read, for its -data option."
    "\vOptions may be spelled with one dash, as perf2bolt's: battranslate BINARY -p x.preagg -pa "
    "-o x.fdata -w x.yaml\n\nExit status: 0 fine, 1 bad input, 2 wrong usage. Output files are "
    "written completely or not at all.";

/*
 * Let each step reuse the memory that another freed: all threads share one heap, which is not
 * returned to the system before the end. Otherwise page faults take a fifth of the time.
 */
static void keep_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int main(int argc, char **argv)
{
    tool_begin("battranslate");
    keep_memory();
    static const struct argp argp = {
        options, parse_option, "BINARY -p PROFILE... -o OUT", documentation, NULL, NULL, NULL};
    struct translate_request arguments = {0};
    char **split = split_arguments(&argc, argv);
    if (!split) {
        tool_message(NULL, "not enough memory");
        return TOOL_BAD;
    }
    const char *unknown = find_unknown_option(argc, split);
    if (unknown) {
        tool_message(NULL,
                     "expected an option that battranslate has (--help lists them), found \"%s\"",
                     unknown);
        free(split);
        return TOOL_USAGE;
    }
    enum tool_exit status = TOOL_BAD;
    if (tool_parse(&argp, argc, split, ARGP_LONG_ONLY, &arguments))
        status = translate_run(&arguments);
    free(arguments.profiles);
    free(split);
    return (int)tool_end(status);
}
