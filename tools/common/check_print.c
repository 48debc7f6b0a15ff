/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "check_print.h"

#include <argp.h>
#include <stdlib.h>

#include "output.h"
#include "profile/verdict/words.h"

enum tool_exit check_print(const struct bat_profile_verdict *check, const char *binary, FILE *file)
{
    struct output *output = output_begin_stream(file);
    if (!output)
        return TOOL_BAD;
    enum bat_code code = bat_verdict_write(check, binary, output->text.output, NULL);
    return output_end(output, code == BAT_OK ? TOOL_FINE : tool_no_memory(NULL));
}

/* --- The line in a report -------------------------------------------------------------------- */

void check_warn(const struct bat_profile_verdict *check, const char *binary)
{
    char *words = check->is_fit ? NULL : bat_verdict_words(check);
    if (words)
        tool_message(binary, "warning: the profile looks %s", words);
    free(words);
}

void check_print_line(const struct bat_profile_verdict *check, FILE *file)
{
    char *words = bat_verdict_words(check);
    if (words)
        fprintf(file, "the profile looks %s (%zu of %u checks; --check makes all)\n", words,
                bat_verdict_made(check), (unsigned)BAT_VERDICT_CHECKS);
    free(words);
}

void check_print_line_json(const struct bat_profile_verdict *check, FILE *file)
{
    const char *verdict = bat_verdict_made(check) == 0 ? "unknown"
                          : check->is_fit              ? "fit"
                                                       : "unfit";
    fprintf(file, "\"quick_check\":{\"verdict\":\"%s\",\"checks\":[", verdict);
    const char *before = "";
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        const struct bat_verdict_result *result = &check->results[i];
        if (result->status == BAT_VERDICT_UNKNOWN)
            continue;
        fprintf(file, "%s{\"id\":\"%s\",\"status\":\"%s\",\"value\":%.9g}", before,
                bat_verdict_kind((enum bat_verdict_check)i)->id,
                bat_verdict_status_name(result->status), result->value);
        before = ",";
    }
    fputs("]}", file);
}

/* --- Options ---------------------------------------------------------------------------------- */

static void print_list(void)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        const struct bat_verdict_kind *kind = bat_verdict_kind((enum bat_verdict_check)i);
        tool_print("%-14s %-8s %-8s %5.4g%s  %s%s", kind->id, bat_severity_name(kind->severity),
                   kind->is_minimum ? "at least" : "at most",
                   kind->is_share ? 100 * kind->limit : kind->limit, kind->is_share ? "%" : " ",
                   kind->summary, kind->has_functions ? " (by function)" : "");
    }
}

bool check_parse(int key, char *argument, struct argp_state *state,
                 struct bat_verdict_options *options)
{
    const char *expected;
    switch (key) {
    case CHECK_LIMIT:
        if (!bat_verdict_parse_limit(options, argument, &expected))
            argp_error(state, "--check-limit: expected %s, found \"%s\"", expected, argument);
        return true;
    case CHECK_STRICT:
        options->is_strict = true;
        return true;
    case CHECK_SUPPRESS:
        options->suppressions_path = argument;
        return true;
    case CHECK_LIST:
        print_list();
        exit(TOOL_FINE);
    default:
        return false;
    }
}
