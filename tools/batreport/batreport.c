/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batreport: a page about a BOLTed binary. */
#include <argp.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bat_page.h"
#include "tools/common/check_print.h"
#include "tools/common/tool.h"

static const char doc[] =
    "Write a page about a binary that BOLT wrote with --enable-bat: what BOLT did, a map of the "
    "code with the profile's heat, every function with its blocks before and after. Of two such "
    "binaries, write what changed from OLD to NEW.\v"
    "BINARY is the BOLTed binary; OLD and NEW are two, in diff's order, and both are BOLTed. The "
    "input binary is no second argument, but --original. The page is one HTML file that needs "
    "neither a server nor a network.\n\n"
    "Exit status: 0 if all is well, 1 for bad input, 2 for wrong usage.";

enum option_key { OPTION_OLD_PROFILE = 1000 };

/* What the command line asks for. */
struct request {
    struct bat_page_request page; /* without the profiles and what the tool does */
    const char **profiles;
    const char **old_profiles;
    const char *output;
    bool opens;     /* the page is shown */
    bool has_check; /* options of its check were given */
};

#define SETS(how, member) TOOL_KEY(how, struct request, member)

static const struct argp_option argp_options[] = {
    {NULL, 0, NULL, 0, "What the page is made of:", 1},
    {"profile", 'p', "PROFILE", 0,
     "A profile of BINARY, or of NEW: perf.data, the output of perf script, or pre-aggregated "
     "text; -: standard input; repeatable",
     1},
    {"perfdata", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 1},
    {"old-profile", OPTION_OLD_PROFILE, "PROFILE", 0, "A profile of OLD; repeatable", 1},
    {"original", SETS(TOOL_TEXT, page.original), "INPUT", 0,
     "The input binary, which BOLT read: the page then shows the code before BOLT, and source "
     "lines if INPUT has debug information",
     1},
    {"for", SETS(TOOL_TEXT, page.next), "NEXT", 0,
     "Carry the profile to NEXT, the next build, which BOLT has not written: the page then shows "
     "what found its functions, and those that changed most; with --original",
     1},
    {"store", SETS(TOOL_STORES, page.stores), "DIR", 0,
     "Take what a shipped BINARY lacks from the store DIR, by its build-id, as batinject --store "
     "put "
     "it there; may be given many times, also in BATKIT_STORE",
     1},
    {"stacks", SETS(TOOL_TEXT, page.stacks), "STACKS", 0,
     "Call chains as batsymbolize --folded prints them, or as a profile of pprof or OpenTelemetry, "
     "for an icicle graph, instead of those in the profiles",
     1},
    {"ignore-build-id", SETS(TOOL_FLAG, page.ignore_build_id), NULL, 0,
     "Accept profiles and an input binary with other build-ids", 1},
    {"obj", 'e', "BINARY", 0, "The same as BINARY without -e", 1},
    {NULL, 0, NULL, 0, "The page:", 2},
    {"output", 'o', "HTML", 0, "Write the page to HTML (-: standard output; default: BINARY.html)",
     2},
    {"open", SETS(TOOL_FLAG, opens), NULL, 0, "Show it in the browser that xdg-open starts", 2},
    {NULL, 0, NULL, 0, "Whether the profile is fit:", 3},
    {"check-limit", CHECK_LIMIT, "ID=VALUE", 0,
     "Judge the profile with another limit for the check ID. May be given many times", 3},
    {"check-strict", CHECK_STRICT, NULL, 0, "A profile with warnings is unfit, too", 3},
    {"check-suppress", CHECK_SUPPRESS, "FILE", 0,
     "Judge the profile without the findings that FILE names, with reasons", 3},
    {"list-checks", CHECK_LIST, NULL, 0, "Print all checks with their limits and exit", 3},
    {0},
};

static const char brief[] =
    "Usage: batreport [OPTION...] BINARY\n"
    "       batreport [OPTION...] OLD NEW\n"
    "Write a page about a binary that BOLT wrote with --enable-bat, or about what\n"
    "changed from one such binary to another.\n"
    "\n"
    "What the page is made of:\n"
    "  -p, --profile=PROFILE      perf.data, text of perf script, or pre-aggregated;\n"
    "                             repeatable\n"
    "      --original=INPUT       The binary that BOLT read: adds its code and lines\n"
    "      --for=NEXT             The next build: what the profile is worth there\n"
    "      --old-profile=PROFILE  A profile of OLD; repeatable\n"
    "      --store=DIR            Where batinject --store put what BINARY lacks\n"
    "      --stacks=STACKS        Call chains as batsymbolize --folded prints them\n"
    "\n"
    "The page:\n"
    "  -o, --output=HTML          Write to HTML (default: BINARY.html)\n"
    "      --open                 Show it in the browser\n"
    "  -q, --quiet                Do not print where it is\n"
    "\n"
    "Whether the profile is fit:\n"
    "      --check-limit=ID=VALUE Judge it with another limit\n"
    "      --check-strict         With warnings it is unfit, too\n"
    "\n"
    "      --help-all             Print all options\n"
    "  -V, --version              Print the version\n"
    "\n"
    "Example: batreport app.bolt -p perf.data --original=app --open\n"
    "\n"
    "Exit status: 0 fine, 1 bad input, 2 wrong usage.\n";

static void check_end(const struct request *request, struct argp_state *state)
{
    if (!request->page.binary)
        argp_error(state, "expected a BINARY, or OLD and NEW");
    if (request->opens && request->output && strcmp(request->output, "-") == 0)
        argp_error(state, "expected a file with --open, found -o -");
    if (!request->page.old_binary && request->page.old_profile_count != 0)
        argp_error(state, "expected two files, OLD and NEW, with --old-profile");
    const struct bat_page_request *page = &request->page;
    if (page->old_binary && (page->original || page->stacks || page->next))
        argp_error(state, "expected one BINARY with %s, found \"%s\" and \"%s\"",
                   page->original ? "--original"
                   : page->stacks ? "--stacks"
                                  : "--for",
                   page->old_binary, page->binary);
    if (page->next && (!page->original || page->profile_count == 0))
        argp_error(state, "expected --original and a profile with --for");
    if (request->page.old_binary && request->has_check)
        argp_error(state,
                   "expected one BINARY with --check-limit, --check-strict and "
                   "--check-suppress, found \"%s\" and \"%s\"",
                   request->page.old_binary, request->page.binary);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    key = key == 'o' ? SETS(TOOL_TEXT, output) : key;
    if (tool_set_field(request, argp_options, key, argument, state))
        return 0;
    switch (key) {
    case 'p':
        request->profiles[request->page.profile_count++] = argument;
        return 0;
    case OPTION_OLD_PROFILE:
        request->old_profiles[request->page.old_profile_count++] = argument;
        return 0;
    case 'e':
    case ARGP_KEY_ARG:
        if (request->page.old_binary)
            argp_error(state, "expected one BINARY, or OLD and NEW, found a third: \"%s\"",
                       argument);
        request->page.old_binary = request->page.binary;
        request->page.binary = argument;
        return 0;
    case ARGP_KEY_END:
        check_end(request, state);
        return 0;
    default:
        if (!check_parse(key, argument, state, &request->page.check))
            return ARGP_ERR_UNKNOWN;
        request->has_check = true;
        return 0;
    }
}

/* Fails if the output is one of the files that are read. */
static enum bat_code check_output(struct bat_output *output, const struct bat_page_request *page,
                                  struct bat_error *error)
{
    const char *const single[] = {page->old_binary, page->binary, page->original, page->stacks,
                                  page->next};
    enum bat_code code =
        bat_outputs_check(&output, 1, single, sizeof(single) / sizeof(single[0]), error);
    if (code == BAT_OK)
        code = bat_outputs_check(&output, 1, page->old_profiles, page->old_profile_count, error);
    return code ? code : bat_outputs_check(&output, 1, page->profiles, page->profile_count, error);
}

static void print_warning(const char *file, const char *sentence, void *context)
{
    (void)context;
    tool_message(file, "warning: %s", sentence);
}

/* Of two files: whoever gives the input binary as one of them learns what its option is. */
static enum tool_exit report_pair(const char *file, const struct bat_error *error)
{
    if (error->code != BAT_ERR_NO_NOTE)
        return tool_report(file, error);
    return tool_message(file, "%s; the input binary is named by --original=INPUT", error->message);
}

static enum tool_exit write_page(const struct request *request)
{
    struct bat_page_request page = request->page;
    page.profiles = request->profiles;
    page.old_profiles = request->old_profiles;
    page.demangle = demangle_name;
    page.warn = print_warning;
    struct bat_output *output = NULL;
    struct bat_error error;
    const char *file = NULL;
    enum bat_code code = bat_output_begin(request->output, &output, &error);
    code = code ? code : check_output(output, &page, &error);
    tool_step("making the page of %s", page.binary);
    code = code ? code : bat_page_write(&page, output, &file, &error);
    tool_step(NULL);
    if (code == BAT_OK)
        return tool_commit(NULL, &output, 1);
    bat_output_abandon(output);
    return page.old_binary ? report_pair(file, &error) : tool_report(file, &error);
}

/* Show a page. False, with a message, if no program can. */
static bool open_page(const char *path)
{
    /* A path that begins with a dash would be an option. */
    char *place = realpath(path, NULL);
    char program[] = "xdg-open";
    char *const arguments[] = {program, place, NULL};
    pid_t child;
    int status = -1;
    const int reason =
        place ? posix_spawnp(&child, program, NULL, NULL, arguments, environ) : errno;
    if (reason == 0)
        waitpid(child, &status, 0);
    free(place);
    if (reason == 0 && status == 0)
        return true;
    return tool_refuse(path, "%s cannot show the page%s%s", program, reason ? ": " : "",
                       reason ? strerror(reason) : "");
}

/* Write the page: without -o beside the binary, and say where. */
static enum tool_exit run(struct request *request)
{
    char *beside = NULL;
    if (!request->output && asprintf(&beside, "%s.html", request->page.binary) < 0)
        return tool_no_memory(NULL);
    if (beside)
        request->output = beside;
    enum tool_exit status = write_page(request);
    if (beside && status == TOOL_FINE && !tool_is_quiet())
        tool_print("%s", beside);
    if (status == TOOL_FINE && request->opens && !open_page(request->output))
        status = TOOL_BAD;
    free(beside);
    return status;
}

int main(int argc, char **argv)
{
    tool_begin("batreport");
    /* No option is given more often than there are arguments. */
    struct request request = {
        .profiles = calloc((size_t)argc, sizeof(const char *)),
        .old_profiles = calloc((size_t)argc, sizeof(const char *)),
        .page = {.size = sizeof(request.page), .check = bat_verdict_options_new()}};
    enum tool_exit status = TOOL_BAD;
    if (request.profiles && request.old_profiles) {
        static const struct argp argp = {argp_options, parse_option, "BINARY\nOLD NEW", doc, NULL,
                                         NULL,         NULL};
        if (tool_parse(&argp, brief, argc, argv, 0, &request) &&
            tool_stores_add_environment(&request.page.stores))
            status = run(&request);
    } else {
        tool_no_memory(NULL);
    }
    free(request.profiles);
    free(request.old_profiles);
    bat_stores_free(&request.page.stores);
    return (int)status;
}
