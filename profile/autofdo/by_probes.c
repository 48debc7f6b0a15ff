/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes a sample profile by pseudo probes: spec/pseudo-probes.md 5. */
#include <stdlib.h>

#include "bat_autofdo.h"
#include "binary/functions/name_parts.h"
#include "forest.h"
#include "probe_functions.h"
#include "ranges.h"
#include "spec/array.h"
#include "support/key_sort.h"

/* Of nodes that are not in the forest: not seen yet; left out. */
#define PLACE_NEW 0u
#define PLACE_NONE BAT_NONE

/* The probe that a function is entered at. */
#define ENTRY_ID 1u

/* The files that probes and symbols are in. */
struct probe_sources {
    struct bat_elf *probes;
    struct bat_elf *symbols;
};

struct probe_work {
    const struct bat_profile *profile;
    struct bat_probes *probes; /* those in code that is counted, see read_probes() */
    struct code_map code;
    struct ranges ranges;
    struct probe_functions functions;
    bool *marks; /* of functions' names: it has samples */
    struct forest forest;
    uint32_t *names;  /* of the probes' functions in the forest, as far as they were needed */
    uint32_t *places; /* of the probes' nodes: their number in the forest plus 1, or PLACE_* */
    struct bat_autofdo_counters counters;
    struct bat_error *error;
};

/* --- Nodes ---------------------------------------------------------------------------------- */

/* A body at an unknown place of the one around it, at call site 0, counts by itself. */
static bool is_root(const struct bat_probe_node *node)
{
    return node->parent == BAT_NONE || node->call_site == 0;
}

/* Give a node, whose parent has one, its place in the forest. */
static enum bat_code place_node(struct probe_work *work, uint32_t number)
{
    const struct bat_probe_node *node = &work->probes->nodes[number];
    uint32_t *place = &work->places[number];
    const uint32_t outer = is_root(node) ? PLACE_NEW : work->places[node->parent];
    if (node->function == BAT_NONE || outer == PLACE_NONE) {
        *place = PLACE_NONE;
        return BAT_OK;
    }
    uint32_t name;
    uint32_t found;
    enum bat_code code =
        probe_function_name(&work->forest.names, work->probes, node->function, work->names, &name);
    if (code == BAT_OK)
        code = is_root(node) ? forest_root(&work->forest, name, &found)
                             : forest_child(&work->forest, outer - 1,
                                            forest_place(node->call_site, 0), name, &found);
    if (code == BAT_OK)
        *place = found + 1;
    return code;
}

/* Find the place of a node, after those of the nodes that it is inlined in. */
static enum bat_code find_place(struct probe_work *work, uint32_t node, uint32_t *place)
{
    uint32_t chain[BAT_PROBE_DEPTH_MAX];
    size_t count = 0;
    for (uint32_t at = node; work->places[at] == PLACE_NEW && count < BAT_PROBE_DEPTH_MAX;
         at = work->probes->nodes[at].parent) {
        chain[count++] = at;
        if (is_root(&work->probes->nodes[at]))
            break;
    }
    enum bat_code code = BAT_OK;
    while (count > 0 && code == BAT_OK)
        code = place_node(work, chain[--count]);
    *place = work->places[node];
    return code;
}

/* --- Executed ranges ------------------------------------------------------------------------ */

/* True if the address is in one of these pieces, which are aliases. */
static bool have_address(const struct probe_piece *pieces, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++)
        if (address < pieces[i].end)
            return true;
    return false;
}

/* Mark the functions that have an address in code with a symbol. */
static void mark_functions(struct probe_work *work, uint64_t address)
{
    const struct probe_piece *pieces;
    const size_t count = probe_functions_before(&work->functions, address, &pieces);
    if (have_address(pieces, count, address))
        for (size_t i = 0; i < count; i++)
            work->marks[pieces[i].function] = true;
}

/* Mark those where ranges start. */
static void mark_started(struct probe_work *work)
{
    const struct bat_counts *ranges = &work->ranges.ranges;
    for (uint32_t i = 0; i < ranges->count; i++)
        mark_functions(work, bat_counts_item(ranges, i)[0]);
}

static void mark_branched(struct probe_work *work)
{
    const struct bat_counts *branches = &work->ranges.branches;
    for (uint32_t i = 0; i < branches->count; i++) {
        mark_functions(work, bat_counts_item(branches, i)[0]);
        mark_functions(work, bat_counts_item(branches, i)[1]);
    }
}

/* Leave out a top-level body and all that is inlined in it. */
static void leave_out(struct probe_work *work, uint32_t body)
{
    for (uint32_t i = body; i < work->probes->nodes[body].end; i++)
        work->places[i] = PLACE_NONE;
}

/*
 * Leave out the bodies of functions that have no sample: the code of those that have probes in
 * sampled functions all the same was merged with the sampled function's, and has lost its place in
 * it. Without symbols all bodies are read.
 */
static enum bat_code choose_bodies(struct probe_work *work)
{
    const struct bat_probes *probes = work->probes;
    bool *chosen = calloc((size_t)probes->node_count + 1, sizeof(*chosen));
    if (!chosen)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < work->functions.names.count; i++) {
        uint32_t first = 0;
        const uint32_t count =
            work->marks[i]
                ? bat_probes_bodies(probes, probe_functions_guid(&work->functions, i), &first)
                : 0;
        for (uint32_t j = first; j < first + count; j++)
            chosen[probes->bodies[j]] = true;
    }
    for (uint32_t i = 0; i < probes->body_count && work->functions.count > 0; i++)
        if (!chosen[probes->bodies[i]])
            leave_out(work, probes->bodies[i]);
    free(chosen);
    return BAT_OK;
}

/*
 * List the executed ranges and, with count 0, all pieces of the functions where they start: to the
 * compiler count 0 means not executed, and no count means unknown.
 */
static void list_ranges(const struct probe_work *work, struct range_run *listed, size_t *count)
{
    const struct bat_counts *ranges = &work->ranges.ranges;
    const struct probe_functions *functions = &work->functions;
    *count = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const uint64_t *range = bat_counts_item(ranges, i);
        listed[(*count)++] = (struct range_run){range[0], range[1], range[2]};
    }
    for (size_t i = 0; i < functions->count; i++)
        if (work->marks[functions->pieces[i].function])
            listed[(*count)++] =
                (struct range_run){functions->pieces[i].start, functions->pieces[i].end - 1, 0};
}

/* Cut the executed ranges into runs, and mark the functions that have samples. */
static enum bat_code prepare_runs(struct probe_work *work, struct range_run **runs, size_t *count)
{
    const struct probe_functions *functions = &work->functions;
    work->marks = calloc((size_t)functions->names.count + 1, sizeof(*work->marks));
    struct range_run *listed =
        bat_array_new(work->ranges.ranges.count + functions->count, sizeof(*listed));
    enum bat_code code = BAT_ERR_MEMORY;
    if (work->marks && listed) {
        size_t listed_count;
        mark_started(work);
        list_ranges(work, listed, &listed_count);
        mark_branched(work);
        code = ranges_cut(listed, listed_count, runs, count, work->error);
    }
    free(listed);
    return code;
}

/* --- Reading probes ------------------------------------------------------------------------- */

/* Add [start, end) to spans, unless the last one has it; count is that of spans. */
static void add_span(struct bat_sort_key *spans, size_t *count, uint64_t start, uint64_t end)
{
    if (*count == 0 || start < spans[*count - 1].key || start > spans[*count - 1].value)
        spans[(*count)++] = (struct bat_sort_key){start, end};
    else if (end > spans[*count - 1].value)
        spans[*count - 1].value = end;
}

/* List the code whose probes are asked for: that of runs, of functions with samples, and the calls
 * that were executed. */
static void list_spans(const struct probe_work *work, const struct range_run *runs,
                       size_t run_count, struct bat_sort_key *spans, size_t *count)
{
    const struct probe_functions *functions = &work->functions;
    const struct bat_counts *branches = &work->ranges.branches;
    *count = 0;
    for (size_t i = 0; i < run_count; i++)
        add_span(spans, count, runs[i].first, runs[i].last + 1);
    for (size_t i = 0; i < functions->count; i++)
        if (work->marks[functions->pieces[i].function])
            add_span(spans, count, functions->pieces[i].start, functions->pieces[i].end);
    for (uint32_t i = 0; i < branches->count; i++) {
        const uint64_t source = bat_counts_item(branches, i)[0];
        add_span(spans, count, source, source + 1);
    }
}

/* Put sorted spans that overlap or touch together. */
static void join_spans(const struct bat_sort_key *spans, size_t count,
                       struct bat_probe_span *joined, struct bat_probe_spans *wanted)
{
    *wanted = (struct bat_probe_spans){joined, 0};
    for (size_t i = 0; i < count; i++) {
        struct bat_probe_span *last = wanted->count > 0 ? &joined[wanted->count - 1] : NULL;
        if (!last || spans[i].key > last->end)
            joined[wanted->count++] = (struct bat_probe_span){spans[i].key, spans[i].value};
        else if (spans[i].value > last->end)
            last->end = spans[i].value;
    }
}

/* Read the probes of the program that are looked at below: most of its code has no samples. */
static enum bat_code read_probes(struct probe_work *work, const struct range_run *runs,
                                 size_t run_count, const struct probe_sources *from)
{
    const size_t most = run_count + work->functions.count + work->ranges.branches.count;
    struct bat_sort_key *spans = bat_array_new(2 * most, sizeof(*spans));
    struct bat_probe_span *joined = bat_array_new(most, sizeof(*joined));
    enum bat_code code = BAT_OK;
    if (spans && joined) {
        size_t count;
        struct bat_probe_spans wanted;
        list_spans(work, runs, run_count, spans, &count);
        join_spans(bat_sort_keys(spans, spans + most, count), count, joined, &wanted);
        code =
            bat_probes_read_spans(from->probes, from->symbols, &wanted, &work->probes, work->error);
    } else {
        code = bat_fail_memory(work->error, "to make the profile");
    }
    BAT_FREE_ALL(spans, joined);
    BAT_TRY(code);
    work->places = calloc((size_t)work->probes->node_count + 1, sizeof(*work->places));
    work->names = probe_function_names(work->probes);
    return work->places && work->names
               ? probes_check_symbols(work->probes, from->symbols, work->error)
               : bat_fail_memory(work->error, "to make the profile");
}

/* Count the samples of ranges in which there is no probe. The ranges ascend. */
static void count_without_probes(struct probe_work *work)
{
    const struct bat_probes *probes = work->probes;
    const struct bat_counts *ranges = &work->ranges.ranges;
    uint32_t next = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const uint64_t *range = bat_counts_item(ranges, i);
        while (next < probes->probe_count && probes->probes[next].address < range[0])
            next++;
        if (next == probes->probe_count || probes->probes[next].address > range[1])
            work->counters.without_probes += range[2];
    }
}

/* --- Counts --------------------------------------------------------------------------------- */

/* Count a probe, which was executed count times. */
static enum bat_code count_probe(struct probe_work *work, const struct bat_probe *probe,
                                 uint64_t count)
{
    uint32_t place;
    enum bat_code code = find_place(work, probe->node, &place);
    if (code != BAT_OK || place == PLACE_NONE)
        return code;
    struct forest_node *node = &work->forest.nodes[place - 1];
    node->total = forest_add(node->total, count);
    if (node->parent == BAT_NONE && probe->id == ENTRY_ID)
        node->head = forest_add(node->head, count);
    work->counters.probes++;
    return forest_raise(&work->forest, place - 1, forest_place(probe->id, probe->discriminator),
                        count);
}

/* Count all probes of ascending runs that do not overlap. */
static enum bat_code count_runs(struct probe_work *work, const struct range_run *runs, size_t count)
{
    const struct bat_probes *probes = work->probes;
    uint32_t next = 0;
    enum bat_code code = forest_reserve(&work->forest, probes->node_count);
    for (size_t i = 0; i < count; i++) {
        while (next < probes->probe_count && probes->probes[next].address < runs[i].first)
            next++;
        for (; next < probes->probe_count && probes->probes[next].address <= runs[i].last &&
               code == BAT_OK;
             next++)
            code = count_probe(work, &probes->probes[next], runs[i].count);
    }
    return code;
}

static enum bat_code count_ranges(struct probe_work *work, const struct probe_sources *from)
{
    struct range_run *runs = NULL;
    size_t count = 0;
    enum bat_code code = prepare_runs(work, &runs, &count);
    if (code != BAT_OK)
        return bat_fail_memory(work->error, "to make the profile");
    code = read_probes(work, runs, count, from);
    if (code == BAT_OK) {
        count_without_probes(work);
        code = choose_bodies(work);
        code = code ? code : count_runs(work, runs, count);
        code = code ? bat_fail_memory(work->error, "to make the profile") : BAT_OK;
    }
    free(runs);
    return code;
}

/* --- Calls ---------------------------------------------------------------------------------- */

/* A branch from a call's probe to the start of a function is a call of it. */
static enum bat_code count_call(struct probe_work *work, const uint64_t *branch, uint32_t *next)
{
    const struct bat_probe *probe = probe_call_from(work->probes, branch[0], next);
    const struct probe_piece *entry =
        probe ? probe_functions_entry(&work->functions, work->probes, branch[1]) : NULL;
    if (!entry)
        return BAT_OK;
    uint32_t place;
    enum bat_code code = find_place(work, probe->node, &place);
    if (code != BAT_OK || place == PLACE_NONE)
        return code;
    const char *name = entry->symbol->name;
    uint32_t callee;
    code = bat_strings_add(&work->forest.names, name, profile_name_length(name), &callee);
    return code == BAT_OK ? forest_call(&work->forest, place - 1, forest_place(probe->id, 0),
                                        callee, branch[2])
                          : code;
}

static enum bat_code count_calls(struct probe_work *work)
{
    const struct bat_counts *branches = &work->ranges.branches;
    uint32_t next = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < branches->count && code == BAT_OK; i++)
        code = count_call(work, bat_counts_item(branches, i), &next);
    return code == BAT_OK ? code : bat_fail_memory(work->error, "to make the profile");
}

/* --- All of it ------------------------------------------------------------------------------ */

/* Give each name the checksum of its function. */
static enum bat_code add_checksums(struct probe_work *work)
{
    struct forest *forest = &work->forest;
    forest->checksums = calloc((size_t)forest->names.count + 1, sizeof(*forest->checksums));
    BAT_TRY_MEMORY(forest->checksums, work->error, "to make the profile");
    for (uint32_t i = 0; i < work->probes->node_count; i++) {
        const uint32_t place = work->places[i];
        if (place != PLACE_NEW && place != PLACE_NONE)
            forest->checksums[forest->nodes[place - 1].name] =
                work->probes->functions[work->probes->nodes[i].function].hash;
    }
    return BAT_OK;
}

static enum bat_code fail_empty(struct probe_work *work)
{
    const struct bat_autofdo_counters *counters = &work->counters;
    return bat_fail(work->error, BAT_ERR_NO_DEBUG,
                    "expected samples at pseudo probes, found none: of %llu samples %llu are "
                    "outside of the program's code, %llu have a range that cannot be executed, and "
                    "%llu are in code without probes",
                    (unsigned long long)counters->samples, (unsigned long long)counters->outside,
                    (unsigned long long)counters->invalid,
                    (unsigned long long)counters->without_probes);
}

static enum bat_code make_forest(struct probe_work *work, const struct probe_sources *from)
{
    enum bat_code code = probe_functions_read(&work->functions, from->symbols, work->error);
    if (code == BAT_OK)
        code =
            ranges_collect(&work->ranges, work->profile, &work->code, &work->counters, work->error);
    code = code ? code : count_ranges(work, from);
    code = code ? code : count_calls(work);
    if (code == BAT_OK && work->forest.node_count == 0)
        code = fail_empty(work);
    return code ? code : add_checksums(work);
}

enum bat_code bat_autofdo_write_probes(const struct bat_profile *profile, const struct bat_elf *elf,
                                       struct bat_elf *symbols, struct bat_elf *probes,
                                       unsigned threads, struct bat_output *output,
                                       struct bat_autofdo_counters *counters,
                                       struct bat_error *error)
{
    struct probe_work work = {.profile = profile, .forest = forest_new(), .error = error};
    work.forest.adds_up = true;
    enum bat_code code = code_map_create(&work.code, elf, error);
    code = code ? code : make_forest(&work, &(struct probe_sources){probes, symbols});
    if (code == BAT_OK) {
        forest_add_up(&work.forest);
        code = forest_write(&work.forest, threads, output, &work.counters.functions, error);
    }
    if (counters)
        *counters = work.counters;
    code_map_free(&work.code);
    ranges_free(&work.ranges);
    probe_functions_free(&work.functions);
    forest_free(&work.forest);
    bat_probes_free(work.probes);
    BAT_FREE_ALL(work.marks, work.names, work.places);
    return code;
}
