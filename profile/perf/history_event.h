/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The events of processes. Internal to history_collect.c and spans.c. */
#ifndef BAT_PROFILE_PERF_HISTORY_EVENT_H
#define BAT_PROFILE_PERF_HISTORY_EVENT_H

#include "history.h"

enum perf_event_kind {
    PERF_EVENT_MAP,  /* it mapped a file that may be the binary */
    PERF_EVENT_FORK, /* it began as a copy of its parent */
    PERF_EVENT_EXEC, /* it became another program */
};

struct perf_event {
    enum perf_event_kind kind;
    uint32_t process;
    struct perf_moment moment;
    uint32_t parent;       /* of a FORK */
    uint32_t object;       /* of a MAP: number of its path */
    enum perf_match match; /* of a MAP: its own build-id and the binary's */
    uint64_t bias;         /* of a MAP */
};

/* Make the spans and the table from the events. */
enum bat_code perf_processes_order(struct perf_processes *processes, bool has_time);

#endif
