/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The options that all tools have, and a --help that fits on a screen. */
#include "tool.h"
#undef tool_message

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
    OPTION_HELP_ALL = 0x10000, /* above those of all tools */
    OPTION_USAGE,
    OPTION_COLOR,
};

#define GROUP_HELP (-1)

static const struct argp_option help_options[] = {
    {"help", '?', NULL, 0, "Print the options that are used most", GROUP_HELP},
    {"h", 'h', NULL, OPTION_HIDDEN, NULL, GROUP_HELP},
    {"help-all", OPTION_HELP_ALL, NULL, 0, "Print all options", GROUP_HELP},
    {"usage", OPTION_USAGE, NULL, 0, "Print all options without their descriptions", GROUP_HELP},
    {"version", 'V', NULL, 0, "Print the version", GROUP_HELP},
    {0},
};

static const struct argp_option message_options[] = {
    {NULL, 0, NULL, 0, "Messages and help:", GROUP_HELP},
    {"quiet", 'q', NULL, 0, "Print no report and no progress, only errors and warnings",
     GROUP_HELP},
    {"color", OPTION_COLOR, "auto|always|never", OPTION_ARG_OPTIONAL,
     "Mark what is wrong with colours; auto: on a terminal, unless NO_COLOR is set", GROUP_HELP},
    {0},
};

static error_t parse_message_option(int key, char *argument, struct argp_state *state)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    switch (key) {
    case 'q':
        tool_be_quiet();
        return 0;
    case OPTION_COLOR:
        tool_set_color(argument ? (enum tool_color)tool_parse_word(
                                      "color", words, "auto, always or never", argument, state)
                                : TOOL_COLOR_ALWAYS);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What the parser of all options gets. */
struct parsed {
    void *input;       /* of the tool's parser */
    const char *brief; /* NULL: --help is --help-all */
};

/* All in one piece: of a write in the middle that fails, nobody would know the reason. */
static void print_all(const struct argp_state *state)
{
    static char room[1 << 16];
    setvbuf(state->out_stream, room, _IOFBF, sizeof(room));
    argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
}

static error_t parse_help_option(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    const struct parsed *parsed = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = parsed->input;
        return 0;
    case '?':
    case 'h':
        if (parsed->brief) {
            fputs(parsed->brief, state->out_stream);
            exit(TOOL_FINE);
        }
        print_all(state);
        return 0;
    case OPTION_HELP_ALL:
        print_all(state);
        return 0;
    case OPTION_USAGE:
        argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        return 0;
    case 'V':
        fprintf(state->out_stream, "%s\n", argp_program_version);
        exit(TOOL_FINE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool tool_parse(const struct argp *argp, const char *brief, int argc, char **argv, unsigned flags,
                void *input)
{
    static const struct argp messages = {
        message_options, parse_message_option, NULL, NULL, NULL, NULL, NULL};
    /* getopt's messages begin with it, argp's with its last part. */
    if (argc > 0)
        argv[0] = program_invocation_short_name;
    struct argp inner = *argp;
    inner.args_doc = NULL;
    inner.doc = NULL;
    const struct argp_child children[] = {
        {&inner, 0, NULL, 0}, {brief ? &messages : NULL, 0, NULL, 0}, {0}};
    const struct argp all = {
        help_options, parse_help_option, argp->args_doc, argp->doc, children, NULL, NULL};
    struct parsed parsed = {input, brief};
    error_t error = argp_parse(&all, argc, argv, flags | ARGP_NO_HELP, NULL, &parsed);
    if (error != 0)
        tool_message(NULL, "cannot read the options: %s", strerror(error));
    return error == 0;
}
