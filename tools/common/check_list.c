/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "check_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/binary_search.h"
#include "spec/grow.h"
#include "text_file.h"

const struct check_kind check_kinds[CHECK_COUNT] = {
    [CHECK_READ] = {"read", BAT_ERROR, false, false, false, 0, "profiles that cannot be read"},
    [CHECK_BUILD_ID] = {"build-id", BAT_ERROR, false, false, false, 0, "profiles of other builds"},
    [CHECK_PROFILES] = {"profiles", BAT_ERROR, false, true, false, 1, "profiles with records"},
    [CHECK_SAMPLES] = {"samples", BAT_ERROR, false, true, false, 1, "samples in the binary"},
    [CHECK_STACKS] = {"branch-stacks", BAT_ERROR, true, false, false, 0.5,
                      "samples without a branch stack"},
    [CHECK_OUTSIDE] = {"outside", BAT_ERROR, true, false, false, 0.9,
                       "samples outside of the binary"},
    [CHECK_NOWHERE] = {"nowhere", BAT_ERROR, true, false, false, 0.1,
                       "samples where the binary has no code"},
    [CHECK_KERNEL] = {"kernel", BAT_WARNING, true, false, false, 0.5,
                      "branches from or to the kernel"},
    [CHECK_LOST] = {"lost", BAT_WARNING, true, false, false, 0.05, "records lost while recording"},
    [CHECK_BRANCHES] = {"branches", BAT_ERROR, true, false, true, 0.05,
                        "branches that are none in the code"},
    [CHECK_TARGETS] = {"targets", BAT_ERROR, true, false, true, 0.05,
                       "branches that do not go there in the code"},
    [CHECK_RUNS] = {"runs", BAT_ERROR, true, false, false, 0.05,
                    "fall-throughs that are not one run of code"},
    [CHECK_INSTRUCTIONS] = {"instructions", BAT_ERROR, true, false, true, 0.05,
                            "basic samples inside of instructions"},

    [CHECK_STALE] = {"stale", BAT_ERROR, true, false, true, 0.1,
                     "samples that llvm-bolt will refuse"},
    [CHECK_DENSITY] = {"density", BAT_WARNING, false, true, false, 60,
                       "executed bytes for each byte of hot code"},
    [CHECK_FLOW] = {"flow", BAT_WARNING, true, false, true, 0.2,
                    "flow into code without flow out of it"},
    [CHECK_ENTRIES] = {"entries", BAT_WARNING, true, false, true, 0.2,
                       "calls of functions without runs there"},
    [CHECK_CALLS] = {"calls", BAT_WARNING, true, false, true, 0.3,
                     "calls without returns behind them"},
    [CHECK_CONTINUITY] = {"continuity", BAT_WARNING, true, false, true, 0.1,
                          "runs that the function's entry does not reach"},
    [CHECK_NEW_CODE] = {"new-code", BAT_WARNING, true, false, true, 0.1,
                        "samples in code that was cold in the last build"},
    [CHECK_OLD_CODE] = {"old-code", BAT_ERROR, true, false, true, 0.1,
                        "samples in the code of functions before BOLT moved them"},
    [CHECK_FOUND] = {"found", BAT_ERROR, true, true, true, 0.5,
                     "samples in functions that the next build has, too"},
    [CHECK_INFERRED] = {"inferred", BAT_WARNING, true, false, false, 0.3,
                        "counts of the next build's blocks that no old block gives"},
    [CHECK_BASELINE_SAMPLES] = {"baseline-samples", BAT_ERROR, true, true, false, 0.7,
                                "samples, of as many as in the baseline"},
    [CHECK_BASELINE] = {"baseline", BAT_WARNING, true, true, false, 0.5,
                        "overlap of functions with the baseline"},
};

struct check_options check_options_new(void)
{
    struct check_options options = {0};
    for (size_t i = 0; i < CHECK_COUNT; i++)
        options.limits[i] = -1;
    return options;
}

/* The check whose id is the first size bytes of text; CHECK_COUNT if there is none. */
static enum check_number find_check(const char *text, size_t size)
{
    size_t i = 0;
    while (i < CHECK_COUNT &&
           (strlen(check_kinds[i].id) != size || memcmp(check_kinds[i].id, text, size) != 0))
        i++;
    return (enum check_number)i;
}

bool check_parse_limit(struct check_options *options, const char *text, const char **expected)
{
    const char *value = strchr(text, '=');
    enum check_number check = value ? find_check(text, (size_t)(value - text)) : CHECK_COUNT;
    *expected = "the id of a check (--list-checks), = and its limit";
    if (check == CHECK_COUNT)
        return false;
    bool is_share = check_kinds[check].is_share;
    char *end;
    double limit = strtod(++value, &end);
    bool is_number = end != value && (value[0] == '.' || (value[0] >= '0' && value[0] <= '9'));
    *expected = is_share ? "a percentage from 0 to 100" : "a number";
    end += is_share && *end == '%';
    if (!is_number || *end || !isfinite(limit) || (is_share && limit > 100))
        return false;
    options->limits[check] = is_share ? limit / 100 : limit;
    return true;
}

void check_print_list(void)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        const struct check_kind *kind = &check_kinds[i];
        tool_print("%-14s %-8s %-8s %5.4g%s  %s%s", kind->id, bat_severity_name(kind->severity),
                   kind->is_minimum ? "at least" : "at most",
                   kind->is_share ? 100 * kind->limit : kind->limit, kind->is_share ? "%" : " ",
                   kind->summary, kind->has_functions ? " (by function)" : "");
    }
}

/* --- Suppressions ---------------------------------------------------------------------------- */

static enum tool_exit fail_line(const char *path, size_t line, const char *expected,
                                const char *found)
{
    return tool_message(path, "line %zu: expected %s, found \"%s\"", line, expected, found);
}

/* The text without blanks at both ends, which are overwritten. */
static char *strip(char *text)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t size = strlen(text);
    while (size > 0 && strchr(blanks, text[size - 1]))
        text[--size] = '\0';
    return text;
}

static enum tool_exit add(struct check_suppressions *suppressions, const char *path,
                          enum check_number check, const char *pattern, const char *reason)
{
    const bool has_room = bat_grow(&suppressions->all, &suppressions->capacity, suppressions->count,
                                   sizeof(*suppressions->all));
    struct check_suppression made = {
        .check = check, .pattern = *pattern ? strdup(pattern) : NULL, .reason = strdup(reason)};
    if (!has_room || !made.reason || (*pattern && !made.pattern)) {
        free(made.pattern);
        free(made.reason);
        return tool_no_memory(path);
    }
    suppressions->all[suppressions->count++] = made;
    return TOOL_FINE;
}

static enum tool_exit read_line(struct check_suppressions *suppressions, const char *path,
                                size_t number, char *line)
{
    char *id = strip(line);
    if (*id == '\0' || *id == '#')
        return TOOL_FINE;
    char *reason = strchr(id, '#');
    if (!reason)
        return fail_line(path, number, "\"# \" and the reason at the end", id);
    *reason++ = '\0';
    reason = strip(reason);
    size_t size = strcspn(id, " \t");
    enum check_number check = find_check(id, size);
    if (check == CHECK_COUNT || check == CHECK_READ || check == CHECK_BUILD_ID)
        return fail_line(path, number, "the id of a check (--list-checks)", id);
    char *pattern = strip(id + size);
    if (*reason == '\0')
        return fail_line(path, number, "the reason behind #", "");
    if (*pattern && !check_kinds[check].has_functions)
        return fail_line(path, number, "no function: the check is one of the whole profile",
                         pattern);
    if (pattern[strcspn(pattern, " \t")])
        return fail_line(path, number, "one pattern of functions", pattern);
    return add(suppressions, path, check, pattern, reason);
}

/* The most patterns that every function is compared with. */
#define WILD_MAX 1000u

static int by_check_and_pattern(const void *left_pointer, const void *right_pointer)
{
    const struct check_suppression *left = *(const struct check_suppression *const *)left_pointer;
    const struct check_suppression *right = *(const struct check_suppression *const *)right_pointer;
    if (left->check != right->check)
        return left->check < right->check ? -1 : 1;
    return strcmp(left->pattern, right->pattern);
}

/* List the patterns that are names, and the others. */
static enum tool_exit list_patterns(struct check_suppressions *suppressions, const char *path)
{
    suppressions->plain = malloc((suppressions->count + 1) * sizeof(*suppressions->plain));
    suppressions->wild = malloc((suppressions->count + 1) * sizeof(*suppressions->wild));
    if (!suppressions->plain || !suppressions->wild)
        return tool_no_memory(path);
    for (size_t i = 0; i < suppressions->count; i++) {
        struct check_suppression *suppression = &suppressions->all[i];
        if (suppression->pattern && strpbrk(suppression->pattern, "*?[\\"))
            suppressions->wild[suppressions->wild_count++] = suppression;
        else if (suppression->pattern)
            suppressions->plain[suppressions->plain_count++] = suppression;
    }
    if (suppressions->wild_count > WILD_MAX)
        return tool_message(path, "expected at most %u patterns with *, ? or [, found %zu",
                            WILD_MAX, suppressions->wild_count);
    qsort(suppressions->plain, suppressions->plain_count, sizeof(*suppressions->plain),
          by_check_and_pattern);
    return TOOL_FINE;
}

enum tool_exit check_suppressions_read(const char *path, struct check_suppressions *suppressions)
{
    *suppressions = (struct check_suppressions){0};
    FILE *file = text_file_open(path);
    if (!file)
        return tool_message(path, "%s", strerror(errno));
    enum tool_exit status = TOOL_FINE;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    for (size_t number = 1;
         status == TOOL_FINE && (size = text_file_line(file, &line, &capacity)) >= 0; number++)
        status = memchr(line, '\0', (size_t)size) ? fail_line(path, number, "text", "a byte 0")
                                                  : read_line(suppressions, path, number, line);
    if (status == TOOL_FINE && !feof(file))
        status = tool_message(path, "%s", strerror(errno));
    free(line);
    fclose(file);
    return status == TOOL_FINE ? list_patterns(suppressions, path) : status;
}

void check_suppressions_free(struct check_suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        free(suppressions->all[i].pattern);
        free(suppressions->all[i].reason);
    }
    free(suppressions->all);
    free(suppressions->plain);
    free(suppressions->wild);
    *suppressions = (struct check_suppressions){0};
}

const struct check_suppression *check_suppressed(struct check_suppressions *suppressions,
                                                 enum check_number check)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        struct check_suppression *suppression = &suppressions->all[i];
        if (suppression->check != check || suppression->pattern)
            continue;
        suppression->is_used = true;
        return suppression;
    }
    return NULL;
}

/* The first of the patterns that are names which is not below a name's for the check. */
static size_t find_plain(const struct check_suppressions *suppressions, enum check_number check,
                         const char *name)
{
    struct bat_search search = {.high = suppressions->plain_count};
    while (bat_search_next(&search)) {
        const struct check_suppression *at = suppressions->plain[search.middle];
        bat_search_go(&search,
                      at->check != check ? at->check < check : strcmp(at->pattern, name) < 0);
    }
    return search.low;
}

bool check_suppresses_function(struct check_suppressions *suppressions, enum check_number check,
                               const char *name, bool is_part)
{
    bool is_found = false;
    for (size_t i = find_plain(suppressions, check, name); i < suppressions->plain_count; i++) {
        struct check_suppression *suppression = suppressions->plain[i];
        if (suppression->check != check || strcmp(suppression->pattern, name) != 0)
            break;
        suppression->is_used |= is_part;
        is_found = true;
    }
    for (size_t i = 0; i < suppressions->wild_count; i++) {
        struct check_suppression *suppression = suppressions->wild[i];
        if (suppression->check != check || fnmatch(suppression->pattern, name, 0) != 0)
            continue;
        suppression->is_used |= is_part;
        is_found = true;
    }
    return is_found;
}
