/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The forms of files; reading text, a large file by several threads. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "profile/line_blocks.h"
#include "profile/perf/script.h"
#include "profile/text_fields.h"
#include "read_profile.h"
#include "support/parallel.h"
#include "support/temporary.h"

/* --- Files of profilers that are no profiles -------------------------------------------------- */

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

/* What begins a line of which text. The last one has no start. */
struct line_start {
    const char *start;
    const char *what;
};

/* Comments, of which only such texts have these. */
static const struct line_start comments[] = {
    {"# To display the perf.data header info", report},
    {"# Samples: ", report},
    {"# Overhead", report},
    {"# Event '", compared},
    {"# started on ", counted},
    {NULL, NULL},
};

/* First lines, likewise. */
static const struct line_start first_lines[] = {
    {"Samples: ", shown},
    {"Aggregated stats:", report},
    {"Performance counter stats for", counted},
    {NULL, NULL},
};

static bool begins_with(const uint8_t *at, const char *text)
{
    return strncmp((const char *)at, text, strlen(text)) == 0;
}

static const char *what_starts(const struct line_start *starts, const uint8_t *at)
{
    while (starts->start && !begins_with(at, starts->start))
        starts++;
    return starts->what;
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
    const char *what = what_starts(first_lines, at);
    if (what)
        return what;
    if (begins_with(at, "0x") && memmem(at, (size_t)(newline - at), "]: event: ", 10))
        return dumped;
    return is_printed(start, at, newline, end) ? printed : NULL;
}

/*
 * What a file is by its first block, which a newline ends, and what to do instead, for "expected a
 * profile, found ...". NULL if that is not known.
 */
static const char *what_text(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (size >= beginnings[i].size &&
            memcmp(text, beginnings[i].bytes, beginnings[i].size) == 0)
            return beginnings[i].what;
    const uint8_t *end = text + size;
    for (const uint8_t *start = text; start < end;) {
        const uint8_t *newline = rawmemchr(start, '\n');
        const uint8_t *at = bat_skip_blanks(start);
        const char *what = *at == '#' ? what_starts(comments, at) : NULL;
        if (what || (*at != '#' && *at != '\n'))
            return what ? what : what_line(start, at, newline, end);
        start = newline + 1;
    }
    return NULL;
}

/* --- The format --------------------------------------------------------------------------- */

/*
 * True for a line of fdata or of a pre-aggregated profile that holds names of events: they may look
 * like any other format.
 */
static bool names_events(const uint8_t *start)
{
    start = bat_skip_blanks(start);
    return strncmp((const char *)start, "no_lbr", 6) == 0 ||
           strncmp((const char *)start, "boltedcollection", 16) == 0 ||
           (start[0] == 'E' && bat_is_blank(start[1]));
}

/* True at the type of a pre-aggregated record. */
static bool begins_record(const uint8_t *at)
{
    return *at != '\0' && strchr("TRBFfrSED", *at) && bat_ends_field(at[1]);
}

/* The first line of perf script's header, all of whose lines are comments. */
#define SCRIPT_HEAD "# ========"

/*
 * True for text that perf script printed: by a comment that starts its header, or by the first line
 * that is neither blank nor a comment. After other comments, a process record anywhere in the block
 * is enough.
 */
static bool is_perf_script(const uint8_t *text, size_t size)
{
    const uint8_t *end = text + size;
    bool has_comment = false;
    for (const uint8_t *start = text; start < end;) {
        const uint8_t *newline = rawmemchr(start, '\n');
        const uint8_t *at = bat_skip_blanks(start);
        if (*at == '#') {
            has_comment = true;
            if (strncmp((const char *)at, SCRIPT_HEAD, sizeof(SCRIPT_HEAD) - 1) == 0)
                return true;
        } else if (*at != '\n') {
            return !names_events(start) &&
                   (perf_script_is_line(start, newline) ||
                    (!begins_record(at) &&
                     perf_script_form_of(start) == PERF_SCRIPT_WITHOUT_PROCESSES) ||
                    (has_comment && memmem(start, (size_t)(end - start), PERF_SCRIPT_RECORD,
                                           sizeof(PERF_SCRIPT_RECORD) - 1)));
        }
        start = newline + 1;
    }
    return false;
}

/*
 * Find the form of a text, by the first byte that is not blank unless it is perf script's. `line`
 * is the number of the text's first line.
 */
static enum bat_code find_form(const uint8_t *text, size_t size, uint64_t line,
                               enum text_form *form, struct bat_error *error)
{
    struct bat_lines lines = {.at = text, .end = text + size, .line = line, .error = error};
    const char *other = what_text(text, size);
    if (other)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected a profile, found %s", other);
    const uint8_t *start = text;
    const uint8_t *at = text;
    for (; at < lines.end && bat_ends_field(*at); at++) {
        lines.line += *at == '\n';
        start = *at == '\n' ? at + 1 : start;
    }
    if (at == lines.end)
        *form = TEXT_BLANK;
    else if (is_perf_script(start, (size_t)(lines.end - start)))
        *form = TEXT_SCRIPT;
    else if (begins_record(at))
        *form = TEXT_PREAGG;
    else if ((*at >= '0' && *at <= '9') || *at == 'b' || *at == 'n')
        *form = TEXT_FDATA;
    else
        return bat_lines_fail(
            &lines, start, at,
            "a pre-aggregated profile (a line that starts with T, R, B, F, f, r, S, E or D), "
            "fdata, perf.data or the output of perf script");
    return BAT_OK;
}

/* --- One stretch -------------------------------------------------------------------------- */

/* A stretch of a file, and the profile that it is read into. */
struct stretch {
    int file;
    bool is_stream;
    uint64_t offset;
    uint64_t stop;
    enum text_form form; /* TEXT_BLANK: find it */
    const uint8_t *head; /* the first bytes of a stream, which were read from it already */
    size_t head_size;
    bool lacks_newline; /* the current block's last newline is not in the file */
    bool is_kept;
    int kept; /* the text of perf script goes to a temporary file: it is read twice */
    struct bat_profile *profile;
    const struct bat_read_options *options;
    uint64_t lines; /* read */
    enum bat_code code;
    struct bat_error error;
};

/* Begin to keep the text in a temporary file, after the blank lines before it. */
static enum bat_code begin_keeping(struct stretch *stretch, uint64_t blank_lines)
{
    enum bat_code code = bat_temporary_open(&stretch->kept, &stretch->error);
    stretch->is_kept = code == BAT_OK;
    for (; code == BAT_OK && blank_lines != 0; blank_lines--)
        code = bat_temporary_write(stretch->kept, "\n", 1, &stretch->error);
    return code;
}

static enum bat_code read_kept(struct stretch *stretch)
{
    const struct perf_source source = {.is_text = true, .file = stretch->kept};
    return perf_read(&stretch->profile, 1, &source, stretch->options, NULL, &stretch->error);
}

static enum bat_code read_block(struct stretch *stretch, const uint8_t *text, size_t size,
                                uint64_t *line)
{
    enum bat_code code = BAT_OK;
    if (stretch->form == TEXT_BLANK) {
        code = find_form(text, size, *line, &stretch->form, &stretch->error);
        if (code == BAT_OK && stretch->form == TEXT_SCRIPT)
            code = begin_keeping(stretch, *line - 1);
    }
    if (code != BAT_OK)
        return code;
    if (stretch->is_kept)
        return bat_temporary_write(stretch->kept, text, size - stretch->lacks_newline,
                                   &stretch->error);
    struct bat_lines lines = {
        .at = text, .end = text + size, .line = *line, .error = &stretch->error};
    /* As long as all lines are blank, either reader will do. */
    code =
        (stretch->form == TEXT_FDATA ? bat_fdata_read : bat_preagg_read)(stretch->profile, &lines);
    *line = lines.line;
    return code;
}

static void count_bytes(struct stretch *stretch, uint64_t bytes)
{
    stretch->profile->counters.bytes += bytes;
    const struct bat_read_options *options = stretch->options;
    if (options->progress)
        options->progress(bytes, options->progress_context);
}

static enum bat_code read_stretch(struct stretch *stretch)
{
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, stretch->file, stretch->is_stream, stretch->offset,
                                        stretch->stop, &stretch->error);
    if (code == BAT_OK)
        bat_input_put(&input, stretch->head, stretch->head_size);
    uint64_t line = 1;
    size_t size = 1;
    while (code == BAT_OK && size != 0) {
        const uint8_t *text;
        code = bat_input_next(&input, line, &text, &size, &stretch->error);
        stretch->lacks_newline = input.supplied_newline;
        if (code == BAT_OK && size != 0)
            code = read_block(stretch, text, size, &line);
        if (code == BAT_OK && size != 0 && !stretch->is_kept)
            count_bytes(stretch, size - input.supplied_newline);
    }
    bat_input_close(&input);
    if (stretch->is_kept) {
        code = code ? code : read_kept(stretch);
        close(stretch->kept);
    }
    stretch->lines = line - 1;
    stretch->profile->counters.lines += stretch->lines;
    stretch->code = code;
    return code;
}

static void *run_stretch(void *stretch)
{
    read_stretch(stretch);
    return NULL;
}

/* --- A file ------------------------------------------------------------------------------- */

/* Newlines in the first `size` bytes of a file, for the line number of an error. */
static uint64_t count_lines(int file, uint64_t size)
{
    uint8_t buffer[1 << 16];
    uint64_t lines = 0;
    uint64_t offset = 0;
    while (offset < size) {
        uint64_t want = size - offset < sizeof(buffer) ? size - offset : sizeof(buffer);
        ssize_t got = pread(file, buffer, (size_t)want, (off_t)offset);
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            lines += buffer[i] == '\n';
        offset += (uint64_t)got;
    }
    return lines;
}

/* The number of lines before the stretch, which counts its own lines from 1. */
static uint64_t lines_before(const struct stretch *stretch)
{
    uint64_t lines = stretch->offset ? count_lines(stretch->file, stretch->offset) : 0;
    uint8_t before = '\n';
    if (stretch->offset && pread(stretch->file, &before, 1, (off_t)stretch->offset - 1) == 1 &&
        before != '\n')
        lines++;
    return lines;
}

/* Fail with the first error of a stretch, if there is one. */
static enum bat_code check_stretches(struct stretch *stretches, unsigned count,
                                     struct bat_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        struct stretch *stretch = &stretches[i];
        if (stretch->code == BAT_OK)
            continue;
        if (stretch->error.place == BAT_PLACE_TEXT && i != 0)
            stretch->error.line += lines_before(stretch);
        if (error)
            *error = stretch->error;
        return stretch->code;
    }
    return BAT_OK;
}

enum bat_code bat_form_probe(int file, enum text_form *form, struct bat_error *error)
{
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, file, false, 0, UINT64_MAX, error);
    const uint8_t *text = NULL;
    size_t size = 0;
    *form = TEXT_BLANK;
    code = code ? code : bat_input_next(&input, 1, &text, &size, error);
    if (code == BAT_OK && size != 0)
        code = find_form(text, size, 1, form, error);
    bat_input_close(&input);
    return code;
}

static enum bat_code read_head(struct profile_file *found, struct bat_error *error)
{
    ssize_t got =
        bat_read_all(found->file, found->head, sizeof(found->head), found->is_stream ? -1 : 0);
    found->head_size = got > 0 ? (size_t)got : 0;
    return got < 0 ? bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno)) : BAT_OK;
}

enum bat_code bat_form_find(struct profile_file *found, const char *path, int file,
                            const struct bat_read_options *options, struct bat_error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    bool runs_perf = options && (options->by_perf_script || options->itrace || options->arm_spe);
    *found =
        (struct profile_file){.path = path, .file = file, .is_folder = S_ISDIR(status.st_mode)};
    if (found->is_folder) {
        found->reader = runs_perf && strcmp(path, "-") != 0 ? RUN_PERF : READ_PERF_DATA;
        return BAT_OK;
    }
    found->is_stream = !S_ISREG(status.st_mode) || lseek(file, 0, SEEK_CUR) > 0;
    found->size = found->is_stream ? 0 : (uint64_t)status.st_size;
    enum bat_code code = read_head(found, error);
    if (perf_data_is(found->head, found->head_size))
        found->reader = runs_perf ? RUN_PERF : READ_PERF_DATA;
    else if (stack_profile_is(found->head, found->head_size))
        found->reader = READ_STACKS;
    return code;
}

/* A text up to this size probably has no record twice, because something has added it up. */
#define SHORT_TEXT ((uint64_t)8 << 20)

/* Bytes of a short record. */
#define RECORD_USUAL 24u

enum bat_code bat_form_read_text(struct bat_profile *profile, const struct profile_file *from,
                                 enum text_form form, const struct bat_read_options *options,
                                 struct bat_error *error)
{
    if (!from->is_stream && from->size == 0)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected a profile, found an empty file");
    /* The header of fdata holds for all its records, so fdata is read in one piece. */
    unsigned count = form == TEXT_PREAGG ? bat_parts_count(options->threads, from->size) : 1;
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    struct bat_profile_parts parts;
    enum bat_code code = BAT_OK;
    if (!bat_profile_parts_make(&parts, &profile, 1, count) || !stretches)
        code = bat_fail_memory(error, "to read the profile");
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        uint64_t part = from->size / count;
        stretches[i] = (struct stretch){.file = from->file,
                                        .is_stream = from->is_stream,
                                        .offset = part * i,
                                        .stop = i + 1 < count ? part * (i + 1) : UINT64_MAX,
                                        .form = form,
                                        .head = from->head,
                                        .head_size = from->is_stream ? from->head_size : 0,
                                        .profile = parts.all[i],
                                        .options = options};
    }
    /* Growing would touch half as much memory again. */
    if (code == BAT_OK && form == TEXT_PREAGG && from->size <= SHORT_TEXT &&
        bat_counts_expect(&profile->traces, (uint32_t)from->size / RECORD_USUAL) != BAT_OK)
        code = bat_fail_memory(error, "to read the profile");
    if (code == BAT_OK) {
        bat_parts_run(run_stretch, stretches, sizeof(stretches[0]), count);
        code = check_stretches(stretches, count, error);
    }
    code = code ? code : bat_profile_parts_take(&parts, error);
    if (code == BAT_OK && from->is_stream && profile->counters.bytes == 0)
        code = bat_fail(error, BAT_ERR_SYNTAX, "expected a profile, found no input");
    bat_profile_parts_free(&parts);
    free(stretches);
    return code;
}
