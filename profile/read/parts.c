/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "elfnote/descriptors.h"
#include "profile/line_blocks.h"
#include "profile/text_fields.h"
#include "read_profile.h"
#include "spec/order.h"
#include "support/temporary.h"

/* --- Digests ---------------------------------------------------------------------------------- */

/* The words of a digest of 128 bits: its upper half, its lower half. */
#define BAT_DIGEST_WORDS 2u

#define READ_SIZE ((size_t)1 << 18)

/* --- Bytes ---------------------------------------------------------------------------------- */

/* Add all bytes of a regular file to the state. */
static enum bat_code hash_file(XXH3_state_t *state, int file, struct bat_error *error)
{
    uint8_t *buffer = malloc(READ_SIZE);
    BAT_TRY_MEMORY(buffer, error, "to read the profile");
    enum bat_code code = BAT_OK;
    ssize_t got;
    for (off_t offset = 0; (got = bat_read_some(file, buffer, READ_SIZE, offset)) > 0;
         offset += got)
        XXH3_128bits_update(state, buffer, (size_t)got);
    if (got < 0)
        code = bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno));
    free(buffer);
    return code;
}

/* Add a file of a folder: its name, its size and its bytes. What is no regular file is left out. */
static enum bat_code hash_entry(XXH3_state_t *state, int folder, const char *name,
                                struct bat_error *error)
{
    int file = bat_regular_open(folder, name);
    struct stat status;
    if (file < 0 && (errno == EISDIR || errno == ENXIO))
        return BAT_OK;
    enum bat_code code = BAT_OK;
    if (file < 0 || fstat(file, &status) != 0) {
        code = bat_fail(error, BAT_ERR_IO, "%s: %s", name, strerror(errno));
    } else {
        uint64_t size = htole64((uint64_t)status.st_size);
        XXH3_128bits_update(state, name, strlen(name) + 1);
        XXH3_128bits_update(state, &size, sizeof(size));
        code = hash_file(state, file, error);
    }
    if (file >= 0)
        close(file);
    return code;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static enum bat_code hash_folder(XXH3_state_t *state, int folder, struct bat_error *error)
{
    struct dirent **entries;
    int count = scandirat(folder, ".", &entries, NULL, by_name);
    if (count < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = BAT_OK;
    for (int i = 0; i < count; i++) {
        code = code ? code : hash_entry(state, folder, entries[i]->d_name, error);
        free(entries[i]);
    }
    free(entries);
    return code;
}

static enum bat_code add_whole(const struct profile_file *from, struct bat_counts *digests,
                               struct bat_error *error)
{
    XXH3_state_t *state = XXH3_createState();
    BAT_TRY_MEMORY(state, error, "to read the profile");
    XXH3_128bits_reset(state);
    enum bat_code code = from->is_folder ? hash_folder(state, from->file, error)
                                         : hash_file(state, from->file, error);
    XXH128_hash_t digest = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    const uint64_t key[BAT_DIGEST_WORDS] = {digest.high64, digest.low64};
    BAT_TRY(code);
    return bat_counts_fail(error, bat_counts_add(digests, key, 1, 0), "the parts of a profile");
}

/* --- D records ------------------------------------------------------------------------------ */

/* Add the digest of the line [start, newline], if it is a D record. */
static enum bat_code add_line(struct bat_counts *digests, const struct bat_lines *lines,
                              const uint8_t *start)
{
    const uint8_t *at = bat_skip_blanks(start);
    uint64_t key[BAT_DIGEST_WORDS];
    if (*at != 'D' || !bat_ends_field(at[1]))
        return BAT_OK;
    at = bat_skip_blanks(at + 1);
    if (!bat_read_digest(&at, key))
        return bat_lines_fail(lines, start, at, "a digest of 32 hexadecimal digits");
    if (bat_counts_find(digests, key))
        return bat_fail_text(lines->error, BAT_ERR_MISMATCH, lines->line, 1,
                             "expected each part once, found one a second time: it was counted "
                             "twice");
    return bat_counts_fail(lines->error, bat_counts_add(digests, key, 1, 0),
                           "the parts of a profile");
}

static enum bat_code add_records(int file, struct bat_counts *digests, struct bat_error *error)
{
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, file, false, 0, UINT64_MAX, error);
    struct bat_lines lines = {.line = 1, .error = error};
    size_t size = 1;
    while (code == BAT_OK && size != 0) {
        const uint8_t *text;
        code = bat_input_next(&input, lines.line, &text, &size, error);
        const uint8_t *end = code == BAT_OK ? text + size : text;
        for (const uint8_t *start = text; start < end && code == BAT_OK; lines.line++) {
            code = add_line(digests, &lines, start);
            start = (const uint8_t *)rawmemchr(start, '\n') + 1;
        }
    }
    bat_input_close(&input);
    return code;
}

/*
 * Add the digests of the parts that a file holds to digests, an empty table for keys of
 * BAT_DIGEST_WORDS: those that the D records of a pre-aggregated profile name; for any other
 * profile one digest, that of all its bytes. file is a regular file at its beginning, or a
 * folder that perf record --threads made, whose files all belong to the
 * part. Fails with BAT_ERR_IO and BAT_ERR_MEMORY; with BAT_ERR_SYNTAX for text without a form or
 * for a damaged D record; with BAT_ERR_MISMATCH if the file names a part twice. Linear in the file.
 */
static enum bat_code part_digests(int file, struct bat_counts *digests, struct bat_error *error)
{
    struct profile_file from;
    enum bat_code code = bat_form_find(&from, "-", file, NULL, error);
    enum text_form form = TEXT_BLANK;
    if (code == BAT_OK && from.reader == READ_TEXT)
        code = bat_form_probe(file, &form, error);
    if (code == BAT_OK && form == TEXT_PREAGG)
        code = add_records(file, digests, error);
    return code == BAT_OK && digests->count == 0 ? add_whole(&from, digests, error) : code;
}

/* --- Failing -------------------------------------------------------------------------------- */

/*
 * True for an error that is not the profile's own: there is no memory, or the sum of profiles that
 * are fine by themselves is too large. Leaving out the last one would make the result depend on
 * their order.
 */
static bool is_everyones(const struct bat_error *error)
{
    return error->code == BAT_ERR_MEMORY ||
           (error->code == BAT_ERR_RANGE && error->place != BAT_PLACE_TEXT);
}

/* Report that a profile failed. True if the others are read nevertheless. */
static bool leave_out(const struct parts *parts, struct part *part, const struct bat_error *error)
{
    parts->request.report(part->path, error);
    if (!parts->request.keep_going || is_everyones(error))
        return false;
    char text[BAT_MESSAGE_SIZE + 64];
    bat_error_text(error, text, sizeof(text));
    part->state = PART_LEFT_OUT;
    part->reason = strdup(text);
    return true;
}

/* --- Which parts a profile holds ------------------------------------------------------------ */

/* Keep a stream in a temporary file, which is read in its place. */
static enum bat_code copy_stream(struct part *part, int stream, struct bat_error *error)
{
    BAT_TRY(bat_temporary_copy(stream, NULL, 0, &part->file, error));
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getpid(), part->file);
    part->copy = strdup(path);
    return part->copy ? BAT_OK : bat_fail_memory(error, "for the path");
}

/* Find the digests of an open file, or of a copy of it. */
static enum bat_code find_digests(struct part *part, int file, struct bat_error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    bool is_stream =
        !S_ISDIR(status.st_mode) && (!S_ISREG(status.st_mode) || lseek(file, 0, SEEK_CUR) > 0);
    BAT_TRY(is_stream ? copy_stream(part, file, error) : BAT_OK);
    if (is_stream)
        file = part->file;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected a profile, found an empty file");
    return part_digests(file, &part->digests, error);
}

static enum bat_code examine(struct part *part, struct bat_error *error)
{
    if (strcmp(part->path, "-") == 0)
        return find_digests(part, STDIN_FILENO, error);
    int file = bat_high_descriptor(open(part->path, O_RDONLY | O_CLOEXEC));
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = find_digests(part, file, error);
    close(file);
    return code;
}

static int compare_digests(const void *left, const void *right)
{
    return bat_compare_words(left, right, BAT_DIGEST_WORDS);
}

/*
 * Profiles of many parts come before those of few, so that a sum is counted rather than those of
 * its parts that are given beside it. The rest of the order depends on the parts alone, too, not on
 * the order of the arguments.
 */
static int compare_parts(const void *left, const void *right, void *parts_pointer)
{
    const struct parts *parts = parts_pointer;
    const struct bat_counts *one = &parts->items[*(const size_t *)left].digests;
    const struct bat_counts *other = &parts->items[*(const size_t *)right].digests;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    for (uint32_t i = 0; i < one->count; i++) {
        int order = compare_digests(bat_counts_item(one, i), bat_counts_item(other, i));
        if (order != 0)
            return order;
    }
    return 0;
}

/* A copy of the digests, sorted; words of BAT_DIGEST_WORDS. NULL if there is no memory. */
static uint64_t *sorted_digests(const struct bat_counts *digests)
{
    const size_t size = BAT_DIGEST_WORDS * sizeof(uint64_t);
    uint64_t *sorted = malloc((digests->count + (size_t)1) * size);
    if (!sorted)
        return NULL;
    for (uint32_t i = 0; i < digests->count; i++)
        memcpy(sorted + (size_t)i * BAT_DIGEST_WORDS, bat_counts_item(digests, i), size);
    qsort(sorted, digests->count, size, compare_digests);
    return sorted;
}

static bool examine_all(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        struct bat_error error;
        if (examine(part, &error) != BAT_OK && !leave_out(parts, part, &error))
            return false;
        /* Nothing is looked up in these, only in those that were counted. */
        bat_counts_sort(&part->digests);
    }
    return true;
}

/* --- Reading -------------------------------------------------------------------------------- */

/* How many of a profile's parts were counted already. */
static uint32_t count_known(const struct parts *parts, const struct part *part)
{
    uint32_t known = 0;
    for (uint32_t i = 0; i < part->digests.count; i++)
        known += bat_counts_find(&parts->counted, bat_counts_item(&part->digests, i)) != NULL;
    return known;
}

/* Read a profile, unless its parts were counted already. */
static enum bat_code read_part(struct parts *parts, struct part *part,
                               const struct bat_read_options *options, parts_read_fn *read,
                               void *context, struct bat_error *error)
{
    uint32_t known = count_known(parts, part);
    if (known != 0 && known == part->digests.count) {
        part->state = PART_REPEATED;
        return BAT_OK;
    }
    if (known != 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected a sum of parts that were not counted yet, found one in which %u "
                        "of %u were, and from which they cannot be taken out",
                        known, part->digests.count);
    enum bat_code code = read(context, part->copy ? part->copy : part->path, options, error);
    for (uint32_t i = 0; i < part->digests.count && code == BAT_OK; i++)
        code = bat_counts_fail(
            error, bat_counts_add(&parts->counted, bat_counts_item(&part->digests, i), 1, 0),
            "the parts of the profile");
    if (code == BAT_OK)
        part->state = PART_READ;
    return code;
}

/* Read all that wait, in the order of these numbers. */
static bool read_all(struct parts *parts, const size_t *order, parts_read_fn *read, void *context)
{
    struct bat_error error;
    size_t done = 0;
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[order[i]];
        if (part->state != PART_WAITING)
            continue;
        if (parts->request.begin)
            parts->request.begin(part->path, parts->request.reading->progress_context);
        if (read_part(parts, part, parts->request.reading, read, context, &error) != BAT_OK &&
            !leave_out(parts, part, &error))
            return false;
        done += part->state == PART_READ;
    }
    if (done != 0)
        return true;
    bat_fail(&error, BAT_ERR_SYNTAX,
             "expected at least one profile that can be read, found none "
             "of %zu",
             parts->count);
    parts->request.report(NULL, &error);
    return false;
}

/* Set up the items. Returns their numbers in the order of reading, to be freed. */
static size_t *list_parts(struct parts *parts)
{
    const size_t count = parts->request.profile_count;
    parts->items = calloc(count + 1, sizeof(*parts->items));
    size_t *order = calloc(count + 1, sizeof(*order));
    if (!parts->items || !order) {
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        parts->items[i] = (struct part){.path = parts->request.profiles[i],
                                        .file = -1,
                                        .digests = bat_counts_new(BAT_DIGEST_WORDS)};
        order[i] = i;
    }
    parts->count = count;
    return order;
}

bool parts_read(struct parts *parts, const struct parts_request *request, parts_read_fn *read,
                void *context)
{
    *parts = (struct parts){.request = *request, .counted = bat_counts_new(BAT_DIGEST_WORDS)};
    size_t *order = list_parts(parts);
    if (!order) {
        struct bat_error error;
        bat_fail_memory(&error, "for the profiles");
        request->report(NULL, &error);
        return false;
    }
    bool is_fine = !request->once || examine_all(parts);
    if (request->once)
        qsort_r(order, parts->count, sizeof(*order), compare_parts, parts);
    is_fine = is_fine && read_all(parts, order, read, context);
    free(order);
    return is_fine;
}

void parts_free(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        if (part->file >= 0)
            close(part->file);
        bat_counts_free(&part->digests);
        free(part->copy);
        free(part->reason);
    }
    bat_counts_free(&parts->counted);
    free(parts->items);
    *parts = (struct parts){0};
}

uint64_t parts_count(const struct parts *parts)
{
    return parts->counted.count;
}

static size_t count_state(const struct parts *parts, enum part_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < parts->count; i++)
        count += parts->items[i].state == state;
    return count;
}

bool parts_are_left_out(const struct parts *parts)
{
    return count_state(parts, PART_LEFT_OUT) != 0;
}

/* --- D records ------------------------------------------------------------------------------ */

enum bat_code parts_write_digests(const struct parts *parts, struct bat_output *output,
                                  struct bat_error *error)
{
    if (!parts->request.once)
        return BAT_OK;
    uint64_t *digests = sorted_digests(&parts->counted);
    BAT_TRY_MEMORY(digests, error, "to write the profile");
    struct bat_text_writer writer;
    enum bat_code code = bat_text_begin(&writer, output, error);
    if (code == BAT_OK) {
        for (uint32_t i = 0; i < parts->counted.count; i++) {
            const uint64_t *digest = digests + (size_t)i * BAT_DIGEST_WORDS;
            char line[64];
            int size = snprintf(line, sizeof(line), "D %016lx%016lx\n", digest[0], digest[1]);
            bat_text_bytes(&writer, line, (size_t)size);
        }
        code = bat_text_finish(&writer, BAT_OK);
    }
    free(digests);
    return code;
}

/* --- The report ----------------------------------------------------------------------------- */

static const char *reason_of(const struct part *part)
{
    return part->reason ? part->reason : "";
}

void parts_print_text(const struct parts *parts, struct bat_text_writer *out)
{
    const bool once = parts->request.once;
    bat_text_format(out, "%-36s %14zu\n", "profiles counted", count_state(parts, PART_READ));
    if (once)
        bat_text_format(out, "%-36s %14zu\n", "  not again: counted before",
                        count_state(parts, PART_REPEATED));
    bat_text_format(out, "%-36s %14zu\n", "  left out: cannot be read",
                    count_state(parts, PART_LEFT_OUT));
    if (once)
        bat_text_format(out, "%-36s %14u\n", "parts in the sum", parts->counted.count);
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        if (part->state != PART_REPEATED && part->state != PART_LEFT_OUT)
            continue;
        bat_text_name(out, part->state == PART_REPEATED ? "not again: " : "left out: ", part->path,
                      "");
        if (part->state == PART_LEFT_OUT)
            bat_text_name(out, ": ", reason_of(part), "");
        bat_text_string(out, "\n");
    }
}

void parts_print_json(const struct parts *parts, struct bat_text_writer *out)
{
    bat_text_format(out, ",\"profiles_counted\":%zu", count_state(parts, PART_READ));
    if (parts->request.once)
        bat_text_format(out, ",\"parts\":%u", parts->counted.count);
    bat_text_string(out, ",\"repeated\":[");
    const char *comma = "";
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].state != PART_REPEATED)
            continue;
        bat_text_member(out, comma, parts->items[i].path);
        comma = ",";
    }
    bat_text_string(out, "],\"left_out_profiles\":[");
    comma = "";
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].state != PART_LEFT_OUT)
            continue;
        bat_text_string(out, comma);
        bat_text_member(out, "{\"profile\":", parts->items[i].path);
        bat_text_member(out, ",\"reason\":", reason_of(&parts->items[i]));
        bat_text_string(out, "}");
        comma = ",";
    }
    bat_text_string(out, "]");
}
