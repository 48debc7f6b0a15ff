/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "read_ahead.h"

#include <stdlib.h>

#include "debuginfo.h"
#include "support/parallel.h"

/* More bytes than one entry of a list of ranges has. */
#define ENTRY_SIZE_MAX 64u

/* A unit to read, and a line table. */
struct job {
    uint32_t unit;
    uint32_t table; /* BAT_NONE: it is read already, or another job reads it */
    bool is_read;   /* the unit */
};

/* What a thread has. */
struct reader {
    struct unit_reader *units;
    struct debug_budget budget;
    bool no_memory;
};

struct read_ahead {
    struct bat_debuginfo *debuginfo;
    struct job *jobs;
    size_t count;
    struct reader readers[BAT_PARALLEL_MAX];
};

/* --- What to read --------------------------------------------------------------------------- */

/* The number of a line table that no one has read or is to read yet, or BAT_NONE. */
static uint32_t claim_table(struct bat_debuginfo *debuginfo, uint32_t number)
{
    if (number == BAT_NONE || debuginfo->tables[number].is_read)
        return BAT_NONE;
    debuginfo->tables[number].is_read = true;
    return number;
}

/* Make a job of each unit that has an address and was not read. False if there is no memory. */
static bool list_jobs(struct read_ahead *ahead, const uint64_t *addresses, size_t count)
{
    struct bat_debuginfo *debuginfo = ahead->debuginfo;
    size_t capacity = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t run = debug_map_find(&debuginfo->run_map, addresses[i]);
        if (run == BAT_NONE)
            continue;
        const uint32_t number = debuginfo->runs[run].unit;
        struct debug_unit *unit = &debuginfo->units[number];
        if (unit->is_read)
            continue;
        if (!BAT_GROW(ahead->jobs, ahead->count, capacity))
            return false;
        unit->is_read = true; /* one job is enough */
        ahead->jobs[ahead->count++] = (struct job){.unit = number};
    }
    for (size_t i = 0; i < ahead->count; i++)
        ahead->jobs[i].table = claim_table(debuginfo, debuginfo->units[ahead->jobs[i].unit].table);
    return true;
}

/* --- Reading -------------------------------------------------------------------------------- */

static void read_jobs(void *context, size_t first, size_t end, unsigned thread)
{
    struct read_ahead *ahead = context;
    struct reader *reader = &ahead->readers[thread];
    struct bat_debuginfo *debuginfo = ahead->debuginfo;
    for (size_t i = first; i < end && !reader->no_memory; i++) {
        struct job *job = &ahead->jobs[i];
        job->is_read =
            unit_reader_read(reader->units, &debuginfo->units[job->unit], &reader->no_memory);
        if (job->table != BAT_NONE &&
            !debug_fill_table(debuginfo, job->table, &reader->budget.lines))
            reader->no_memory = true;
    }
}

/* Subtract from *left what the readers have used. False if it is less, or if one was stopped. */
static bool subtract(uint64_t *left, uint64_t used, uint64_t margin)
{
    if (used > *left || *left - used < margin)
        return false;
    *left -= used;
    return true;
}

/* Pay for what the readers have used together. False if it is too much. */
static bool pay(struct read_ahead *ahead, unsigned threads)
{
    const struct debug_budget start = ahead->debuginfo->budget;
    struct debug_budget left = start;
    for (unsigned i = 0; i < threads; i++) {
        const struct reader *reader = &ahead->readers[i];
        if (unit_reader_is_over(reader->units) ||
            !subtract(&left.lines, start.lines - reader->budget.lines, 0) ||
            !subtract(&left.ranges, start.ranges - reader->budget.ranges, ENTRY_SIZE_MAX) ||
            !subtract(&left.names, start.names - reader->budget.names, 1) ||
            !subtract(&left.nodes, start.nodes - reader->budget.nodes, 0))
            return false;
    }
    ahead->debuginfo->budget = left;
    return true;
}

/* --- Results -------------------------------------------------------------------------------- */

/* Keep what was read. */
static void keep(struct read_ahead *ahead)
{
    struct bat_debuginfo *debuginfo = ahead->debuginfo;
    for (size_t i = 0; i < ahead->count; i++) {
        struct debug_unit *unit = &debuginfo->units[ahead->jobs[i].unit];
        unit->is_read = false;
        if (ahead->jobs[i].is_read)
            debug_count_unit(debuginfo, unit);
    }
}

/* Forget what was read, as if no reader had begun. */
static void forget(struct read_ahead *ahead)
{
    struct bat_debuginfo *debuginfo = ahead->debuginfo;
    for (size_t i = 0; i < ahead->count; i++) {
        debug_forget_unit(&debuginfo->units[ahead->jobs[i].unit]);
        if (ahead->jobs[i].table != BAT_NONE)
            debug_forget_table(debuginfo, ahead->jobs[i].table);
    }
}

/* Make the readers. False if there is no memory. */
static bool make_readers(struct read_ahead *ahead, unsigned threads)
{
    bool has_memory = true;
    for (unsigned i = 0; i < threads; i++) {
        struct reader *reader = &ahead->readers[i];
        reader->budget = ahead->debuginfo->budget;
        reader->units = unit_reader_new(ahead->debuginfo, &reader->budget);
        has_memory &= reader->units != NULL;
    }
    return has_memory;
}

static void read_all(struct read_ahead *ahead)
{
    const unsigned threads = bat_parallel_threads(ahead->debuginfo->threads, ahead->count);
    bool has_memory = make_readers(ahead, threads);
    if (has_memory)
        bat_parallel_run(ahead->count, 1, threads, read_jobs, ahead);
    for (unsigned i = 0; i < threads; i++)
        has_memory &= !ahead->readers[i].no_memory;
    ahead->debuginfo->no_memory |= !has_memory;
    /* Over the budget, it depends on the order what is left out: look-ups read in the order of
       addresses, whatever the number of threads. */
    if (has_memory && pay(ahead, threads))
        keep(ahead);
    else
        forget(ahead);
    for (unsigned i = 0; i < threads; i++)
        unit_reader_free(ahead->readers[i].units);
}

void debug_read_ahead(struct bat_debuginfo *debuginfo, const uint64_t *addresses, size_t count)
{
    struct read_ahead ahead = {.debuginfo = debuginfo};
    /* A file whose names are listed is damaged: its names are to be listed in one order. */
    if (debuginfo->no_memory || debuginfo->has_strings)
        return;
    if (!list_jobs(&ahead, addresses, count)) {
        debuginfo->no_memory = true;
        forget(&ahead);
    } else if (ahead.count != 0) {
        read_all(&ahead);
    }
    free(ahead.jobs);
}
