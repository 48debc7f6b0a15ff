/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format.h"

/* Holds several of the longest records, so that each call of zstd unpacks enough. */
#define UNPACKED_SIZE ((size_t)1 << 18)

struct perf_unpacker {
    ZSTD_DStream *zstd;
    ZSTD_inBuffer packed;
    uint64_t offset; /* of the record that packed is from */
    bool has_more;   /* zstd filled the buffer and may hold more */
    size_t start;    /* [start, end) of bytes is not returned yet */
    size_t end;
    uint8_t bytes[UNPACKED_SIZE];
};

struct perf_unpacker *perf_unpacker_new(void)
{
    struct perf_unpacker *unpacker = calloc(1, sizeof(*unpacker));
    if (!unpacker)
        return NULL;
    unpacker->zstd = ZSTD_createDStream();
    if (!unpacker->zstd) {
        free(unpacker);
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
    size_t result = ZSTD_decompressStream(unpacker->zstd, &output, &unpacker->packed);
    if (ZSTD_isError(result))
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, unpacker->offset,
                           "expected a compressed record that continues the one before, found data "
                           "that zstd rejects: %s",
                           ZSTD_getErrorName(result));
    unpacker->end = output.pos;
    unpacker->has_more = output.pos == output.size;
    return BAT_OK;
}

/* Take the first record of the unpacked bytes; false if it is not complete. */
static bool take_record(struct perf_unpacker *unpacker, struct perf_record *record)
{
    size_t available = unpacker->end - unpacker->start;
    const uint8_t *bytes = unpacker->bytes + unpacker->start;
    if (available < PERF_RECORD_HEADER_SIZE || perf_u16(bytes + 6) > available)
        return false;
    *record = (struct perf_record){.bytes = bytes,
                                   .type = perf_u32(bytes),
                                   .misc = perf_u16(bytes + 4),
                                   .size = perf_u16(bytes + 6),
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
        enum bat_code code = unpack(unpacker, error);
        if (code != BAT_OK)
            return code;
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
