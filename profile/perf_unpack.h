/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What perf record -z compressed: one zstd stream over all compressed records of a file, from which
 * records come that may begin in one of them and end in the next. Internal to the library.
 */
#ifndef BAT_PROFILE_PERF_UNPACK_H
#define BAT_PROFILE_PERF_UNPACK_H

#include "perf_stream.h"

/* NULL if there is no memory. */
struct perf_unpacker *perf_unpacker_new(void);
void perf_unpacker_free(struct perf_unpacker *unpacker);

/*
 * Take over the compressed bytes of the record at this offset of the file. They must stay where
 * they are until perf_unpacker_next() has said that there is nothing more in them.
 */
void perf_unpacker_feed(struct perf_unpacker *unpacker, const uint8_t *bytes, size_t size,
                        uint64_t offset);

/* The next record; record->bytes is NULL if more has to be fed for one. position is not set. */
enum bat_code perf_unpacker_next(struct perf_unpacker *unpacker, struct perf_record *record,
                                 struct bat_error *error);

/* Fails if what was unpacked ends inside a record. */
enum bat_code perf_unpacker_end(const struct perf_unpacker *unpacker, struct bat_error *error);

#endif
