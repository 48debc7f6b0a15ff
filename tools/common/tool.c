/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tool.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *tool_name = "batkit";
static char version_text[64];

void tool_begin(const char *name)
{
    tool_name = name;
    snprintf(version_text, sizeof(version_text), "%s (batkit) %s", name, BATKIT_VERSION);
    argp_program_version = version_text;
    argp_err_exit_status = TOOL_USAGE;
    /* So that a closed pipe is an error like any other, and temporary files get removed. */
    signal(SIGPIPE, SIG_IGN);
}

void tool_complain(const char *file, const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", tool_name);
    if (file)
        fprintf(stderr, "%s: ", file);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void tool_report(const char *file, const struct bat_error *error)
{
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    /* Lines and columns stand right behind the file, where editors look for them. */
    if (file && error->place == BAT_PLACE_TEXT)
        tool_complain(NULL, "%s:%s", file, text);
    else
        tool_complain(file, "%s", text);
}

enum tool_exit tool_end(enum tool_exit status)
{
    bool failed = ferror(stdout) != 0;
    int reason = 0;
    if (fflush(stdout) != 0) {
        failed = true;
        reason = errno;
    }
    if (!failed)
        return status;
    /* Nobody reads on behind a closed pipe: no message, but not success either. */
    if (reason != EPIPE)
        fprintf(stderr, "%s: standard output: %s\n", tool_name,
                reason ? strerror(reason) : "could not be written");
    return TOOL_BAD;
}

bool tool_parse_address(const char *text, uint64_t *address)
{
    const char *digits = text;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        digits += 2;
    size_t length = strlen(digits);
    if (length == 0 || length > 16 || strspn(digits, "0123456789abcdefABCDEF") != length)
        return false;
    *address = strtoull(digits, NULL, 16);
    return true;
}
