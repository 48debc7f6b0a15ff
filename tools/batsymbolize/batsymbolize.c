/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batsymbolize: functions and source lines for addresses and stacks of a BOLTed binary. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_symbolize.h"
#include "spec/hex_bytes.h"
#include "support/temporary.h"
#include "symbolize_input.h"
#include "tools/common/output.h"
#include "tools/common/tool.h"

static const char doc[] =
    "Print functions, inlined calls and source lines for addresses of a binary that BOLT wrote "
    "with --enable-bat, found through the binary that BOLT read; or of any other binary.\v"
    "Without ADDRESS, standard input is read. Addresses are answered as llvm-symbolizer does. In "
    "stacks as perf script, gdb, the sanitizers, glog, systemd-coredump and backtrace_symbols() "
    "print them, the frames are rewritten. Other lines are printed unchanged. Stacks are counted "
    "of these texts, and of profiles of pprof and OpenTelemetry.\n\n"
    "An option takes its value as in --output-style=GNU, -e FILE or -e=FILE; long options may "
    "begin with one hyphen, as llvm-symbolizer's. Under the name addr2line or llvm-addr2line it "
    "has that program's defaults. Options in the environment variable BATSYMBOLIZE_OPTS are read "
    "first.\n\n"
    "Exit status: 0 if all is well, 1 if a file is bad or has no debug information or an address "
    "is not in its code (with --lenient only if the given file cannot be read), 2 for wrong "
    "usage.";

enum option_key {
    KEY_FUNCTIONS = 0x100,
    KEY_NO_INLINES,
    KEY_INLINING,
    KEY_DEMANGLE,
    KEY_NO_DEMANGLE,
    KEY_STYLE,
    KEY_RELATIVE,
    KEY_ADJUST,
    KEY_FOLDED,
    KEY_FORMAT,
    KEY_IGNORED,
    KEY_THREADS,
    KEY_JSON,
};

struct arguments {
    struct bat_symbolize_options text;
    struct bat_symbolizer_options binary;
    struct bat_stores stores;
    const char **addresses;
    size_t address_count;
    const char *no_file; /* the first one, if it is no address; or NULL */
    bool lenient;
    const char *sample_type; /* of a profile */
    const char *output;      /* or NULL: standard output */
};

#define SETS(how, member) TOOL_KEY(how, struct arguments, member)

static const struct argp_option argp_options[] = {
    {NULL, 0, NULL, 0, "Files:", 1},
    {"obj", 'e', "BINARY", 0,
     "The binary that the addresses belong to (default: the first ADDRESS, if it is a file)", 1},
    {"exe", 'e', "FILE", OPTION_HIDDEN, NULL, 1},
    {"original", SETS(TOOL_TEXT, binary.original), "INPUT", 0, "The binary that BOLT read", 1},
    {"store", SETS(TOOL_STORES, stores), "DIR", 0,
     "Take what a shipped FILE lacks from the store DIR, by its build-id, as batinject --store put "
     "it there; may be given many times, also in BATKIT_STORE",
     1},
    {"debug-file", SETS(TOOL_TEXT, binary.debug_file), "FILE", 0,
     "A separate file with debug information, if it is not found by build-id or debuglink", 1},
    {"ignore-build-id", SETS(TOOL_FLAG, binary.ignore_build_id), NULL, 0,
     "Accept the original whatever its build-id", 1},
    {"output", 'o', "OUT", 0, "Write to OUT, not to standard output", 1},
    {NULL, 0, NULL, 0, "What is printed of an address:", 2},
    {"functions", KEY_FUNCTIONS, "none|short|linkage", OPTION_ARG_OPTIONAL,
     "Print functions' names: none, as debug information has them, or the linker's (default)", 2},
    {NULL, 'f', NULL, 0, "Print functions' names: --functions=linkage", 2},
    {"inlines", 'i', NULL, 0, "Print inlined calls too (default)", 2},
    {"inlining", KEY_INLINING, "true|false", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 2},
    {"no-inlines", KEY_NO_INLINES, NULL, 0, "Print only the innermost place", 2},
    {"demangle", KEY_DEMANGLE, "true|false", OPTION_ARG_OPTIONAL,
     "Print names as in the source (default)", 2},
    {NULL, 'C', NULL, 0, "The same: --demangle", 2},
    {"no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Print names as the linker has them", 2},
    {"pretty-print", 'p', NULL, 0, "Print function and place in one line", 2},
    {"addresses", 'a', NULL, 0, "Print the address first", 2},
    {"print-address", 'a', NULL, OPTION_HIDDEN, NULL, 2},
    {"output-style", KEY_STYLE, "LLVM|GNU|JSON", 0, "Print in this style", 2},
    {"json", KEY_JSON, NULL, 0, "The same: --output-style=JSON", 2},
    {"basenames", 's', NULL, 0, "Print files without their folders", 2},
    {"relativenames", KEY_RELATIVE, NULL, 0,
     "Print files as they were given to the compiler, without the folder that it ran in", 2},
    {"verbose", SETS(TOOL_FLAG, text.verbose), NULL, 0, "Print all that is known, a line each", 2},
    {NULL, 0, NULL, 0, "Addresses and stacks:", 3},
    {"adjust-vma", KEY_ADJUST, "OFFSET", 0, "Subtract OFFSET from each address in memory", 3},
    {"return-addresses", SETS(TOOL_FLAG, text.return_addresses), NULL, 0,
     "Addresses outside of stacks are return addresses: print the calls before them", 3},
    {"folded", KEY_FOLDED, NULL, 0,
     "Print each distinct stack in one line with its count, as input for flame graphs", 3},
    {"format", KEY_FORMAT, "VIEWER", 0,
     "Count the stacks, and write them for viewers: folded as --folded does, or with lines as "
     "pprof (profile.proto, gzip), speedscope (JSON), firefox (Firefox Profiler's JSON) or otlp "
     "(OpenTelemetry)",
     3},
    {"sample-type", SETS(TOOL_TEXT, sample_type), "TYPE", 0,
     "Of a profile of pprof or OpenTelemetry, count the values of TYPE (default: the first)", 3},
    {"command", SETS(TOOL_FLAG, text.with_command), NULL, 0,
     "With --folded or --format: let the command's name, from perf script's samples, be the "
     "outermost frame",
     3},
    {"lenient", SETS(TOOL_FLAG, lenient), NULL, 0,
     "As llvm-symbolizer, do not report addresses outside of code or missing debug information", 3},
    {"threads", KEY_THREADS, "N", 0,
     "Answer many addresses with at most N threads; 1: no others at all (default: one for each "
     "processor)",
     3},
    {"default-arch", KEY_IGNORED, "ARCH", OPTION_HIDDEN, NULL, 3},
    {"cache-size", KEY_IGNORED, "SIZE", OPTION_HIDDEN, NULL, 3},
    {"no-debuginfod", KEY_IGNORED, NULL, OPTION_HIDDEN, NULL, 3},
    {"untag-addresses", KEY_IGNORED, NULL, OPTION_HIDDEN, NULL, 3},
    {"no-untag-addresses", KEY_IGNORED, NULL, OPTION_HIDDEN, NULL, 3},
    {"relative-address", KEY_IGNORED, NULL, OPTION_HIDDEN, NULL, 3},
    {0},
};

static const char brief[] =
    "Usage: batsymbolize [OPTION...] BINARY ADDRESS...\n"
    "       batsymbolize [OPTION...] [-e BINARY] <STACKS\n"
    "Print functions, inlined calls and source lines for addresses of a binary that\n"
    "BOLT wrote with --enable-bat, or of any other. Stacks of perf script, gdb, the\n"
    "sanitizers and others on standard input are rewritten.\n"
    "\n"
    "Files:\n"
    "  -e, --obj=BINARY           The binary that the addresses belong to\n"
    "      --original=INPUT       The binary that BOLT read: it has the source lines\n"
    "      --store=DIR            Where batinject --store put what BINARY lacks\n"
    "  -o, --output=OUT           Write to OUT, not to standard output\n"
    "\n"
    "What is printed of an address:\n"
    "  -f, -i, -C                 Functions, inlined calls, demangled (all default)\n"
    "  -a, --addresses            The address first\n"
    "  -p, --pretty-print         Function and place in one line\n"
    "  -s, --basenames            Files without their folders\n"
    "      --json                 JSON\n"
    "\n"
    "Stacks:\n"
    "      --folded               Each stack in one line with its count\n"
    "      --format=VIEWER        Folded, pprof, speedscope, firefox or otlp\n"
    "\n"
    "      --help-all             Print all options\n"
    "  -V, --version              Print the version\n"
    "\n"
    "Examples: batsymbolize app.bolt 0x401136 --original=app\n"
    "          perf script | batsymbolize --format=pprof -o app.pb.gz\n"
    "\n"
    "Exit status: 0 fine, 1 bad file or address, 2 wrong usage.\n";

static bool parse_switch(const char *option, const char *value, struct argp_state *state)
{
    if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        argp_error(state, "--%s: expected true or false, found \"%s\"", option, value);
    return !value || strcmp(value, "true") == 0;
}

static error_t parse_print_option(int key, char *value, struct argp_state *state)
{
    static const char *const functions[] = {"none", "short", "linkage", NULL};
    static const char *const styles[] = {"LLVM", "GNU", "JSON", NULL};
    struct arguments *arguments = state->input;
    struct bat_symbolize_options *print = &arguments->text;
    switch (key) {
    case 'f':
        print->functions = BAT_FUNCTIONS_LINKAGE;
        return 0;
    case KEY_FUNCTIONS:
        print->functions = (enum bat_symbolize_functions)tool_parse_word(
            "functions", functions, "none, short or linkage", value ? value : "linkage", state);
        return 0;
    case KEY_INLINING:
        print->inlines = parse_switch("inlining", value, state);
        return 0;
    case KEY_NO_INLINES:
        print->inlines = false;
        return 0;
    case 'C':
    case KEY_DEMANGLE:
        print->demangle = parse_switch("demangle", value, state);
        return 0;
    case KEY_NO_DEMANGLE:
        print->demangle = false;
        return 0;
    case KEY_STYLE:
        print->style = (enum bat_symbolize_style)tool_parse_word("output-style", styles,
                                                                 "LLVM, GNU or JSON", value, state);
        return 0;
    case KEY_JSON:
        print->style = BAT_STYLE_JSON;
        return 0;
    case 's':
        print->paths = BAT_PATHS_BASENAMES;
        return 0;
    case KEY_RELATIVE:
        print->paths = BAT_PATHS_RELATIVE;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/*
 * Without -e, a first argument that is a file and no address is that file. One that is neither may
 * be a misspelt file: if addresses then lack their file, the message names it.
 */
static void take_file(struct arguments *arguments)
{
    struct stat status;
    uint64_t address;
    if (arguments->text.path || arguments->address_count == 0 ||
        bat_parse_address(arguments->addresses[0], &address))
        return;
    if (stat(arguments->addresses[0], &status) != 0 || !S_ISREG(status.st_mode)) {
        arguments->no_file = arguments->addresses[0];
        return;
    }
    arguments->text.path = arguments->addresses[0];
    arguments->address_count--;
    memmove(arguments->addresses, arguments->addresses + 1,
            arguments->address_count * sizeof(*arguments->addresses));
}

static error_t parse_input_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    char *end;
    switch (key) {
    case KEY_ADJUST:
        arguments->text.adjust = strtoull(value, &end, 0);
        if (value[0] < '0' || value[0] > '9' || *end)
            argp_error(state, "--adjust-vma: expected a number, found \"%s\"", value);
        return 0;
    case KEY_FOLDED:
        arguments->text.format = BAT_VIEWER_FOLDED;
        return 0;
    case KEY_FORMAT:
        arguments->text.format = bat_viewer_format_named(value);
        if (arguments->text.format == BAT_VIEWER_NONE)
            argp_error(
                state,
                "--format: expected folded, pprof, speedscope, firefox or otlp, found \"%s\"",
                value);
        return 0;
    case KEY_THREADS:
        arguments->text.threads = tool_parse_threads(value, state);
        arguments->binary.threads = arguments->text.threads;
        return 0;
    case KEY_IGNORED:
        return 0;
    case ARGP_KEY_ARG:
        arguments->addresses[arguments->address_count++] = value;
        return 0;
    case ARGP_KEY_END:
        take_file(arguments);
        if (arguments->binary.debug_file && !arguments->text.path)
            argp_error(state, "--debug-file: expected -e FILE too, found none");
        if (arguments->text.with_command && arguments->text.format == BAT_VIEWER_NONE)
            argp_error(state, "--command: expected --folded or --format too, found none");
        return 0;
    default:
        return parse_print_option(key, value, state);
    }
}

/* The key of the option with a letter that sets a member; other keys as they are. */
static int of_letter(int key)
{
    switch (key) {
    case 'e':
        return SETS(TOOL_TEXT, text.path);
    case 'o':
        return SETS(TOOL_TEXT, output);
    case 'i':
        return SETS(TOOL_FLAG, text.inlines);
    case 'p':
        return SETS(TOOL_FLAG, text.pretty);
    case 'a':
        return SETS(TOOL_FLAG, text.addresses);
    default:
        return key;
    }
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    return tool_set_field(arguments, argp_options, of_letter(key), value, state)
               ? 0
               : parse_input_option(key, value, state);
}

/* --- Running -------------------------------------------------------------------------------- */

/* The program that asks may wait for all answers before it asks again. */
static void before_waiting(void *context)
{
    bat_symbolize_answer(context);
}

/* Count the stacks of a profile, of which some bytes were read. */
static bool read_profile(struct bat_symbolize *text, const char *bytes, size_t size,
                         const char *sample_type)
{
    struct bat_error error;
    int copy;
    enum bat_code code = bat_temporary_copy(STDIN_FILENO, bytes, size, &copy, &error);
    if (code == BAT_OK) {
        code = bat_symbolize_profile(text, copy, sample_type, &error);
        close(copy);
    }
    return code == BAT_OK || tool_complain("standard input", &error);
}

static bool read_lines(struct bat_symbolize *text, struct text_lines *lines,
                       const struct output *output)
{
    struct text_line line;
    int error = 0;
    while (output->error == 0 && text_lines_next(lines, &line, &error)) {
        if (line.is_part)
            bat_symbolize_part(text, line.text, line.length, line.is_end);
        else
            bat_symbolize_line(text, line.text, line.length);
    }
    if (output->error != 0 || error == 0)
        return true;
    return tool_refuse("standard input", "%s", strerror(error));
}

static bool read_input(struct bat_symbolize *text, const struct arguments *arguments,
                       const struct output *output)
{
    struct text_lines *lines = text_lines_begin(STDIN_FILENO, before_waiting, text);
    if (!lines)
        return tool_refuse(NULL, "not enough memory");
    size_t size;
    const char *bytes = text_lines_first(lines, &size);
    if (size >= 8 && memcmp(bytes, "PERFILE2", 8) == 0) {
        text_lines_end(lines);
        return tool_refuse("standard input",
                           "expected text, found perf.data: give what perf script prints of it");
    }
    /* A text that is rewritten may have any bytes, but it is not packed. */
    const bool is_text = arguments->text.format == BAT_VIEWER_NONE && size != 0 && bytes[0] != 0x1f;
    const bool fine = !is_text && bat_symbolize_is_profile(bytes, size)
                          ? read_profile(text, bytes, size, arguments->sample_type)
                          : read_lines(text, lines, output);
    text_lines_end(lines);
    return fine;
}

/* Report which files have no source lines, and why. */
static bool check_debug(const struct bat_symbolize *text, const char *original)
{
    bool fine = true;
    const struct bat_symbolizer *symbolizer;
    const char *path;
    for (size_t i = 0; (path = bat_symbolize_file(text, i, &symbolizer, NULL)); i++) {
        const struct bat_error *reason = symbolizer ? bat_symbolizer_no_debug(symbolizer) : NULL;
        uint64_t read = 0;
        uint64_t missing = symbolizer ? bat_symbolizer_units_missing(symbolizer, &read) : 0;
        split_units_warn(i == 0 && original ? original : path, missing, read);
        if (!reason)
            continue;
        fine = false;
        if (bat_symbolizer_lacks_original(symbolizer))
            tool_message(path, "has no source lines, because BOLT removed them: expected the "
                               "binary that BOLT read (--original=FILE), found none");
        else
            tool_report(i == 0 && original ? original : path, reason);
    }
    return fine;
}

/* Report files that the text names and that cannot be read, then those whose debug information did
 * not fit into memory. */
static bool check_files(const struct bat_symbolize *text)
{
    bool fine = true;
    const struct bat_symbolizer *symbolizer;
    const char *path;
    struct bat_error error;
    if (bat_symbolize_findings(text).has_unreadable)
        for (size_t i = 0; (path = bat_symbolize_file(text, i, &symbolizer, &error)); i++)
            if (!symbolizer)
                tool_report(path, &error);
    for (size_t i = 0; (path = bat_symbolize_file(text, i, &symbolizer, NULL)); i++)
        if (symbolizer && bat_symbolizer_lacks_memory(symbolizer))
            fine = tool_refuse(path, "not enough memory to read debug information");
    return fine;
}

/* Report addresses without a file, and those outside of code. */
static bool check_addresses(const struct bat_symbolize *text, const struct arguments *arguments)
{
    const char *path = arguments->text.path;
    struct stat status;
    const struct bat_symbolize_findings found = bat_symbolize_findings(text);
    if (found.lacks_file && arguments->no_file)
        tool_message(arguments->no_file,
                     "expected the file that the addresses belong to, or -e FILE, found %s",
                     stat(arguments->no_file, &status) != 0 ? strerror(errno) : "no regular file");
    else if (found.lacks_file)
        tool_message(NULL, "expected the file that addresses without a file name belong to "
                           "(-e FILE), found none");
    if (found.outside == 1)
        tool_message(path, "address 0x%lx is outside of the file's code", found.first_outside);
    else if (found.outside != 0)
        tool_message(path, "%lu addresses are outside of the file's code, the first is 0x%lx",
                     found.outside, found.first_outside);
    return !found.lacks_file && !found.has_unreadable && found.outside == 0;
}

/* Answer the addresses on the command line, or a text. */
static enum tool_exit symbolize(const struct arguments *arguments, struct bat_symbolize *text,
                                const struct output *output)
{
    bool fine = true;
    struct bat_error error;
    if (arguments->address_count == 0)
        fine = read_input(text, arguments, output);
    for (size_t i = 0; i < arguments->address_count; i++)
        bat_symbolize_line(text, arguments->addresses[i], strlen(arguments->addresses[i]));
    /* Of what cannot be written, output_end() tells. */
    if (bat_symbolize_end(text, &error) != BAT_OK && output->error == 0)
        fine = tool_complain(NULL, &error);
    fine = check_files(text) && fine;
    if (!arguments->lenient) {
        fine = check_addresses(text, arguments) && fine;
        fine = check_debug(text, arguments->binary.original) && fine;
    }
    return fine ? TOOL_FINE : TOOL_BAD;
}

static void tell(const char *file, const char *sentence, void *context)
{
    (void)context;
    tool_message(file, "%s", sentence);
}

static enum tool_exit run(struct arguments *arguments)
{
    struct bat_symbolize *text;
    struct bat_error error;
    struct output *output =
        output_begin_path(arguments->output, (const char *[]){arguments->text.path, "-"}, 2);
    if (!output)
        return TOOL_BAD;
    tool_allow_files();
    arguments->text.binary = &arguments->binary;
    arguments->text.stores = &arguments->stores;
    arguments->text.tell = tell;
    arguments->text.is_list =
        arguments->text.style == BAT_STYLE_JSON && arguments->address_count != 0;
    output->is_report =
        bat_symbolize_begin(&arguments->text, output->text.output, &text, &error) == BAT_OK;
    enum tool_exit status = output->is_report ? symbolize(arguments, text, output)
                                              : tool_report(arguments->text.path, &error);
    status = output_end(output, status);
    bat_symbolize_free(text);
    return status;
}

int main(int argc, char **argv)
{
    /*
     * Let each step reuse the memory that another freed: all threads share one heap, which is not
     * returned to the system before the end. Otherwise page faults take a tenth of the time.
     */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    tool_begin("batsymbolize");
    bool as_addr2line = symbolize_is_addr2line(argv[0]);
    bool is_stand_in = symbolize_is_stand_in(argv[0]);
    struct symbolize_argv normal;
    enum tool_exit status = TOOL_BAD;
    if (!symbolize_argv_make(&normal, argc, argv))
        return (int)tool_no_memory(NULL);
    struct arguments arguments = {
        .text = {.size = sizeof(arguments.text),
                 .style = as_addr2line ? BAT_STYLE_GNU : BAT_STYLE_LLVM,
                 .functions = as_addr2line ? BAT_FUNCTIONS_NONE : BAT_FUNCTIONS_LINKAGE,
                 .inlines = !as_addr2line,
                 .demangle = !as_addr2line},
        .binary = {.size = sizeof(arguments.binary), .demangle = demangle_name},
        .lenient = is_stand_in,
        .addresses = calloc((size_t)normal.count, sizeof(*arguments.addresses)),
    };
    if (arguments.addresses) {
        static const struct argp argp = {
            argp_options, parse_option, "[BINARY] [ADDRESS...]", doc, NULL, NULL, NULL};
        bool is_parsed = tool_parse(&argp, brief, normal.count, normal.values, 0, &arguments);
        if (as_addr2line && !arguments.text.path)
            arguments.text.path = "a.out";
        if (is_parsed && tool_stores_add_environment(&arguments.stores))
            status = run(&arguments);
    } else {
        tool_no_memory(NULL);
    }
    free(arguments.addresses);
    bat_stores_free(&arguments.stores);
    symbolize_argv_free(&normal);
    return (int)status;
}
