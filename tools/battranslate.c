/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate: a profile of a BOLTed binary becomes a profile of its input binary. */
#include <argp.h>
#include <elf.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bat_binary.h"
#include "bat_original.h"
#include "bat_profile.h"
#include "compiler_profile.h"
#include "progress.h"
#include "separate_symbols.h"
#include "tool.h"
#include "translate_report.h"

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
};

/* What -o writes. */
enum output_format {
    FORMAT_FDATA,
    FORMAT_YAML,
    FORMAT_PREAGG,  /* what was sampled, as it is */
    FORMAT_AUTOFDO, /* what compilers read, of the input binary */
    FORMAT_PROFGEN,
};

struct arguments {
    const char *binary;
    const char **profiles;
    size_t profile_count;
    const char *output;
    const char *yaml;
    const char *symbols;
    const char *note;
    const char *debug_file;
    const char *original;
    unsigned threads;
    bool has_process;
    int32_t process; /* --pid */
    bool keep_interrupts;
    bool by_perf_script;
    bool arm_spe;
    const char *itrace;
    bool drop_memory;
    bool keep_unknown_data;
    enum output_format format;
    bool basic_samples;
    bool ignore_build_id;
    bool quiet;
    bool json_report;
};

/*
 * perf2bolt takes "-o=FILE" as well as "-o FILE", which getopt would read as a file "=FILE" or as
 * the start of a long option: such an argument is split in two. Returns the new arguments, to be
 * freed, or NULL.
 */
static char **split_arguments(int *argc, char **argv)
{
    char **split = calloc((size_t)*argc * 2 + 1, sizeof(*split));
    if (!split)
        return NULL;
    int count = 0;
    for (int i = 0; i < *argc; i++) {
        bool is_short = i > 0 && argv[i][0] == '-' && argv[i][1] && strchr("pow", argv[i][1]);
        if (!is_short || argv[i][2] != '=') {
            split[count++] = argv[i];
            continue;
        }
        static char options_alone[3][3] = {"-p", "-o", "-w"};
        split[count++] = options_alone[argv[i][1] == 'p' ? 0 : argv[i][1] == 'o' ? 1 : 2];
        split[count++] = argv[i] + 3;
    }
    *argc = count;
    return split;
}

static void add_profile(struct arguments *arguments, struct argp_state *state, const char *path)
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

/* What perf2bolt takes for true and false. Without a text it is true. */
static bool parse_bool(const char *name, const char *text, struct argp_state *state)
{
    bool is_true = !text || strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0;
    if (!is_true && strcmp(text, "0") != 0 && strcasecmp(text, "false") != 0)
        argp_error(state, "--%s: expected 0 or 1, found \"%s\"", name, text);
    return is_true;
}

static enum output_format parse_format(const char *text, struct argp_state *state)
{
    static const char *const formats[] = {
        [FORMAT_FDATA] = "fdata",     [FORMAT_YAML] = "yaml",       [FORMAT_PREAGG] = "preagg",
        [FORMAT_AUTOFDO] = "autofdo", [FORMAT_PROFGEN] = "profgen",
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(text, formats[i]) == 0)
            return (enum output_format)i;
    argp_error(state, "--format: expected fdata, yaml, preagg, autofdo or profgen, found \"%s\"",
               text);
    return FORMAT_FDATA;
}

static error_t parse_file_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
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

/* What concerns perf.data and what perf script prints. */
static error_t parse_perf_option(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
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

static error_t check_arguments(const struct arguments *arguments, struct argp_state *state)
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
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_FORMAT:
        arguments->format = parse_format(argument, state);
        return 0;
    case KEY_PREAGGREGATED:
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
     "run; - is standard "
     "input. May be given many times: all are added up",
     1},
    {"output", 'o', "FILE", 0, "Write the translated profile to FILE; - is standard output", 1},
    {"yaml", KEY_YAML, "FILE", 0, "Write it as YAML to FILE, too", 1},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "What -o writes: fdata (the default), yaml, preagg, autofdo, profgen. preagg is the samples "
     "added up and not translated, as pre-aggregated text: BINARY needs no note and no symbols "
     "then. autofdo is LLVM's sample "
     "profile for clang -fprofile-sample-use, profgen what llvm-profgen --unsymbolized-profile "
     "reads",
     1},
    {"profile-format", KEY_FORMAT, "FORMAT", 0, "The same, as perf2bolt calls it", 1},
    {"pa", KEY_PREAGGREGATED, NULL, 0, "Accepted for perf2bolt's sake: forms are recognised", 2},
    {"basic-events", KEY_SAMPLES, NULL, 0,
     "Translate basic samples (S records, or where perf.data has samples) and leave branches out; "
     "the default where a pre-aggregated profile has no branches",
     2},
    {"ba", KEY_SAMPLES, NULL, OPTION_ALIAS, NULL, 2},
    {"nl", KEY_SAMPLES, NULL, OPTION_ALIAS, NULL, 2},
    {"ps", KEY_PREAGGREGATED, NULL, OPTION_ALIAS, NULL, 2},
    {"pid", KEY_PID, "N", 0, "Of perf.data, use the samples of process N only", 2},
    {"ignore-interrupt-lbr", KEY_IGNORE_INTERRUPTS, "0|1", OPTION_ARG_OPTIONAL,
     "Of perf.data, leave out branches from and to the kernel (default: 1)", 2},
    {"parse-mem-profile", KEY_PARSE_MEMORY, "0|1", OPTION_ARG_OPTIONAL,
     "Use samples of loads from memory, if there are any (default: 1)", 2},
    {"filter-mem-profile", KEY_FILTER_MEMORY, "0|1", OPTION_ARG_OPTIONAL,
     "Leave out loads from what is no data of BINARY, like stack and heap (default: 1)", 2},
    {"perf-script", KEY_PERF_SCRIPT, NULL, 0,
     "Let perf script read perf.data, and read what it prints", 2},
    {"itrace", KEY_ITRACE, "OPTIONS", 0,
     "The same, branch stacks being made of trace data by perf script --itrace=OPTIONS", 2},
    {"spe", KEY_SPE, "0|1", OPTION_ARG_OPTIONAL,
     "The same for trace data of Arm's SPE (perf 6.14 or later)", 2},
    {"symbols", KEY_SYMBOLS, "FILE", 0,
     "Take symbols from FILE, an unstripped copy of BINARY with the same build-id", 3},
    {"note", KEY_NOTE, "FILE", 0,
     "Take the BAT note from FILE, as batinject --extract wrote it, not from BINARY", 3},
    {"original", KEY_ORIGINAL, "FILE", 0,
     "The input binary that llvm-bolt made BINARY of: local functions are called what they are "
     "called there, and preagg has its addresses",
     3},
    {"debug-file", KEY_DEBUG_FILE, "FILE", 0,
     "For autofdo: take DWARF from FILE, not from the program or where its build-id or "
     ".gnu_debuglink leads",
     3},
    {"ignore-build-id", KEY_IGNORE_BUILD_ID, NULL, 0,
     "Take every build-id in a profile, and those of --symbols and --original, for the right one",
     3},
    {"threads", KEY_THREADS, "N", 0, "Read large profiles with N threads (default: all there are)",
     4},
    {"report", KEY_REPORT, "text|json", 0, "How to report at the end (default: text)", 4},
    {NULL, 'q', NULL, 0, "Print no report", 4},
    {0},
};

static const char documentation[] =
    "Translate a profile sampled on BINARY, which llvm-bolt wrote with --enable-bat, into a "
    "profile of the binary that llvm-bolt read, for its -data option."
    "\vOptions may be spelled with one dash, as perf2bolt's: battranslate BINARY -p x.preagg -pa "
    "-o x.fdata -w x.yaml\n\nExit status: 0 fine, 1 bad input, 2 wrong usage. Output files are "
    "written completely or not at all.";

/* --- Work --------------------------------------------------------------------------------- */

/* All that is open while a profile is translated. */
struct work {
    const struct arguments *arguments;
    struct bat_binary binary;
    struct bat_elf *symbols;          /* NULL: the binary's own */
    struct bat_elf *original_symbols; /* NULL: the input binary's own */
    struct bat_original *original;    /* NULL: none was given */
    struct bat_profile *profile;
    struct bat_records *records;
    struct bat_error error;
};

static enum tool_exit fail(struct work *work, const char *file)
{
    tool_report(file, &work->error);
    return TOOL_BAD;
}

/* The binary without its note, and the note from a file of its own. */
static enum tool_exit open_with_note(struct work *work)
{
    const char *path = work->arguments->note;
    struct bat_elf *elf;
    if (bat_elf_open(work->arguments->binary, &elf, &work->error) != BAT_OK)
        return fail(work, work->arguments->binary);
    enum bat_code code = bat_binary_find_note(path, &work->binary, &work->error);
    if (code == BAT_OK && work->binary.elf)
        code = bat_fail(&work->error, BAT_ERR_MISMATCH,
                        "expected a BAT note alone (see batinject --extract), found an ELF file");
    bat_elf_close(work->binary.elf);
    work->binary.elf = elf;
    return code == BAT_OK ? TOOL_FINE : fail(work, path);
}

static enum tool_exit open_binary(struct work *work)
{
    const char *path = work->arguments->binary;
    if (work->arguments->note)
        return open_with_note(work);
    enum bat_code code = bat_binary_find_note(path, &work->binary, &work->error);
    if (code == BAT_OK && !work->binary.elf)
        code = bat_fail(&work->error, BAT_ERR_MISMATCH,
                        "expected an ELF file (a BAT note goes with --note), found a BAT note");
    return code == BAT_OK ? TOOL_FINE : fail(work, path);
}

static enum tool_exit open_symbols(struct work *work)
{
    const char *path = work->arguments->symbols;
    if (!path)
        return TOOL_FINE;
    if (bat_elf_open(path, &work->symbols, &work->error) != BAT_OK)
        return fail(work, path);
    size_t own_size;
    size_t size;
    const uint8_t *own = bat_elf_build_id(work->binary.elf, &own_size);
    const uint8_t *id = bat_elf_build_id(work->symbols, &size);
    if (work->arguments->ignore_build_id ||
        (id && own && size == own_size && memcmp(id, own, size) == 0))
        return TOOL_FINE;
    char own_text[64];
    char text[64];
    report_build_id(work->binary.elf, own_text, sizeof(own_text));
    report_build_id(work->symbols, text, sizeof(text));
    tool_complain(path,
                  "expected the build-id of %s, %s, found %s (--ignore-build-id takes it all the "
                  "same)",
                  work->arguments->binary, own_text, text);
    return TOOL_BAD;
}

/* The input binary, if there is one; it is paired by the BOLTed one's symbols and tables. */
static enum tool_exit open_original(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    if (!arguments->original)
        return TOOL_FINE;
    if (!work->binary.map && bat_binary_decode(&work->binary, &work->error) != BAT_OK)
        return fail(work, arguments->note ? arguments->note : arguments->binary);
    work->original_symbols = separate_symbols_open(arguments->original, arguments->debug_file);
    const struct bat_original_options original_options = {.output_symbols = work->symbols,
                                                          .input_symbols = work->original_symbols,
                                                          .ignore_build_id =
                                                              arguments->ignore_build_id};
    if (bat_original_open(arguments->original, &work->binary, &original_options, &work->original,
                          &work->error) != BAT_OK)
        return fail(work, arguments->original);
    return TOOL_FINE;
}

static enum tool_exit check_symbols(struct work *work)
{
    struct bat_elf *elf = work->symbols ? work->symbols : work->binary.elf;
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    const char *path = work->symbols ? work->arguments->symbols : work->arguments->binary;
    for (size_t i = 0; i < count; i++)
        if (sections[i].type == SHT_SYMTAB && sections[i].size != 0)
            return TOOL_FINE;
    tool_complain(path, "expected a symbol table, found a stripped file: give an unstripped copy "
                        "with --symbols=FILE");
    return TOOL_BAD;
}

static enum tool_exit read_profiles(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    size_t size;
    struct bat_profile_target target = {.ignore_build_id = arguments->ignore_build_id};
    target.build_id = bat_elf_build_id(work->binary.elf, &size);
    target.build_id_size = size;
    target.elf = work->binary.elf;
    const uint8_t *note;
    target.is_bolted = work->binary.note != NULL ||
                       bat_elf_note(work->binary.elf, &note, &size, NULL, NULL) == BAT_OK;
    target.base_address =
        report_is_relocatable(work->binary.elf) ? bat_elf_base_address(work->binary.elf) : 0;
    work->profile = bat_profile_new(&target);
    if (!work->profile) {
        tool_complain(NULL, "not enough memory");
        return TOOL_BAD;
    }
    if (arguments->format == FORMAT_FDATA || arguments->format == FORMAT_YAML)
        bat_profile_prepare(work->profile, &work->binary, work->symbols);
    struct progress progress;
    progress_begin(&progress, arguments->profiles, arguments->profile_count, arguments->quiet);
    enum tool_exit status = TOOL_FINE;
    for (size_t i = 0; i < arguments->profile_count && status == TOOL_FINE; i++) {
        struct bat_read_options read_options = {.threads = arguments->threads,
                                                .basic_samples = arguments->basic_samples,
                                                .keep_kernel_branches = arguments->keep_interrupts,
                                                .has_process = arguments->has_process,
                                                .process = arguments->process,
                                                .by_perf_script = arguments->by_perf_script,
                                                .itrace = arguments->itrace,
                                                .arm_spe = arguments->arm_spe,
                                                .progress = progress_update,
                                                .progress_context = &progress};
        progress_file(&progress, arguments->profiles[i]);
        if (bat_profile_read(work->profile, arguments->profiles[i], &read_options, &work->error) !=
            BAT_OK) {
            progress_end(&progress);
            status = fail(work, arguments->profiles[i]);
        }
    }
    progress_end(&progress);
    bat_profile_keep_unknown_data(work->profile, arguments->keep_unknown_data);
    if (arguments->drop_memory)
        bat_profile_drop_memory(work->profile);
    return status;
}

static enum tool_exit translate(struct work *work)
{
    enum bat_profile_kind kind =
        work->arguments->basic_samples ? BAT_PROFILE_SAMPLES : bat_profile_main_kind(work->profile);
    if (bat_profile_translate(work->profile, &work->binary, work->symbols, work->original, kind,
                              &work->records, &work->error) != BAT_OK)
        return fail(work, work->error.place == BAT_PLACE_SECTION && work->arguments->note
                              ? work->arguments->note
                              : work->arguments->binary);
    return report_check(work->arguments->binary, work->binary.elf, work->profile, work->records);
}

/* A file to write. Two are written at the same time, by a thread each. */
struct output {
    const struct bat_records *records;
    const char *path;
    bool is_yaml;
    enum bat_code code;
    struct bat_error error;
};

static void *write_file(void *context)
{
    struct output *output = context;
    output->code = output->is_yaml
                       ? bat_records_write_yaml(output->records, output->path, &output->error)
                       : bat_records_write_fdata(output->records, output->path, &output->error);
    return NULL;
}

/* Remove a file that was written; what is no file ("-", a device) stays. */
static void remove_file(const char *path)
{
    struct stat status;
    char *real = strcmp(path, "-") == 0 ? NULL : realpath(path, NULL);
    if (real && stat(real, &status) == 0 && S_ISREG(status.st_mode))
        unlink(real);
    free(real);
}

/* Both files or none: where one fails, the other does not stay alone. */
static enum tool_exit write_output(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    struct output outputs[2];
    size_t count = 0;
    if (arguments->yaml)
        outputs[count++] =
            (struct output){.records = work->records, .path = arguments->yaml, .is_yaml = true};
    if (arguments->output)
        outputs[count++] = (struct output){.records = work->records,
                                           .path = arguments->output,
                                           .is_yaml = arguments->format == FORMAT_YAML};
    pthread_t thread;
    bool is_started = count == 2 && pthread_create(&thread, NULL, write_file, &outputs[0]) == 0;
    for (size_t i = is_started ? 1 : 0; i < count; i++)
        write_file(&outputs[i]);
    if (is_started)
        pthread_join(thread, NULL);
    enum tool_exit status = TOOL_FINE;
    for (size_t i = 0; i < count; i++) {
        if (outputs[i].code == BAT_OK)
            continue;
        tool_report(outputs[i].path, &outputs[i].error);
        status = TOOL_BAD;
    }
    for (size_t i = 0; i < count && status != TOOL_FINE; i++)
        if (outputs[i].code == BAT_OK)
            remove_file(outputs[i].path);
    return status;
}

/* Where the report goes: not between the bytes of an output. */
static FILE *report_file(const struct arguments *arguments)
{
    bool output_taken = (arguments->output && strcmp(arguments->output, "-") == 0) ||
                        (arguments->yaml && strcmp(arguments->yaml, "-") == 0);
    return output_taken ? stderr : stdout;
}

/* The samples as they are, for which the binary is only asked where it lies and who it is. */
static enum tool_exit run_preagg(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    if (bat_elf_open(arguments->binary, &work->binary.elf, &work->error) != BAT_OK)
        return fail(work, arguments->binary);
    enum tool_exit status = read_profiles(work);
    if (status == TOOL_FINE)
        status = report_check_samples(arguments->binary, work->profile);
    if (status != TOOL_FINE)
        return status;
    if (bat_profile_write_preagg(work->profile, arguments->output, &work->error) != BAT_OK)
        return fail(work, arguments->output);
    if (!arguments->quiet)
        report_print(report_file(arguments), arguments->json_report, work->profile, NULL);
    return TOOL_FINE;
}

static enum tool_exit open_all(struct work *work)
{
    enum tool_exit status = open_binary(work);
    if (status == TOOL_FINE)
        status = open_symbols(work);
    if (status == TOOL_FINE)
        status = check_symbols(work);
    return status == TOOL_FINE ? open_original(work) : status;
}

/* What would have been sampled if the input binary had run; to be freed. */
static enum tool_exit move_profile(struct work *work, struct bat_profile **input,
                                   struct bat_to_input_counters *counters)
{
    const struct arguments *arguments = work->arguments;
    if (bat_profile_to_input(work->profile, &work->binary, work->original, input, counters,
                             &work->error) != BAT_OK)
        return fail(work, arguments->binary);
    enum tool_exit status = report_check_moved(arguments->binary, work->profile, counters);
    if (status == TOOL_FINE)
        return TOOL_FINE;
    bat_profile_free(*input);
    *input = NULL;
    return status;
}

static enum tool_exit run_preagg_original(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    enum tool_exit status = open_all(work);
    if (status == TOOL_FINE)
        status = read_profiles(work);
    struct bat_profile *input = NULL;
    struct bat_to_input_counters counters;
    if (status == TOOL_FINE)
        status = move_profile(work, &input, &counters);
    if (status == TOOL_FINE &&
        bat_profile_write_preagg(input, arguments->output, &work->error) != BAT_OK)
        status = fail(work, arguments->output);
    bat_profile_free(input);
    if (status == TOOL_FINE && !arguments->quiet)
        report_moved(report_file(arguments), arguments->json_report, work->original, &counters);
    return status;
}

/* A binary that BOLT has not written: its profile is what compilers want as it is. */
static enum tool_exit open_unbolted(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    if (bat_elf_open(arguments->binary, &work->binary.elf, &work->error) != BAT_OK)
        return fail(work, arguments->binary);
    const uint8_t *note;
    size_t size;
    if (bat_elf_note(work->binary.elf, &note, &size, NULL, NULL) != BAT_OK)
        return TOOL_FINE;
    tool_complain(arguments->binary,
                  "expected a binary that BOLT has not written, or --original=FILE with the one "
                  "that it read, found one with a BAT note");
    return TOOL_BAD;
}

/* Profiles for compilers, which know nothing of BOLT: they are of the input binary. */
static enum tool_exit run_compiler(struct work *work)
{
    const struct arguments *arguments = work->arguments;
    struct bat_profile *input = NULL;
    struct bat_to_input_counters counters;
    enum tool_exit status = arguments->original ? open_all(work) : open_unbolted(work);
    if (status == TOOL_FINE)
        status = read_profiles(work);
    if (status == TOOL_FINE && arguments->original)
        status = move_profile(work, &input, &counters);
    if (status != TOOL_FINE)
        return status;
    struct compiler_profile wanted = {.profile = input ? input : work->profile,
                                      .elf = input ? bat_original_elf(work->original)
                                                   : work->binary.elf,
                                      .debug_file = arguments->debug_file,
                                      .output = arguments->output,
                                      .by_addresses = arguments->format == FORMAT_PROFGEN,
                                      .report = arguments->quiet ? NULL : report_file(arguments),
                                      .json_report = arguments->json_report};
    wanted.kind =
        arguments->basic_samples ? BAT_PROFILE_SAMPLES : bat_profile_main_kind(wanted.profile);
    status = compiler_profile_write(&wanted);
    bat_profile_free(input);
    return status;
}

static enum tool_exit run(struct work *work)
{
    if (work->arguments->format == FORMAT_PREAGG)
        return work->arguments->original ? run_preagg_original(work) : run_preagg(work);
    if (work->arguments->format == FORMAT_AUTOFDO || work->arguments->format == FORMAT_PROFGEN)
        return run_compiler(work);
    enum tool_exit status = open_all(work);
    if (status == TOOL_FINE)
        status = read_profiles(work);
    if (status == TOOL_FINE)
        status = translate(work);
    if (status == TOOL_FINE)
        status = write_output(work);
    if (status == TOOL_FINE && !work->arguments->quiet)
        report_print(report_file(work->arguments), work->arguments->json_report, work->profile,
                     work->records);
    return status;
}

/*
 * Memory that one step gives back serves the next: all threads share one heap, which is not given
 * back to the system before the end. Else a fifth of the time goes into page faults.
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
    struct arguments arguments = {0};
    char **split = split_arguments(&argc, argv);
    if (!split) {
        tool_complain(NULL, "not enough memory");
        return TOOL_BAD;
    }
    argp_parse(&argp, argc, split, ARGP_LONG_ONLY, NULL, &arguments);

    struct work work = {.arguments = &arguments};
    enum tool_exit status = run(&work);
    bat_records_free(work.records);
    bat_profile_free(work.profile);
    bat_original_close(work.original);
    bat_elf_close(work.original_symbols);
    bat_elf_close(work.symbols);
    bat_binary_close(&work.binary);
    free(arguments.profiles);
    free(split);
    return (int)tool_end(status);
}
