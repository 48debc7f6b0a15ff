/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "part_digests.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "elfnote/descriptors.h"
#include "profile/line_blocks.h"
#include "profile/text_fields.h"
#include "read_profile.h"

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

/* Add the digest of all bytes. */
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

enum bat_code bat_part_digests(int file, struct bat_counts *digests, struct bat_error *error)
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
