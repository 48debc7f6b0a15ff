/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate: translate a profile of a BOLTed binary to its input binary. */
#include <argp.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spec/array.h"
#include "spec/large_memory.h"
#include "support/parallel.h"
#include "tools/common/tool.h"
#include "translate.h"

enum option_key {
    KEY_FORMAT = 0x100,
    KEY_PREAGGREGATED,
    KEY_REPORT,
    KEY_THREADS,
    KEY_CHECK,
    KEY_CHECK_BASELINE,
    KEY_MIN_OVERLAP,
};

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Profiles and outputs:", 1},
    {"obj", 'e', "BINARY", 0, "The same as BINARY without -e", 1},
    {"profile", 'p', "PROFILE", 0,
     "A profile of BINARY: perf.data, text of perf script, pre-aggregated, or fdata of an earlier "
     "run; - is standard input. May be given many times, also as FILE,FILE: all are added up",
     1},
    {"perfdata", 0, NULL, OPTION_ALIAS, NULL, 1},
    {"output", 'o', "OUT", 0,
     "Write the translated profile to OUT, as YAML if it is called .yaml; - is standard output", 1},
    {"yaml", 'w', "YAML", 0, "Write it as YAML to YAML, too", 1},
    {"output-dir", SETS(TOOL_TEXT, output_folder), "DIR", 0,
     "Read the profiles once for several binaries; write DIR/NAME.fdata for each of them "
     "(--format=yaml, preagg, autofdo, profgen, csspgo, hybrid: .yaml, .preagg, .prof, .profgen, "
     ".prof, .perfscript; fdata,yaml: both; folded, pprof, speedscope, firefox, otlp: .folded, "
     ".pb.gz, .speedscope.json, .firefox.json, .otlp). BINARY=OUT names another file",
     1},
    {"all", SETS(TOOL_FLAG, all), NULL, 0,
     "With --output-dir: for every file that perf.data says was mapped, that is on this machine "
     "with symbols, and that has samples",
     1},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "What -o writes: fdata (the default), yaml, preagg, autofdo, profgen, csspgo, hybrid, "
     "perfscript, folded, pprof, speedscope, firefox, otlp. preagg is the samples, "
     "added up but not translated, as pre-aggregated text; BINARY then needs neither note nor "
     "symbols. autofdo is LLVM's sample profile for clang -fprofile-sample-use. profgen is the "
     "profile that llvm-profgen --unsymbolized-profile reads. csspgo is one with contexts, of "
     "perf record -b -g and a program with pseudo probes; hybrid is these samples as text for "
     "llvm-profgen. perfscript is the text that perf prints of one perf.data. folded, pprof, "
     "speedscope, firefox and otlp (OpenTelemetry) are the samples, or the taken branches, by the "
     "input's functions and lines, for viewers of these formats",
     1},
    {"keep-going", SETS(TOOL_FLAG, keep_going), NULL, 0,
     "Leave out profiles that cannot be read, name them in the report, and exit with 3", 1},
    {"once", SETS(TOOL_FLAG, once), NULL, 0,
     "Count each part of a sum once: leave out profiles whose parts others have, and write a "
     "digest of each part with --format=preagg",
     1},
    {"profile-format", KEY_FORMAT, "FORMAT", 0, "The same, as perf2bolt calls it", 1},
    {NULL, 0, NULL, 0, "What is taken of a profile:", 2},
    {"pa", KEY_PREAGGREGATED, "0|1", OPTION_ARG_OPTIONAL,
     "Accepted for compatibility with perf2bolt: forms are recognised", 2},
    {"ps", KEY_PREAGGREGATED, NULL, OPTION_ALIAS, NULL, 2},
    {"basic-events", SETS(TOOL_BOOL, reading.basic_samples), "0|1", OPTION_ARG_OPTIONAL,
     "Translate basic samples (S records, or where perf.data has samples) and leave branches out; "
     "the default for a pre-aggregated profile without branches",
     2},
    {"ba", SETS(TOOL_BOOL, reading.basic_samples), NULL, OPTION_ALIAS, NULL, 2},
    {"nl", SETS(TOOL_BOOL, reading.basic_samples), NULL, OPTION_ALIAS, NULL, 2},
    {"ignore-interrupt-lbr", SETS(TOOL_NOT, reading.keep_kernel_branches), "0|1",
     OPTION_ARG_OPTIONAL, "Of perf.data, leave out branches from and to the kernel (default: 1)",
     2},
    {"parse-mem-profile", SETS(TOOL_NOT, drop_memory), "0|1", OPTION_ARG_OPTIONAL,
     "Use samples of loads from memory, if there are any (default: 1)", 2},
    {"filter-mem-profile", SETS(TOOL_NOT, keep_unknown_data), "0|1", OPTION_ARG_OPTIONAL,
     "Leave out loads of other data than BINARY's, such as stack and heap (default: 1)", 2},
    {"perf-script", SETS(TOOL_FLAG, reading.by_perf_script), NULL, 0,
     "Run perf script on perf.data, and read what it prints", 2},
    {"itrace", SETS(TOOL_TEXT, reading.itrace), "OPTIONS", 0,
     "The same, with branch stacks that perf script --itrace=OPTIONS makes from trace data", 2},
    {"sample-type", SETS(TOOL_TEXT, reading.sample_type), "TYPE", 0,
     "Of a profile of pprof or OpenTelemetry, count the values of TYPE (default: the first)", 2},
    {"sample-branches", SETS(TOOL_FLAG, reading.sample_branches), NULL, 0,
     "Of such a profile, take each stack for a branch stack: source, target, source, target, ..., "
     "the newest first",
     2},
    {"spe", SETS(TOOL_BOOL, reading.arm_spe), "0|1", OPTION_ARG_OPTIONAL,
     "The same for trace data of Arm's SPE (perf 6.15 or later)", 2},
    {NULL, 0, NULL, 0, "Other files, and the next release:", 3},
    {"symbols", SETS(TOOL_TEXT, symbols), "FILE", 0,
     "Take symbols from FILE, an unstripped copy of BINARY with the same build-id", 3},
    {"note", SETS(TOOL_TEXT, note), "FILE", 0,
     "Take the BAT note from FILE, as batinject --extract wrote it, not from BINARY", 3},
    {"original", SETS(TOOL_TEXT, original), "INPUT", 0,
     "The input binary from which llvm-bolt made BINARY: the profile is moved to its addresses, "
     "and local functions have the names that they have there",
     3},
    {"for", SETS(TOOL_TEXT, next), "NEXT", 0,
     "Carry the profile to NEXT, another build of the program: the next release, or one by another "
     "compiler. BINARY is one that BOLT has not written, or --original names its input. Several "
     "old "
     "builds, each with its -p and --original behind it, are added up",
     3},
    {"explain", SETS(TOOL_TEXT, explain), "FUNCTION", 0,
     "With --for, print for each block of FUNCTION, as profiles name it, which old block it is", 3},
    {"originals", SETS(TOOL_TEXT, originals), "DIR", 0,
     "For several binaries: the folder with their input binaries, which are found by build-id", 3},
    {"store", SETS(TOOL_STORES, stores), "DIR", 0,
     "Take what a shipped BINARY lacks from the store DIR, by its build-id, as batinject --store "
     "put it there; may be given many times, also in BATKIT_STORE",
     3},
    {"debug-file", SETS(TOOL_TEXT, debug_file), "FILE", 0,
     "For autofdo: take DWARF from FILE, not from the program or the file that its build-id or "
     ".gnu_debuglink names",
     3},
    {"use-dwarf-correlation", SETS(TOOL_FLAG, by_lines), NULL, 0,
     "For autofdo: write the profile by lines, also of a program with pseudo probes "
     "(-fpseudo-probe-for-profiling), which has it by probes",
     3},
    {"ignore-build-id", SETS(TOOL_BOOL, ignore_build_id), "0|1", OPTION_ARG_OPTIONAL,
     "Accept every build-id in a profile, and those of --symbols and --original", 3},
    {NULL, 0, NULL, 0, "Records and reports:", 4},
    {"parity", SETS(TOOL_FLAG, parity), NULL, 0,
     "Make all records that perf2bolt makes, also those for which llvm-bolt refuses the profile of "
     "a function",
     4},
    {"threads", KEY_THREADS, "N", 0,
     "Use at most N threads for each step; 1: no others at all (default: one for each processor)",
     4},
    {NULL, 0, NULL, 0, "Whether the profile is fit:", 6},
    {"check", KEY_CHECK, NULL, 0,
     "Judge whether the profile is fit to be used; an unfit one is not written, and the exit "
     "status "
     "is 1",
     6},
    {"check-baseline", KEY_CHECK_BASELINE, "FDATA", 0,
     "--check against a former profile: whether samples are missing, or are in other functions", 6},
    {"check-limit", CHECK_LIMIT, "ID=VALUE", 0,
     "--check with another limit for the check ID. May be given many times", 6},
    {"check-strict", CHECK_STRICT, NULL, 0, "--check: a profile with warnings is unfit, too", 6},
    {"check-suppress", CHECK_SUPPRESS, "FILE", 0,
     "--check without the findings that FILE names, with reasons", 6},
    {"list-checks", CHECK_LIST, NULL, 0, "Print all checks with their limits and exit", 6},
    {"explain-recording", SETS(TOOL_TEXT, recording), "RECORDING", 0,
     "Print what RECORDING holds, which is perf.data, text of perf script or a profile of stacks: "
     "for which binaries, whether it is fit, and the command to run next. The exit status is 1 for "
     "one of no use",
     6},
    {NULL, 0, NULL, 0, "Several profiles:", 7},
    {"compare", SETS(TOOL_FLAG, compares), NULL, 0,
     "Print how much profiles agree, which are named in place of BINARY: fdata, YAML, "
     "pre-aggregated "
     "or LLVM's sample profiles; two with their functions, more as a matrix with outliers",
     7},
    {"common", SETS(TOOL_FLAG, is_common), NULL, 0,
     "Write to -o what all profiles have that are named in place of BINARY, fdata, YAML or "
     "pre-aggregated: each record with its lowest count",
     7},
    {"min-overlap", KEY_MIN_OVERLAP, "PERCENT", 0,
     "--compare with the exit status 1 for a lower overlap", 7},
    {"report", KEY_REPORT, "text|json", 0, "How to report at the end (default: text)", 4},
    {"json", SETS(TOOL_FLAG, json_report), NULL, 0, "The same: --report=json", 4},
    {0},
};

/*
 * Convert perf2bolt's arguments to those of getopt. perf2bolt also takes "-o=FILE", "--o=FILE" and
 * "--o FILE", which getopt would read as a file "=FILE" or as the start of a long option: such an
 * argument becomes "-o", and FILE the next one. Its verbosity ("-v", "-v 1", "-v=1"), which argp
 * would take for --version, is left out. Returns the new arguments, which the caller frees, or NULL
 * if there is no memory.
 */
static char **split_arguments(int *argc, char **argv)
{
    static char letters[3][3] = {"-p", "-o", "-w"};
    char **split = calloc((size_t)*argc * 2 + 1, sizeof(*split));
    if (!split)
        return NULL;
    int count = 0;
    for (int i = 0; i < *argc; i++) {
        char *name = i > 0 && argv[i][0] == '-' ? argv[i] + 1 + (argv[i][1] == '-') : "";
        bool has_value = name[0] && name[1] == '=';
        bool is_letter = has_value || (name[0] && name[1] == '\0');
        if (is_letter && name[0] == 'v') {
            const char *level = has_value ? name + 2 : i + 1 < *argc ? argv[i + 1] : "";
            bool is_level = level[0] && level[strspn(level, "0123456789")] == '\0';
            if (has_value && !is_level)
                split[count++] = argv[i];
            i += is_level && !has_value;
            continue;
        }
        int letter = 0;
        while (letter < 3 && letters[letter][1] != name[0])
            letter++;
        bool is_split = is_letter && letter < 3;
        split[count++] = is_split ? letters[letter] : argv[i];
        if (is_split && has_value)
            split[count++] = name + 2;
    }
    *argc = count;
    return split;
}

static void add_release(struct translate_request *arguments, struct argp_state *state)
{
    if (!BAT_GROW(arguments->releases, arguments->release_count, arguments->release_capacity))
        argp_failure(state, TOOL_BAD, 0, "not enough memory");
    arguments->releases[arguments->release_count] = (struct release){
        .first_profile = arguments->release_count == 0 ? 0 : arguments->profile_count};
    arguments->release_count++;
}

/* The release that an option is for: of the BINARY in front of it, or of the first one. */
static struct release *release_of(struct translate_request *arguments, struct argp_state *state)
{
    if (arguments->release_count == 0)
        add_release(arguments, state);
    return &arguments->releases[arguments->release_count - 1];
}

static void add_binary(struct translate_request *arguments, struct argp_state *state,
                       const char *path)
{
    if (arguments->binary_count > 0)
        add_release(arguments, state);
    release_of(arguments, state)->binary = path;
    if (!BAT_APPEND(arguments->binaries, arguments->binary_count, arguments->binary_capacity, path))
        argp_failure(state, TOOL_BAD, 0, "not enough memory");
    arguments->binary = arguments->binaries[0];
}

/* "fdata,yaml" is both, for several binaries. */
static enum translate_format parse_format(struct translate_request *arguments, const char *text,
                                          struct argp_state *state)
{
    arguments->also_yaml = strcmp(text, "fdata,yaml") == 0;
    if (arguments->also_yaml)
        return FORMAT_FDATA;
    for (enum translate_format i = 0; i < FORMATS; i++)
        if (strcmp(text, translate_formats[i].name) == 0)
            return i;
    argp_error(
        state,
        "--format: expected fdata, yaml, preagg, autofdo, profgen, csspgo, hybrid, perfscript, "
        "folded, pprof, speedscope, firefox or otlp, found \"%s\"",
        text);
    return FORMAT_FDATA;
}

/* Each of several binaries has its own output, and nothing is given for one of them alone. */
static error_t check_several(const struct translate_request *arguments, struct argp_state *state)
{
    if (arguments->all && arguments->binary)
        argp_error(state, "expected either --all or names of binaries, found \"%s\" too",
                   arguments->binary);
    if (!arguments->all && !arguments->binary)
        argp_error(state, "expected a BINARY or --all, found no argument");
    if (arguments->profile_count == 0)
        argp_error(state, "expected a profile (-p FILE), found none");
    if (arguments->yaml || arguments->symbols || arguments->note || arguments->original ||
        arguments->next || arguments->debug_file)
        argp_error(state,
                   "expected -w, --symbols, --note, --original, --for and --debug-file with one "
                   "BINARY and -o, found several binaries, --all, --output-dir or "
                   "--originals");
    if (arguments->output && (arguments->format != FORMAT_PREAGG || arguments->output_folder))
        argp_error(state, "expected --output-dir=DIR or BINARY=OUT for several binaries, found -o, "
                          "which is for --format=preagg alone");
    if (arguments->format == FORMAT_PERFSCRIPT || arguments->heatmap.path)
        argp_error(state, "expected %s with one BINARY, found several binaries",
                   arguments->heatmap.path ? "--heatmap" : "--format=perfscript and -o");
    if (arguments->wants_check)
        argp_error(state, "expected --check with one BINARY, found several binaries");
    if (arguments->output && arguments->originals)
        argp_error(state, "expected --output-dir with --originals, found -o");
    if (!arguments->output && !arguments->output_folder && arguments->all)
        argp_error(state, "expected --output-dir=DIR with --all, found none");
    return 0;
}

/* The most profiles to compare: each is compared with all others. */
#define MOST_COMPARED 1000u

static error_t check_compared(const struct translate_request *arguments, struct argp_state *state)
{
    if (arguments->binary_count > MOST_COMPARED)
        argp_error(state, "expected at most %u profiles to compare, found %zu", MOST_COMPARED,
                   arguments->binary_count);
    if (arguments->binary_count < 2)
        argp_error(state, "expected at least two profiles to compare, found %zu",
                   arguments->binary_count);
    if (arguments->profile_count != 0 || arguments->output || arguments->yaml ||
        arguments->output_folder || arguments->wants_check || arguments->heatmap.path)
        argp_error(state, "expected --compare with profiles as arguments, found -p, -o, -w, "
                          "--output-dir, --check or --heatmap, too");
    return 0;
}

static error_t check_common(const struct translate_request *arguments, struct argp_state *state)
{
    if (arguments->binary_count < 2 || !arguments->output)
        argp_error(state, "expected at least two profiles and -o FILE with --common, found %zu%s",
                   arguments->binary_count, arguments->output ? "" : " and no -o");
    if (arguments->profile_count != 0 || arguments->yaml || arguments->output_folder ||
        arguments->wants_check || arguments->heatmap.path || arguments->compares)
        argp_error(state, "expected --common with profiles as arguments, found -p, -w, "
                          "--output-dir, --check, --heatmap or --compare, too");
    return 0;
}

/* Options of --for. Each of several old builds has its own profile. */
static error_t check_next(const struct translate_request *arguments, struct argp_state *state)
{
    if ((arguments->format > FORMAT_YAML && arguments->format != FORMAT_AUTOFDO) ||
        arguments->parity || arguments->heatmap.path || arguments->show_density)
        argp_error(state,
                   "expected --for=FILE with -o or -w, and --format=fdata, yaml or autofdo, found "
                   "another format, --parity, --heatmap or --show-density");
    if (arguments->release_count == 1)
        return 0;
    if (arguments->wants_check)
        argp_error(state, "expected --check with one BINARY, found several for --for");
    if (arguments->once || arguments->keep_going)
        argp_error(state, "expected --once and --keep-going with one BINARY, found several for "
                          "--for");
    for (size_t i = 0; i < arguments->release_count; i++) {
        size_t end = i + 1 < arguments->release_count ? arguments->releases[i + 1].first_profile
                                                      : arguments->profile_count;
        if (arguments->releases[i].first_profile == end)
            argp_error(state, "expected -p FILE behind each BINARY, found none behind \"%s\"",
                       arguments->releases[i].binary);
    }
    return 0;
}

/* Without --format, a file that is named as YAML becomes YAML, unless -w has that already. */
static void choose_format(struct translate_request *arguments)
{
    const char *name = arguments->output ? strrchr(arguments->output, '.') : NULL;
    if (name && strcmp(name, ".yaml") == 0 && !arguments->has_format && !arguments->yaml &&
        !arguments->compares && !arguments->is_common)
        arguments->format = FORMAT_YAML;
}

static error_t check_explained(const struct translate_request *arguments, struct argp_state *state)
{
    if (arguments->profile_count != 0 || arguments->yaml || arguments->output_folder ||
        arguments->wants_check || arguments->heatmap.path || arguments->compares ||
        arguments->is_common || arguments->next)
        argp_error(state, "expected --explain-recording without another task, found -p, -w, "
                          "--output-dir, --check, --heatmap, --compare, --common or --for, too");
    return 0;
}

static error_t check_arguments(const struct translate_request *arguments, struct argp_state *state)
{
    if (arguments->recording)
        return check_explained(arguments, state);
    if (arguments->is_common)
        return check_common(arguments, state);
    if (arguments->compares)
        return check_compared(arguments, state);
    if (arguments->once &&
        (arguments->reading.process_count != 0 || arguments->reading.samples_max != 0))
        argp_error(state, "expected --once with whole recordings, found %s",
                   arguments->reading.process_count != 0 ? "--pid" : "--max-samples");
    if ((arguments->once || arguments->keep_going) && arguments->format == FORMAT_PERFSCRIPT)
        argp_error(state, "expected --once and --keep-going with profiles that are added up, found "
                          "--format=perfscript");
    if (several_is(arguments))
        return check_several(arguments, state);
    if (arguments->also_yaml)
        argp_error(state, "expected --format=fdata,yaml with --output-dir, found -o");
    if (!arguments->binary)
        argp_error(state, "expected the BOLTed BINARY, found no argument");
    if (arguments->profile_count == 0)
        argp_error(state, "expected a profile (-p FILE), found none");
    if (arguments->format == FORMAT_PERFSCRIPT && arguments->heatmap.path)
        argp_error(state, "expected --format=perfscript or --heatmap, found both");
    if ((arguments->format == FORMAT_CSSPGO || arguments->format == FORMAT_HYBRID) &&
        (arguments->heatmap.path || arguments->reading.basic_samples ||
         arguments->reading.by_perf_script || arguments->once || arguments->keep_going ||
         arguments->reading.samples_max != 0))
        argp_error(state,
                   "expected --format=csspgo and hybrid without --heatmap, -ba, --perf-script, "
                   "--itrace, --spe, --once, --keep-going and --max-samples, found one of "
                   "them");
    if (!arguments->output && !arguments->yaml && !arguments->heatmap.path &&
        !arguments->wants_check)
        argp_error(state, "expected an output file (-o FILE or -w FILE) or --check, found none");
    if (arguments->next)
        check_next(arguments, state);
    if (arguments->explain && !arguments->next)
        argp_error(state, "expected --explain with --for=FILE, found no --for");
    if (arguments->wants_check && arguments->format > FORMAT_YAML)
        argp_error(state, "expected --check with --format=fdata or yaml, found another format");
    if (arguments->output && arguments->yaml && strcmp(arguments->output, arguments->yaml) == 0)
        argp_error(state, "expected two different files for -o and -w, found \"%s\" twice",
                   arguments->output);
    if (arguments->yaml && arguments->format > FORMAT_YAML)
        argp_error(state,
                   "expected -o alone with --format=preagg, autofdo, profgen, csspgo, hybrid, "
                   "perfscript, folded, pprof, speedscope, firefox and otlp, which make no records "
                   "for BOLT, found -w too");
    if (arguments->format == FORMAT_PERFSCRIPT &&
        (arguments->profile_count > 1 || strcmp(arguments->profiles[0], "-") == 0))
        argp_error(state, "expected one file of perf.data for --format=perfscript, found %s",
                   arguments->profile_count > 1 ? "several profiles" : "standard input");
    return 0;
}

static double parse_overlap(const char *text, struct argp_state *state)
{
    char *end;
    double overlap = strtod(text, &end) / 100;
    if (text[0] < '0' || text[0] > '9' || (*end && strcmp(end, "%") != 0) || !(overlap <= 1))
        argp_error(state, "--min-overlap: expected a percentage from 0 to 100, found \"%s\"", text);
    return overlap;
}

/* Set what an option says of one of several old builds, too. */
static void set_release(struct translate_request *arguments, int key, const char *argument,
                        struct argp_state *state)
{
    if (key == SETS(TOOL_TEXT, symbols))
        release_of(arguments, state)->symbols = argument;
    else if (key == SETS(TOOL_TEXT, note))
        release_of(arguments, state)->note = argument;
    else if (key == SETS(TOOL_TEXT, original))
        release_of(arguments, state)->original = argument;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct translate_request *arguments = state->input;
    set_release(arguments, key, argument, state);
    key = key == 'o' ? SETS(TOOL_TEXT, output) : key == 'w' ? SETS(TOOL_TEXT, yaml) : key;
    if (tool_set_field(arguments, options, key, argument, state))
        return 0;
    switch (key) {
    case 'p':
        perf2bolt_add_profiles(arguments, state, argument);
        return 0;
    case KEY_MIN_OVERLAP:
        arguments->min_overlap = parse_overlap(argument, state);
        arguments->compares = true;
        return 0;
    case KEY_FORMAT:
        arguments->format = parse_format(arguments, argument, state);
        arguments->has_format = true;
        return 0;
    case KEY_PREAGGREGATED:
        tool_parse_bool("pa", argument, state);
        return 0;
    case KEY_REPORT:
        if (strcmp(argument, "text") != 0 && strcmp(argument, "json") != 0)
            argp_error(state, "--report: expected text or json, found \"%s\"", argument);
        arguments->json_report = argument[0] == 'j';
        return 0;
    case KEY_THREADS:
        arguments->reading.threads = tool_parse_threads(argument, state);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = arguments;
        return 0;
    case 'e':
    case ARGP_KEY_ARG:
        add_binary(arguments, state, argument);
        return 0;
    case ARGP_KEY_END:
        choose_format(arguments);
        return check_arguments(arguments, state);
    case KEY_CHECK_BASELINE:
        arguments->check.baseline_path = argument;
        break;
    case KEY_CHECK:
        break;
    default:
        if (!check_parse(key, argument, state, &arguments->check))
            return ARGP_ERR_UNKNOWN;
    }
    arguments->wants_check = true;
    return 0;
}

static const char brief[] =
    "Usage: battranslate BINARY -p PROFILE... -o OUT\n"
    "       battranslate BINARY -p PROFILE... --original=INPUT --for=NEXT -o OUT\n"
    "       battranslate BINARY[=OUT]... -p PROFILE... --output-dir=DIR\n"
    "       battranslate --compare PROFILE PROFILE...\n"
    "Translate a profile sampled on BINARY, which llvm-bolt wrote with --enable-bat,\n"
    "into a profile of the binary that llvm-bolt read, for its -data option.\n"
    "\n"
    "Files:\n"
    "  -p, --profile=PROFILE      perf.data, text of perf script, pre-aggregated or\n"
    "                             fdata; repeatable: all are added up\n"
    "  -o, --output=OUT           The profile for llvm-bolt; YAML if called .yaml\n"
    "      --original=INPUT       The binary that BOLT read: counts at its addresses\n"
    "      --for=NEXT             Carry the profile to another build of the program\n"
    "      --store=DIR            Where batinject --store put what BINARY lacks\n"
    "      --format=FORMAT        fdata, yaml, preagg, autofdo, profgen, csspgo,\n"
    "                             hybrid, perfscript, folded, pprof, speedscope,\n"
    "                             firefox, otlp\n"
    "      --heatmap=FILE         Write a heat map of BINARY's code\n"
    "\n"
    "What is printed:\n"
    "      --check                Whether the profile is fit; unfit: status 1, no OUT\n"
    "      --explain-recording=RECORDING\n"
    "                             What it holds, for which binaries, what to run next\n"
    "      --json                 The report as JSON\n"
    "  -q, --quiet                No report\n"
    "      --compare              How much profiles agree\n"
    "\n"
    "      --help-all             Print all options, also those of perf2bolt\n"
    "  -V, --version              Print the version\n"
    "\n"
    "Example: battranslate app.bolt -p perf.data --original=app -o app.fdata --check\n"
    "\n"
    "Exit status: 0 fine, 1 bad input, 2 wrong usage, 3 a profile was left out.\n";

/* True if name, up to its "=", is an option or the beginning of one. */
static bool is_option(const char *name)
{
    static const char *const of_argp[] = {"h",       "help",  "help-all", "usage",
                                          "version", "quiet", "color"};
    size_t length = strcspn(name, "=");
    if (length == 1 && strchr("powqeV?", name[0]))
        return true;
    for (size_t i = 0; i < sizeof(of_argp) / sizeof(of_argp[0]); i++)
        if (strncmp(name, of_argp[i], length) == 0)
            return true;
    const struct argp_option *const all[] = {options, perf2bolt_argp.options};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        for (const struct argp_option *option = all[i]; option->name || option->key || option->doc;
             option++)
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
    "-o x.fdata -w x.yaml\n\nExit status: 0 fine, 1 bad input, 2 wrong usage, 3 with --keep-going "
    "if a profile was "
    "left out. Output files are "
    "written completely or not at all.";

/* The heap's first part, which has large pages: enough for a program of clang's size. And what
 * makes a heap that was begun take it. */
#define LARGE_HEAP (192 << 20)
#define BEGUN_HEAP ((size_t)256 << 10)

/*
 * Let each step reuse the memory that another freed: all threads share one heap, which is not
 * returned to the system before the end. Otherwise page faults take a fifth of the time.
 */
static void keep_memory(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, LARGE_HEAP);
    char *first = malloc(BEGUN_HEAP);
    char *end = sbrk(0);
    if (first && first < end && end - first < 2 * LARGE_HEAP)
        bat_large(first, (size_t)(end - first));
    free(first);
    mallopt(M_TOP_PAD, 4 << 20);
}

/* True if a program of this name, or with a version behind it, was called: perf2bolt-22. */
static bool is_called(const char *path, const char *name)
{
    const char *called = basename(path);
    size_t length = strlen(name);
    return strncmp(called, name, length) == 0 && (called[length] == '\0' || called[length] == '-');
}

int main(int argc, char **argv)
{
    bool is_merge = argc > 0 && is_called(argv[0], "merge-fdata");
    bool is_perf2bolt = argc > 0 && is_called(argv[0], "perf2bolt");
    tool_begin(is_merge ? "merge-fdata" : is_perf2bolt ? "perf2bolt" : "battranslate");
    if (is_merge)
        return (int)merge_fdata_main(argc, argv);
    keep_memory();
    static const struct argp_child children[] = {{&perf2bolt_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        options,
        parse_option,
        "BINARY -p PROFILE... -o OUT\nBINARY -p PROFILE... BINARY -p PROFILE... --for=NEXT -o OUT\n"
        "BINARY[=OUT]... -p PROFILE... --output-dir=DIR\n"
        "--compare PROFILE PROFILE...\n--common PROFILE PROFILE... -o OUT",
        documentation,
        children,
        NULL,
        NULL};
    struct translate_request arguments = {.parity = is_perf2bolt,
                                          .reading = {.size = sizeof(arguments.reading)},
                                          .density_cutoff = 990000,
                                          .density_threshold = 60,
                                          .check = bat_verdict_options_new()};
    char **split = split_arguments(&argc, argv);
    if (!split)
        return (int)tool_no_memory(NULL);
    const char *unknown = find_unknown_option(argc, split);
    if (unknown) {
        tool_message(NULL,
                     "expected an option that battranslate has (--help lists them), found \"%s\"",
                     unknown);
        free(split);
        return TOOL_USAGE;
    }
    enum tool_exit status = TOOL_BAD;
    const bool is_parsed =
        tool_parse(&argp, brief, argc, split, ARGP_LONG_ONLY | ARGP_IN_ORDER, &arguments) &&
        tool_stores_add_environment(&arguments.stores);
    arguments.quiet = tool_is_quiet();
    arguments.row = &translate_formats[arguments.format];
    /* Here threads work on many small arrays: in one heap they would wait for each other. */
    if (arguments.next)
        mallopt(M_ARENA_MAX, BAT_PARALLEL_MAX);
    if (is_parsed)
        status = arguments.recording      ? explain_recording_run(&arguments)
                 : arguments.is_common    ? common_run(&arguments)
                 : arguments.compares     ? compare_run(&arguments)
                 : several_is(&arguments) ? several_run(&arguments)
                                          : translate_run(&arguments);
    perf2bolt_free(&arguments);
    bat_stores_free(&arguments.stores);
    BAT_FREE_ALL(arguments.binaries, arguments.releases, split);
    return (int)status;
}
