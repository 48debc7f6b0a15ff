/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writes a verdict: for people, and as JSON. */

#include "support/text_writer.h"
#include "words.h"

/* Functions of a finding that are printed for people; JSON has all. */
#define FUNCTIONS_PRINTED 5u

/* --- Text ------------------------------------------------------------------------------------ */

static void write_number(struct bat_text_writer *output, const struct bat_verdict_kind *kind,
                         double number)
{
    if (kind->is_share)
        bat_text_format(output, "%.1f%%", 100 * number);
    else
        bat_text_format(output, "%.*f", number < 1e6 && number != (double)(uint64_t)number ? 1 : 0,
                        number);
}

static void write_functions(struct bat_text_writer *output, const struct bat_verdict_result *result)
{
    for (size_t i = 0; i < result->function_count && i < FUNCTIONS_PRINTED; i++) {
        const struct bat_verdict_function *function = &result->functions[i];
        bat_text_name(output, "    ", function->name, "");
        bat_text_format(output, ": %lu of %lu", function->part, function->whole);
        if (function->reason[0])
            bat_text_format(output, ": %s", function->reason);
        bat_text_string(output, "\n");
    }
    if (result->function_count > FUNCTIONS_PRINTED)
        bat_text_format(output, "    and %zu more functions (--report=json has all)\n",
                        result->function_count - FUNCTIONS_PRINTED);
}

static void write_result(const struct bat_profile_verdict *check, struct bat_text_writer *output,
                         enum bat_verdict_check number)
{
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    const struct bat_verdict_result *result = &check->results[number];
    if (result->status == BAT_VERDICT_UNKNOWN)
        return;
    bat_text_format(output, "%s: %s: %s: ", bat_verdict_word(kind, result), kind->id,
                    kind->summary);
    write_number(output, kind, result->value);
    bat_text_string(output, kind->is_minimum ? ", at least " : ", at most ");
    write_number(output, kind, result->limit);
    bat_text_string(output, " is fine");
    if (result->reason)
        bat_text_name(output, ": ", result->reason, "");
    bat_text_string(output, "\n");
    if (result->status == BAT_VERDICT_FAILED)
        write_functions(output, result);
}

static void write_unused(const struct bat_profile_verdict *check, struct bat_text_writer *output)
{
    for (size_t i = 0; i < check->suppressions.count; i++) {
        const struct bat_suppression *suppression = &check->suppressions.all[i];
        if (suppression->is_used)
            continue;
        bat_text_format(output, "unused suppression: %s ",
                        bat_verdict_kind(suppression->check)->id);
        bat_text_name(output, "", suppression->pattern ? suppression->pattern : "", "\n");
    }
}

static void write_count(struct bat_text_writer *output, uint64_t count, const char *what)
{
    bat_text_format(output, "%lu %s%s", count, what, count == 1 ? "" : "s");
}

static void write_text(const struct bat_profile_verdict *check, struct bat_text_writer *output,
                       const char *binary)
{
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        write_result(check, output, (enum bat_verdict_check)i);
    write_unused(check, output);
    bat_text_escaped(output, binary);
    bat_text_format(output, ": %s (", check->is_fit ? "fit" : "unfit");
    write_count(output, check->findings[BAT_ERROR], "error");
    bat_text_string(output, ", ");
    write_count(output, check->findings[BAT_WARNING], "warning");
    bat_text_string(output, ")\n");
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void write_json_functions(struct bat_text_writer *output,
                                 const struct bat_verdict_result *result)
{
    bat_text_string(output, ",\"functions\":[");
    for (size_t i = 0; i < result->function_count; i++) {
        const struct bat_verdict_function *function = &result->functions[i];
        bat_text_member(output, i ? ",{\"name\":" : "{\"name\":", function->name);
        bat_text_format(output, ",\"part\":%lu,\"whole\":%lu", function->part, function->whole);
        if (function->reason[0])
            bat_text_member(output, ",\"reason\":", function->reason);
        bat_text_string(output, "}");
    }
    bat_text_string(output, "]");
}

static void write_json_result(const struct bat_profile_verdict *check,
                              struct bat_text_writer *output, enum bat_verdict_check number)
{
    const struct bat_verdict_kind *kind = bat_verdict_kind(number);
    const struct bat_verdict_result *result = &check->results[number];
    bat_text_format(output, "%s\n{\"id\":\"%s\",\"severity\":\"%s\",\"status\":\"%s\"",
                    number ? "," : "", kind->id, bat_severity_name(kind->severity),
                    bat_verdict_status_name(result->status));
    if (result->status != BAT_VERDICT_UNKNOWN)
        bat_text_format(output, ",\"value\":%.9g", result->value);
    bat_text_format(output, ",\"%s\":%.9g", kind->is_minimum ? "min" : "max", result->limit);
    if (result->reason)
        bat_text_member(output, ",\"reason\":", result->reason);
    const struct bat_verdict_unreadable *unreadable =
        number == BAT_VERDICT_READ       ? &check->unreadable
        : number == BAT_VERDICT_BUILD_ID ? &check->other_builds
                                         : NULL;
    if (unreadable && unreadable->count != 0)
        bat_text_member(output, ",\"message\":", unreadable->message);
    if (kind->has_functions)
        write_json_functions(output, result);
    bat_text_string(output, "}");
}

static void write_json_unused(const struct bat_profile_verdict *check,
                              struct bat_text_writer *output)
{
    const char *comma = "";
    for (size_t i = 0; i < check->suppressions.count; i++) {
        const struct bat_suppression *suppression = &check->suppressions.all[i];
        if (suppression->is_used)
            continue;
        bat_text_format(output, "%s{\"id\":\"%s\"", comma,
                        bat_verdict_kind(suppression->check)->id);
        if (suppression->pattern)
            bat_text_member(output, ",\"pattern\":", suppression->pattern);
        bat_text_member(output, ",\"reason\":", suppression->reason);
        bat_text_string(output, "}");
        comma = ",";
    }
}

static void write_json(const struct bat_profile_verdict *check, struct bat_text_writer *output)
{
    bat_text_format(
        output, "{\"schema\":1,\"verdict\":\"%s\",\"errors\":%lu,\"warnings\":%lu,\"checks\":[",
        check->is_fit ? "fit" : "unfit", check->findings[BAT_ERROR], check->findings[BAT_WARNING]);
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        write_json_result(check, output, (enum bat_verdict_check)i);
    bat_text_string(output, "\n],\"unused_suppressions\":[");
    write_json_unused(check, output);
    bat_text_string(output, "],\"densities\":[");
    for (size_t i = 0; i < check->density_count; i++) {
        bat_text_member(output, i ? ",\n{\"name\":" : "\n{\"name\":", check->densities[i].name);
        bat_text_format(output, ",\"branches\":%lu,\"density\":%.9g}", check->densities[i].branches,
                        check->densities[i].density);
    }
    bat_text_string(output, "]}");
}

/* --- Both ------------------------------------------------------------------------------------ */

enum bat_code bat_verdict_write(const struct bat_profile_verdict *verdict, const char *binary,
                                struct bat_output *output, struct bat_error *error)
{
    struct bat_text_writer text;
    BAT_TRY(bat_text_begin(&text, output, error));
    if (binary)
        write_text(verdict, &text, binary);
    else
        write_json(verdict, &text);
    return bat_text_finish(&text, BAT_OK);
}
