/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Prints the results of --check: for people, and as JSON. */
#include <inttypes.h>
#include <stdlib.h>

#include "check_print.h"
#include "profile/verdict/words.h"
#include "tools/common/output.h"

/* Functions of a finding that are printed for people; JSON has all. */
#define FUNCTIONS_PRINTED 5u

static const char *const status_names[] = {[BAT_VERDICT_UNKNOWN] = "unknown",
                                           [BAT_VERDICT_PASSED] = "passed",
                                           [BAT_VERDICT_FAILED] = "failed",
                                           [BAT_VERDICT_SUPPRESSED] = "suppressed"};

/* --- Text ------------------------------------------------------------------------------------ */

static void print_number(struct output *output, const struct bat_verdict_kind *kind, double number)
{
    if (kind->is_share)
        output_format(output, "%.1f%%", 100 * number);
    else
        output_format(output, "%.*f", number < 1e6 && number != (double)(uint64_t)number ? 1 : 0,
                      number);
}

static void print_functions(struct output *output, const struct bat_verdict_result *result)
{
    for (size_t i = 0; i < result->function_count && i < FUNCTIONS_PRINTED; i++) {
        const struct bat_verdict_function *function = &result->functions[i];
        output_name(output, "    ", function->name, "");
        output_format(output, ": %" PRIu64 " of %" PRIu64, function->part, function->whole);
        if (function->reason[0])
            output_format(output, ": %s", function->reason);
        output_text(output, "\n");
    }
    if (result->function_count > FUNCTIONS_PRINTED)
        output_format(output, "    and %zu more functions (--report=json has all)\n",
                      result->function_count - FUNCTIONS_PRINTED);
}

static void print_result(const struct bat_profile_verdict *check, struct output *output,
                         enum bat_verdict_check number)
{
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    const struct bat_verdict_result *result = &check->results[number];
    if (result->status == BAT_VERDICT_UNKNOWN)
        return;
    const char *verdict = result->status == BAT_VERDICT_PASSED ? "fine"
                          : result->status == BAT_VERDICT_SUPPRESSED
                              ? "suppressed"
                              : bat_severity_name(kind->severity);
    output_format(output, "%s: %s: %s: ", verdict, kind->id, kind->summary);
    print_number(output, kind, result->value);
    output_text(output, kind->is_minimum ? ", at least " : ", at most ");
    print_number(output, kind, result->limit);
    output_text(output, " is fine");
    if (result->reason)
        output_name(output, ": ", result->reason, "");
    output_text(output, "\n");
    if (result->status == BAT_VERDICT_FAILED)
        print_functions(output, result);
}

static void print_unused(const struct bat_profile_verdict *check, struct output *output)
{
    for (size_t i = 0; i < check->suppressions.count; i++) {
        const struct bat_suppression *suppression = &check->suppressions.all[i];
        if (suppression->is_used)
            continue;
        output_format(output, "unused suppression: %s ", bat_verdict_kind(suppression->check)->id);
        output_name(output, "", suppression->pattern ? suppression->pattern : "", "\n");
    }
}

static void print_count(struct output *output, uint64_t count, const char *what)
{
    output_format(output, "%" PRIu64 " %s%s", count, what, count == 1 ? "" : "s");
}

static void print_text(const struct bat_profile_verdict *check, struct output *output,
                       const char *binary)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        print_result(check, output, (enum bat_verdict_check)i);
    print_unused(check, output);
    output_escaped(output, binary);
    output_format(output, ": %s (", check->is_fit ? "fit" : "unfit");
    print_count(output, check->findings[BAT_ERROR], "error");
    output_text(output, ", ");
    print_count(output, check->findings[BAT_WARNING], "warning");
    output_text(output, ")\n");
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void print_json_functions(struct output *output, const struct bat_verdict_result *result)
{
    output_text(output, ",\"functions\":[");
    for (size_t i = 0; i < result->function_count; i++) {
        const struct bat_verdict_function *function = &result->functions[i];
        output_json_member(output, i ? ",{\"name\":" : "{\"name\":", function->name);
        output_format(output, ",\"part\":%" PRIu64 ",\"whole\":%" PRIu64, function->part,
                      function->whole);
        if (function->reason[0])
            output_json_member(output, ",\"reason\":", function->reason);
        output_text(output, "}");
    }
    output_text(output, "]");
}

static void print_json_result(const struct bat_profile_verdict *check, struct output *output,
                              enum bat_verdict_check number)
{
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    const struct bat_verdict_result *result = &check->results[number];
    output_format(output, "%s\n{\"id\":\"%s\",\"severity\":\"%s\",\"status\":\"%s\"",
                  number ? "," : "", kind->id, bat_severity_name(kind->severity),
                  status_names[result->status]);
    if (result->status != BAT_VERDICT_UNKNOWN)
        output_format(output, ",\"value\":%.9g", result->value);
    output_format(output, ",\"%s\":%.9g", kind->is_minimum ? "min" : "max", result->limit);
    if (result->reason)
        output_json_member(output, ",\"reason\":", result->reason);
    const struct bat_verdict_unreadable *unreadable =
        number == BAT_VERDICT_READ       ? &check->unreadable
        : number == BAT_VERDICT_BUILD_ID ? &check->other_builds
                                         : NULL;
    if (unreadable && unreadable->count != 0)
        output_json_member(output, ",\"message\":", unreadable->message);
    if (kind->has_functions)
        print_json_functions(output, result);
    output_text(output, "}");
}

static void print_json_unused(const struct bat_profile_verdict *check, struct output *output)
{
    const char *comma = "";
    for (size_t i = 0; i < check->suppressions.count; i++) {
        const struct bat_suppression *suppression = &check->suppressions.all[i];
        if (suppression->is_used)
            continue;
        output_format(output, "%s{\"id\":\"%s\"", comma, bat_verdict_kind(suppression->check)->id);
        if (suppression->pattern)
            output_json_member(output, ",\"pattern\":", suppression->pattern);
        output_json_member(output, ",\"reason\":", suppression->reason);
        output_text(output, "}");
        comma = ",";
    }
}

static void print_json(const struct bat_profile_verdict *check, struct output *output)
{
    output_format(output,
                  "\"check\":{\"schema\":1,\"verdict\":\"%s\",\"errors\":%" PRIu64
                  ",\"warnings\":%" PRIu64 ",\"checks\":[",
                  check->is_fit ? "fit" : "unfit", check->findings[BAT_ERROR],
                  check->findings[BAT_WARNING]);
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        print_json_result(check, output, (enum bat_verdict_check)i);
    output_text(output, "\n],\"unused_suppressions\":[");
    print_json_unused(check, output);
    output_text(output, "],\"densities\":[");
    for (size_t i = 0; i < check->density_count; i++) {
        output_json_member(output, i ? ",\n{\"name\":" : "\n{\"name\":", check->densities[i].name);
        output_format(output, ",\"branches\":%" PRIu64 ",\"density\":%.9g}",
                      check->densities[i].branches, check->densities[i].density);
    }
    output_text(output, "]}");
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
                bat_verdict_kind((enum bat_verdict_check)i)->id, status_names[result->status],
                result->value);
        before = ",";
    }
    fputs("]}", file);
}

/* --- Both ------------------------------------------------------------------------------------ */

/* Both print by way of memory, where the report may be kept, too. */
enum tool_exit check_print(const struct bat_profile_verdict *check, const char *binary, FILE *file)
{
    struct output *output = output_begin_memory();
    if (!output)
        return tool_no_memory(NULL);
    print_text(check, output, binary);
    return output_end_in(output, file);
}

enum tool_exit check_print_json(const struct bat_profile_verdict *check, FILE *file)
{
    struct output *output = output_begin_memory();
    if (!output)
        return tool_no_memory(NULL);
    print_json(check, output);
    return output_end_in(output, file);
}

/* --- The list --------------------------------------------------------------------------------- */

void check_print_list(void)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        const struct bat_verdict_kind *kind = bat_verdict_kind((enum bat_verdict_check)i);
        tool_print("%-14s %-8s %-8s %5.4g%s  %s%s", kind->id, bat_severity_name(kind->severity),
                   kind->is_minimum ? "at least" : "at most",
                   kind->is_share ? 100 * kind->limit : kind->limit, kind->is_share ? "%" : " ",
                   kind->summary, kind->has_functions ? " (by function)" : "");
    }
}
