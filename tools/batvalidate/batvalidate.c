/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batvalidate: check BAT notes. spec/checks.md describes the checks and the JSON. */
#include <argp.h>
#include <stdlib.h>
#include <unistd.h>

#include "bat_validate.h"
#include "binary/note_facts.h"
#include "tools/common/output.h"
#include "tools/common/tool.h"

static const char doc[] =
    "Check BAT notes: a line for each finding, then a verdict for each file.\v"
    "FILE is an ELF file or a raw note (the content of section .note.bolt_bat), recognised by its "
    "first bytes; - reads a raw note from standard input. A raw note is checked less, because the "
    "binary's sections and symbols are not known.\n\n"
    "Findings are errors (translation goes wrong), warnings (it works, but not as well as it "
    "could) and notes. A file without errors is sound.\n\n"
    "Exit status: 0 if all files are sound, 1 if one is not or cannot be read, 2 for wrong usage.";

/* Lines for one check in one file, unless --all is given. */
#define LINES_PER_CHECK 20u

struct options {
    const char **paths;
    size_t path_count;
    const char *original;
    struct bat_stores stores;
    bool round_trip;
    bool strict;
    bool all;
    bool json;
    const char *output;
    bool list_checks;
};

#define SETS(how, member) TOOL_KEY(how, struct options, member)

static const struct argp_option argp_options[] = {
    {NULL, 0, NULL, 0, "What is checked:", 1},
    {"original", SETS(TOOL_TEXT, original), "INPUT", 0,
     "Also check against INPUT, the binary that BOLT read: names of functions, offsets inside them",
     1},
    {"round-trip", SETS(TOOL_FLAG, round_trip), NULL, 0,
     "Also encode each note again and compare byte for byte", 1},
    {"strict", SETS(TOOL_FLAG, strict), NULL, 0, "A file with warnings is not sound either", 1},
    {"list-checks", SETS(TOOL_FLAG, list_checks), NULL, 0, "Print all checks and exit", 1},
    {NULL, 0, NULL, 0, "What is printed:", 2},
    {"all", SETS(TOOL_FLAG, all), NULL, 0,
     "Print all findings, not only the first 20 of each check", 2},
    {"json", SETS(TOOL_FLAG, json), NULL, 0, "Print JSON, always with all findings", 2},
    {NULL, 0, NULL, 0, "Files:", 3},
    {"obj", 'e', "ELF", 0, "The same as FILE without -e", 3},
    {"output", 'o', "OUT", 0, "Write to OUT, not to standard output", 3},
    {"store", SETS(TOOL_STORES, stores), "DIR", 0,
     "Take what a shipped FILE lacks from the store DIR, by its build-id, as batinject --store put "
     "it there; may be given many times, also in BATKIT_STORE",
     3},
    {0},
};

static const char brief[] =
    "Usage: batvalidate [OPTION...] FILE...\n"
    "Check BAT notes: a line for each finding, then a verdict for each file.\n"
    "\n"
    "What is checked:\n"
    "      --original=INPUT       Also against INPUT, the binary that BOLT read\n"
    "      --round-trip           Also encode each note again and compare\n"
    "      --strict               A file with warnings is not sound either\n"
    "      --list-checks          Print all checks and exit\n"
    "\n"
    "What is printed:\n"
    "      --all                  All findings, not only 20 of each check\n"
    "      --json                 JSON, with all findings\n"
    "  -q, --quiet                Nothing: the exit status says it\n"
    "      --color=WHEN           Colours: auto, always or never\n"
    "\n"
    "Files:\n"
    "  -o, --output=OUT           Write to OUT, not to standard output\n"
    "      --store=DIR            Where batinject --store put what FILE lacks\n"
    "\n"
    "      --help-all             Print all options\n"
    "  -V, --version              Print the version\n"
    "\n"
    "Example: batvalidate --round-trip app.bolt\n"
    "\n"
    "Exit status: 0 all files are sound, 1 one is not, 2 wrong usage.\n";

static void parse_end(const struct options *options, struct argp_state *state)
{
    if (options->path_count == 0 && !options->list_checks)
        argp_error(state, "expected a FILE");
    if (options->json && tool_is_quiet())
        argp_error(state, "--json cannot be combined with --quiet");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    key = key == 'o' ? SETS(TOOL_TEXT, output) : key;
    if (tool_set_field(options, argp_options, key, argument, state))
        return 0;
    if (key == ARGP_KEY_ARG || key == 'e')
        options->paths[options->path_count++] = argument;
    else if (key == ARGP_KEY_END)
        parse_end(options, state);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* --- Findings of one file --------------------------------------------------------------------- */

struct file {
    const char *path;
    const struct options *options;
    const struct bat_binary *binary;
    struct bat_text_writer *output;
    uint64_t findings;
    uint64_t *of_check; /* findings of each check, in the order of bat_checks() */
};

/* The check's index in bat_checks(); their number if it is not there. */
static size_t check_number(const char *id)
{
    size_t count = 0;
    const struct bat_check *checks = bat_checks(&count);
    size_t i = 0;
    while (i < count && strcmp(checks[i].id, id) != 0)
        i++;
    return i;
}

/* Print a word in its colour, if the text has colours. */
static void print_word(const struct file *file, const char *word, const char *color)
{
    if (file->options->output || !tool_has_color(STDOUT_FILENO))
        bat_text_string(file->output, word);
    else
        bat_text_format(file->output, "\033[%sm%s\033[0m", color, word);
}

static void print_line(const struct file *file, const struct bat_finding *finding)
{
    static const char *const colors[] = {
        [BAT_ERROR] = "1;31", [BAT_WARNING] = "1;35", [BAT_NOTE] = "1;36"};
    struct bat_text_writer *output = file->output;
    bat_text_name(output, "", file->path, ": " BAT_SECTION_NAME);
    if (finding->offset != BAT_NO_OFFSET)
        bat_text_format(output, "+0x%lx", finding->offset);
    bat_text_string(output, ": ");
    print_word(file, bat_severity_name(finding->severity), colors[finding->severity]);
    bat_text_format(output, ": %s: ", finding->check);
    bat_text_name(output, "", finding->message, "\n");
}

static void print_json(const struct file *file, const struct bat_finding *finding)
{
    struct bat_text_writer *output = file->output;
    const struct bat_map *map = file->binary->map;
    bat_text_format(output, "%s\n{\"check\":\"%s\",\"severity\":\"%s\"", file->findings ? "," : "",
                    finding->check, bat_severity_name(finding->severity));
    if (finding->offset != BAT_NO_OFFSET)
        bat_text_format(output, ",\"offset\":%lu", finding->offset);
    if (finding->table != BAT_NONE) {
        const struct bat_table *table = &map->tables[finding->table];
        bat_text_format(output, ",\"table\":\"0x%lx\"", table->address);
        if (finding->entry != BAT_NONE)
            bat_text_format(output, ",\"entry\":%u", finding->entry - table->first_entry);
    }
    bat_text_member(output, ",\"message\":", finding->message);
    bat_text_string(output, "}");
}

static void receive(const struct bat_finding *finding, void *context)
{
    struct file *file = context;
    uint64_t number = file->of_check[check_number(finding->check)]++;
    if (file->options->json)
        print_json(file, finding);
    else if (!tool_is_quiet() && (file->options->all || number < LINES_PER_CHECK))
        print_line(file, finding);
    file->findings++;
}

static void print_left_out(const struct file *file)
{
    size_t count = 0;
    const struct bat_check *checks = bat_checks(&count);
    for (size_t i = 0; i < count; i++) {
        if (file->of_check[i] <= LINES_PER_CHECK)
            continue;
        bat_text_escaped(file->output, file->path);
        bat_text_format(file->output,
                        ": " BAT_SECTION_NAME ": %s: %s: %lu more (--all prints them)\n",
                        bat_severity_name(checks[i].severity), checks[i].id,
                        file->of_check[i] - LINES_PER_CHECK);
    }
}

/* --- Verdicts --------------------------------------------------------------------------------- */

static bool is_sound(const struct options *options, const struct bat_verdict *verdict)
{
    return verdict->errors == 0 && !(options->strict && verdict->warnings != 0);
}

static void print_verdict(const struct file *file, const struct bat_verdict *verdict)
{
    struct bat_text_writer *output = file->output;
    if (!file->options->all)
        print_left_out(file);
    bat_text_escaped(output, file->path);
    const bool is_fine = is_sound(file->options, verdict);
    bat_text_string(output, ": ");
    print_word(file, is_fine ? "sound" : "unsound", is_fine ? "1;32" : "1;31");
    bat_text_format(output, " (%lu error%s, %lu warning%s", verdict->errors,
                    verdict->errors == 1 ? "" : "s", verdict->warnings,
                    verdict->warnings == 1 ? "" : "s");
    if (verdict->notes != 0)
        bat_text_format(output, ", %lu note%s", verdict->notes, verdict->notes == 1 ? "" : "s");
    bat_text_string(output, ")\n");
}

/* Report a file that cannot be checked to the end, on standard error and in the JSON. */
static void report(const struct file *file, const struct bat_error *error)
{
    bat_text_flush(file->output);
    tool_report(file->path, error);
    if (!file->options->json)
        return;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    bat_text_member(file->output, "],\"verdict\":\"unreadable\",\"message\":", text);
}

/* Find and check the note, print the verdict. False if the file is not sound or not readable. */
static bool validate_note(struct file *file, struct bat_elf *original)
{
    struct bat_binary binary;
    struct bat_error error;
    struct bat_stored stored;
    if (!tool_stores_find_whole(&file->options->stores, file->path, &stored)) {
        bat_fail(&error, BAT_ERR_IO, "the store's file cannot be used");
        report(file, &error);
        return false;
    }
    enum bat_code code = bat_binary_find_note(bat_stored_or(&stored, file->path), &binary, &error);
    bat_stored_close(&stored);
    if (code != BAT_OK) {
        report(file, &error);
        return false;
    }
    file->binary = &binary;
    struct bat_validate_options options = {
        .size = sizeof(options), .round_trip = file->options->round_trip, .original = original};
    struct bat_verdict verdict;
    bool ended = bat_validate(&binary, &options, receive, file, &verdict, &error) == BAT_OK;
    if (!ended)
        report(file, &error);
    else if (file->options->json)
        bat_text_format(file->output,
                        "],\"errors\":%lu,\"warnings\":%lu,\"notes\":%lu,\"verdict\":\"%s\"",
                        verdict.errors, verdict.warnings, verdict.notes,
                        is_sound(file->options, &verdict) ? "sound" : "unsound");
    else if (!tool_is_quiet())
        print_verdict(file, &verdict);
    bat_binary_close(&binary);
    return ended && is_sound(file->options, &verdict);
}

static bool validate_file(const struct options *options, const char *path, bool is_first,
                          struct bat_elf *original, struct bat_text_writer *output)
{
    size_t checks = 0;
    bat_checks(&checks);
    struct file file = {
        .path = path,
        .options = options,
        .output = output,
        /* One more for an id that is not in the list. */
        .of_check = calloc(checks + 1, sizeof(*file.of_check)),
    };
    if (!file.of_check)
        return tool_refuse(path, "not enough memory");
    if (options->json) {
        bat_text_member(output, is_first ? "\n{\"file\":" : ",\n{\"file\":", path);
        bat_text_string(output, ",\"findings\":[");
    }
    bool fine = validate_note(&file, original);
    if (options->json)
        bat_text_string(output, "}");
    free(file.of_check);
    return fine;
}

static bool validate_files(const struct options *options, struct bat_elf *original,
                           struct bat_text_writer *output)
{
    bool fine = true;
    if (options->json)
        bat_text_string(output, "{\"format\":\"batkit-validation\",\"schema\":1,\"files\":[");
    for (size_t i = 0; i < options->path_count; i++)
        if (!validate_file(options, options->paths[i], i == 0, original, output))
            fine = false;
    if (options->json)
        bat_text_string(output, "\n]}\n");
    return fine;
}

static void list_checks(struct bat_text_writer *output)
{
    size_t count = 0;
    const struct bat_check *checks = bat_checks(&count);
    for (size_t i = 0; i < count; i++)
        bat_text_format(output, "%-18s %-7s %s\n", checks[i].id,
                        bat_severity_name(checks[i].severity), checks[i].summary);
}

/* The input binary; NULL, with a message, if it cannot be one. */
static struct bat_elf *open_original(const char *path)
{
    struct bat_elf *elf = NULL;
    struct bat_error error;
    if (bat_elf_open(path, &elf, &error) != BAT_OK) {
        tool_report(path, &error);
        return NULL;
    }
    /* Most of its functions would have findings, and none of these would name the cause. */
    if (note_is_bolted(elf)) {
        tool_message(path, "expected the input binary, found a file that BOLT wrote");
        bat_elf_close(elf);
        return NULL;
    }
    return elf;
}

static enum tool_exit run(const struct options *options)
{
    struct bat_elf *original = NULL;
    if (options->original && !(original = open_original(options->original)))
        return TOOL_BAD;
    enum tool_exit status = TOOL_BAD;
    struct output *output = output_begin_path(options->output, options->paths, options->path_count);
    if (output) {
        output->is_report = true;
        bool fine = true;
        if (options->list_checks)
            list_checks(&output->text);
        else
            fine = validate_files(options, original, &output->text);
        status = fine ? TOOL_FINE : TOOL_BAD;
        status = output_end(output, status);
    }
    bat_elf_close(original);
    return status;
}

int main(int argc, char **argv)
{
    tool_begin("batvalidate");
    struct options options = {.paths = calloc((size_t)argc, sizeof(*options.paths))};
    enum tool_exit status = TOOL_BAD;
    if (options.paths) {
        static const struct argp argp = {argp_options, parse_option, "FILE...", doc,
                                         NULL,         NULL,         NULL};
        if (tool_parse(&argp, brief, argc, argv, 0, &options) &&
            tool_stores_add_environment(&options.stores))
            status = run(&options);
    } else {
        tool_no_memory(NULL);
    }
    free(options.paths);
    bat_stores_free(&options.stores);
    return (int)status;
}
