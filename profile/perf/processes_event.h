/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The events of processes. Internal to what collects, orders and prints them. */
#ifndef BAT_PROFILE_PERF_PROCESSES_EVENT_H
#define BAT_PROFILE_PERF_PROCESSES_EVENT_H

#include "processes.h"

enum perf_event_kind {
    PERF_EVENT_MAP,  /* it mapped a file */
    PERF_EVENT_FORK, /* it began as a copy of its parent */
    PERF_EVENT_EXEC, /* it became another program */
};

struct perf_event {
    enum perf_event_kind kind;
    uint32_t process;
    struct perf_moment moment;
    uint32_t other; /* of a FORK: the parent; of a MAP: the number of its file */
    bool is_stext;  /* of a kernel's MAP: offset is the address of _stext, not of _text */
    uint64_t address;
    uint64_t length;
    uint64_t offset;
};

/* A build-id that a list gives to a path. */
struct perf_listing {
    uint8_t build_id[PERF_BUILD_ID_SIZE]; /* padded with zeros; not all zeros */
    uint8_t size;                         /* PERF_BUILD_ID_SIZE if it is not known */
    bool knows_size;
    uint32_t next; /* of the same path: number + 1, or 0 */
};

/* Words of a key in files: path, build-id (its last 4 bytes are the size and zeros). */
#define PERF_FILE_WORDS 4u

/* A binary that a file is of; or, if is_other_build, only of its name. */
struct perf_owner {
    uint32_t binary;
    bool is_other_build;
};

/* The binaries of each mapped file. */
struct perf_owners {
    uint32_t *starts; /* in list: those of file i are [starts[i], starts[i + 1]) */
    struct perf_owner *list;
    uint32_t count;
    size_t capacity;
};

/* Fails with BAT_ERR_MEMORY. To be freed in any case. */
enum bat_code perf_owners_find(struct perf_owners *owners, const struct perf_processes *processes);
void perf_owners_free(struct perf_owners *owners);

/* Make the spans and the table from the events. */
enum bat_code perf_processes_order(struct perf_processes *processes, bool has_time);

#endif
