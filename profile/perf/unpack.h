/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Unpacks the output of perf record -z. All compressed records of a file form one zstd stream, so
 * an unpacked record may begin in one of them and end in the next. Internal to the library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bat.h"
#include "format.h"

struct perf_record {
    const uint8_t *bytes; /* the whole record with its header; NULL after the last */
    uint32_t type;
    uint16_t misc;
    uint16_t size;
    uint64_t offset; /* in the file; of an unpacked record, the compressed one's */
    /* Grows from record to record. It is the offset if nothing is compressed. */
    uint64_t position;
};

/* True for a record of a guest of a virtual machine, whose processes have other numbers. */
static inline bool perf_record_is_guest(const struct perf_record *record)
{
    unsigned mode = record->misc & MISC_CPU_MODE;
    return mode == MISC_GUEST_KERNEL || mode == MISC_GUEST_USER;
}

/* NULL if there is no memory. */
struct perf_unpacker *perf_unpacker_new(void);
void perf_unpacker_free(struct perf_unpacker *unpacker);

/*
 * Set the compressed bytes of the record at this offset of the file. They must stay valid until
 * perf_unpacker_next() returns no record.
 */
void perf_unpacker_feed(struct perf_unpacker *unpacker, const uint8_t *bytes, size_t size,
                        uint64_t offset);

/* Unpack the next record; record->bytes is NULL if it needs more bytes. Does not set position. */
enum bat_code perf_unpacker_next(struct perf_unpacker *unpacker, struct perf_record *record,
                                 struct bat_error *error);

/* Fails if the unpacked data ends inside a record. */
enum bat_code perf_unpacker_end(const struct perf_unpacker *unpacker, struct bat_error *error);
