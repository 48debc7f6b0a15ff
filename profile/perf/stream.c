/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>

#include "elfnote/descriptors.h"

/* Holds several of the longest records, and fits into the processor's caches. */
#define BUFFER_SIZE ((size_t)1 << 19)

/* Begin with the piece at the stream's offset. */
static void begin_piece(struct perf_stream *stream)
{
    const uint32_t number = perf_pieces_at(stream->pieces, stream->offset);
    struct perf_piece *piece = &stream->pieces->items[number];
    uint64_t end = piece->start + piece->size;
    if (stream->is_survey)
        piece->unpacked = stream->unpacked;
    stream->limit = end < stream->stop ? end : stream->stop;
}

enum bat_code perf_stream_open(struct perf_stream *stream, int file, struct perf_pieces *pieces,
                               uint64_t offset, uint64_t stop, struct bat_error *error)
{
    *stream = (struct perf_stream){
        .file = file, .pieces = pieces, .offset = offset, .stop = stop, .limit = stop};
    stream->capacity = stop - offset < BUFFER_SIZE ? (size_t)(stop - offset) : BUFFER_SIZE;
    stream->buffer = malloc(stream->capacity ? stream->capacity : 1);
    BAT_TRY_MEMORY(stream->buffer, error, "to read the profile");
    if (pieces) {
        stream->unpacked = pieces->items[perf_pieces_at(pieces, offset)].unpacked;
        begin_piece(stream);
    }
    return BAT_OK;
}

void perf_stream_close(struct perf_stream *stream)
{
    free(stream->buffer);
    perf_unpacker_free(stream->unpacker);
    *stream = (struct perf_stream){0};
}

enum bat_code perf_read_at(int file, uint64_t offset, void *bytes, size_t size,
                           struct bat_error *error)
{
    ssize_t got = bat_read_all(file, bytes, size, (off_t)offset);
    if (got < 0)
        return bat_fail(error, BAT_ERR_IO, "reading: %s", strerror(errno));
    if ((size_t)got < size)
        return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, offset + (uint64_t)got,
                           "expected %zu more bytes, found the end of the file",
                           size - (size_t)got);
    return BAT_OK;
}

/* Read exactly size bytes at a place of the whole. */
static enum bat_code read_pieces(const struct perf_stream *stream, uint64_t place, uint8_t *bytes,
                                 size_t size, struct bat_error *error)
{
    if (!stream->pieces)
        return perf_read_at(stream->file, place, bytes, size, error);
    enum bat_code code = BAT_OK;
    for (size_t part; size != 0 && code == BAT_OK; place += part, bytes += part, size -= part) {
        const struct perf_piece *piece =
            &stream->pieces->items[perf_pieces_at(stream->pieces, place)];
        uint64_t left = piece->start + piece->size - place;
        part = size < left ? size : (size_t)left;
        code = perf_read_at(piece->file, place - piece->start, bytes, part, error);
    }
    return code;
}

/* Read on until the buffer has `size` bytes, or all that are left of the stretch. */
static enum bat_code fill(struct perf_stream *stream, size_t size, struct bat_error *error)
{
    size_t available = stream->end - stream->start;
    uint64_t left = stream->stop - stream->offset;
    if (available >= size || available >= left)
        return BAT_OK;
    memmove(stream->buffer, stream->buffer + stream->start, available);
    stream->start = 0;
    stream->end = available;
    size_t wanted = stream->capacity - available;
    if (wanted > left - available)
        wanted = (size_t)(left - available);
    enum bat_code code =
        read_pieces(stream, stream->offset + available, stream->buffer + available, wanted, error);
    stream->end += wanted;
    stream->bytes_read += wanted;
    return code;
}

/* Behind a piece, go to the next one, which is compressed on its own. */
static enum bat_code end_piece(struct perf_stream *stream, struct bat_error *error)
{
    if (stream->offset != stream->limit || stream->offset == stream->stop)
        return BAT_OK;
    enum bat_code code = stream->unpacker ? perf_unpacker_end(stream->unpacker, error) : BAT_OK;
    perf_unpacker_free(stream->unpacker);
    stream->unpacker = NULL;
    begin_piece(stream);
    return code;
}

static enum bat_code next_of_file(struct perf_stream *stream, struct perf_record *record,
                                  struct bat_error *error)
{
    *record = (struct perf_record){.offset = stream->offset};
    enum bat_code code = end_piece(stream, error);
    uint64_t left = stream->limit - stream->offset;
    if (code != BAT_OK || left == 0)
        return code;
    BAT_TRY(fill(stream, PERF_RECORD_HEADER_SIZE, error));
    if (left < PERF_RECORD_HEADER_SIZE)
        return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, stream->offset,
                           "expected a record, found the end of the data in its header");
    uint16_t size = bat_load16(stream->buffer + stream->start + 6);
    if (size < PERF_RECORD_HEADER_SIZE)
        return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, stream->offset,
                           "expected a record of at least %u bytes, found one of %u",
                           PERF_RECORD_HEADER_SIZE, size);
    if (size > left)
        return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, stream->offset,
                           "expected a record of %u bytes, found the end of the data after %lu",
                           size, left);
    BAT_TRY(fill(stream, size, error));
    record->bytes = stream->buffer + stream->start;
    record->type = bat_load32(record->bytes);
    record->misc = bat_load16(record->bytes + 4);
    record->size = size;
    record->position = stream->offset + stream->unpacked;
    stream->start += size;
    stream->offset += size;
    return BAT_OK;
}

/* Two kinds of records are followed by data, whose size they hold. */
static enum bat_code skip_data(struct perf_stream *stream, const struct perf_record *record,
                               struct bat_error *error)
{
    uint64_t size;
    if (record->type == RECORD_AUXTRACE && record->size >= 16)
        size = bat_load64(record->bytes + 8);
    else if (record->type == RECORD_TRACING_DATA && record->size >= 12)
        size = ((uint64_t)bat_load32(record->bytes + 8) + 7) & ~(uint64_t)7;
    else
        return BAT_OK;
    uint64_t left = stream->limit - stream->offset;
    if (size > left)
        return bat_fail_at(
            error, BAT_ERR_TRUNCATED, BAT_PLACE_FILE, record->offset,
            "expected a record with %lu bytes behind it, found the end of the data after %lu", size,
            left);
    /* Skip bytes that are not part of a record. */
    size_t available = stream->end - stream->start;
    stream->start += size < available ? (size_t)size : available;
    stream->offset += size;
    if (size >= available)
        stream->start = stream->end = 0;
    return BAT_OK;
}

/* Hand a compressed record to the unpacker. */
static enum bat_code feed(struct perf_stream *stream, const struct perf_record *record,
                          struct bat_error *error)
{
    const uint8_t *bytes = record->bytes + PERF_RECORD_HEADER_SIZE;
    uint64_t size = record->size - PERF_RECORD_HEADER_SIZE;
    if (record->type == RECORD_COMPRESSED2) {
        uint64_t inside = size < 8 ? 0 : size - 8;
        uint64_t claimed = size < 8 ? 0 : bat_load64(bytes);
        if (size < 8 || claimed > inside)
            return bat_fail_at(error, BAT_ERR_SYNTAX, BAT_PLACE_FILE, record->offset,
                               "expected a compressed record with %lu bytes of data, found %lu",
                               claimed, inside);
        bytes += 8;
        size = claimed;
    }
    stream->was_compressed = true;
    if (!stream->unpacker) {
        stream->unpacker = perf_unpacker_new();
        BAT_TRY_MEMORY(stream->unpacker, error, "to unpack the profile");
    }
    perf_unpacker_feed(stream->unpacker, bytes, (size_t)size, record->offset);
    return BAT_OK;
}

enum bat_code perf_stream_next(struct perf_stream *stream, struct perf_record *record,
                               struct bat_error *error)
{
    for (;;) {
        if (stream->unpacker) {
            BAT_TRY(perf_unpacker_next(stream->unpacker, record, error));
            if (record->bytes) {
                record->position = stream->offset + stream->unpacked;
                stream->unpacked += record->size;
                return BAT_OK;
            }
        }
        BAT_TRY(next_of_file(stream, record, error));
        if (!record->bytes)
            return stream->unpacker ? perf_unpacker_end(stream->unpacker, error) : BAT_OK;
        if (record->type != RECORD_COMPRESSED && record->type != RECORD_COMPRESSED2)
            return skip_data(stream, record, error);
        BAT_TRY(feed(stream, record, error));
    }
}
