/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which files the samples of a recording are in, for messages about recordings without the binary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

/*
 * Events that are looked at for all samples together: those of a minute of a busy machine take far
 * fewer, and what is counted until then says as well which files matter.
 */
#define STEPS_MAX ((uint64_t)1 << 26)

/* The events of each process, from the last one back. */
struct history {
    struct perf_processes *processes;
    struct bat_counts last; /* process: the number of its last event + 1 */
    size_t *before;         /* of each event: that of the process's event before it + 1; or 0 */
    uint64_t steps;
};

/* The events are in order. */
static enum bat_code make_history(struct history *history, struct perf_processes *processes)
{
    *history = (struct history){
        .processes = processes,
        .last = bat_counts_new(1),
        .before = calloc(processes->event_count + 1, sizeof(*history->before)),
    };
    enum bat_code code = history->before ? BAT_OK : BAT_ERR_MEMORY;
    for (size_t i = 0; i < processes->event_count && code == BAT_OK; i++) {
        const uint64_t key = processes->events[i].process;
        const uint64_t *item = bat_counts_find(&history->last, &key);
        history->before[i] = item ? (size_t)item[1] : 0;
        code = bat_counts_add(&history->last, &key, i + 1 - history->before[i], 0);
    }
    return code;
}

/* The last event of a process before a moment: its number + 1, or 0. */
static size_t last_before(struct history *history, uint32_t process, struct perf_moment moment)
{
    const uint64_t key = process;
    const uint64_t *item = bat_counts_find(&history->last, &key);
    size_t next = item ? (size_t)item[1] : 0;
    while (next != 0 && perf_moment_before(moment, history->processes->events[next - 1].moment) &&
           history->steps++ < STEPS_MAX)
        next = history->before[next - 1];
    return next;
}

/* What a process had mapped at an address, itself or before it was forked; NULL: nothing known. */
static const struct perf_event *find_mapping(struct history *history, uint32_t process,
                                             struct perf_moment moment, uint64_t address)
{
    size_t next = last_before(history, process, moment);
    while (next != 0 && history->steps++ < STEPS_MAX) {
        const struct perf_event *event = &history->processes->events[next - 1];
        if (event->kind == PERF_EVENT_EXEC)
            return NULL;
        if (event->kind != PERF_EVENT_FORK && address - event->address < event->length)
            return event;
        next = event->kind == PERF_EVENT_FORK ? last_before(history, event->other, event->moment)
                                              : history->before[next - 1];
    }
    return NULL;
}

/* The number of a mapping's name; memory is perf's name for code that was made at run time. */
static enum bat_code find_name(struct history *history, const struct perf_event *event,
                               uint32_t *number)
{
    struct perf_processes *processes = history->processes;
    if (event->kind == PERF_EVENT_MAP) {
        *number = (uint32_t)bat_counts_item(&processes->files, event->other)[0];
        return BAT_OK;
    }
    const char *name = bat_strings_get(&processes->names, event->other);
    *number = event->other;
    if (name[0] == '[' && strncmp(name, "[anon", 5) != 0)
        return BAT_OK;
    char made[64];
    snprintf(made, sizeof(made), "/tmp/perf-%d.map, code made at run time",
             (int32_t)event->process);
    return perf_processes_name(processes, made, number);
}

/* Where the process was: a branch stack that counts has user space even of a sample in the kernel.
 */
static uint64_t address_of(const struct perf_sample *sample)
{
    uint64_t first = 0;
    for (uint64_t i = 0; sample->uses_stack && i < sample->branch_count; i++) {
        uint64_t from = bat_load64(sample->branches + i * PERF_BRANCH_SIZE);
        if (from != 0 && from < PERF_KERNEL_ADDRESS)
            return from;
        first = first != 0 ? first : from;
    }
    return first != 0 ? first : sample->ip;
}

static enum bat_code count_sample(struct history *history, const struct perf_sample *sample,
                                  struct perf_moment moment)
{
    struct perf_processes *processes = history->processes;
    const uint64_t address = address_of(sample);
    if (!perf_sample_counts(sample) || !sample->has_process || address == 0)
        return BAT_OK;
    const bool is_kernel = address >= PERF_KERNEL_ADDRESS;
    const bool has_stack = sample->uses_stack && sample->branch_count != 0;
    processes->census.all++;
    processes->census.stacks += has_stack;
    processes->census.kernel += is_kernel;
    const struct perf_event *event =
        find_mapping(history, is_kernel ? PERF_KERNEL_PROCESS : sample->process, moment, address);
    uint32_t number;
    enum bat_code code = BAT_OK;
    if (event)
        code = find_name(history, event, &number);
    else if (is_kernel)
        code = perf_processes_name(processes, PERF_KERNEL_NAME, &number);
    else
        return BAT_OK;
    if (code == BAT_OK) {
        processes->objects[number].samples++;
        processes->objects[number].stacks += has_stack;
    }
    return code;
}

void perf_census(struct perf_session *session)
{
    struct bat_error ignored;
    struct perf_processes *processes = &session->processes;
    struct perf_samples samples;
    struct history history;
    const struct perf_stretch all = {
        .file = session->file, .start = session->data_start, .end = session->data_end, .line = 1};
    /* What perf prints was read, and is gone. */
    if (session->text && session->text->path)
        return;
    enum bat_code code = make_history(&history, processes);
    bool is_sample = true;
    code = code ? code : perf_samples_open(&samples, session, &all, &ignored);
    const bool is_open = history.before != NULL && code != BAT_ERR_MEMORY;
    while (code == BAT_OK && is_sample && history.steps < STEPS_MAX) {
        struct perf_sample sample;
        struct perf_moment moment;
        code = perf_samples_next(&samples, &sample, &moment, &is_sample);
        /* The stack of another program may be anything. */
        if (code == BAT_OK && is_sample && sample.uses_stack &&
            perf_samples_stack(&samples, &sample) != BAT_OK)
            sample.branch_count = 0;
        if (code == BAT_OK && is_sample)
            code = count_sample(&history, &sample, moment);
    }
    if (is_open && session->text)
        session->text->for_people += samples.text.for_people;
    if (is_open)
        perf_samples_close(&samples);
    bat_counts_free(&history.last);
    free(history.before);
}
