/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes a sample profile by pseudo probes: spec/pseudo-probes.md 5. */
#include <stdlib.h>

#include "bat_autofdo.h"
#include "binary/functions/name_parts.h"
#include "forest.h"
#include "probe_functions.h"
#include "ranges.h"
#include "spec/array.h"

/* Of nodes that are not in the forest: not seen yet; left out. */
#define PLACE_NEW 0u
#define PLACE_NONE BAT_NONE

/* The probe that a function is entered at. */
#define ENTRY_ID 1u

struct probe_work {
    const struct bat_profile *profile;
    const struct bat_probes *probes;
    struct code_map code;
    struct ranges ranges;
    struct probe_functions functions;
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
static void mark_functions(const struct probe_functions *functions, uint64_t address, bool *marks)
{
    const struct probe_piece *pieces;
    const size_t count = probe_functions_before(functions, address, &pieces);
    if (have_address(pieces, count, address))
        for (size_t i = 0; i < count; i++)
            marks[pieces[i].function] = true;
}

static void mark_branched(const struct probe_work *work, bool *marks)
{
    const struct bat_counts *branches = &work->ranges.branches;
    for (uint32_t i = 0; i < branches->count; i++) {
        mark_functions(&work->functions, bat_counts_item(branches, i)[0], marks);
        mark_functions(&work->functions, bat_counts_item(branches, i)[1], marks);
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
static enum bat_code choose_bodies(struct probe_work *work, const bool *marks)
{
    const struct bat_probes *probes = work->probes;
    bool *chosen = calloc((size_t)probes->node_count + 1, sizeof(*chosen));
    if (!chosen)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < work->functions.names.count; i++) {
        uint32_t first = 0;
        const uint32_t count =
            marks[i] ? bat_probes_bodies(probes, probe_functions_guid(&work->functions, i), &first)
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
static void list_ranges(const struct probe_work *work, const bool *started,
                        struct range_run *listed, size_t *count)
{
    const struct bat_counts *ranges = &work->ranges.ranges;
    const struct probe_functions *functions = &work->functions;
    *count = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        const uint64_t *range = bat_counts_item(ranges, i);
        listed[(*count)++] = (struct range_run){range[0], range[1], range[2]};
    }
    for (size_t i = 0; i < functions->count; i++)
        if (started[functions->pieces[i].function])
            listed[(*count)++] =
                (struct range_run){functions->pieces[i].start, functions->pieces[i].end - 1, 0};
}

/* List the ranges, and choose the bodies that are read. */
static enum bat_code prepare_ranges(struct probe_work *work, struct range_run **listed,
                                    size_t *count)
{
    const struct bat_counts *ranges = &work->ranges.ranges;
    const struct probe_functions *functions = &work->functions;
    bool *marks = calloc((size_t)functions->names.count + 1, sizeof(*marks));
    *listed = bat_array_new(ranges->count + functions->count, sizeof(**listed));
    enum bat_code code = marks && *listed ? BAT_OK : BAT_ERR_MEMORY;
    if (code == BAT_OK) {
        for (uint32_t i = 0; i < ranges->count; i++)
            mark_functions(functions, bat_counts_item(ranges, i)[0], marks);
        list_ranges(work, marks, *listed, count);
        mark_branched(work, marks);
        code = choose_bodies(work, marks);
    }
    free(marks);
    return code;
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

static enum bat_code count_ranges(struct probe_work *work)
{
    struct range_run *ranges;
    size_t count;
    count_without_probes(work);
    enum bat_code code = prepare_ranges(work, &ranges, &count);
    struct range_run *runs = NULL;
    size_t run_count;
    code = code ? code : ranges_cut(ranges, count, &runs, &run_count, work->error);
    free(ranges);
    code = code ? code : count_runs(work, runs, run_count);
    free(runs);
    return code == BAT_OK ? code : bat_fail_memory(work->error, "to make the profile");
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

static enum bat_code make_forest(struct probe_work *work, struct bat_elf *symbols)
{
    enum bat_code code = probe_functions_read(&work->functions, symbols, work->error);
    if (code == BAT_OK)
        code =
            ranges_collect(&work->ranges, work->profile, &work->code, &work->counters, work->error);
    code = code ? code : count_ranges(work);
    code = code ? code : count_calls(work);
    if (code == BAT_OK && work->forest.node_count == 0)
        code = fail_empty(work);
    return code ? code : add_checksums(work);
}

enum bat_code bat_autofdo_write_probes(const struct bat_profile *profile, const struct bat_elf *elf,
                                       struct bat_elf *symbols, const struct bat_probes *probes,
                                       unsigned threads, struct bat_output *output,
                                       struct bat_autofdo_counters *counters,
                                       struct bat_error *error)
{
    struct probe_work work = {
        .profile = profile, .probes = probes, .forest = forest_new(), .error = error};
    work.forest.adds_up = true;
    work.places = calloc((size_t)probes->node_count + 1, sizeof(*work.places));
    work.names = probe_function_names(probes);
    enum bat_code code = work.places && work.names
                             ? code_map_create(&work.code, elf, error)
                             : bat_fail_memory(work.error, "to make the profile");
    code = code ? code : make_forest(&work, symbols);
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
    free(work.names);
    free(work.places);
    return code;
}
