/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The events of processes, replayed in order: they give the spans of each process. */
#include <stdlib.h>
#include <string.h>

#include "processes.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/ranges.h"

/* Where a process has a binary at the current moment of the replay. */
struct state {
    uint32_t binary;
    uint32_t next; /* state of the same process: its number + 1, or 0 */
    uint32_t set;  /* of a process's first state: the windows of all, with the states' numbers */
    uint32_t window_count;
    struct perf_window windows[PERF_WINDOWS_MAX]; /* the newest first */
    bool is_forked;                               /* they are its parent's: it was copied */
};

struct replay {
    struct perf_processes *processes;
    struct perf_owners owners;
    bool has_time;
    struct bat_counts first;   /* process: number of its first state + 1 */
    struct bat_counts numbers; /* process and binary: number of their state + 1 */
    struct state *states;
    uint32_t state_count;
    size_t state_capacity;
    struct bat_ranges ranges;
    uint32_t *overlapped; /* states, for one event */
    size_t overlapped_capacity;
    uint64_t *own; /* of each binary: the last event that maps its file, number + 1 */
    size_t span_capacity;
};

/* The number of a process's first state + 1, or 0. */
static uint32_t first_state(const struct replay *replay, uint32_t process)
{
    const uint64_t key = process;
    const uint64_t *item = bat_counts_find(&replay->first, &key);
    return item ? (uint32_t)item[1] : 0;
}

/* The state of a process and a binary, or NULL if nothing is known of it. */
static struct state *find_state(const struct replay *replay, uint32_t process, uint32_t binary)
{
    const uint64_t key = (uint64_t)process << 32 | binary;
    const uint64_t *item = bat_counts_find(&replay->numbers, &key);
    return item ? &replay->states[item[1] - 1] : NULL;
}

/* Find or add the state of a process and a binary; NULL if there is no memory. */
static struct state *get_state(struct replay *replay, uint32_t process, uint32_t binary)
{
    struct state *state = find_state(replay, process, binary);
    if (state)
        return state;
    const uint64_t both = (uint64_t)process << 32 | binary;
    const uint64_t key = process;
    const uint64_t number = (uint64_t)replay->state_count + 1;
    uint32_t first = first_state(replay, process);
    if (!BAT_GROW(replay->states, replay->state_count, replay->state_capacity) ||
        bat_counts_add(&replay->numbers, &both, number, 0) != BAT_OK ||
        (first == 0 && bat_counts_add(&replay->first, &key, number, 0) != BAT_OK))
        return NULL;
    /* It goes behind the first of the process. */
    state = &replay->states[replay->state_count++];
    *state = (struct state){.binary = binary};
    if (first != 0) {
        state->next = replay->states[first - 1].next;
        replay->states[first - 1].next = (uint32_t)number;
    }
    return state;
}

/* Begin a span of the process, with the windows of its state. */
static enum bat_code add_span(struct replay *replay, const struct perf_event *event,
                              const struct state *state)
{
    struct perf_processes *processes = replay->processes;
    if (!BAT_GROW(processes->spans, processes->span_count, replay->span_capacity))
        return BAT_ERR_MEMORY;
    struct perf_span *span = &processes->spans[processes->span_count++];
    *span = (struct perf_span){.process = event->process,
                               .binary = state->binary,
                               .window_count = state->window_count,
                               .since = event->moment};
    memcpy(span->windows, state->windows, sizeof(span->windows));
    return BAT_OK;
}

/* --- Windows ------------------------------------------------------------------------------ */

/* Give the process other windows to a binary, and begin a span. */
static enum bat_code set_windows(struct replay *replay, const struct perf_event *event,
                                 struct state *state, const struct perf_window *windows,
                                 uint32_t count)
{
    const uint32_t number = (uint32_t)(state - replay->states);
    uint32_t *set = &replay->states[first_state(replay, event->process) - 1].set;
    for (uint32_t i = 0; i < state->window_count; i++)
        bat_ranges_remove(&replay->ranges, set, state->windows[i].low, state->windows[i].high,
                          number);
    state->window_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        state->windows[state->window_count++] = windows[i];
        if (bat_ranges_add(&replay->ranges, set, windows[i].low, windows[i].high, number) != BAT_OK)
            return BAT_ERR_MEMORY;
    }
    return add_span(replay, event, state);
}

/* What is left of windows behind others; the oldest are dropped if there are too many. */
struct windows {
    struct perf_window items[PERF_WINDOWS_MAX];
    uint32_t count;
};

static void keep_window(struct windows *windows, uint64_t low, uint64_t high, uint64_t bias)
{
    if (low < high && windows->count < PERF_WINDOWS_MAX)
        windows->items[windows->count++] = (struct perf_window){low, high, bias};
}

/* The bias that a mapping of the binary's file has. False if it is of none of its code. */
static bool find_bias(const struct perf_binary *binary, const struct perf_event *event,
                      uint64_t *bias)
{
    return event->process == PERF_KERNEL_PROCESS
               ? perf_binary_kernel_bias(binary, event->offset, event->is_stext, bias)
               : perf_binary_bias(binary, event->address, event->length, event->offset, bias);
}

/*
 * Take the addresses of a mapping from a binary that was there. A mapping of its own file does so
 * only if that is its code in another place.
 */
static enum bat_code cover(struct replay *replay, const struct perf_event *event,
                           struct state *state, bool is_own)
{
    const uint64_t end = event->address + event->length;
    uint64_t bias = 0;
    bool fits = is_own && find_bias(&replay->processes->binaries[state->binary], event, &bias);
    struct windows left = {.count = 0};
    bool is_covered = false;
    for (uint32_t i = 0; i < state->window_count; i++) {
        const struct perf_window *window = &state->windows[i];
        bool keeps = window->low >= end || window->high <= event->address ||
                     (is_own && (!fits || window->bias == bias));
        is_covered |= !keeps;
        keep_window(&left, window->low,
                    keeps || window->high < event->address ? window->high : event->address,
                    window->bias);
        if (!keeps)
            keep_window(&left, end, window->high, window->bias);
    }
    return is_covered ? set_windows(replay, event, state, left.items, left.count) : BAT_OK;
}

/* Find the states of the process with windows that a mapping overlaps. */
static enum bat_code find_overlapped(struct replay *replay, const struct perf_event *event,
                                     uint32_t set, size_t *count)
{
    for (;;) {
        *count =
            bat_ranges_find(&replay->ranges, set, event->address, event->address + event->length,
                            replay->overlapped, replay->overlapped_capacity);
        if (*count <= replay->overlapped_capacity)
            return BAT_OK;
        if (!BAT_RESERVE(replay->overlapped, 0, replay->overlapped_capacity, *count))
            return BAT_ERR_MEMORY;
    }
}

/* Take the addresses of a mapping, whoever's it is, from what was there. */
static enum bat_code cover_all(struct replay *replay, const struct perf_event *event)
{
    uint32_t first = first_state(replay, event->process);
    size_t count = 0;
    /* The kernel's are symbols, not memory. */
    if (first == 0 || event->process == PERF_KERNEL_PROCESS ||
        event->length > UINT64_MAX - event->address)
        return BAT_OK;
    enum bat_code code = find_overlapped(replay, event, replay->states[first - 1].set, &count);
    const uint64_t stamp = (uint64_t)(event - replay->processes->events) + 1;
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        struct state *state = &replay->states[replay->overlapped[i]];
        code = cover(replay, event, state, replay->own[state->binary] == stamp);
    }
    return code;
}

/* --- Events ------------------------------------------------------------------------------- */

/* A process maps a file of this binary. */
static enum bat_code map_binary(struct replay *replay, const struct perf_event *event,
                                struct perf_owner owner)
{
    struct perf_processes *processes = replay->processes;
    const struct perf_binary *binary = &processes->binaries[owner.binary];
    uint64_t bias;
    if (owner.is_other_build) {
        const uint64_t *file = bat_counts_item(&processes->files, event->other);
        processes->found[owner.binary].has_other_build = true;
        processes->objects[file[0]].is_other_build = true;
        return BAT_OK;
    }
    if (!find_bias(binary, event, &bias)) {
        processes->found[owner.binary].is_elsewhere = true;
        return BAT_OK;
    }
    struct state *state = get_state(replay, event->process, owner.binary);
    if (!state)
        return BAT_ERR_MEMORY;
    /* A window that the mapping lies in, as far as it is the binary's, stays as it is. */
    const uint64_t low = binary->low + bias;
    const uint64_t high = binary->high + bias;
    const uint64_t from = event->address > low ? event->address : low;
    const uint64_t end =
        event->address + event->length < high ? event->address + event->length : high;
    uint32_t at = 0;
    while (at < state->window_count &&
           (state->windows[at].bias != bias ||
            (event->process != PERF_KERNEL_PROCESS &&
             (state->windows[at].low > from || state->windows[at].high < end))))
        at++;
    bool is_known = at < state->window_count;
    if (is_known && at == 0 && !state->is_forked)
        return BAT_OK;
    state->is_forked = false;
    struct windows windows = {.count = 0};
    if (is_known)
        keep_window(&windows, state->windows[at].low, state->windows[at].high, bias);
    else
        keep_window(&windows, low, high, bias);
    for (uint32_t i = 0; i < state->window_count; i++) {
        const struct perf_window *window = &state->windows[i];
        if (is_known ? i != at : window->bias != bias)
            keep_window(&windows, window->low, window->high, window->bias);
    }
    return set_windows(replay, event, state, windows.items, windows.count);
}

static enum bat_code do_map(struct replay *replay, const struct perf_event *event)
{
    const struct perf_owners *owners = &replay->owners;
    const uint32_t first = owners->starts[event->other];
    const uint32_t end = owners->starts[event->other + 1];
    for (uint32_t i = first; i < end; i++)
        if (!owners->list[i].is_other_build)
            replay->own[owners->list[i].binary] = (uint64_t)(event - replay->processes->events) + 1;
    enum bat_code code = cover_all(replay, event);
    for (uint32_t i = first; i < end && code == BAT_OK; i++)
        code = map_binary(replay, event, owners->list[i]);
    return code;
}

/* Copy the parent's state of a binary, which has windows unless it is of a process without any. */
static enum bat_code fork_binary(struct replay *replay, const struct perf_event *event,
                                 struct state copy)
{
    const struct state *own = find_state(replay, event->process, copy.binary);
    /* Without times, a process's own mappings may come before its fork in the file. */
    if (!replay->has_time && own && own->window_count != 0)
        return BAT_OK;
    struct state *state = get_state(replay, event->process, copy.binary);
    if (!state)
        return BAT_ERR_MEMORY;
    state->is_forked = true;
    return set_windows(replay, event, state, copy.windows, copy.window_count);
}

static enum bat_code do_fork(struct replay *replay, const struct perf_event *event)
{
    enum bat_code code = BAT_OK;
    /* An earlier process of that number may have had binaries that the parent does not have. */
    for (uint32_t next = first_state(replay, event->process); next != 0 && code == BAT_OK;
         next = replay->states[next - 1].next) {
        const struct state *own = &replay->states[next - 1];
        const struct state *parent = find_state(replay, event->other, own->binary);
        if (own->window_count != 0 && (!parent || parent->window_count == 0))
            code = fork_binary(replay, event, (struct state){.binary = own->binary});
    }
    for (uint32_t next = first_state(replay, event->other); next != 0 && code == BAT_OK;
         next = replay->states[next - 1].next)
        if (replay->states[next - 1].window_count != 0)
            code = fork_binary(replay, event, replay->states[next - 1]);
    return code;
}

static enum bat_code do_exec(struct replay *replay, const struct perf_event *event)
{
    enum bat_code code = BAT_OK;
    for (uint32_t next = first_state(replay, event->process); next != 0 && code == BAT_OK;
         next = replay->states[next - 1].next) {
        struct state *state = &replay->states[next - 1];
        /* Without times, the mappings may already be those of the new program. */
        if (state->window_count == 0 || (!replay->has_time && !state->is_forked))
            continue;
        state->is_forked = false;
        code = set_windows(replay, event, state, NULL, 0);
    }
    return code;
}

/* --- Replay ------------------------------------------------------------------------------- */

static int compare_moments(struct perf_moment left, struct perf_moment right)
{
    return perf_moment_before(left, right) ? -1 : perf_moment_before(right, left);
}

static int compare_events(const void *left, const void *right)
{
    return compare_moments(((const struct perf_event *)left)->moment,
                           ((const struct perf_event *)right)->moment);
}

static int compare_spans(const void *left_pointer, const void *right_pointer)
{
    const struct perf_span *left = left_pointer;
    const struct perf_span *right = right_pointer;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    if (left->binary != right->binary)
        return left->binary < right->binary ? -1 : 1;
    return compare_moments(left->since, right->since);
}

int perf_compare_changes(const void *left_pointer, const void *right_pointer)
{
    const struct perf_change *left = left_pointer;
    const struct perf_change *right = right_pointer;
    if (left->process != right->process)
        return left->process < right->process ? -1 : 1;
    return compare_moments(left->since, right->since);
}

static enum bat_code replay_events(struct replay *replay)
{
    struct perf_processes *processes = replay->processes;
    if (processes->event_count != 0)
        qsort(processes->events, processes->event_count, sizeof(processes->events[0]),
              compare_events);
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < processes->event_count && code == BAT_OK; i++) {
        const struct perf_event *event = &processes->events[i];
        if (event->kind == PERF_EVENT_MAP)
            code = do_map(replay, event);
        else if (event->kind == PERF_EVENT_FORK)
            code = do_fork(replay, event);
        else if (event->kind == PERF_EVENT_EXEC)
            code = do_exec(replay, event);
    }
    return code;
}

/* True if the span is the first of its process and binary. */
static bool is_first_span(const struct perf_processes *processes, size_t i)
{
    const struct perf_span *spans = processes->spans;
    return i == 0 || spans[i - 1].process != spans[i].process ||
           spans[i - 1].binary != spans[i].binary;
}

/* Enter the sorted spans of each process in the table. */
static enum bat_code index_spans(struct perf_processes *processes)
{
    const size_t count = processes->span_count;
    processes->changes = malloc((count + 1) * sizeof(*processes->changes));
    enum bat_code code = processes->changes ? BAT_OK : BAT_ERR_MEMORY;
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        const struct perf_span *span = &processes->spans[i];
        processes->changes[i] = (struct perf_change){span->process, span->binary, span->since};
    }
    if (count != 0 && code == BAT_OK)
        qsort(processes->changes, count, sizeof(*processes->changes), perf_compare_changes);
    for (size_t first = 0, end; first < count && code == BAT_OK; first = end) {
        const uint64_t key = processes->spans[first].process;
        for (end = first + 1; end < count && processes->spans[end].process == key;)
            end++;
        code = bat_counts_add(&processes->table, &key, first, end - first);
    }
    return code;
}

/* Sort the spans by process and index them. */
static enum bat_code make_table(struct perf_processes *processes, bool has_time)
{
    size_t count = processes->span_count;
    if (count != 0)
        qsort(processes->spans, count, sizeof(processes->spans[0]), compare_spans);
    for (size_t i = 0; i < count; i++) {
        if (!is_first_span(processes, i))
            continue;
        processes->found[processes->spans[i].binary].processes++;
        /* Without times, the first span begins with the process. */
        if (!has_time)
            processes->spans[i].since = (struct perf_moment){0, 0};
    }
    return index_spans(processes);
}

enum bat_code perf_processes_order(struct perf_processes *processes, bool has_time)
{
    struct replay replay = {.processes = processes,
                            .has_time = has_time,
                            .first = bat_counts_new(1),
                            .numbers = bat_counts_new(1)};
    processes->found = calloc((size_t)processes->binary_count + 1, sizeof(*processes->found));
    replay.own = calloc((size_t)processes->binary_count + 1, sizeof(*replay.own));
    enum bat_code code = processes->found && replay.own ? BAT_OK : BAT_ERR_MEMORY;
    code = code ? code : perf_owners_find(&replay.owners, processes);
    code = code ? code : replay_events(&replay);
    perf_owners_free(&replay.owners);
    bat_counts_free(&replay.first);
    bat_counts_free(&replay.numbers);
    bat_ranges_free(&replay.ranges);
    BAT_FREE_ALL(replay.states, replay.overlapped, replay.own);
    return code ? code : make_table(processes, has_time);
}

enum bat_code perf_processes_set_spans(struct perf_processes *processes, struct perf_span *spans,
                                       size_t count)
{
    BAT_FREE_ALL(processes->spans, processes->changes);
    bat_counts_free(&processes->table);
    processes->table = bat_counts_new(1);
    processes->spans = spans;
    processes->span_count = count;
    return index_spans(processes);
}

/* --- Looking up --------------------------------------------------------------------------- */

const struct perf_span *perf_processes_spans(const struct perf_processes *processes,
                                             uint32_t process, size_t *count)
{
    const uint64_t key = process;
    const uint64_t *item = bat_counts_find(&processes->table, &key);
    if (!item)
        return NULL;
    *count = (size_t)item[2];
    return processes->spans + item[1];
}

const struct perf_span *perf_spans_at(const struct perf_span *spans, size_t count,
                                      struct perf_moment moment, struct perf_period *period)
{
    /* Find the last span that begins at the moment or before. */
    struct bat_search search = {.high = count};
    while (bat_search_next(&search))
        bat_search_go(&search, !perf_moment_before(moment, spans[search.middle].since));
    const struct perf_span *span = search.low != 0 ? &spans[search.low - 1] : NULL;
    if (period && search.low < count && perf_moment_before(spans[search.low].since, period->until))
        period->until = spans[search.low].since;
    if (period && span && perf_moment_before(period->since, span->since))
        period->since = span->since;
    return span && span->window_count != 0 ? span : NULL;
}

const struct perf_span *perf_processes_find(const struct perf_processes *processes, uint32_t binary,
                                            uint32_t process, struct perf_moment moment)
{
    size_t count;
    if (processes->binaries[binary].is_kernel)
        process = PERF_KERNEL_PROCESS;
    const struct perf_span *spans = perf_processes_spans(processes, process, &count);
    if (!spans)
        return NULL;
    size_t first = BAT_COUNT_BELOW(spans, count, binary, binary);
    size_t end = BAT_COUNT_UP_TO(spans, count, binary, binary);
    return perf_spans_at(spans + first, end - first, moment, NULL);
}
