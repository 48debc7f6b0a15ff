/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The old program's profile, as counts of its blocks, edges and calls. Internal to next/. */
#pragma once

#include "profile/translate/records.h"
#include "unit.h"

/* The counts of a unit. */
struct next_counts {
    uint64_t *blocks;
    uint64_t *edges;
    uint64_t *entered; /* how often each block was entered from elsewhere */
    uint64_t entry;    /* entered[0] */
    uint64_t external; /* ... of that, from outside of all functions */
    uint64_t total;    /* of its records */
    uint64_t misfits;  /* ... of those that its code does not have */
};

/* A call or jump to another function that was recorded. */
struct next_call {
    uint32_t function; /* where it is */
    uint32_t offset;
    uint32_t target; /* a function, or BAT_NONE: see item */
    uint32_t item;   /* of records->branches */
    uint64_t count;
};

struct next_measured {
    struct next_program *program;
    const struct bat_records *records;
    struct next_counts **units; /* for each unit; NULL: no samples */
    uint8_t *has_records;       /* for each unit */
    struct next_call *calls;    /* ascending by function and offset */
    size_t call_count;
    size_t call_capacity;
    uint64_t total; /* of all records of branches */
};

/* Attach the records, which are those of program. Free it also after a failure. n log n. */
enum bat_code next_measure(struct next_program *program, const struct bat_records *records,
                           struct next_measured *measured, struct bat_error *error);
void next_measured_free(struct next_measured *measured);

/* The calls recorded at an instruction: [*first, *end). Logarithmic. */
void next_calls_at(const struct next_measured *measured, uint32_t function, uint32_t offset,
                   size_t *first, size_t *end);
