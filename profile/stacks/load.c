/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file of stacks: its bytes, and who reads them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/descriptors.h"
#include "elfnote/unpack.h"
#include "reading.h"
#include "spec/array.h"
#include "spec/escape_controls.h"

/* The most bytes of an unpacked file. */
#define BYTES_MAX ((size_t)1 << 30)

/* A larger file has at most so many times the bytes of its packed form: gzip can make a thousand
 * times, of a profile it does not. */
#define UNPACKED_FREE ((size_t)64 << 20)
#define UNPACKED_RATIO_MAX 64u

/* A message takes so much memory besides its bytes, and so much for each of them. */
#define MEMORY_FREE ((size_t)64 << 20)
#define MEMORY_PER_BYTE 24u

/* So many bytes of a message have one that no text has; those of other formats have it later. */
#define SCANNED 8u

static bool is_simpleperf(const void *bytes, size_t size)
{
    return size >= sizeof(SIMPLEPERF_MAGIC) - 1 &&
           memcmp(bytes, SIMPLEPERF_MAGIC, sizeof(SIMPLEPERF_MAGIC) - 1) == 0;
}

bool stack_profile_is(const void *bytes, size_t size)
{
    static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    const uint8_t *at = bytes;
    const uint8_t *end = at + (size < SCANNED ? size : SCANNED);
    if (size >= 2 && at[0] == 0x1f && at[1] == 0x8b)
        return true;
    if (is_simpleperf(bytes, size))
        return true;
    /* A message begins with any field from 1 to 15, a number or bytes. */
    if (size < 2 || at[0] < 1 << 3 || at[0] >= 16 << 3 || (at[0] & 7) > 2 ||
        (size >= sizeof(zstd) && memcmp(at, zstd, sizeof(zstd)) == 0))
        return false;
    /* Records of text begin with a letter or a number, and may have names of any bytes. */
    if (isalnum(at[0]) && (at[1] == ' ' || at[1] == '\t'))
        return false;
    /* Other text that begins so has no control characters, and whole characters. */
    for (size_t length = 1; at < end; at += length) {
        length = bat_utf8_length((const char *)at, (size_t)(end - at));
        const bool is_cut = length == 0 && *at >= 0xc0 && end - at < 4;
        if (*at < '\t' || (*at > '\r' && *at < ' ') || (length == 0 && !is_cut))
            return true;
        if (is_cut)
            return false;
    }
    return false;
}

/* --- Bytes ---------------------------------------------------------------------------------- */

/* Read what is left of a file, whose position stays as it is, if it has one. */
static enum bat_code read_file(int file, struct bat_unpacked *bytes, struct bat_error *error)
{
    const size_t piece = (size_t)1 << 16;
    const off_t start = lseek(file, 0, SEEK_CUR);
    ssize_t got = 1;
    while (got > 0 && bytes->size <= BYTES_MAX) {
        if (!bat_reserve(&bytes->bytes, &bytes->capacity, bytes->size, piece, 1))
            return bat_fail_memory(error, "for the profile");
        got = bat_read_some(file, bytes->bytes + bytes->size, piece, -1);
        bytes->size += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be read: %s", strerror(errno));
    if (start >= 0)
        lseek(file, start, SEEK_SET);
    if (bytes->size > BYTES_MAX)
        return bat_fail(error, BAT_ERR_RANGE, "expected a profile of at most %zu bytes, found more",
                        BYTES_MAX);
    return BAT_OK;
}

/* Read the file, which gzip packed or not. */
static enum bat_code read_unpacked(int file, struct bat_unpacked *bytes, struct bat_error *error)
{
    BAT_TRY(read_file(file, bytes, error));
    if (bat_packing_of(bytes->bytes, bytes->size) != BAT_PACKING_GZIP)
        return BAT_OK;
    size_t most = bytes->size * UNPACKED_RATIO_MAX;
    most = most < UNPACKED_FREE ? UNPACKED_FREE : most < BYTES_MAX ? most : BYTES_MAX;
    struct bat_unpacked unpacked = {0};
    enum bat_code code =
        bat_unpack("", BAT_PACKING_GZIP, bytes->bytes, bytes->size, most, NULL, &unpacked, error);
    free(bytes->bytes);
    if (code != BAT_OK) {
        free(unpacked.bytes);
        unpacked = (struct bat_unpacked){0};
    }
    *bytes = unpacked;
    return code;
}

/* --- Reading -------------------------------------------------------------------------------- */

static enum bat_code read_message(struct stack_reading *reading, const struct bat_unpacked *bytes)
{
    struct bat_arena *arena = &reading->profile->arena;
    arena->limit = MEMORY_FREE + MEMORY_PER_BYTE * bytes->size;
    if (is_simpleperf(bytes->bytes, bytes->size))
        return stack_read_simpleperf(reading, bytes->bytes, bytes->size);
    enum bat_code code = stack_read_pprof(reading, bytes->bytes, bytes->size);
    if (code != BAT_ERR_SYNTAX)
        return code;
    bat_arena_free(arena);
    *reading->profile = (struct stack_profile){.arena = {.limit = arena->limit}};
    reading->types[0] = '\0';
    reading->type_count = 0;
    return stack_read_otlp(reading, bytes->bytes, bytes->size);
}

enum bat_code stack_profile_read(int file, const char *type, struct stack_profile **profile,
                                 struct bat_error *error)
{
    struct bat_unpacked bytes = {0};
    struct stack_reading reading = {
        .profile = calloc(1, sizeof(**profile)), .wanted_type = type, .error = error};
    *profile = NULL;
    enum bat_code code = reading.profile ? read_unpacked(file, &bytes, error)
                                         : bat_fail_memory(error, "for the profile");
    code = code ? code : read_message(&reading, &bytes);
    /* gzip packs anything. */
    if (code == BAT_ERR_SYNTAX && bytes.size != 0 && !stack_profile_is(bytes.bytes, bytes.size))
        code = bat_fail(error, BAT_ERR_SYNTAX,
                        "expected a profile, found a compressed file: unpack it first");
    free(bytes.bytes);
    if (code == BAT_OK)
        *profile = reading.profile;
    else
        stack_profile_free(reading.profile);
    return code;
}
