/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads the records of a stretch of perf.data one by one and unpacks compressed ones. Memory does
 * not grow with the file. Internal to the library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bat.h"
#include "format.h"
#include "unpack.h"

/* A file of records in a place of the whole. */
struct perf_piece {
    int file;
    uint64_t start;    /* in the whole */
    uint64_t size;     /* bytes */
    uint64_t unpacked; /* bytes that were unpacked of the pieces before: set by the survey */
};

/* All pieces, one behind the other: the first is "data", up to the end of its records. */
struct perf_pieces {
    struct perf_piece *items;
    uint32_t count;
};

/*
 * Open the files of a folder. To be closed in any case. Fails with BAT_ERR_UNSUPPORTED if perf did
 * not make it.
 */
enum bat_code perf_folder_open(int folder, struct perf_pieces *pieces, struct bat_error *error);
void perf_folder_close(struct perf_pieces *pieces);

/* Put the pieces one behind the other, the first having this size. Returns the end of the last. */
uint64_t perf_pieces_arrange(struct perf_pieces *pieces, uint64_t first_size);

/* The piece that holds this place, or begins there. */
uint32_t perf_pieces_at(const struct perf_pieces *pieces, uint64_t place);

struct perf_unpacker;

struct perf_stream {
    int file;
    struct perf_pieces *pieces; /* NULL: file is read */
    uint64_t limit;             /* where the current piece or the stretch ends: records do */
    uint64_t offset;            /* of buffer + start in the file */
    uint64_t stop;              /* where the stretch ends */
    uint8_t *buffer;
    size_t capacity;
    size_t start; /* [start, end) of buffer is not returned yet */
    size_t end;
    struct perf_unpacker *unpacker; /* NULL until the first compressed record */
    bool is_survey;                 /* sets the unpacked bytes of pieces */
    bool was_compressed;            /* a compressed record was read */
    uint64_t unpacked;              /* bytes of records that were unpacked */
    uint64_t bytes_read;
};

/*
 * Prepare to read the records in [offset, stop) of a file, or unless these are NULL, of pieces; a
 * record must start at offset. A compressed stretch of pieces begins with one.
 */
enum bat_code perf_stream_open(struct perf_stream *stream, int file, struct perf_pieces *pieces,
                               uint64_t offset, uint64_t stop, struct bat_error *error);
void perf_stream_close(struct perf_stream *stream);

/*
 * Returns the next record, valid until the next call. Compressed records are not returned
 * themselves, nor is the data behind some records that their size leaves out. Fails for a record
 * that is too short or ends behind the stretch, and for damaged compressed data.
 */
enum bat_code perf_stream_next(struct perf_stream *stream, struct perf_record *record,
                               struct bat_error *error);

/* Read exactly size bytes at offset. Fails with BAT_ERR_TRUNCATED where the file ends before. */
enum bat_code perf_read_at(int file, uint64_t offset, void *bytes, size_t size,
                           struct bat_error *error);
