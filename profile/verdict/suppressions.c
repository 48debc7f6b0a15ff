/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "suppressions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "spec/order.h"
#include "support/text_file.h"

/* A line that is read. */
struct reading {
    struct bat_suppressions *suppressions;
    size_t line; /* its number */
    struct bat_error *error;
};

static enum bat_code fail(const struct reading *reading, const char *expected, const char *found)
{
    return bat_fail(reading->error, BAT_ERR_SYNTAX, "line %zu: expected %s, found \"%s\"",
                    reading->line, expected, found);
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

static enum bat_code add(const struct reading *reading, enum bat_verdict_check check,
                         const char *pattern, const char *reason)
{
    struct bat_suppressions *suppressions = reading->suppressions;
    const bool has_room = BAT_GROW(suppressions->all, suppressions->count, suppressions->capacity);
    struct bat_suppression made = {
        .check = check, .pattern = *pattern ? strdup(pattern) : NULL, .reason = strdup(reason)};
    if (!has_room || !made.reason || (*pattern && !made.pattern)) {
        BAT_FREE_ALL(made.pattern, made.reason);
        return bat_fail_memory(reading->error, "for the suppressions");
    }
    suppressions->all[suppressions->count++] = made;
    return BAT_OK;
}

static enum bat_code read_line(const struct reading *reading, char *line)
{
    char *id = strip(line);
    if (*id == '\0' || *id == '#')
        return BAT_OK;
    char *reason = strchr(id, '#');
    if (!reason)
        return fail(reading, "\"# \" and the reason at the end", id);
    *reason++ = '\0';
    reason = strip(reason);
    size_t size = strcspn(id, " \t");
    enum bat_verdict_check check = bat_verdict_find(id, size);
    if (check == BAT_VERDICT_CHECKS || check == BAT_VERDICT_READ || check == BAT_VERDICT_BUILD_ID)
        return fail(reading, "the id of a check (--list-checks)", id);
    char *pattern = strip(id + size);
    if (*reason == '\0')
        return fail(reading, "the reason behind #", "");
    if (*pattern && !bat_verdict_kind(check)->has_functions)
        return fail(reading, "no function: the check is one of the whole profile", pattern);
    if (pattern[strcspn(pattern, " \t")])
        return fail(reading, "one pattern of functions", pattern);
    return add(reading, check, pattern, reason);
}

/* The most patterns that every function is compared with. */
#define WILD_MAX 1000u

static int by_check_and_pattern(const void *left_pointer, const void *right_pointer)
{
    const struct bat_suppression *left = *(const struct bat_suppression *const *)left_pointer;
    const struct bat_suppression *right = *(const struct bat_suppression *const *)right_pointer;
    if (left->check != right->check)
        return left->check < right->check ? -1 : 1;
    return strcmp(left->pattern, right->pattern);
}

/* List the patterns that are names, and the others. */
static enum bat_code list_patterns(struct bat_suppressions *suppressions, struct bat_error *error)
{
    suppressions->plain = malloc((suppressions->count + 1) * sizeof(*suppressions->plain));
    suppressions->wild = malloc((suppressions->count + 1) * sizeof(*suppressions->wild));
    BAT_TRY_MEMORY(suppressions->plain && suppressions->wild, error, "for the suppressions");
    for (size_t i = 0; i < suppressions->count; i++) {
        struct bat_suppression *suppression = &suppressions->all[i];
        if (suppression->pattern && strpbrk(suppression->pattern, "*?[\\"))
            suppressions->wild[suppressions->wild_count++] = suppression;
        else if (suppression->pattern)
            suppressions->plain[suppressions->plain_count++] = suppression;
    }
    if (suppressions->wild_count > WILD_MAX)
        return bat_fail(error, BAT_ERR_SYNTAX,
                        "expected at most %u patterns with *, ? or [, found %zu", WILD_MAX,
                        suppressions->wild_count);
    qsort(suppressions->plain, suppressions->plain_count, sizeof(*suppressions->plain),
          by_check_and_pattern);
    return BAT_OK;
}

enum bat_code bat_suppressions_read(const char *path, struct bat_suppressions *suppressions,
                                    struct bat_error *error)
{
    *suppressions = (struct bat_suppressions){0};
    FILE *file = bat_text_file_open(path);
    if (!file)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = BAT_OK;
    struct reading reading = {.suppressions = suppressions, .line = 1, .error = error};
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    for (; code == BAT_OK && (size = bat_text_file_line(file, &line, &capacity)) >= 0;
         reading.line++)
        code = memchr(line, '\0', (size_t)size) ? fail(&reading, "text", "a byte 0")
                                                : read_line(&reading, line);
    if (code == BAT_OK && !feof(file))
        code = bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    free(line);
    fclose(file);
    return code ? code : list_patterns(suppressions, error);
}

void bat_suppressions_free(struct bat_suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        BAT_FREE_ALL(suppressions->all[i].pattern, suppressions->all[i].reason);
    }
    BAT_FREE_ALL(suppressions->all, suppressions->plain, suppressions->wild);
    *suppressions = (struct bat_suppressions){0};
}

const struct bat_suppression *bat_suppressed(struct bat_suppressions *suppressions,
                                             enum bat_verdict_check check)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        struct bat_suppression *suppression = &suppressions->all[i];
        if (suppression->check != check || suppression->pattern)
            continue;
        suppression->is_used = true;
        return suppression;
    }
    return NULL;
}

/* The first of the patterns that are names which is not below a name's for the check. */
static size_t find_plain(const struct bat_suppressions *suppressions, enum bat_verdict_check check,
                         const char *name)
{
    struct bat_search search = {.high = suppressions->plain_count};
    while (bat_search_next(&search)) {
        const struct bat_suppression *at = suppressions->plain[search.middle];
        bat_search_go(&search,
                      at->check != check ? at->check < check : strcmp(at->pattern, name) < 0);
    }
    return search.low;
}

bool bat_suppresses_function(struct bat_suppressions *suppressions, enum bat_verdict_check check,
                             const char *name, bool is_part)
{
    bool is_found = false;
    for (size_t i = find_plain(suppressions, check, name); i < suppressions->plain_count; i++) {
        struct bat_suppression *suppression = suppressions->plain[i];
        if (suppression->check != check || strcmp(suppression->pattern, name) != 0)
            break;
        suppression->is_used |= is_part;
        is_found = true;
    }
    for (size_t i = 0; i < suppressions->wild_count; i++) {
        struct bat_suppression *suppression = suppressions->wild[i];
        if (suppression->check != check || fnmatch(suppression->pattern, name, 0) != 0)
            continue;
        suppression->is_used |= is_part;
        is_found = true;
    }
    return is_found;
}
