/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The folder that perf record --threads writes: the file "data" is a perf.data with a part of the
 * records, and the others are in files "data.0" and so on, without a header. All are read as one
 * file. Internal to the library.
 */
#ifndef BAT_PROFILE_PERF_THREADS_FOLDER_H
#define BAT_PROFILE_PERF_THREADS_FOLDER_H

#include "bat.h"

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

#endif
