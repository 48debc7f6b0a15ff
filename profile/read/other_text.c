/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "other_text.h"

#include <stdbool.h>
#include <string.h>

#include "profile/perf/script.h"
#include "profile/text_fields.h"

#define TEXT_OF_PERF                                                                               \
    ": give perf.data itself, or what perf script --show-mmap-events -F pid,brstack prints"

static const char report[] = "what perf report prints for people" TEXT_OF_PERF;
static const char shown[] = "what perf report or perf annotate prints for people" TEXT_OF_PERF;
static const char compared[] = "what perf diff prints for people" TEXT_OF_PERF;
static const char annotated[] = "what perf annotate prints for people" TEXT_OF_PERF;
static const char dumped[] = "a dump of records (perf script -D, perf report -D)" TEXT_OF_PERF;
static const char printed[] =
    "what perf script prints for people: perf script --show-mmap-events -F pid,brstack, or -F "
    "pid,event,ip with -ba";
static const char counted[] =
    "what perf stat prints, which has no samples: perf record -e cycles:u -j any,u";
static const char packed[] = "a compressed file: unpack it first";

/* What a file begins with. */
static const struct {
    const char *bytes;
    size_t size;
    const char *what;
} beginnings[] = {
    {"\x1f\x8b", 2, packed}, /* gzip */
    {"\xfd"
     "7zXZ",
     5, packed},                     /* xz */
    {"\x28\xb5\x2f\xfd", 4, packed}, /* zstd */
    {"BZh", 3, packed},              /* bzip2 */
};

/* Comments, of which only such texts have these. */
static const struct {
    const char *start;
    const char *what;
} comments[] = {
    {"# To display the perf.data header info", report},
    {"# Samples: ", report},
    {"# Overhead", report},
    {"# Event '", compared},
    {"# started on ", counted},
};

/* First lines, likewise. */
static const struct {
    const char *start;
    const char *what;
} first_lines[] = {
    {"Samples: ", shown},
    {"Aggregated stats:", report},
    {"Performance counter stats for", counted},
};

static bool begins_with(const uint8_t *at, const char *text)
{
    return strncmp((const char *)at, text, strlen(text)) == 0;
}

static const char *what_comment(const uint8_t *at)
{
    for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++)
        if (begins_with(at, comments[i].start))
            return comments[i].what;
    return NULL;
}

/* True for "Percent |" at this place. */
static bool is_annotated(const uint8_t *at)
{
    if (!begins_with(at, "Percent"))
        return false;
    at = bat_skip_blanks(at + sizeof("Percent") - 1);
    return *at == '|';
}

/* Skip digits; NULL if there are none. */
static const uint8_t *skip_digits(const uint8_t *at)
{
    const uint8_t *start = at;
    while (*at >= '0' && *at <= '9')
        at++;
    return at == start ? NULL : at;
}

/* True for a share at this place, "11.73%", as lines of perf report begin with. */
static bool is_share(const uint8_t *at)
{
    at = skip_digits(at);
    at = at && *at == '.' ? skip_digits(at + 1) : NULL;
    return at && *at == '%';
}

/* True if one of the fields is a time, "115539.936601:", which is in no text that can be read. */
static bool has_time(const uint8_t *start, const uint8_t *newline)
{
    for (const uint8_t *at = start; at < newline; at++) {
        if (at > start && !bat_is_blank(at[-1]))
            continue;
        const uint8_t *end = skip_digits(at);
        end = end && *end == '.' ? skip_digits(end + 1) : NULL;
        if (end && *end == ':' && bat_ends_field(end[1]))
            return true;
    }
    return false;
}

/*
 * True for a sample of perf script, or of simpleperf, with the command's name in front. Where
 * records are among them, up to the end, others may follow that can be read.
 */
static bool is_printed(const uint8_t *start, const uint8_t *at, const uint8_t *newline,
                       const uint8_t *end)
{
    const bool is_record = strchr("TRBFfrSED", *at) && bat_ends_field(at[1]);
    if ((*at >= '0' && *at <= '9') || is_record)
        return false;
    return (has_time(at, newline) || perf_script_is_for_people(start)) &&
           !memmem(start, (size_t)(end - start), PERF_SCRIPT_RECORD,
                   sizeof(PERF_SCRIPT_RECORD) - 1);
}

/* What a line is that is neither blank nor a comment; at: its first character. */
static const char *what_line(const uint8_t *start, const uint8_t *at, const uint8_t *newline,
                             const uint8_t *end)
{
    if (is_annotated(at))
        return annotated;
    if (is_share(at))
        return report;
    for (size_t i = 0; i < sizeof(first_lines) / sizeof(first_lines[0]); i++)
        if (begins_with(at, first_lines[i].start))
            return first_lines[i].what;
    if (begins_with(at, "0x") && memmem(at, (size_t)(newline - at), "]: event: ", 10))
        return dumped;
    return is_printed(start, at, newline, end) ? printed : NULL;
}

const char *bat_other_text(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (size >= beginnings[i].size &&
            memcmp(text, beginnings[i].bytes, beginnings[i].size) == 0)
            return beginnings[i].what;
    const uint8_t *end = text + size;
    for (const uint8_t *start = text; start < end;) {
        const uint8_t *newline = rawmemchr(start, '\n');
        const uint8_t *at = bat_skip_blanks(start);
        const char *what = *at == '#' ? what_comment(at) : NULL;
        if (what || (*at != '#' && *at != '\n'))
            return what ? what : what_line(start, at, newline, end);
        start = newline + 1;
    }
    return NULL;
}
