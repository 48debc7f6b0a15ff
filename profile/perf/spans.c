/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The events of processes, replayed in order: they give the spans of each process. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history_event.h"
#include "spec/binary_search.h"

/* Where a process has the binary at the current moment of the replay. */
struct state {
    uint64_t biases[PERF_BIASES_MAX];
    uint32_t bias_count;
    bool is_forked; /* the biases are its parent's: it was copied */
};

struct replay {
    struct perf_processes *processes;
    bool has_time;
    struct bat_counts numbers; /* process: number of its state + 1 */
    struct state *states;
    uint32_t state_capacity;
    size_t span_capacity;
};

static void replay_free(struct replay *replay)
{
    bat_counts_free(&replay->numbers);
    free(replay->states);
}

/* A process's state, or NULL if nothing is known of it. */
static struct state *find_state(const struct replay *replay, uint32_t process)
{
    const uint64_t key = process;
    const uint64_t *item = bat_counts_find(&replay->numbers, &key);
    return item ? &replay->states[item[1] - 1] : NULL;
}

/* Find or add a process's state; NULL if there is no memory. */
static struct state *get_state(struct replay *replay, uint32_t process)
{
    struct state *state = find_state(replay, process);
    if (state)
        return state;
    uint32_t number = replay->numbers.count;
    if (number == replay->state_capacity) {
        uint32_t capacity = number ? number * 2 : 64;
        struct state *states = realloc(replay->states, capacity * sizeof(*states));
        if (!states)
            return NULL;
        replay->states = states;
        replay->state_capacity = capacity;
    }
    const uint64_t key = process;
    if (bat_counts_add(&replay->numbers, &key, (uint64_t)number + 1, 0) != BAT_OK)
        return NULL;
    replay->states[number] = (struct state){.bias_count = 0};
    return &replay->states[number];
}

/* Begin a span of the process, with the biases of its state. */
static enum bat_code add_span(struct replay *replay, const struct perf_event *event,
                              const struct state *state)
{
    struct perf_processes *processes = replay->processes;
    if (processes->span_count == replay->span_capacity) {
        size_t capacity = replay->span_capacity ? replay->span_capacity * 2 : 64;
        struct perf_span *spans = realloc(processes->spans, capacity * sizeof(*spans));
        if (!spans)
            return BAT_ERR_MEMORY;
        processes->spans = spans;
        replay->span_capacity = capacity;
    }
    struct perf_span *span = &processes->spans[processes->span_count++];
    *span = (struct perf_span){
        .process = event->process, .bias_count = state->bias_count, .since = event->moment};
    memcpy(span->biases, state->biases, sizeof(span->biases));
    return BAT_OK;
}

/* --- Events ------------------------------------------------------------------------------- */

/* True if the mapping is of the binary: by build-id if one is known, else by name. */
static bool is_of_binary(struct perf_processes *processes, const struct perf_event *event)
{
    const struct perf_binary *binary = processes->binary;
    const struct perf_object *object = &processes->objects[event->object];
    bool same_name =
        perf_binary_match_name(binary, bat_strings_get(&processes->names, event->object));
    enum perf_match match = event->match;
    if (match == PERF_MATCH_UNKNOWN && object->is_listed_as_binary)
        match = PERF_MATCH_YES;
    else if (match == PERF_MATCH_UNKNOWN && object->is_listed_as_other)
        match = PERF_MATCH_NO;
    if (match == PERF_MATCH_YES)
        return true;
    if (match == PERF_MATCH_NO && same_name)
        processes->has_other_build = true;
    return same_name && (match == PERF_MATCH_UNKNOWN || binary->ignore_build_id);
}

static enum bat_code do_map(struct replay *replay, const struct perf_event *event)
{
    if (!is_of_binary(replay->processes, event))
        return BAT_OK;
    struct state *state = get_state(replay, event->process);
    if (!state)
        return BAT_ERR_MEMORY;
    /* The newest bias comes first; the oldest is dropped if there are too many. */
    uint32_t at = 0;
    while (at < state->bias_count && state->biases[at] != event->bias)
        at++;
    bool is_known = at < state->bias_count;
    if (is_known && at == 0 && !state->is_forked)
        return BAT_OK;
    state->is_forked = false;
    if (!is_known && state->bias_count < PERF_BIASES_MAX)
        state->bias_count++;
    if (at == PERF_BIASES_MAX)
        at--;
    memmove(state->biases + 1, state->biases, at * sizeof(state->biases[0]));
    state->biases[0] = event->bias;
    return add_span(replay, event, state);
}

static enum bat_code do_fork(struct replay *replay, const struct perf_event *event)
{
    const struct state *parent = find_state(replay, event->parent);
    const struct state *own = find_state(replay, event->process);
    bool has_binary = parent && parent->bias_count != 0;
    if (!has_binary && (!own || own->bias_count == 0))
        return BAT_OK;
    /* Without times, a process's own mappings may come before its fork in the file. */
    if (!replay->has_time && own && own->bias_count != 0)
        return BAT_OK;
    struct state copy = has_binary ? *parent : (struct state){.bias_count = 0};
    copy.is_forked = true;
    struct state *state = get_state(replay, event->process);
    if (!state)
        return BAT_ERR_MEMORY;
    *state = copy;
    return add_span(replay, event, state);
}

static enum bat_code do_exec(struct replay *replay, const struct perf_event *event)
{
    struct state *state = find_state(replay, event->process);
    if (!state || state->bias_count == 0)
        return BAT_OK;
    /* Without times, the mappings may already be those of the new program. */
    if (!replay->has_time && !state->is_forked)
        return BAT_OK;
    *state = (struct state){.bias_count = 0};
    return add_span(replay, event, state);
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
        else
            code = do_exec(replay, event);
    }
    return code;
}

/* Without times, the first span of a process begins with the process. */
static void extend_back(struct perf_processes *processes)
{
    for (size_t i = 0; i < processes->span_count; i++)
        if (i == 0 || processes->spans[i - 1].process != processes->spans[i].process)
            processes->spans[i].since = (struct perf_moment){0, 0};
}

/* Sort the spans by process, and enter the spans of each process in the table. */
static enum bat_code make_table(struct perf_processes *processes, bool has_time)
{
    size_t count = processes->span_count;
    if (count != 0)
        qsort(processes->spans, count, sizeof(processes->spans[0]), compare_spans);
    if (!has_time)
        extend_back(processes);
    enum bat_code code = BAT_OK;
    for (size_t first = 0, end; first < count && code == BAT_OK; first = end) {
        const uint64_t key = processes->spans[first].process;
        for (end = first + 1; end < count && processes->spans[end].process == key;)
            end++;
        code = bat_counts_add(&processes->table, &key, first, end - first);
    }
    return code;
}

enum bat_code perf_processes_order(struct perf_processes *processes, bool has_time)
{
    struct replay replay = {
        .processes = processes, .has_time = has_time, .numbers = bat_counts_new(1)};
    enum bat_code code = replay_events(&replay);
    replay_free(&replay);
    return code == BAT_OK ? make_table(processes, has_time) : code;
}

const struct perf_span *perf_processes_find(const struct perf_processes *processes,
                                            uint32_t process, struct perf_moment moment)
{
    const uint64_t key = process;
    const uint64_t *item = bat_counts_find(&processes->table, &key);
    if (!item)
        return NULL;
    /* Find the last span that begins at the moment or before. */
    const struct perf_span *spans = processes->spans + item[1];
    struct bat_search search = {.high = item[2]};
    while (bat_search_next(&search))
        bat_search_go(&search, !perf_moment_before(moment, spans[search.middle].since));
    bool is_found = search.low != 0 && spans[search.low - 1].bias_count != 0;
    return is_found ? &spans[search.low - 1] : NULL;
}
