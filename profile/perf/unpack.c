/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Holds several of the longest records, so that each call of zstd unpacks enough. */
#define UNPACKED_SIZE ((size_t)1 << 18)

/*
 * Windows, in powers of 2: the bytes before each byte that zstd holds. perf record -z1 to -z19
 * writes the small ones or less, -z22 the largest, whatever the size of the file.
 */
#define SMALL_WINDOW_LOG 23
#define LARGE_WINDOW_LOG 27
#define SMALL_WINDOW_MIB (1u << (SMALL_WINDOW_LOG - 20))

/*
 * zstd uses the memory of a window only as it fills. A large one may hold as much as a small one,
 * and so many bytes for each compressed one; equal samples of 8 KB take some 12 bytes.
 */
#define HELD_PER_BYTE 1024u

struct perf_unpacker {
    ZSTD_DStream *zstd;
    ZSTD_inBuffer packed;
    uint64_t offset; /* of the record that packed is from */
    bool has_more;   /* zstd filled the buffer and may hold more */
    bool has_large_window;
    uint64_t packed_size; /* so much was unpacked to unpacked_size */
    uint64_t unpacked_size;
    size_t start; /* [start, end) of bytes is not returned yet */
    size_t end;
    uint8_t bytes[UNPACKED_SIZE];
};

struct perf_unpacker *perf_unpacker_new(void)
{
    struct perf_unpacker *unpacker = calloc(1, sizeof(*unpacker));
    if (!unpacker)
        return NULL;
    unpacker->zstd = ZSTD_createDStream();
    if (!unpacker->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(unpacker->zstd, ZSTD_d_windowLogMax,
                                                               SMALL_WINDOW_LOG))) {
        perf_unpacker_free(unpacker);
        return NULL;
    }
    return unpacker;
}

void perf_unpacker_free(struct perf_unpacker *unpacker)
{
    if (!unpacker)
        return;
    ZSTD_freeDStream(unpacker->zstd);
    free(unpacker);
}

void perf_unpacker_feed(struct perf_unpacker *unpacker, const uint8_t *bytes, size_t size,
                        uint64_t offset)
{
    unpacker->packed = (ZSTD_inBuffer){.src = bytes, .size = size};
    unpacker->offset = offset;
}

/*
 * Have zstd unpack into output. A frame with a large window begins again, with a limit to what the
 * window holds. The result is zstd's.
 */
static size_t decompress(struct perf_unpacker *unpacker, ZSTD_outBuffer *output)
{
    ZSTD_inBuffer *packed = &unpacker->packed;
    const size_t start = packed->pos;
    size_t result = ZSTD_decompressStream(unpacker->zstd, output, packed);
    if (ZSTD_getErrorCode(result) != ZSTD_error_frameParameter_windowTooLarge ||
        unpacker->has_large_window)
        return result;
    unpacker->has_large_window = true;
    ZSTD_DCtx_reset(unpacker->zstd, ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(unpacker->zstd, ZSTD_d_windowLogMax, LARGE_WINDOW_LOG);
    packed->pos = start;
    return ZSTD_decompressStream(unpacker->zstd, output, packed);
}

/* Fails if a large window holds too much. */
static enum bat_code check_window(const struct perf_unpacker *unpacker, struct bat_error *error)
{
    const uint64_t most = (UINT64_C(1) << SMALL_WINDOW_LOG) + HELD_PER_BYTE * unpacker->packed_size;
    if (!unpacker->has_large_window || unpacker->unpacked_size <= most ||
        most >= UINT64_C(1) << LARGE_WINDOW_LOG)
        return BAT_OK;
    return bat_fail_at(
        error, BAT_ERR_RANGE, BAT_PLACE_FILE, unpacker->offset,
        "expected at most %u MiB and %u bytes for each compressed one with a window of more than "
        "%u MiB (perf record -z20 to -z22), found more",
        SMALL_WINDOW_MIB, HELD_PER_BYTE, SMALL_WINDOW_MIB);
}

/* Unpack as much as the buffer takes. */
static enum bat_code unpack(struct perf_unpacker *unpacker, struct bat_error *error)
{
    /* A record that comes in many small pieces is moved only once. */
    if (unpacker->start != 0)
        memmove(unpacker->bytes, unpacker->bytes + unpacker->start,
                unpacker->end - unpacker->start);
    unpacker->end -= unpacker->start;
    unpacker->start = 0;
    ZSTD_outBuffer output = {.dst = unpacker->bytes, .size = UNPACKED_SIZE, .pos = unpacker->end};
    const size_t start = unpacker->packed.pos;
    size_t result = decompress(unpacker, &output);
    if (ZSTD_isError(result))
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, unpacker->offset,
                           "expected a compressed record that continues the one before, found data "
                           "that zstd rejects: %s",
                           ZSTD_getErrorName(result));
    unpacker->packed_size += unpacker->packed.pos - start;
    unpacker->unpacked_size += output.pos - unpacker->end;
    unpacker->end = output.pos;
    unpacker->has_more = output.pos == output.size;
    return check_window(unpacker, error);
}

/* Take the first record of the unpacked bytes; false if it is not complete. */
static bool take_record(struct perf_unpacker *unpacker, struct perf_record *record)
{
    size_t available = unpacker->end - unpacker->start;
    const uint8_t *bytes = unpacker->bytes + unpacker->start;
    if (available < PERF_RECORD_HEADER_SIZE || bat_load16(bytes + 6) > available)
        return false;
    *record = (struct perf_record){.bytes = bytes,
                                   .type = bat_load32(bytes),
                                   .misc = bat_load16(bytes + 4),
                                   .size = bat_load16(bytes + 6),
                                   .offset = unpacker->offset};
    unpacker->start += record->size;
    return true;
}

enum bat_code perf_unpacker_next(struct perf_unpacker *unpacker, struct perf_record *record,
                                 struct bat_error *error)
{
    record->bytes = NULL;
    while (!take_record(unpacker, record)) {
        if (unpacker->packed.pos == unpacker->packed.size && !unpacker->has_more)
            return BAT_OK;
        BAT_TRY(unpack(unpacker, error));
    }
    if (record->size >= PERF_RECORD_HEADER_SIZE)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, unpacker->offset,
                       "expected records of at least %u bytes in the compressed record, found one "
                       "of %u",
                       PERF_RECORD_HEADER_SIZE, record->size);
}

enum bat_code perf_unpacker_end(const struct perf_unpacker *unpacker, struct bat_error *error)
{
    if (unpacker->start == unpacker->end)
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, unpacker->offset,
                       "expected compressed data that ends with a complete record, found %zu bytes "
                       "of another one",
                       unpacker->end - unpacker->start);
}
