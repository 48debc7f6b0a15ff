/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether the runs of a function can be reached from its entries by what was sampled
 * (spec/fitness.md 3): along the runs themselves, along branches, and from a call to the code
 * behind it. BOLT calls what is not reached a CFG discontinuity.
 *
 * The loop of a function that was entered once, before anybody sampled it, is not reached either,
 * and nothing is missing: all samples in it came from it. So what is not reached counts only behind
 * runs to which more samples came than sampled code led there.
 */
#include <stdlib.h>

#include "binary/original/original.h"
#include "measuring.h"
#include "spec/array.h"
#include "spec/order.h"

/* All runs that begin at one address. */
struct run {
    uint64_t from;
    uint64_t to; /* the furthest end */
    uint64_t samples;
    uint64_t explained; /* samples that came here from a place that a run of the function holds */
    bool is_entry;      /* control comes here from outside of the function */
    bool is_reached;
    bool is_behind_gap; /* reached from no entry, but from a run with samples that nothing explains
                         */
};

/* Control goes from an address to another one of the same function. */
struct way {
    uint64_t from;
    uint64_t to;
};

/* Runs and ways by ascending `from`, and for each the next that was not used up, or itself. */
struct search {
    struct run *runs;
    uint32_t *next_run;
    uint32_t run_count;
    struct way *ways;
    uint32_t *next_way;
    uint32_t way_count;
    uint64_t *ends;    /* for each run: the furthest end of the runs up to it */
    uint32_t *waiting; /* runs that were reached and not followed yet */
    uint32_t waiting_count;
};

/* --- Lists ----------------------------------------------------------------------------------- */

/* True if control comes to the start of the trace's run from outside of its function. */
static bool is_entered(const struct measuring *measuring, const struct bat_trace *trace)
{
    if (measuring_starts(measuring, trace->from))
        return true;
    return trace->branch != BAT_TRACE_FALLTHROUGH_ONLY &&
           measuring_function(measuring, trace->branch) !=
               measuring_function(measuring, trace->from) &&
           !measuring_is_return(measuring, trace);
}

static void add_run(const struct measuring *measuring, struct search *search,
                    const struct bat_trace *trace)
{
    uint32_t function = measuring_function(measuring, trace->from);
    bool is_run = trace->to != BAT_TRACE_BRANCH_ONLY && trace->to >= trace->from &&
                  measuring_function(measuring, trace->to) == function;
    if (function == BAT_NONE || !is_run)
        return;
    search->runs[search->run_count++] = (struct run){.from = trace->from,
                                                     .to = trace->to,
                                                     .samples = trace->count,
                                                     .is_entry = is_entered(measuring, trace)};
}

static void add_ways(const struct measuring *measuring, struct search *search,
                     const struct bat_trace *trace)
{
    struct bat_instruction instruction;
    uint32_t function = measuring_function(measuring, trace->branch);
    if (function == BAT_NONE)
        return;
    if (measuring_function(measuring, trace->from) == function)
        search->ways[search->way_count++] = (struct way){trace->branch, trace->from};
    if (bat_original_decode(measuring->elf, trace->branch, &instruction) &&
        bat_kind_is_call(instruction.kind))
        search->ways[search->way_count++] =
            (struct way){trace->branch, trace->branch + instruction.length};
}

/* Make one run of those that begin at one address. */
static void join_runs(struct search *search)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < search->run_count; i++) {
        const struct run run = search->runs[i];
        struct run *last = kept ? &search->runs[kept - 1] : NULL;
        if (!last || last->from != run.from) {
            search->runs[kept++] = run;
            continue;
        }
        last->to = last->to > run.to ? last->to : run.to;
        last->samples += run.samples;
        last->is_entry |= run.is_entry;
    }
    search->run_count = kept;
}

/* The run that starts at an address, or NULL. */
static struct run *run_at(const struct search *search, uint64_t address)
{
    uint32_t i = BAT_COUNT_BELOW(search->runs, search->run_count, from, address);
    return i < search->run_count && search->runs[i].from == address ? &search->runs[i] : NULL;
}

/* True if a run holds the instruction at an address. No run ends in another function. */
static bool is_run_through(const struct search *search, uint64_t address)
{
    uint32_t i = BAT_COUNT_BELOW(search->runs, search->run_count, from, address + 1);
    return i != 0 && search->ends[i - 1] >= address;
}

/* True if a run holds a call directly before an address: a return to there was to be expected. */
static bool is_call_run_through(const struct measuring *measuring, const struct search *search,
                                uint64_t address)
{
    uint64_t call;
    for (unsigned size = 0; (size = measuring_next_call(measuring, address, size, &call)) != 0;)
        if (is_run_through(search, call))
            return true;
    return false;
}

/* Count the samples that came to each run from where the function was sampled. */
static void explain(const struct measuring *measuring, struct search *search)
{
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(measuring->profile, i, &trace); i++) {
        struct run *run =
            trace.branch == BAT_TRACE_FALLTHROUGH_ONLY ? NULL : run_at(search, trace.from);
        if (!run)
            continue;
        bool is_explained = measuring_is_return(measuring, &trace)
                                ? is_call_run_through(measuring, search, trace.from)
                                : is_run_through(search, trace.branch);
        run->explained += is_explained ? trace.count : 0;
    }
}

static enum bat_code list(const struct measuring *measuring, struct search *search)
{
    size_t traces = measuring->profile->traces.count;
    search->runs = malloc((traces + 1) * sizeof(*search->runs));
    search->ways = malloc((2 * traces + 1) * sizeof(*search->ways));
    search->next_run = malloc((traces + 1) * sizeof(*search->next_run));
    search->next_way = malloc((2 * traces + 1) * sizeof(*search->next_way));
    search->waiting = malloc((traces + 1) * sizeof(*search->waiting));
    search->ends = malloc((traces + 1) * sizeof(*search->ends));
    if (!search->runs || !search->ways || !search->next_run || !search->next_way ||
        !search->waiting || !search->ends)
        return bat_fail_memory(measuring->error, "for the continuity of a profile");
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(measuring->profile, i, &trace); i++) {
        add_run(measuring, search, &trace);
        add_ways(measuring, search, &trace);
    }
    /* Both structures begin with the address that they are sorted by. */
    qsort(search->runs, search->run_count, sizeof(*search->runs), bat_compare_u64);
    qsort(search->ways, search->way_count, sizeof(*search->ways), bat_compare_u64);
    join_runs(search);
    uint64_t end = 0;
    for (uint32_t i = 0; i < search->run_count; i++)
        search->ends[i] = end = search->runs[i].to > end ? search->runs[i].to : end;
    explain(measuring, search);
    for (uint32_t i = 0; i <= search->run_count; i++)
        search->next_run[i] = i;
    for (uint32_t i = 0; i <= search->way_count; i++)
        search->next_way[i] = i;
    return BAT_OK;
}

/* --- The search ------------------------------------------------------------------------------ */

/* The first that is not used up, from i on. Paths are halved on the way. */
static uint32_t next_unused(uint32_t *next, uint32_t i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

/* Reach a run from an entry, or after all of those, from one behind a gap. */
static void reach(struct search *search, uint32_t run, bool is_behind_gap)
{
    if (search->runs[run].is_reached)
        return;
    search->runs[run].is_reached = true;
    search->runs[run].is_behind_gap = is_behind_gap;
    search->next_run[run] = run + 1;
    search->waiting[search->waiting_count++] = run;
}

/* Reach what a run goes through, and where the branches and calls in it go. */
static void follow(struct search *search, uint32_t reached)
{
    const struct run run = search->runs[reached];
    for (uint32_t i = next_unused(search->next_run, reached);
         i < search->run_count && search->runs[i].from <= run.to;
         i = next_unused(search->next_run, i))
        reach(search, i, run.is_behind_gap);
    for (uint32_t i = next_unused(search->next_way,
                                  BAT_COUNT_BELOW(search->ways, search->way_count, from, run.from));
         i < search->way_count && search->ways[i].from <= run.to;
         i = next_unused(search->next_way, i)) {
        search->next_way[i] = i + 1;
        uint32_t to = BAT_COUNT_BELOW(search->runs, search->run_count, from, search->ways[i].to);
        if (to < search->run_count && search->runs[to].from == search->ways[i].to)
            reach(search, to, run.is_behind_gap);
    }
}

/* Follow all runs that wait. */
static void follow_all(struct search *search)
{
    while (search->waiting_count != 0)
        follow(search, search->waiting[--search->waiting_count]);
}

static void find(const struct measuring *measuring, struct search *search)
{
    for (uint32_t i = 0; i < search->run_count; i++)
        if (search->runs[i].is_entry)
            reach(search, i, false);
    follow_all(search);
    for (uint32_t i = 0; i < search->run_count; i++)
        if (search->runs[i].samples > search->runs[i].explained &&
            measuring_gap(search->runs[i].samples, search->runs[i].explained) != 0)
            reach(search, i, true);
    follow_all(search);
    for (uint32_t i = 0; i < search->run_count; i++) {
        const struct run *run = &search->runs[i];
        measuring_add(measuring, measuring_function(measuring, run->from), BAT_FITNESS_CONTINUITY,
                      run->is_behind_gap ? run->samples : 0, run->samples);
    }
}

enum bat_code measure_continuity(const struct measuring *measuring)
{
    struct search search = {0};
    enum bat_code code = list(measuring, &search);
    if (code == BAT_OK)
        find(measuring, &search);
    BAT_FREE_ALL(search.runs, search.ways, search.next_run, search.next_way, search.waiting,
                 search.ends);
    return code;
}
