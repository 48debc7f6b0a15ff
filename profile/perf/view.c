/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "view.h"

#include <string.h>

#include "spec/array.h"
#include "spec/order.h"

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

/* Add what a member that the process has has counted since it came. */
static enum bat_code settle(const struct perf_view *view, struct perf_member *member,
                            struct bat_profile *const *profiles, uint64_t *inside)
{
    const struct perf_group *group = &view->groups[member->group];
    struct bat_profile *profile = profiles[member->binary];
    enum bat_code code = BAT_OK;
    for (unsigned what = 0; what < PERF_TALLIES && code == BAT_OK; what++) {
        const struct perf_tally *all = &group->all[what];
        const struct perf_tally *added = &member->added[what];
        struct perf_tally outside = {all->count - added->count,
                                     all->mispredictions - added->mispredictions};
        code = add_tally(profile, what, outside);
    }
    bat_profile_add_counters(&profile->counters, &group->counters);
    inside[member->binary] += member->inside;
    member->inside = 0;
    return code;
}

static enum bat_code flush(struct perf_view *view, struct bat_profile *const *profiles,
                           uint64_t *inside)
{
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].span)
            BAT_TRY(settle(view, &view->members[i], profiles, inside));
    return BAT_OK;
}

enum bat_code perf_views_flush(struct perf_views *views, struct bat_profile *const *profiles,
                               uint64_t *inside)
{
    for (unsigned i = 0; i < PERF_VIEWS; i++)
        if (views->views[i].is_used)
            BAT_TRY(flush(&views->views[i], profiles, inside));
    return BAT_OK;
}

void perf_views_free(struct perf_views *views)
{
    for (unsigned i = 0; i < PERF_VIEWS; i++) {
        BAT_FREE_ALL(views->views[i].members, views->views[i].begun, views->views[i].ranges);
    }
}

/* --- Ranges --------------------------------------------------------------------------------- */

/* 1 if the range before i has addresses of range i. */
static uint32_t overlaps_at(const struct perf_view *view, uint32_t i)
{
    const struct perf_range *ranges = view->ranges;
    return i != 0 && i < view->range_count &&
           ranges[i - 1].size > ranges[i].low - ranges[i - 1].low;
}

static enum bat_code add_range(struct perf_view *view, struct perf_range range)
{
    if (!BAT_GROW(view->ranges, view->range_count, view->range_capacity))
        return BAT_ERR_MEMORY;
    uint32_t at = BAT_COUNT_UP_TO(view->ranges, view->range_count, low, range.low);
    view->overlaps -= overlaps_at(view, at);
    memmove(view->ranges + at + 1, view->ranges + at,
            (view->range_count++ - at) * sizeof(*view->ranges));
    view->ranges[at] = range;
    view->overlaps += overlaps_at(view, at) + overlaps_at(view, at + 1);
    return BAT_OK;
}

static void remove_range(struct perf_view *view, uint64_t low, uint32_t member)
{
    uint32_t at = BAT_COUNT_BELOW(view->ranges, view->range_count, low, low);
    while (view->ranges[at].member != member)
        at++;
    view->overlaps -= overlaps_at(view, at) + overlaps_at(view, at + 1);
    memmove(view->ranges + at, view->ranges + at + 1,
            (--view->range_count - at) * sizeof(*view->ranges));
    view->overlaps += overlaps_at(view, at);
    view->last_range = 0;
}

/* --- Members -------------------------------------------------------------------------------- */

static enum bat_code add_member(struct perf_view *view, struct perf_member member)
{
    return BAT_APPEND(view->members, view->member_count, view->member_capacity, member)
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

/* Add the binaries of a process, which does not have them yet; returns its spans. */
static enum bat_code add_members(struct perf_view *view, const struct perf_session *session,
                                 uint32_t process, struct perf_cursor *cursor)
{
    size_t count = 0;
    const struct perf_span *spans = perf_processes_spans(&session->processes, process, &count);
    enum bat_code code = BAT_OK;
    for (size_t first = 0, end; spans && first < count && code == BAT_OK; first = end) {
        uint32_t binary = spans[first].binary;
        end = first + BAT_COUNT_UP_TO(spans + first, count - first, binary, binary);
        code = add_member(view, (struct perf_member){.spans = spans + first,
                                                     .span_count = end - first,
                                                     .binary = binary,
                                                     .group = PERF_GROUPS});
    }
    *cursor = (struct perf_cursor){perf_processes_changes(&session->processes, spans), count, 0};
    return code;
}

/*
 * A member has come, and lacks the names of events. A list that has become long by members that
 * come and go begins again with those that are there.
 */
static enum bat_code note_begun(struct perf_view *view, uint32_t number)
{
    if (view->begun_count / 2 <= view->member_count) {
        if (!BAT_APPEND(view->begun, view->begun_count, view->begun_capacity, number))
            return BAT_ERR_MEMORY;
        return BAT_OK;
    }
    view->begun_count = 0;
    memset(view->named, 0, sizeof(view->named));
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].span)
            view->begun[view->begun_count++] = i;
    return BAT_OK;
}

/* The process has a member from now on. */
static enum bat_code begin_member(struct perf_view *view, uint32_t number,
                                  const struct perf_binary *binary, struct bat_profile *profile)
{
    struct perf_member *member = &view->members[number];
    /* What the group has counted so far is not of a member that comes: settle() adds it. */
    const struct perf_group *group = &view->groups[member->group];
    uint64_t *numbers = (uint64_t *)&profile->counters;
    const uint64_t *former = (const uint64_t *)&group->counters;
    for (size_t i = 0; i < sizeof(profile->counters) / sizeof(*numbers); i++)
        numbers[i] -= former[i];
    memcpy(member->added, group->all, sizeof(member->added));
    view->groups[member->group].members++;
    view->present_count++;
    if (!binary->is_fixed && binary->high > view->unknown_below)
        view->unknown_below = binary->high;
    enum bat_code code = note_begun(view, number);
    for (uint32_t i = 0; i < member->span->window_count && code == BAT_OK; i++) {
        const struct perf_window *window = &member->span->windows[i];
        code = add_range(view, (struct perf_range){.low = window->low,
                                                   .size = window->high - window->low,
                                                   .bias = window->bias,
                                                   .member = number});
    }
    return code;
}

static enum bat_code end_member(struct perf_view *view, uint32_t number,
                                struct bat_profile *const *profiles, uint64_t *inside)
{
    struct perf_member *member = &view->members[number];
    for (uint32_t i = 0; i < member->span->window_count; i++)
        remove_range(view, member->span->windows[i].low, number);
    view->groups[member->group].members--;
    view->present_count--;
    return settle(view, member, profiles, inside);
}

/* --- Moments -------------------------------------------------------------------------------- */

/* What a view is moved with. */
struct move {
    const struct perf_session *session;
    struct perf_moment moment;
    struct bat_profile *const *profiles; /* of each binary */
    uint64_t *inside;
};

/* Make a member what it is at the moment. */
static enum bat_code move_member(const struct move *move, struct perf_view *view, uint32_t number)
{
    struct perf_member *member = &view->members[number];
    const struct perf_session *session = move->session;
    const struct perf_binary *binary = &session->binaries[member->binary];
    const struct perf_span *span =
        perf_spans_at(member->spans, member->span_count, move->moment, NULL);
    bool is_doubled = !perf_moment_before(move->moment, session->doubling_since[member->binary]);
    uint32_t group = (is_doubled ? PERF_GROUP_DOUBLED : 0) |
                     (perf_session_keeps_kernel(session, binary) ? PERF_GROUP_KERNEL : 0);
    if (!span)
        group = PERF_GROUPS;
    if (span == member->span && group == member->group)
        return BAT_OK;
    enum bat_code code =
        member->span ? end_member(view, number, move->profiles, move->inside) : BAT_OK;
    member->span = span;
    member->group = group;
    return code == BAT_OK && span
               ? begin_member(view, number, binary, move->profiles[member->binary])
               : code;
}

/* The same for the members, at most two, of a binary. */
static enum bat_code move_binary(const struct move *move, struct perf_view *view, uint32_t binary)
{
    const uint32_t own = BAT_COUNT_BELOW(view->members, view->own_count, binary, binary);
    const uint32_t other =
        view->own_count + BAT_COUNT_BELOW(view->members + view->own_count,
                                          view->member_count - view->own_count, binary, binary);
    enum bat_code code = BAT_OK;
    if (own < view->own_count && view->members[own].binary == binary)
        code = move_member(move, view, own);
    if (code == BAT_OK && other < view->member_count && view->members[other].binary == binary)
        code = move_member(move, view, other);
    return code;
}

/* Set the period: from the last changes that have happened to the next ones. */
static void set_period(struct perf_view *view)
{
    view->period = perf_always();
    for (unsigned i = 0; i < 3; i++) {
        const struct perf_cursor *at = &view->cursors[i];
        if (at->next != 0 &&
            perf_moment_before(view->period.since, at->changes[at->next - 1].since))
            view->period.since = at->changes[at->next - 1].since;
        if (at->next < at->count &&
            perf_moment_before(at->changes[at->next].since, view->period.until))
            view->period.until = at->changes[at->next].since;
    }
}

/* Move a view to another moment, which may be before its own: only what differs is changed. */
static enum bat_code move_view(const struct move *move, struct perf_view *view)
{
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < 3; i++) {
        struct perf_cursor *at = &view->cursors[i];
        while (code == BAT_OK && at->next < at->count &&
               !perf_moment_before(move->moment, at->changes[at->next].since))
            code = move_binary(move, view, at->changes[at->next++].binary);
        while (code == BAT_OK && at->next != 0 &&
               perf_moment_before(move->moment, at->changes[at->next - 1].since))
            code = move_binary(move, view, at->changes[--at->next].binary);
    }
    set_period(view);
    return code;
}

static enum bat_code make_view(const struct move *move, struct perf_view *view, uint32_t process)
{
    const struct perf_session *session = move->session;
    *view = (struct perf_view){.is_used = true,
                               .last_use = view->last_use,
                               .process = process,
                               .members = view->members,
                               .member_capacity = view->member_capacity,
                               .begun = view->begun,
                               .begun_capacity = view->begun_capacity,
                               .ranges = view->ranges,
                               .range_capacity = view->range_capacity};
    enum bat_code code = add_members(view, session, process, &view->cursors[0]);
    view->own_count = view->member_count;
    if (code == BAT_OK && process != PERF_KERNEL_PROCESS)
        code = add_members(view, session, PERF_KERNEL_PROCESS, &view->cursors[1]);
    view->cursors[2] = (struct perf_cursor){session->doublings, session->doubling_count, 0};
    for (uint32_t i = 0; i < view->member_count && code == BAT_OK; i++)
        code = move_member(move, view, i);
    for (unsigned i = 0; i < 3; i++) {
        struct perf_cursor *at = &view->cursors[i];
        struct bat_search search = {.high = at->count};
        while (bat_search_next(&search))
            bat_search_go(&search,
                          !perf_moment_before(move->moment, at->changes[search.middle].since));
        at->next = search.low;
    }
    set_period(view);
    return code;
}

/* --- Views ---------------------------------------------------------------------------------- */

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
                                 struct bat_profile *const *profiles, uint64_t *inside,
                                 enum bat_code *code)
{
    struct perf_view *view = choose(views, process);
    *code = BAT_OK;
    view->last_use = ++views->uses;
    views->last = view;
    if (view->is_used && view->process == process && perf_period_has(&view->period, moment))
        return view;
    const struct move move = {session, moment, profiles, inside};
    if (view->is_used && view->process == process) {
        *code = move_view(&move, view);
    } else {
        if (view->is_used)
            *code = flush(view, profiles, inside);
        if (*code == BAT_OK)
            *code = make_view(&move, view, process);
    }
    if (*code != BAT_OK) {
        view->is_used = false;
        views->last = NULL;
    }
    return *code == BAT_OK ? view : NULL;
}
