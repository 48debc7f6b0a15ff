/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The events of perf.data and their attributes, which tell the layout of their records. Internal to
 * the library.
 */
#pragma once

#include "stream.h"
#include "support/counts.h"

struct perf_attribute {
    uint32_t type;
    uint64_t config;
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t flags;
    uint64_t branch_type;
    uint64_t branch_filter; /* see perf_branch_filter() */
    uint64_t regs_user;
    uint64_t regs_intr;
    char *name; /* as perf record named it; NULL if the file has no name */
    bool is_memory_load;
};

/* The id_word of samples that have no id, or whose id is not needed. */
#define PERF_ID_NONE (-1)

struct perf_attributes {
    struct perf_attribute *items;
    uint32_t count;
    size_t capacity;
    struct bat_counts ids; /* id: number of its attribute + 1 */

    /* Set by perf_attributes_finish() */
    int id_word;   /* which 64-bit word of a sample's body is its id, or PERF_ID_NONE */
    bool has_time; /* records have times, at least those of some event */
    uint32_t
        side_id; /* where records that are not samples have an id: bytes before the end; or 0 */
};

void perf_attributes_free(struct perf_attributes *attributes);

/*
 * Add an event: size bytes of attributes, and count ids of 8 bytes each. offset, of the attributes
 * in the file, is for errors.
 */
enum bat_code perf_attributes_add(struct perf_attributes *attributes, const uint8_t *bytes,
                                  size_t size, const uint8_t *ids, size_t count, uint64_t offset,
                                  struct bat_error *error);

/* Name the event of an id. Names of unknown ids, and second names, are ignored. */
enum bat_code perf_attributes_name(struct perf_attributes *attributes, uint64_t id,
                                   const char *name, size_t size, struct bat_error *error);

/* The same by the event's number. */
enum bat_code perf_attributes_name_number(struct perf_attributes *attributes, uint32_t number,
                                          const char *name, size_t size, struct bat_error *error);

/* After the last event: find how records are assigned to events. Fails if they cannot be. */
enum bat_code perf_attributes_finish(struct perf_attributes *attributes, struct bat_error *error);

/* The event of a sample; id 0 means the first. Fails for another id that no event has. */
enum bat_code perf_attributes_of_sample(const struct perf_attributes *attributes,
                                        const struct perf_record *sample,
                                        const struct perf_attribute **attribute,
                                        struct bat_error *error);

/*
 * Find the time of a record that is not a sample, in nanoseconds: at its end, where its event has
 * it. *time is unchanged if that event has none, or if the event is not known.
 */
void perf_attributes_record_time(const struct perf_attributes *attributes,
                                 const struct perf_record *record, uint64_t *time);

/*
 * Write the event's name as perf script prints it. If the file has no name, it is made from the
 * attributes.
 */
void perf_attribute_name(const struct perf_attribute *attribute, char *buffer, size_t size);
