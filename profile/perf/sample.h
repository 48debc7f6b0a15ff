/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The fields of a sample. Internal to the library. */
#pragma once

#include "attributes.h"

struct perf_sample {
    const struct perf_attribute *attribute; /* NULL: of text */
    uint32_t event;                         /* the number of the event, and ... */
    const char *event_name;                 /* of text, if it uses ip; or NULL */
    bool uses_stack;                        /* the branch stack counts */
    bool uses_ip;                           /* ... or the address */
    bool is_load; /* of memory. Text has such a sample a second time for this alone. */
    bool has_process;
    uint32_t process;
    uint64_t ip;
    uint64_t time;
    uint64_t address;
    const uint8_t *chain; /* words of 8 bytes: addresses, the sampled one first, and contexts */
    uint64_t chain_length;
    uint64_t repeats;        /* of text: the count in front of the sample; else 0, once */
    const uint8_t *branches; /* PERF_BRANCH_SIZE bytes each, the newest first */
    uint64_t branch_count;
    uint64_t branch_filter; /* see perf_branch_filter(): not 0 if entries are no neighbours */
};

/* False if text has it another time, too, where it counts. */
static inline bool perf_sample_counts(const struct perf_sample *sample)
{
    return sample->uses_stack || sample->uses_ip;
}

/*
 * Find the event and the fields of a sample; fields that it does not have are 0. A time
 * that it does not have is later than all others: the process is as its last records say. Fails
 * with BAT_ERR_SYNTAX if a field is not inside the record.
 */
enum bat_code perf_sample_parse(const struct perf_attributes *attributes,
                                const struct perf_record *record, struct perf_sample *sample,
                                struct bat_error *error);
