/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads LLVM's sample profile as text: a line "name:total:head" for each function, and below it
 * lines of its places, indented by one blank for each inlined call that they are in: "line: count
 * ..." or "line.discriminator: count ..." for samples, "line: name:total" for an inlined call.
 */
#include <stdlib.h>
#include <string.h>

#include "add_file.h"
#include "overlaps.h"

struct autofdo {
    struct bat_overlaps *comparison;
    struct sample_places *places;
    const char *line;                            /* the start of the current one */
    uint64_t number;                             /* of the line, from 1 */
    char *function;                              /* of the lines below; NULL before the first */
    bool has_md5;                                /* the first function's name is a number */
    uint64_t calls[SAMPLE_PLACES_DEPTH_MAX + 1]; /* that the lines of each depth are in, from 1 */
    unsigned depth;                              /* the deepest that a line may have now */
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
    if (!autofdo->function)
        autofdo->has_md5 = skip_digits(at) == total;
    free(autofdo->function);
    autofdo->function = strndup(at, (size_t)(total - at));
    autofdo->depth = 1;
    return autofdo->function ? BAT_OK : bat_fail_memory(autofdo->error, "for a name");
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

/* A number of 32 bits in [at, end), which are digits. */
static bool parse_number(const char *at, const char *end, uint32_t *number)
{
    uint64_t value = 0;
    for (; at < end && value <= UINT32_MAX; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

/* "line" or "line.discriminator" at `at`. Returns its end, or NULL if it is none. */
static const char *parse_line(const char *at, struct sample_line *line)
{
    const char *end = skip_digits(at);
    *line = (struct sample_line){0};
    if (end == at || !parse_number(at, end, &line->line))
        return NULL;
    if (*end != '.')
        return end;
    at = end + 1;
    end = skip_digits(at);
    return end > at && parse_number(at, end, &line->discriminator) ? end : NULL;
}

/* An inlined call, "name:total", behind its place: lines of the next depth are in it. */
static enum bat_code read_call(struct autofdo *autofdo, const char *at, const char *end,
                               unsigned depth, struct sample_line line)
{
    const char *total = number_at_end(at, end);
    if (!total)
        return fail(autofdo, at, "a count, or an inlined call, name:total");
    if (depth + 1 > SAMPLE_PLACES_DEPTH_MAX + 1)
        return fail(autofdo, at, "at most 254 inlined calls in each other");
    uint32_t name;
    enum bat_code code =
        sample_places_name(autofdo->places, at, (size_t)(total - at), &name, autofdo->error);
    autofdo->depth = depth + 1;
    return code == BAT_OK ? sample_places_call(autofdo->places, autofdo->calls[depth - 1], line,
                                               name, &autofdo->calls[depth], autofdo->error)
                          : code;
}

/* A line of a place at this depth, from 1; `at` is behind the blanks. */
static enum bat_code read_place(struct autofdo *autofdo, const char *at, const char *end,
                                unsigned depth)
{
    struct sample_line line;
    const char *place_end = parse_line(at, &line);
    if (!place_end || place_end[0] != ':' || place_end[1] != ' ')
        return fail(autofdo, at, "a place, line: or line.discriminator:");
    const char *value = place_end + 2;
    /* Names may be numbers, too: the MD5 sums of functions. */
    bool is_count = *value >= '0' && *value <= '9' && *skip_digits(value) != ':';
    if (!is_count)
        return read_call(autofdo, value, end, depth, line);
    uint64_t count;
    enum bat_code code = read_count(autofdo, value, &count);
    autofdo->depth = depth;
    return code == BAT_OK
               ? sample_places_record(autofdo->comparison, autofdo->function,
                                      autofdo->calls[depth - 1], line, count, autofdo->error)
               : code;
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

enum bat_code bat_overlaps_add_autofdo(struct bat_overlaps *comparison, const char *text,
                                       bool *has_md5, struct bat_error *error)
{
    struct autofdo autofdo = {
        .comparison = comparison, .places = &comparison->places, .error = error};
    autofdo.calls[0] = SAMPLE_PLACES_OUTERMOST;
    enum bat_code code = bat_overlaps_begin(comparison, error);
    for (const char *at = text; *at && code == BAT_OK;) {
        const char *end = at + strcspn(at, "\n");
        autofdo.line = at;
        autofdo.number++;
        code = read_line(&autofdo, end);
        at = end + (*end == '\n');
    }
    *has_md5 = autofdo.has_md5;
    free(autofdo.function);
    return code;
}
