/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batdump: show the BAT note of a BOLTed binary. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "bat_binary.h"
#include "binary/compare/comparison.h"
#include "binary/note_text.h"
#include "spec/array.h"
#include "spec/hex_bytes.h"
#include "tools/common/output.h"
#include "tools/common/tool.h"

static const char doc[] =
    "Show the BAT note of a binary that BOLT wrote with --enable-bat: a summary, or the parts that "
    "the options select.\v"
    "FILE is an ELF file or a raw note (the content of section .note.bolt_bat), recognised by its "
    "first bytes; - reads a raw note from standard input.\n\n"
    "A raw note and a stripped file have no symbols: then --function takes addresses only, and "
    "--translate prints the function's address in place of its name.\n\n"
    "Exit status: 0 if all is well, 1 if the file is bad or does not have what was asked for, 2 "
    "for wrong usage. With --compare, as diff: 0 if nothing differs, 1 if something does, 2 for "
    "bad files and wrong usage.";

enum option_key {
    OPTION_FUNCTION = 1000,
    OPTION_TRANSLATE,
    OPTION_TO_INPUT,
    OPTION_TO_OUTPUT,
    OPTION_LIMIT,
};

/* Functions in each list of --compare. */
#define USUAL_LIMIT 10u

struct options {
    const char *path;
    const char *new_path; /* of --compare */
    bool compare;
    bool has_limit;
    uint32_t limit;
    struct bat_stores stores;
    bool dump_all;
    bool json;
    bool probes;
    bool list_functions;
    const char *output;
    const char **functions;
    size_t function_count;
    struct note_address *addresses;
    size_t address_count;
    struct original_queries queries;
};

#define SETS(how, member) TOOL_KEY(how, struct options, member)

static const struct argp_option argp_options[] = {
    {NULL, 0, NULL, 0, "What is printed (default: a summary):", 1},
    {"function", OPTION_FUNCTION, "FUNCTION", 0,
     "Print only the tables of this function, by its name or 0xADDR, and of its fragments, with "
     "their names; repeatable",
     1},
    {"translate", OPTION_TRANSLATE, "0xADDR[:1]", 0,
     "Translate an output address to a function and an input offset; :1 if it is the source of a "
     "branch; repeatable",
     1},
    {"dump-all", SETS(TOOL_BOOL, dump_all), "0|1", OPTION_ARG_OPTIONAL,
     "Print every table in the text of llvm-bat-dump", 1},
    {"json", SETS(TOOL_FLAG, json), NULL, 0, "Print JSON; all tables, or those of --function", 1},
    {"list-functions", SETS(TOOL_FLAG, list_functions), NULL, 0,
     "Print the names of the functions in the note, as --function takes them", 1},
    {NULL, 0, NULL, 0, "With the binary that BOLT read:", 2},
    {"original", SETS(TOOL_TEXT, queries.path), "INPUT", 0,
     "The input binary, which BOLT read, for --to-input, --to-output and --probes", 2},
    {"to-input", OPTION_TO_INPUT, "0xADDR[:1]", 0,
     "Print where an address of FILE was in the input binary; :1 if it is the source of a branch; "
     "repeatable",
     2},
    {"to-output", OPTION_TO_OUTPUT, "NAME+0xOFF|0xADDR", 0,
     "Print where an instruction of the input binary is in FILE: in several places if BOLT copied "
     "it; repeatable",
     2},
    {"probes", SETS(TOOL_FLAG, probes), NULL, 0,
     "Print the pseudo probes of FILE, which needs no note, as llvm-profgen --show-pseudo-probe "
     "does; with a note, or --original, also where they were in the input",
     2},
    {NULL, 0, NULL, 0, "Two binaries:", 3},
    {"compare", SETS(TOOL_FLAG, compare), NULL, 0,
     "Print what differs between OLD and NEW, two binaries that BOLT wrote", 3},
    {"limit", OPTION_LIMIT, "N", 0,
     "With --compare: functions in each list (default: 10; 0: all, which is --json's default)", 3},
    {NULL, 0, NULL, 0, "Files:", 4},
    {"obj", 'e', "ELF", 0, "The same as FILE without -e", 4},
    {"output", 'o', "OUT", 0, "Write to OUT, not to standard output", 4},
    {"store", SETS(TOOL_STORES, stores), "DIR", 0,
     "Take what a shipped FILE lacks from the store DIR, by its build-id, as batinject --store put "
     "it there; may be given many times, also in BATKIT_STORE",
     4},
    {0},
};

static const char brief[] =
    "Usage: batdump [OPTION...] FILE\n"
    "       batdump --compare [OPTION...] OLD NEW\n"
    "Show the BAT note of a binary that BOLT wrote with --enable-bat.\n"
    "\n"
    "What is printed (default: a summary):\n"
    "      --function=FUNCTION    The tables of a function, by name or 0xADDR\n"
    "      --translate=0xADDR[:1] The function and input offset of an address; :1 if\n"
    "                             it is the source of a branch\n"
    "      --dump-all             Every table, as llvm-bat-dump prints it\n"
    "      --json                 The tables as JSON\n"
    "      --list-functions       The names of the functions in the note\n"
    "      --compare              What differs between two BOLTed binaries\n"
    "\n"
    "With the binary that BOLT read:\n"
    "      --original=INPUT       That binary\n"
    "      --to-input=0xADDR[:1]  Where an address of FILE was in INPUT\n"
    "      --to-output=NAME+0xOFF|0xADDR\n"
    "                             Where an instruction of INPUT is in FILE\n"
    "\n"
    "Files:\n"
    "  -o, --output=OUT           Write to OUT, not to standard output\n"
    "      --store=DIR            Where batinject --store put what FILE lacks\n"
    "\n"
    "      --help-all             Print all options\n"
    "  -V, --version              Print the version\n"
    "\n"
    "Example: batdump app.bolt --function=main\n"
    "\n"
    "Exit status: 0 fine, 1 bad file, 2 wrong usage; --compare: as diff's.\n";

/* "0xADDR" or "0xADDR:0" or "0xADDR:1". */
static bool parse_translate(const char *text, struct note_address *address)
{
    char digits[32];
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length >= sizeof(digits))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    address->is_branch_source = colon && strcmp(colon, ":1") == 0;
    if (colon && !address->is_branch_source && strcmp(colon, ":0") != 0)
        return false;
    return bat_parse_address(digits, &address->address);
}

static bool has_original_queries(const struct options *options)
{
    return options->queries.to_input_count != 0 || options->queries.to_output_count != 0;
}

/* True if something is asked for, other than --list-functions. */
static bool has_other_queries(const struct options *options)
{
    return has_original_queries(options) || options->json || options->dump_all ||
           options->function_count != 0 || options->address_count != 0 || options->compare ||
           options->probes;
}

static void check_original(const struct options *options, struct argp_state *state)
{
    bool has_queries = has_original_queries(options);
    if (has_queries && !options->queries.path)
        argp_error(state, "expected --original=FILE, the binary that BOLT read, with --to-input "
                          "and --to-output");
    if (!has_queries && !options->probes && options->queries.path)
        argp_error(state, "expected --to-input, --to-output or --probes with --original");
    if (has_queries && (options->probes || options->json || options->dump_all ||
                        options->function_count != 0 || options->address_count != 0))
        argp_error(state, "--to-input and --to-output cannot be combined with other queries");
    if (options->probes && (options->json || options->dump_all || options->function_count != 0 ||
                            options->address_count != 0))
        argp_error(state, "--probes can be combined with --original and --store alone");
}

static void parse_limit(struct options *options, const char *text, struct argp_state *state)
{
    char *end;
    unsigned long limit = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || limit > UINT32_MAX)
        argp_error(state, "--limit: expected a number below 2^32, found \"%s\"", text);
    options->has_limit = true;
    options->limit = (uint32_t)limit;
}

static void check_compare(const struct options *options, struct argp_state *state)
{
    if (options->compare && !options->new_path)
        argp_error(state, "expected two files, OLD and NEW, with --compare");
    if (!options->compare && options->new_path)
        argp_error(state, "expected one FILE, found \"%s\" and \"%s\"", options->path,
                   options->new_path);
    if (!options->compare && options->has_limit)
        argp_error(state, "expected --compare with --limit");
    if (options->compare && (options->probes || options->dump_all || options->function_count != 0 ||
                             options->address_count != 0 || options->queries.path))
        argp_error(state, "--compare can be combined with --json and --limit alone");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    key = key == 'o' ? SETS(TOOL_TEXT, output) : key;
    if (tool_set_field(options, argp_options, key, argument, state))
        return 0;
    switch (key) {
    case OPTION_FUNCTION:
        options->functions[options->function_count++] = argument;
        return 0;
    case OPTION_TO_OUTPUT:
        options->queries.to_output[options->queries.to_output_count++] = argument;
        return 0;
    case OPTION_LIMIT:
        parse_limit(options, argument, state);
        return 0;
    case OPTION_TRANSLATE:
        if (!parse_translate(argument, &options->addresses[options->address_count++]))
            argp_error(state, "expected --translate=0xADDR or 0xADDR:1, found \"%s\"", argument);
        return 0;
    case OPTION_TO_INPUT:
        if (!parse_translate(argument,
                             &options->queries.to_input[options->queries.to_input_count++]))
            argp_error(state, "expected --to-input=0xADDR or 0xADDR:1, found \"%s\"", argument);
        return 0;
    case 'e':
    case ARGP_KEY_ARG:
        if (options->new_path)
            argp_error(state, "expected at most two files, found \"%s\" too", argument);
        *(options->path ? &options->new_path : &options->path) = argument;
        return 0;
    case ARGP_KEY_END:
        if (!options->path)
            argp_error(state, "expected a FILE");
        if (options->json && (options->dump_all || options->address_count != 0))
            argp_error(state, "--json cannot be combined with --dump-all or --translate");
        if (options->list_functions && has_other_queries(options))
            argp_error(state, "--list-functions cannot be combined with other queries");
        check_original(options, state);
        check_compare(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Print the selected tables as JSON. */
static bool print_json(struct output *output, const struct options *options,
                       struct bat_binary *binary, const struct note_selection *selection)
{
    struct bat_error error;
    /* Of what cannot be written, output_end() tells. */
    return bat_binary_write_json(binary, selection->chosen, output->text.output, &error) ==
               BAT_OK ||
           output->error != 0 || tool_complain(options->path, &error);
}

/* Print the name of each function that has one, a line each. */
static bool print_names(struct output *output, const struct options *options,
                        struct bat_binary *binary)
{
    struct bat_error error;
    const char **names = NULL;
    if (bat_binary_table_names(binary, &names, &error) != BAT_OK)
        return tool_complain(options->path, &error);
    for (uint32_t i = 0; i < binary->map->hot_count; i++)
        if (names[i])
            bat_text_name(&output->text, "", names[i], "\n");
    free(names);
    return true;
}

static bool print_text(struct output *output, const struct options *options,
                       const struct bat_binary *binary, const struct note_selection *selection,
                       const struct bat_names *names)
{
    struct bat_error error;
    bool tables = options->dump_all || options->function_count != 0;
    if (!tables && options->address_count == 0)
        return note_summary(&output->text, options->path, binary, &error) == BAT_OK ||
               tool_complain(options->path, &error);
    note_text_parsed(&output->text, binary->map);
    if (tables)
        note_text_tables(&output->text, binary->map, selection,
                         options->function_count ? names : NULL);
    if (options->address_count != 0)
        note_text_translations(&output->text, binary, names, options->addresses,
                               options->address_count);
    return true;
}

/* Select the functions that were asked for. False, with a message for each that is not there. */
static bool select_functions(const struct options *options, const struct bat_binary *binary,
                             const struct bat_names *names, struct note_selection *selection)
{
    struct bat_error error;
    if (note_selection_none(binary->map, selection, &error) != BAT_OK)
        return tool_complain(options->path, &error);
    bool found = true;
    for (size_t i = 0; i < options->function_count; i++)
        if (note_selection_add(selection, binary, names, options->functions[i], &error) != BAT_OK)
            found = tool_complain(options->path, &error);
    return found;
}

/* Find all that was asked for, and print it if nothing is missing. */
static bool print_requested(struct output *output, const struct options *options,
                            struct bat_binary *binary)
{
    struct bat_names names = {0};
    struct bat_error error;
    if ((options->function_count != 0 || options->address_count != 0) &&
        bat_names_collect(binary, &names, &error) != BAT_OK)
        return tool_complain(options->path, &error);
    struct note_selection selection = note_selection_all(binary->map);
    bool fine =
        options->function_count == 0 || select_functions(options, binary, &names, &selection);
    if (fine && options->list_functions)
        fine = print_names(output, options, binary);
    else if (fine && options->json)
        fine = print_json(output, options, binary, &selection);
    else if (fine)
        fine = print_text(output, options, binary, &selection, &names);
    free(selection.chosen);
    bat_names_free(&names);
    return fine;
}

/* Open FILE. For its probes it may be any ELF file. */
static enum bat_code open_file(const struct options *options, const char *path,
                               struct bat_binary *binary, struct bat_error *error)
{
    enum bat_code code = bat_binary_open(path, binary, error);
    if (!options->probes || (code != BAT_ERR_NO_NOTE && code != BAT_OK))
        return code;
    if (code == BAT_ERR_NO_NOTE)
        return bat_elf_open(path, &binary->elf, error);
    if (binary->elf)
        return BAT_OK;
    bat_binary_close(binary);
    return bat_fail(error, BAT_ERR_NOT_ELF, "expected an ELF file with probes, found a raw note");
}

/* Print what was asked for. */
static bool print_answer(struct output *output, const struct options *options,
                         struct bat_binary *binary)
{
    struct bat_error error;
    const char *failed;
    if (!options->probes && !has_original_queries(options))
        return print_requested(output, options, binary);
    enum bat_code code = options->probes
                             ? original_probes_text(&output->text, options->path, binary,
                                                    options->queries.path, &failed, &error)
                             : original_places_text(&output->text, options->path, binary,
                                                    &options->queries, &failed, &error);
    return code == BAT_OK || tool_complain(failed, &error);
}

static enum tool_exit run(const struct options *options)
{
    struct bat_binary binary;
    struct bat_error error;
    struct bat_stored stored;
    if (!tool_stores_find_whole(&options->stores, options->path, &stored))
        return TOOL_BAD;
    enum bat_code code = open_file(options, bat_stored_or(&stored, options->path), &binary, &error);
    bat_stored_close(&stored);
    if (code != BAT_OK)
        return tool_report(options->path, &error);
    enum tool_exit status = TOOL_BAD;
    struct output *output = output_begin_path(
        options->output, (const char *[]){options->path, options->queries.path}, 2);
    if (output) {
        status = print_answer(output, options, &binary) ? TOOL_FINE : TOOL_BAD;
        status = output_end(output, status);
    }
    bat_binary_close(&binary);
    return status;
}

/* Open a binary, or the whole one that it was shipped from. */
static bool open_compared(const struct options *options, const char *path,
                          struct bat_binary *binary)
{
    struct bat_error error;
    struct bat_stored stored;
    if (!tool_stores_find_whole(&options->stores, path, &stored))
        return false;
    enum bat_code code = bat_binary_open(bat_stored_or(&stored, path), binary, &error);
    bat_stored_close(&stored);
    return code == BAT_OK || tool_complain(path, &error);
}

/* Answer --compare, with diff's exit status. */
static enum tool_exit run_compare(const struct options *options)
{
    enum { SAME = TOOL_FINE, DIFFERENT = TOOL_BAD, TROUBLE = TOOL_USAGE };
    struct comparison comparison = {0};
    struct bat_binary sides[2] = {0};
    struct bat_error error;
    enum tool_exit status = (enum tool_exit)TROUBLE;
    uint32_t limit = options->has_limit ? options->limit : options->json ? 0 : USUAL_LIMIT;
    struct output *output = NULL;
    tool_unwritten = status;
    if (open_compared(options, options->path, &sides[0]) &&
        open_compared(options, options->new_path, &sides[1])) {
        if (compare_binaries(&sides[0], options->path, &sides[1], options->new_path, &comparison,
                             &error) == BAT_OK)
            output = output_begin_path(options->output,
                                       (const char *[]){options->path, options->new_path}, 2);
        else
            tool_report(comparison.failed, &error);
    }
    if (output) {
        bool fine = options->json ? comparison_print_json(&output->text, &comparison, limit)
                                  : comparison_print_text(&output->text, &comparison, limit);
        if (!fine)
            tool_no_memory(NULL);
        if (output_end(output, TOOL_FINE) == TOOL_FINE && fine)
            status = (enum tool_exit)(comparison_is_same(&comparison) ? SAME : DIFFERENT);
    }
    comparison_free(&comparison);
    bat_binary_close(&sides[0]);
    bat_binary_close(&sides[1]);
    return status;
}

int main(int argc, char **argv)
{
    tool_begin("batdump");
    /* No option is given more often than there are arguments. */
    struct options options = {
        .functions = calloc((size_t)argc, sizeof(*options.functions)),
        .addresses = calloc((size_t)argc, sizeof(*options.addresses)),
        .queries.to_input = calloc((size_t)argc, sizeof(*options.queries.to_input)),
        .queries.to_output = calloc((size_t)argc, sizeof(*options.queries.to_output)),
    };
    enum tool_exit status = TOOL_BAD;
    if (options.functions && options.addresses && options.queries.to_input &&
        options.queries.to_output) {
        static const struct argp argp = {
            argp_options, parse_option, "FILE\n--compare OLD NEW", doc, NULL, NULL, NULL};
        if (tool_parse(&argp, brief, argc, argv, ARGP_LONG_ONLY, &options) &&
            tool_stores_add_environment(&options.stores))
            status = options.compare ? run_compare(&options) : run(&options);
    } else {
        tool_no_memory(NULL);
    }
    BAT_FREE_ALL(options.functions, options.addresses, options.queries.to_input,
                 options.queries.to_output);
    bat_stores_free(&options.stores);
    return (int)status;
}
