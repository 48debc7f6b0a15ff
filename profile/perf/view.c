/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "spec/binary_search.h"

/* --- What a view has counted ---------------------------------------------------------------- */

static enum bat_code add_tally(struct bat_profile *profile, enum perf_tallied what,
                               struct perf_tally tally)
{
    const uint64_t trace[3] = {BAT_ADDRESS_EXTERNAL, BAT_ADDRESS_EXTERNAL,
                               what == PERF_WITHOUT_END ? BAT_TRACE_BRANCH_ONLY
                                                        : BAT_ADDRESS_EXTERNAL};
    if (tally.count == 0 && tally.mispredictions == 0)
        return BAT_OK;
    return bat_counts_add(what == PERF_BASIC ? &profile->samples : &profile->traces, trace,
                          tally.count, tally.mispredictions);
}

static enum bat_code flush(struct perf_view *view, struct bat_profile *const *profiles,
                           struct perf_shares *shares)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < view->member_count && code == BAT_OK; i++) {
        struct perf_member *member = &view->members[i];
        const struct perf_group *group = &view->groups[member->group];
        struct bat_profile *profile = profiles[member->binary];
        for (unsigned what = 0; what < PERF_TALLIES && code == BAT_OK; what++) {
            const struct perf_tally *all = &group->all[what];
            const struct perf_tally *added = &member->added[what];
            struct perf_tally outside = {all->count - added->count,
                                         all->mispredictions - added->mispredictions};
            code = add_tally(profile, what, outside);
        }
        memset(member->added, 0, sizeof(member->added));
        bat_profile_add_counters(&profile->counters, &group->counters);
        shares->inside[member->binary] += member->inside;
        member->inside = 0;
    }
    for (unsigned i = 0; i < PERF_GROUPS; i++)
        view->groups[i] = (struct perf_group){.members = view->groups[i].members};
    return code;
}

enum bat_code perf_views_flush(struct perf_views *views, struct bat_profile *const *profiles,
                               struct perf_shares *shares)
{
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < PERF_VIEWS && code == BAT_OK; i++)
        if (views->views[i].is_used)
            code = flush(&views->views[i], profiles, shares);
    return code;
}

void perf_views_free(struct perf_views *views)
{
    for (unsigned i = 0; i < PERF_VIEWS; i++) {
        free(views->views[i].members);
        free(views->views[i].ranges);
    }
}

/* --- Making a view -------------------------------------------------------------------------- */

static enum bat_code add_range(struct perf_view *view, struct perf_range range)
{
    if (view->range_count == view->range_capacity) {
        uint32_t capacity = view->range_capacity ? view->range_capacity * 2 : 4;
        struct perf_range *ranges = realloc(view->ranges, capacity * sizeof(*ranges));
        if (!ranges)
            return BAT_ERR_MEMORY;
        view->ranges = ranges;
        view->range_capacity = capacity;
    }
    view->ranges[view->range_count++] = range;
    return BAT_OK;
}

static enum bat_code add_member(struct perf_view *view, const struct perf_binary *binary,
                                const struct perf_span *span, uint32_t group)
{
    if (view->member_count == view->member_capacity) {
        uint32_t capacity = view->member_capacity ? view->member_capacity * 2 : 4;
        struct perf_member *members = realloc(view->members, capacity * sizeof(*members));
        if (!members)
            return BAT_ERR_MEMORY;
        view->members = members;
        view->member_capacity = capacity;
    }
    const uint32_t number = view->member_count++;
    view->members[number] =
        (struct perf_member){.span = span, .binary = span->binary, .group = group};
    view->groups[group].members++;
    if (!binary->is_fixed && binary->high > view->unknown_below)
        view->unknown_below = binary->high;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < span->window_count && code == BAT_OK; i++) {
        const struct perf_window *window = &span->windows[i];
        code = add_range(view, (struct perf_range){.low = window->low,
                                                   .size = window->high - window->low,
                                                   .bias = window->bias,
                                                   .member = number});
    }
    return code;
}

static int compare_ranges(const void *left_pointer, const void *right_pointer)
{
    const struct perf_range *left = left_pointer;
    const struct perf_range *right = right_pointer;
    return left->low < right->low ? -1 : left->low > right->low;
}

static void sort_ranges(struct perf_view *view)
{
    struct perf_range *ranges = view->ranges;
    if (view->range_count != 0)
        qsort(ranges, view->range_count, sizeof(*ranges), compare_ranges);
    for (uint32_t i = 0; i < view->range_count; i++) {
        uint64_t limit = i + 1 < view->range_count ? ranges[i + 1].low : UINT64_MAX;
        view->overlaps |= ranges[i].size > limit - ranges[i].low;
    }
}

/* Add a binary by its spans in the process, if it is there at the moment. */
static enum bat_code view_binary(struct perf_view *view, const struct perf_session *session,
                                 const struct perf_span *spans, size_t count,
                                 struct perf_moment moment)
{
    const struct perf_span *span = perf_spans_at(spans, count, moment, &view->period);
    if (!span)
        return BAT_OK;
    const struct perf_moment doubling = session->doubling_since[span->binary];
    bool is_doubled = !perf_moment_before(moment, doubling);
    if (is_doubled && perf_moment_before(view->period.since, doubling))
        view->period.since = doubling;
    if (!is_doubled && perf_moment_before(doubling, view->period.until))
        view->period.until = doubling;
    const struct perf_binary *binary = &session->binaries[span->binary];
    uint32_t group = (is_doubled ? PERF_GROUP_DOUBLED : 0) |
                     (perf_session_keeps_kernel(session, binary) ? PERF_GROUP_KERNEL : 0);
    return add_member(view, binary, span, group);
}

/* Add the binaries of a process. */
static enum bat_code view_process(struct perf_view *view, const struct perf_session *session,
                                  uint32_t process, struct perf_moment moment)
{
    size_t count;
    const struct perf_span *spans = perf_processes_spans(&session->processes, process, &count);
    enum bat_code code = BAT_OK;
    for (size_t first = 0, end; spans && first < count && code == BAT_OK; first = end) {
        uint32_t binary = spans[first].binary;
        end = first + BAT_COUNT_UP_TO(spans + first, count - first, binary, binary);
        code = view_binary(view, session, spans + first, end - first, moment);
    }
    return code;
}

static enum bat_code make_view(struct perf_view *view, const struct perf_session *session,
                               uint32_t process, struct perf_moment moment)
{
    *view = (struct perf_view){.is_used = true,
                               .last_use = view->last_use,
                               .process = process,
                               .period = perf_always(),
                               .members = view->members,
                               .member_capacity = view->member_capacity,
                               .ranges = view->ranges,
                               .range_capacity = view->range_capacity};
    enum bat_code code = view_process(view, session, process, moment);
    if (code == BAT_OK && process != PERF_KERNEL_PROCESS)
        code = view_process(view, session, PERF_KERNEL_PROCESS, moment);
    sort_ranges(view);
    return code;
}

/* The view of a process, or the one to give up for it. */
static struct perf_view *choose(struct perf_views *views, uint32_t process)
{
    const uint32_t hash = process * 0x9e3779b1u >> 16;
    struct perf_view *set = &views->views[hash * PERF_VIEW_WAYS % PERF_VIEWS];
    struct perf_view *oldest = set;
    for (uint32_t i = 0; i < PERF_VIEW_WAYS; i++) {
        if (set[i].is_used && set[i].process == process)
            return &set[i];
        if (set[i].last_use < oldest->last_use)
            oldest = &set[i];
    }
    return oldest;
}

struct perf_view *perf_views_get(struct perf_views *views, const struct perf_session *session,
                                 uint32_t process, struct perf_moment moment,
                                 struct bat_profile *const *profiles, struct perf_shares *shares,
                                 enum bat_code *code)
{
    struct perf_view *view = choose(views, process);
    view->last_use = ++views->uses;
    *code = BAT_OK;
    if (view->is_used && view->process == process && perf_period_has(&view->period, moment))
        return view;
    if (view->is_used)
        *code = flush(view, profiles, shares);
    if (*code == BAT_OK)
        *code = make_view(view, session, process, moment);
    if (*code != BAT_OK)
        view->is_used = false;
    return *code == BAT_OK ? view : NULL;
}
