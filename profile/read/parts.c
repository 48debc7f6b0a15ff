/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "part_digests.h"
#include "spec/order.h"
#include "support/temporary.h"

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
    return bat_part_digests(file, &part->digests, error);
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
