/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A file of stacks: its bytes, and who reads them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "elfnote/descriptors.h"
#include "reading.h"
#include "spec/escape_controls.h"
#include "spec/grow.h"

/* The most bytes of an unpacked file. */
#define BYTES_MAX ((size_t)1 << 30)

/* A larger file has at most so many times the bytes of its packed form: gzip can make a thousand
 * times, of a profile it does not. */
#define UNPACKED_FREE ((size_t)64 << 20)
#define UNPACKED_RATIO_MAX 64u

/* A message takes so much memory besides its bytes, and so much for each of them. */
#define MEMORY_FREE ((size_t)64 << 20)
#define MEMORY_PER_BYTE 24u

bool stack_profile_is(const void *bytes, size_t size)
{
    static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    const uint8_t *at = bytes;
    const uint8_t *end = at + (size < STACK_PROFILE_HEAD ? size : STACK_PROFILE_HEAD);
    if (size >= 2 && at[0] == 0x1f && at[1] == 0x8b)
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

struct bytes {
    uint8_t *at;
    size_t size;
    size_t capacity;
};

/* Why nothing more was unpacked; BAT_OK at the end. */
static enum bat_code check_end(gzFile file, struct bat_error *error)
{
    int status;
    const char *text = gzerror(file, &status);
    if (status == Z_BUF_ERROR)
        return bat_fail(error, BAT_ERR_TRUNCATED, "expected a whole file of gzip, found its end");
    if (status == Z_ERRNO) {
        const int reason = errno;
        bat_fail(error, BAT_ERR_IO, "cannot be read: %s", strerror(reason));
        errno = reason;
        return BAT_ERR_IO;
    }
    if (status != Z_OK && status != Z_STREAM_END)
        return bat_fail(error, BAT_ERR_SYNTAX, "expected gzip, found damaged bytes: %s", text);
    return BAT_OK;
}

static enum bat_code check_size(gzFile file, size_t size, struct bat_error *error)
{
    if (size > BYTES_MAX)
        return bat_fail(error, BAT_ERR_RANGE, "expected a profile of at most %zu bytes, found more",
                        BYTES_MAX);
    z_off_t packed = gzoffset(file);
    if (size > UNPACKED_FREE && packed >= 0 && size / UNPACKED_RATIO_MAX > (size_t)packed)
        return bat_fail(error, BAT_ERR_RANGE,
                        "expected a profile of at most %u times its packed bytes, found more",
                        UNPACKED_RATIO_MAX);
    return BAT_OK;
}

/* Read the file, which gzip packed or not. */
static enum bat_code read_bytes(gzFile file, struct bytes *bytes, struct bat_error *error)
{
    const unsigned piece = 1 << 16;
    enum bat_code code = BAT_OK;
    int got = 1;
    while (code == BAT_OK && got > 0) {
        if (!bat_reserve(&bytes->at, &bytes->capacity, bytes->size, piece, 1))
            return bat_fail_memory(error, "for the profile");
        got = gzread(file, bytes->at + bytes->size, piece);
        bytes->size += got > 0 ? (size_t)got : 0;
        code = got > 0 ? check_size(file, bytes->size, error) : check_end(file, error);
    }
    return code;
}

static enum bat_code read_once(int file, off_t start, struct bytes *bytes, struct bat_error *error)
{
    bytes->size = 0;
    int copy = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    gzFile packed = copy < 0 ? NULL : gzdopen(copy, "rb");
    if (!packed) {
        if (copy >= 0)
            close(copy);
        return bat_fail_memory(error, "for the profile");
    }
    enum bat_code code = read_bytes(packed, bytes, error);
    const int reason = code == BAT_ERR_IO ? errno : 0;
    gzclose(packed);
    if (start >= 0)
        lseek(file, start, SEEK_SET);
    errno = reason;
    return code;
}

static enum bat_code read_file(int file, struct bytes *bytes, struct bat_error *error)
{
    /* zlib closes a copy, moves the position of both, and forgets what it has after a signal. */
    const off_t start = lseek(file, 0, SEEK_CUR);
    enum bat_code code;
    do
        code = read_once(file, start, bytes, error);
    while (code == BAT_ERR_IO && errno == EINTR && start >= 0);
    return code;
}

/* --- Reading -------------------------------------------------------------------------------- */

static enum bat_code read_message(struct stack_reading *reading, const struct bytes *bytes)
{
    struct bat_arena *arena = &reading->profile->arena;
    arena->limit = MEMORY_FREE + MEMORY_PER_BYTE * bytes->size;
    enum bat_code code = stack_read_pprof(reading, bytes->at, bytes->size);
    if (code != BAT_ERR_SYNTAX)
        return code;
    bat_arena_free(arena);
    *reading->profile = (struct stack_profile){.arena = {.limit = arena->limit}};
    reading->types[0] = '\0';
    reading->type_count = 0;
    return stack_read_otlp(reading, bytes->at, bytes->size);
}

enum bat_code stack_profile_read(int file, const char *type, struct stack_profile **profile,
                                 struct bat_error *error)
{
    struct bytes bytes = {0};
    struct stack_reading reading = {
        .profile = calloc(1, sizeof(**profile)), .wanted_type = type, .error = error};
    *profile = NULL;
    enum bat_code code = reading.profile ? read_file(file, &bytes, error)
                                         : bat_fail_memory(error, "for the profile");
    code = code ? code : read_message(&reading, &bytes);
    /* gzip packs anything. */
    if (code == BAT_ERR_SYNTAX && bytes.size != 0 && !stack_profile_is(bytes.at, bytes.size))
        code = bat_fail(error, BAT_ERR_SYNTAX,
                        "expected a profile, found a compressed file: unpack it first");
    free(bytes.at);
    if (code == BAT_OK)
        *profile = reading.profile;
    else
        stack_profile_free(reading.profile);
    return code;
}
