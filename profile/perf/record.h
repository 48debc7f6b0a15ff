/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A record of perf.data where it lies. Internal to the library. */
#ifndef BAT_PROFILE_PERF_RECORD_H
#define BAT_PROFILE_PERF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
