/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading profiles from files: recognises the format, reads large files by several threads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/line_blocks.h"
#include "profile/perf/script.h"
#include "profile/text_fields.h"
#include "read_profile.h"
#include "spec/options.h"
#include "support/parallel.h"
#include "support/temporary.h"

/* --- The format --------------------------------------------------------------------------- */

/* True if all lines are blank: these do not tell the format. */
static bool are_blank(const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!bat_ends_field(text[i]))
            return false;
    return true;
}

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
    if (size == 0)
        return false;
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
 * Choose the reader by the first byte of the text that is not blank; there must be one. `line` is
 * the number of the text's first line. Returns NULL with an error.
 */
static reader_fn *choose_reader(const uint8_t *text, size_t size, uint64_t line,
                                struct bat_error *error)
{
    struct bat_lines lines = {.at = text, .end = text + size, .line = line, .error = error};
    const uint8_t *start = text;
    const uint8_t *at = bat_skip_blanks(text);
    while (*at == '\n') {
        start = at + 1;
        lines.line++;
        at = bat_skip_blanks(start);
    }
    if (begins_record(at))
        return bat_preagg_read;
    if ((*at >= '0' && *at <= '9') || *at == 'b' || *at == 'n')
        return bat_fdata_read;
    bat_lines_fail(
        &lines, start, at,
        "a pre-aggregated profile (a line that starts with T, R, B, F, f, r, S, E or D), "
        "fdata, perf.data or the output of perf script");
    return NULL;
}

/* --- One stretch -------------------------------------------------------------------------- */

/* A stretch of a file, and the profile that it is read into. */
struct stretch {
    int file;
    bool is_stream;
    uint64_t offset;
    uint64_t stop;
    reader_fn *reader;   /* NULL: choose it */
    const uint8_t *head; /* the first bytes of a stream, which were read from it already */
    size_t head_size;
    bool is_kept;       /* the text goes to a temporary file: it is read twice */
    bool lacks_newline; /* the current block's last newline is not in the file */
    int kept;
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
    return perf_read(stretch->profile, &source, stretch->options, &stretch->error);
}

static enum bat_code read_block(struct stretch *stretch, const uint8_t *text, size_t size,
                                uint64_t *line)
{
    bool decides = !stretch->reader && !stretch->is_kept && !are_blank(text, size);
    if (decides && is_perf_script(text, size)) {
        enum bat_code code = begin_keeping(stretch, *line - 1);
        if (code != BAT_OK)
            return code;
    }
    if (stretch->is_kept)
        return bat_temporary_write(stretch->kept, text, size - stretch->lacks_newline,
                                   &stretch->error);
    if (decides) {
        stretch->reader = choose_reader(text, size, *line, &stretch->error);
        if (!stretch->reader)
            return stretch->error.code;
    }
    struct bat_lines lines = {
        .at = text, .end = text + size, .line = *line, .error = &stretch->error};
    /* As long as all lines are blank, either reader will do. */
    reader_fn *reader = stretch->reader ? stretch->reader : bat_preagg_read;
    enum bat_code code = reader(stretch->profile, &lines);
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
        if (code == BAT_OK)
            code = read_kept(stretch);
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

/*
 * Put together what all stretches have read, as the profile of the first. What was shared among
 * them is added to a profile that does not share.
 */
static enum bat_code gather_stretches(struct stretch *stretches, unsigned count,
                                      struct bat_shared_profile *shared, struct bat_error *error)
{
    if (count == 1)
        return BAT_OK;
    struct bat_profile *whole = bat_profile_new_part(stretches[0].profile);
    if (!whole)
        return bat_fail_memory(error, "to read the profile");
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        code = bat_profile_take(whole, stretches[i].profile, error);
        bat_profile_free(stretches[i].profile);
        stretches[i].profile = NULL;
    }
    stretches[0].profile = whole;
    return code == BAT_OK ? bat_profile_take_shared(whole, shared, error) : code;
}

enum bat_code bat_form_probe(int file, reader_fn **reader, bool *is_script, struct bat_error *error)
{
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, file, false, 0, UINT64_MAX, error);
    const uint8_t *text = NULL;
    size_t size = 0;
    if (code == BAT_OK)
        code = bat_input_next(&input, 1, &text, &size, error);
    *is_script = code == BAT_OK && is_perf_script(text, size);
    if (code == BAT_OK && !*is_script && !are_blank(text, size)) {
        *reader = choose_reader(text, size, 1, error);
        code = *reader ? BAT_OK : BAT_ERR_SYNTAX;
    }
    bat_input_close(&input);
    return code;
}

static enum bat_code read_head(struct profile_file *found, struct bat_error *error)
{
    while (found->head_size < PERF_DATA_MAGIC_SIZE) {
        uint8_t *to = found->head + found->head_size;
        size_t wanted = PERF_DATA_MAGIC_SIZE - found->head_size;
        ssize_t got = found->is_stream ? read(found->file, to, wanted)
                                       : pread(found->file, to, wanted, (off_t)found->head_size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno));
        if (got == 0)
            break;
        found->head_size += (size_t)got;
    }
    return BAT_OK;
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
    return code;
}

void bat_form_open_path(char path[BAT_OPEN_PATH_SIZE], int file)
{
    snprintf(path, BAT_OPEN_PATH_SIZE, "/proc/%ld/fd/%d", (long)getpid(), file);
}

enum bat_code bat_form_read_text(struct bat_profile *profile, const struct profile_file *from,
                                 const struct bat_read_options *options, struct bat_error *error)
{
    reader_fn *reader = NULL;
    bool is_script = false;
    if (!from->is_stream && from->size == 0)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected a profile, found an empty file");
    enum bat_code code =
        from->is_stream ? BAT_OK : bat_form_probe(from->file, &reader, &is_script, error);
    if (code != BAT_OK)
        return code;
    if (is_script)
        return perf_read(profile, &(struct perf_source){.is_text = true, .file = from->file},
                         options, error);

    /* The header of fdata holds for all its records, so fdata is read in one piece. */
    unsigned count = reader == bat_preagg_read ? bat_parts_count(options->threads, from->size) : 1;
    struct stretch *stretches = calloc(count, sizeof(*stretches));
    struct bat_shared_profile *shared = count > 1 ? bat_shared_profile_new() : NULL;
    if (!stretches || (count > 1 && !shared))
        code = bat_fail_memory(error, "to read the profile");
    for (unsigned i = 0; i < count && code == BAT_OK; i++) {
        uint64_t part = from->size / count;
        stretches[i] = (struct stretch){.file = from->file,
                                        .is_stream = from->is_stream,
                                        .offset = part * i,
                                        .stop = i + 1 < count ? part * (i + 1) : UINT64_MAX,
                                        .reader = reader,
                                        .head = from->head,
                                        .head_size = from->is_stream ? from->head_size : 0,
                                        .profile = bat_profile_new_part(profile),
                                        .options = options};
        if (!stretches[i].profile)
            code = bat_fail_memory(error, "to read the profile");
        else if (shared)
            bat_profile_share(stretches[i].profile, shared);
    }
    if (code == BAT_OK) {
        bat_parts_run(run_stretch, stretches, sizeof(stretches[0]), count);
        code = check_stretches(stretches, count, error);
    }
    if (code == BAT_OK)
        code = gather_stretches(stretches, count, shared, error);
    if (code == BAT_OK && from->is_stream && stretches[0].profile->counters.bytes == 0)
        code = bat_fail(error, BAT_ERR_SYNTAX, "expected a profile, found no input");
    if (code == BAT_OK)
        code = bat_profile_take(profile, stretches[0].profile, error);
    for (unsigned i = 0; stretches && i < count; i++)
        bat_profile_free(stretches[i].profile);
    bat_shared_profile_free(shared);
    free(stretches);
    return code;
}

/* Read the output of perf, which opens the file again. */
static enum bat_code run_perf(struct bat_profile *profile, const struct profile_file *from,
                              const struct bat_read_options *options, struct bat_error *error)
{
    if (!from->is_stream && strcmp(from->path, "-") != 0)
        return perf_read(profile, &(struct perf_source){.printed = from->path}, options, error);
    int file = from->file;
    enum bat_code code = from->is_stream
                             ? bat_temporary_copy(file, from->head, from->head_size, &file, error)
                             : BAT_OK;
    if (code != BAT_OK)
        return code;
    char path[BAT_OPEN_PATH_SIZE];
    bat_form_open_path(path, file);
    code = perf_read(profile, &(struct perf_source){.printed = path}, options, error);
    if (from->is_stream)
        close(file);
    return code;
}

static enum bat_code read_file(struct bat_profile *profile, const char *path, int file,
                               const struct bat_read_options *options, struct bat_error *error)
{
    struct profile_file from;
    enum bat_code code = bat_form_find(&from, path, file, options, error);
    if (code != BAT_OK)
        return code;
    if (from.reader == READ_TEXT)
        return bat_form_read_text(profile, &from, options, error);
    if (from.reader == RUN_PERF)
        return run_perf(profile, &from, options, error);
    return from.is_stream
               ? perf_data_read_stream(profile, file, from.head, from.head_size, options, error)
               : perf_read(profile, &(struct perf_source){.file = file}, options, error);
}

enum bat_code bat_profile_read(struct bat_profile *profile, const char *path,
                               const struct bat_read_options *options, struct bat_error *error)
{
    if (strcmp(path, "-") == 0)
        return bat_profile_read_file(profile, STDIN_FILENO, options, error);
    struct bat_read_options own;
    enum bat_code code = bat_options_copy(&own, sizeof(own), options, "bat_read_options", error);
    if (code != BAT_OK)
        return code;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    code = read_file(profile, path, file, &own, error);
    close(file);
    return code;
}

enum bat_code bat_profile_read_file(struct bat_profile *profile, int file,
                                    const struct bat_read_options *options, struct bat_error *error)
{
    struct bat_read_options own;
    enum bat_code code = bat_options_copy(&own, sizeof(own), options, "bat_read_options", error);
    return code == BAT_OK ? read_file(profile, "-", file, &own, error) : code;
}

enum bat_code bat_profile_read_memory(struct bat_profile *profile, const void *bytes, size_t size,
                                      const struct bat_read_options *options,
                                      struct bat_error *error)
{
    int file;
    enum bat_code code = bat_temporary_of_bytes(bytes, size, &file, error);
    if (code != BAT_OK)
        return code;
    code = bat_profile_read_file(profile, file, options, error);
    close(file);
    return code;
}
