/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batreport: a page about a BOLTed binary. */
#include <argp.h>
#include <stdlib.h>

#include "report.h"

static const char doc[] =
    "Write a page about a binary that BOLT wrote with --enable-bat: what BOLT did, a map of the "
    "code with the profile's heat, every function with its blocks before and after.\v"
    "BINARY is the BOLTed binary. The page is one HTML file that needs neither a server nor a "
    "network.\n\n"
    "Exit status: 0 if all is well, 1 for bad input, 2 for wrong usage.";

enum option_key {
    OPTION_ORIGINAL = 1000,
    OPTION_STACKS,
    OPTION_IGNORE_BUILD_ID,
    OPTION_STORE,
};

static const struct argp_option argp_options[] = {
    {"output", 'o', "FILE", 0, "Write the page to FILE (-: standard output)", 0},
    {"profile", 'p', "FILE", 0,
     "A profile of BINARY: perf.data, the output of perf script, or pre-aggregated text; -: "
     "standard input; repeatable",
     0},
    {"original", OPTION_ORIGINAL, "INPUT", 0,
     "The input binary, which BOLT read: the page then shows the code before BOLT, and source "
     "lines if INPUT has debug information",
     0},
    {"store", OPTION_STORE, "DIR", 0,
     "Take what a shipped BINARY lacks from the store DIR, by its build-id, as batinject --store "
     "put it there; may be given many times, also in BATKIT_STORE",
     0},
    {"stacks", OPTION_STACKS, "FILE", 0,
     "Call chains as batsymbolize --folded prints them, for an icicle graph", 0},
    {"ignore-build-id", OPTION_IGNORE_BUILD_ID, NULL, 0,
     "Accept profiles and an input binary with other build-ids", 0},
    {0},
};

static void check_end(const struct report_request *request, struct argp_state *state)
{
    if (!request->binary)
        argp_error(state, "expected a BINARY");
    if (!request->output)
        argp_error(state, "expected -o FILE for the page");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct report_request *request = state->input;
    switch (key) {
    case 'o':
        request->output = argument;
        return 0;
    case 'p':
        request->profiles[request->profile_count++] = argument;
        return 0;
    case OPTION_ORIGINAL:
        request->original = argument;
        return 0;
    case OPTION_STACKS:
        request->stacks = argument;
        return 0;
    case OPTION_STORE:
        if (!stores_add(&request->stores, argument))
            argp_failure(state, TOOL_BAD, 0, "a store cannot be used");
        return 0;
    case OPTION_IGNORE_BUILD_ID:
        request->ignore_build_id = true;
        return 0;
    case ARGP_KEY_ARG:
        if (request->binary)
            argp_error(state, "expected one BINARY, found \"%s\" and \"%s\"", request->binary,
                       argument);
        request->binary = argument;
        return 0;
    case ARGP_KEY_END:
        check_end(request, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    tool_begin("batreport");
    /* No option is given more often than there are arguments. */
    struct report_request request = {.profiles = calloc((size_t)argc, sizeof(const char *))};
    enum tool_exit status = TOOL_BAD;
    if (request.profiles) {
        static const struct argp argp = {argp_options, parse_option, "BINARY", doc,
                                         NULL,         NULL,         NULL};
        if (tool_parse(&argp, argc, argv, 0, &request) && stores_add_environment(&request.stores))
            status = report_run(&request);
    } else {
        tool_message(NULL, "not enough memory");
    }
    free(request.profiles);
    stores_free(&request.stores);
    return (int)tool_end(status);
}
