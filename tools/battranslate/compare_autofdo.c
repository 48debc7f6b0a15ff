/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads LLVM's sample profile as text: a line "name:total:head" for each function, and below it
 * lines of its places, indented by one blank for each inlined call that they are in: "line: count
 * ..." or "line.discriminator: count ..." for samples, "line: name:total" for an inlined call.
 */
#include <stdlib.h>
#include <string.h>

#include "compare_read.h"

/* Inlined calls in each other; compilers stop far earlier. */
#define DEPTH_MAX 256u

struct autofdo {
    struct bat_overlaps *comparison;
    const char *line; /* the start of the current one */
    uint64_t number;  /* of the line, from 1 */
    char *function;   /* of the lines below; NULL before the first */
    char *path;       /* the places of the inlined calls; room for a line's place behind them */
    size_t ends[DEPTH_MAX]; /* of path, for each depth; ends[0] is 0 */
    unsigned depth;         /* the deepest that a line may have now */
    struct bat_error *error;
};

static enum bat_code fail(const struct autofdo *autofdo, const char *at, const char *expected)
{
    size_t size = strcspn(at, "\n");
    return bat_fail_text(autofdo->error, BAT_ERR_SYNTAX, autofdo->number,
                         (uint64_t)(at - autofdo->line) + 1, "expected %s, found \"%.*s\"",
                         expected, size < 60 ? (int)size : 60, at);
}

static const char *skip_digits(const char *at)
{
    return at + strspn(at, "0123456789");
}

/* Where ":number" begins at the end of [at, end), or NULL. */
static const char *number_at_end(const char *at, const char *end)
{
    const char *start = end;
    while (start > at && start[-1] >= '0' && start[-1] <= '9')
        start--;
    return start < end && start > at + 1 && start[-1] == ':' ? start - 1 : NULL;
}

/* "name:total:head" */
static enum bat_code read_function(struct autofdo *autofdo, const char *at, const char *end)
{
    const char *head = number_at_end(at, end);
    const char *total = head ? number_at_end(at, head) : NULL;
    if (!total)
        return fail(autofdo, at, "a function, name:total:head");
    free(autofdo->function);
    autofdo->function = strndup(at, (size_t)(total - at));
    autofdo->depth = 1;
    return autofdo->function
               ? BAT_OK
               : bat_fail(autofdo->error, BAT_ERR_MEMORY, "not enough memory for a name");
}

/* A count at `at`, behind it a blank or the end. */
static enum bat_code read_count(const struct autofdo *autofdo, const char *at, uint64_t *count)
{
    const char *end = skip_digits(at);
    *count = 0;
    for (const char *digit = at; digit < end; digit++) {
        uint64_t value = (uint64_t)(*digit - '0');
        if (*count > (INT64_MAX - value) / 10)
            return fail(autofdo, at, "a count below 2^63");
        *count = *count * 10 + value;
    }
    return *end == ' ' || *end == '\n' || *end == '\0' ? BAT_OK
                                                       : fail(autofdo, at, "a decimal count");
}

/* A line of a place at this depth, from 1; `at` is behind the blanks. */
static enum bat_code read_place(struct autofdo *autofdo, const char *at, const char *end,
                                unsigned depth)
{
    const char *place_end = skip_digits(at);
    if (place_end > at && *place_end == '.')
        place_end = skip_digits(place_end + 1);
    if (place_end == at || place_end[-1] == '.' || place_end[0] != ':' || place_end[1] != ' ')
        return fail(autofdo, at, "a place, line: or line.discriminator:");
    const char *value = place_end + 2;
    char *path = autofdo->path + autofdo->ends[depth - 1];
    if (*value >= '0' && *value <= '9') {
        uint64_t count;
        enum bat_code code = read_count(autofdo, value, &count);
        memcpy(path, at, (size_t)(place_end - at));
        path[place_end - at] = '\0';
        autofdo->depth = depth;
        return code == BAT_OK ? bat_overlaps_record(autofdo->comparison, autofdo->function,
                                                    autofdo->path, count, autofdo->error)
                              : code;
    }
    const char *total = number_at_end(value, end);
    if (!total)
        return fail(autofdo, value, "a count, or an inlined call, name:total");
    if (depth + 1 >= DEPTH_MAX)
        return fail(autofdo, at, "at most 254 inlined calls in each other");
    size_t size = (size_t)(total - at);
    memcpy(path, at, size);
    path[size] = '/';
    autofdo->ends[depth] = autofdo->ends[depth - 1] + size + 1;
    autofdo->depth = depth + 1;
    return BAT_OK;
}

static enum bat_code read_line(struct autofdo *autofdo, const char *end)
{
    unsigned depth = (unsigned)strspn(autofdo->line, " ");
    const char *at = autofdo->line + depth;
    if (at >= end)
        return BAT_OK;
    if (depth == 0)
        return read_function(autofdo, at, end);
    if (!autofdo->function)
        return fail(autofdo, at, "a function before its places");
    if (*at == '!') /* checksums and attributes */
        return BAT_OK;
    if (depth > autofdo->depth)
        return fail(autofdo, at, "an inlined call in front of the places in it");
    return read_place(autofdo, at, end, depth);
}

enum bat_code compare_read_autofdo(struct bat_overlaps *comparison, const char *text,
                                   struct bat_error *error)
{
    struct autofdo autofdo = {.comparison = comparison, .error = error};
    /* A path is made of parts of different lines, so that it is never longer than the text. */
    autofdo.path = malloc(2 * strlen(text) + 2);
    if (!autofdo.path)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for the profile");
    enum bat_code code = bat_overlaps_begin(comparison, error);
    for (const char *at = text; *at && code == BAT_OK;) {
        const char *end = at + strcspn(at, "\n");
        autofdo.line = at;
        autofdo.number++;
        code = read_line(&autofdo, end);
        at = end + (*end == '\n');
    }
    free(autofdo.function);
    free(autofdo.path);
    return code;
}
