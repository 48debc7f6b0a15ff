/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where a process has which binaries during some time, and what its samples have in common for all
 * of them: most binaries of a process see a branch of another one as a branch outside, which is
 * counted once for all of them. Internal to the library.
 */
#pragma once

#include "session.h"

/* Counts of traces or samples, and of their mispredictions. */
struct perf_tally {
    uint64_t count;
    uint64_t mispredictions;
};

/* What a binary sees of a trace: an end that is not known, or one. And basic samples. */
enum perf_tallied { PERF_WITHOUT_END, PERF_WITH_END, PERF_BASIC, PERF_TALLIES };

/* So many events, the first ones, are given to a binary only once. */
#define PERF_NAMED_EVENTS 64u

/* A binary that the process has at some time. */
struct perf_member {
    const struct perf_span *spans; /* all of them */
    size_t span_count;
    const struct perf_span *span; /* now; NULL if the process does not have it */
    uint32_t binary;
    uint32_t group;                        /* PERF_GROUPS without a span */
    uint64_t last_sample;                  /* the last one that lies in the binary */
    uint64_t inside;                       /* samples that do */
    uint64_t events;                       /* whose names it has: PERF_NAMED_EVENTS bits */
    struct perf_tally added[PERF_TALLIES]; /* what was, or shall not be, added of group.all */
};

/*
 * Binaries of which the same entries of a branch stack are used: the newest two are left out if the
 * group's number has PERF_GROUP_DOUBLED, and the kernel's entries are kept if it has
 * PERF_GROUP_KERNEL.
 */
#define PERF_GROUP_DOUBLED 1u
#define PERF_GROUP_KERNEL 2u

struct perf_group {
    uint32_t members;
    struct perf_tally all[PERF_TALLIES];  /* for each member that is not in its `added`, outside */
    struct bat_profile_counters counters; /* of each member */
};

#define PERF_GROUPS 4u

/* Changes by time, and how many of them have happened. */
struct perf_cursor {
    const struct perf_change *changes;
    size_t count;
    size_t next;
};

/* Addresses of the process that are a member's. */
struct perf_range {
    uint64_t low;
    uint64_t size;
    uint64_t bias; /* an address less this is the binary's */
    uint32_t member;
};

struct perf_view {
    bool is_used;
    uint64_t last_use; /* when it was last asked for */
    uint32_t process;
    struct perf_period period;     /* that it is valid for */
    struct perf_cursor cursors[3]; /* of the process, of the kernel, of session.doublings */
    struct perf_member *members;   /* the process's by binary, then the kernel's by binary */
    uint32_t own_count;            /* the process's */
    uint32_t present_count;        /* those with a span */
    uint32_t member_count;
    size_t member_capacity;
    struct perf_range *ranges; /* by address */
    uint32_t range_count;
    size_t range_capacity;
    uint32_t last_range; /* where an address was found last */
    uint32_t overlaps;   /* how many ranges have addresses of the next one */
    /* Outside addresses below this one are not known to some member: see perf_own_address(). */
    uint64_t unknown_below;
    uint32_t *begun; /* members in the order in which they came; some may have gone since */
    uint32_t begun_count;
    size_t begun_capacity;
    uint32_t named[PERF_NAMED_EVENTS]; /* so many of begun have the name of each event */
    uint64_t last_sample;              /* the last one that lies in a member */
    struct perf_group groups[PERF_GROUPS];
};

/*
 * The views that were used last: in each set of PERF_VIEW_WAYS, those of processes whose numbers
 * have one hash, so that a few of them do not take turns.
 */
#define PERF_VIEWS 256u
#define PERF_VIEW_WAYS 8u

struct perf_views {
    struct perf_view views[PERF_VIEWS];
    struct perf_view *last; /* NULL at first */
    uint64_t uses;
};

/* An address of a process: of which member it is, and there. */
struct perf_place {
    uint32_t member;  /* BAT_NONE for none */
    bool is_special;  /* each member must look itself */
    uint64_t address; /* in the process */
    uint64_t own;     /* in the binary, if it is a member's */
};

/*
 * The view of a process at a moment; NULL on failure. What a view that has to go has counted is
 * added to the profiles, one for each binary, and to the samples inside each. *code is the error,
 * as of bat_counts_add().
 */
struct perf_view *perf_views_get(struct perf_views *views, const struct perf_session *session,
                                 uint32_t process, struct perf_moment moment,
                                 struct bat_profile *const *profiles, uint64_t *inside,
                                 enum bat_code *code);

/* Add what all views have counted. Fails as bat_counts_add(). */
enum bat_code perf_views_flush(struct perf_views *views, struct bat_profile *const *profiles,
                               uint64_t *inside);
void perf_views_free(struct perf_views *views);

/* The same if it is the view that was asked for last; else NULL. */
static inline struct perf_view *perf_views_last(const struct perf_views *views, uint32_t process,
                                                struct perf_moment moment)
{
    struct perf_view *view = views->last;
    return view && view->process == process && perf_period_has(&view->period, moment) ? view : NULL;
}

/* Where an address of the process lies. */
static inline struct perf_place perf_view_find(struct perf_view *view, uint64_t address)
{
    struct perf_place place = {.member = BAT_NONE,
                               .is_special = view->overlaps || address < view->unknown_below,
                               .address = address};
    uint32_t low = 0;
    uint32_t high = view->range_count;
    uint32_t at = view->last_range;
    while (low < high) {
        const struct perf_range *range = &view->ranges[at];
        if (address - range->low < range->size) {
            place.member = range->member;
            place.own = address - range->bias;
            view->last_range = at;
            break;
        }
        if (address < range->low)
            high = at;
        else
            low = at + 1;
        at = low + (high - low) / 2;
    }
    return place;
}
