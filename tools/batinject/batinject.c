/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batinject: put a BAT note into a binary, take it out, repair it. */
#include <argp.h>
#include <string.h>

#include "inject.h"
#include "tools/common/tool.h"

static const char doc[] =
    "Write, replace, remove, extract, repair or upgrade the BAT note of FILE, an ELF file, or take "
    "out all that is not loaded. Exactly one action must be given.\v"
    "Nothing that is loaded when FILE runs changes: only the note, the section name table, the "
    "section header table and the ELF header's fields for these do; --store takes out all other "
    "sections that are not loaded, too. FILE (or OUT) is replaced as a "
    "whole after everything has been written. It keeps FILE's mode and, where allowed, owner, and "
    "does not change if anything fails. Hard links to it keep the old content.\n\n"
    "A new note is checked against FILE before anything is written, as batvalidate does: a note "
    "with errors is refused, warnings are printed. NOTE, JSON and OUT may be - for standard input "
    "and output; OUT of -o may not.\n\n"
    "Exit status: 0 if all is well, 1 if a file is bad or the note is refused, 2 for wrong usage.";

#define SETS(how, member) TOOL_KEY(how, struct inject_request, member)

static const struct argp_option argp_options[] = {
    {NULL, 0, NULL, 0, "Actions, of which one must be given:", 1},
    {"store", INJECT_STORE, "DIR", 0,
     "Put FILE whole into the store DIR, by its build-id, and leave in FILE only what is loaded: "
     "the other tools find the rest with --store=DIR",
     1},
    {"extract", INJECT_EXTRACT, "OUT", 0,
     "Write the note, as it is, to the file OUT; FILE is not changed", 1},
    {"note", INJECT_NOTE, "NOTE", 0,
     "Add or replace the note by the raw note in the file NOTE, the content of a .note.bolt_bat "
     "section",
     1},
    {"from", INJECT_FROM, "ELF", 0, "Add or replace the note by that of another binary", 1},
    {"from-json", INJECT_JSON, "JSON", 0,
     "Add or replace the note by the one that the file JSON describes, in the form that batdump "
     "--json prints",
     1},
    {"json", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 1},
    {"remove", INJECT_REMOVE, NULL, 0, "Remove the note", 1},
    {"repair", INJECT_REPAIR, NULL, 0,
     "Rewrite the note, which must decode, in the form that BOLT 22 writes: this corrects the hot "
     "indices of some notes of BOLT 19, which crash perf2bolt",
     1},
    {"upgrade", INJECT_UPGRADE, NULL, 0,
     "Make a note of BOLT 18 or earlier one of today, which later perf2bolts read: for fdata, "
     "as there are no hashes for YAML",
     1},
    {NULL, 0, NULL, 0, "Options:", 2},
    {"obj", 'e', "ELF", 0, "The same as FILE without -e", 2},
    {"output", 'o', "OUT", 0, "Write the changed file to OUT and leave FILE as it is", 2},
    {"original", SETS(TOOL_TEXT, original), "INPUT", 0,
     "With --upgrade: number blocks as in the code of INPUT, the binary that BOLT read", 2},
    {"force", SETS(TOOL_FLAG, force), NULL, 0,
     "With --from: copy the note even if the build-ids differ. With --store: replace another file "
     "of "
     "the build-id",
     2},
    {"no-check", SETS(TOOL_FLAG, no_check), NULL, 0, "Write the new note without checking it", 2},
    {0},
};

static const char brief[] =
    "Usage: batinject [OPTION...] FILE\n"
    "Change the BAT note of FILE, an ELF file, or take out all that is not loaded.\n"
    "\n"
    "One of these:\n"
    "      --store=DIR            Put FILE whole into the store DIR, and leave\n"
    "                             in FILE only what is loaded, as for shipping\n"
    "      --extract=OUT          Write the note to the file OUT\n"
    "      --note=NOTE            Add or replace the note by that of --extract\n"
    "      --from=ELF             ... by that of another binary\n"
    "      --from-json=JSON       ... by the one that batdump --json printed\n"
    "      --remove               Remove the note\n"
    "      --repair               Correct a note of BOLT 19 that crashes perf2bolt\n"
    "      --upgrade              Make a note of BOLT 18 or earlier version 3\n"
    "\n"
    "Options:\n"
    "  -o, --output=OUT           Write to OUT and leave FILE as it is\n"
    "      --original=INPUT       With --upgrade: the binary that BOLT read\n"
    "      --force                Replace what belongs to another build\n"
    "      --no-check             Write the new note without checking it\n"
    "  -q, --quiet                Do not print what was done\n"
    "\n"
    "      --help-all             Print all options\n"
    "  -V, --version              Print the version\n"
    "\n"
    "Example: batinject app.bolt --store=/srv/bolted -o app\n"
    "\n"
    "Exit status: 0 fine, 1 bad file or refused note, 2 wrong usage.\n";

/* Set the action; only one may be given. */
static void set_action(struct inject_request *request, enum inject_action action,
                       const char *argument, struct argp_state *state)
{
    if (request->action != INJECT_NOTHING)
        argp_error(state,
                   "expected exactly one of --note, --from-json, --from, --remove, --extract, "
                   "--repair, --upgrade and --store, found two");
    request->action = action;
    request->argument = argument;
}

/* Check the combination of all options. */
static void check_request(const struct inject_request *request, struct argp_state *state)
{
    if (!request->file)
        argp_error(state, "expected a FILE");
    if (request->action == INJECT_NOTHING)
        argp_error(state, "expected one of --note, --from-json, --from, --remove, --extract, "
                          "--repair, --upgrade and --store");
    if (request->force && request->action != INJECT_FROM && request->action != INJECT_STORE)
        argp_error(state, "--force only goes with --from and --store");
    if (request->original && request->action != INJECT_UPGRADE)
        argp_error(state, "--original only goes with --upgrade");
    if (request->output && request->action == INJECT_EXTRACT)
        argp_error(state, "-o does not go with --extract, which changes no binary");
    if (request->output && strcmp(request->output, "-") == 0)
        argp_error(state,
                   "expected a file for -o, found \"-\": a binary is not written to standard "
                   "output");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct inject_request *request = state->input;
    key = key == 'o' ? SETS(TOOL_TEXT, output) : key;
    if (tool_set_field(request, argp_options, key, argument, state))
        return 0;
    if (key >= INJECT_NOTE && key <= INJECT_STORE) {
        set_action(request, (enum inject_action)key, argument, state);
        return 0;
    }
    switch (key) {
    case 'e':
    case ARGP_KEY_ARG:
        if (request->file)
            argp_error(state, "expected one FILE, found \"%s\" and \"%s\"", request->file,
                       argument);
        request->file = argument;
        return 0;
    case ARGP_KEY_END:
        check_request(request, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = argp_options, .parser = parse_option, .args_doc = "FILE", .doc = doc};
    struct inject_request request = {.action = INJECT_NOTHING};
    tool_begin("batinject");
    if (!tool_parse(&argp, brief, argc, argv, 0, &request))
        return TOOL_BAD;
    request.quiet = tool_is_quiet();
    if (request.action == INJECT_STORE)
        return inject_store(&request) ? TOOL_FINE : TOOL_BAD;
    return (int)inject_run(&request);
}
