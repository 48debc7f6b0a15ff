/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes a sample profile from ranges and branches, or from basic samples. */
#include <stdlib.h>

#include "bat_autofdo.h"
#include "binary/functions/name_parts.h"
#include "debuginfo/stretches.h"
#include "discriminator.h"
#include "forest.h"
#include "leaves.h"
#include "profile/profile.h"
#include "ranges.h"
#include "support/key_sort.h"

struct work {
    const struct bat_profile *profile;
    struct bat_debuginfo *debuginfo;
    struct code_map code;
    struct ranges ranges;
    struct forest forest;
    struct leaves leaves;
    struct bat_counts callees;   /* from the address of a name in DWARF to the forest number of the
                                    name without suffixes, and its length */
    struct bat_counts functions; /* function_key() of functions with samples */
    struct bat_counts entries;   /* from function_key() to the entry, once it was looked up */
    struct bat_autofdo_counters counters;
    struct bat_error *error;
};

/* --- Functions ------------------------------------------------------------------------------ */

/* The object's address, not the entry: in damaged DWARF functions can share or contain entries. */
static uint64_t function_key(const struct bat_debuginfo_function *function)
{
    return (uintptr_t)function;
}

static const struct bat_debuginfo_function *function_at(const struct bat_counts *functions,
                                                        uint32_t i)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): function_key() made it from this pointer. */
    return (const struct bat_debuginfo_function *)(uintptr_t)bat_counts_item(functions, i)[0];
}

/* Record the functions that have the ends of traces, and add up how many ranges they have. */
static enum bat_code visit_traces(struct work *work, size_t *range_count)
{
    const struct bat_counts *traces = &work->profile->traces;
    for (size_t i = 0; i < 3 * (size_t)traces->count; i++) {
        const uint64_t end = bat_counts_item(traces, (uint32_t)(i / 3))[i % 3];
        if (!code_map_has(&work->code, end))
            continue;
        const struct bat_debuginfo_function *function =
            bat_debuginfo_function(work->debuginfo, end);
        const uint64_t key = function_key(function);
        if (!function || bat_counts_find(&work->functions, &key))
            continue;
        *range_count += function->range_count;
        BAT_TRY(bat_counts_add(&work->functions, &key, 0, 0));
    }
    return BAT_OK;
}

/* Decode all functions that have an address of the profile. */
static enum bat_code visit_all(struct work *work)
{
    size_t range_count = 0;
    enum bat_code code = visit_traces(work, &range_count);
    struct code_range *ranges = code == BAT_OK ? malloc(range_count * sizeof(*ranges) + 1) : NULL;
    BAT_TRY_MEMORY(ranges, work->error, "to make the profile");
    size_t count = 0;
    for (uint32_t i = 0; i < work->functions.count; i++) {
        const struct bat_debuginfo_function *function = function_at(&work->functions, i);
        for (size_t j = 0; j < function->range_count; j++)
            ranges[count++] =
                (struct code_range){function->ranges[j].start, function->ranges[j].end};
    }
    code_map_sweep(&work->code, ranges, count);
    free(ranges);
    return BAT_OK;
}

/* --- Places --------------------------------------------------------------------------------- */

static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Count instructions at a place, of size bytes in total, that were executed count times each. */
static enum bat_code count_instructions(struct work *work, const struct leaf *leaf,
                                        uint64_t instructions, uint64_t size, uint64_t count)
{
    if (!leaf->is_found)
        return BAT_OK;
    struct forest_node *node = &work->forest.nodes[leaf->node];
    node->total = forest_add(node->total, multiply(count, size));
    work->counters.instructions += instructions;
    /* Each copy of code that the compiler duplicated has only a part of the count. */
    if (!work->leaves.has_fs_discriminators)
        count = multiply(count, discriminator_factor(leaf->discriminator));
    return forest_raise(&work->forest, leaf->node, leaf->place, count);
}

/* --- Traces --------------------------------------------------------------------------------- */

/* Functions where a range starts, and their clones. */
struct started {
    struct bat_counts functions; /* of function_key() */
    struct bat_counts clones;    /* the same, of functions whose clones were visited */
    size_t range_count;          /* of functions */
};

/*
 * Record a function where a range starts, and its clones. Recorded are the functions that DWARF has
 * at their entries: in damaged DWARF these can be others.
 */
static enum bat_code add_started(struct work *work, struct started *started,
                                 const struct bat_debuginfo_function *function)
{
    const struct bat_debuginfo_function *clone = function;
    enum bat_code code = BAT_OK;
    uint64_t key = function_key(function);
    if (bat_counts_find(&started->clones, &key))
        return BAT_OK;
    do {
        const struct bat_debuginfo_function *found =
            bat_debuginfo_function(work->debuginfo, clone->entry);
        key = function_key(clone);
        code = bat_counts_add(&started->clones, &key, 0, 0);
        key = function_key(found);
        if (code == BAT_OK && found && !bat_counts_find(&started->functions, &key)) {
            code = bat_counts_add(&started->functions, &key, 0, 0);
            started->range_count += found->range_count;
        }
        clone = clone->namesake;
    } while (code == BAT_OK && clone != function);
    return code;
}

/* Record all functions where a range starts. */
static enum bat_code find_started(struct work *work, struct started *started)
{
    const struct bat_counts *ranges = &work->ranges.ranges;
    const struct bat_debuginfo_function *last = NULL;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < ranges->count && code == BAT_OK; i++) {
        const uint64_t *range = bat_counts_item(ranges, i);
        const struct bat_debuginfo_function *function =
            bat_debuginfo_function(work->debuginfo, range[0]);
        if (function && function != last)
            code = add_started(work, started, function);
        else if (!function)
            work->counters.without_debug += range[2];
        last = function;
    }
    return code;
}

/*
 * List all executed ranges and, with count 0, all code of the functions where a range starts: to
 * the compiler, count 0 means not executed, and no count means unknown.
 */
static enum bat_code list_runs(struct work *work, struct range_run **runs, size_t *count)
{
    const struct bat_counts *ranges = &work->ranges.ranges;
    struct started started = {.functions = bat_counts_new(1), .clones = bat_counts_new(1)};
    enum bat_code code = find_started(work, &started);
    size_t capacity = ranges->count + started.range_count;
    *count = 0;
    *runs = code == BAT_OK ? malloc(capacity * sizeof(**runs) + 1) : NULL;
    for (uint32_t i = 0; *runs && i < ranges->count; i++) {
        const uint64_t *range = bat_counts_item(ranges, i);
        (*runs)[(*count)++] = (struct range_run){range[0], range[1], range[2]};
    }
    for (uint32_t i = 0; *runs && i < started.functions.count; i++) {
        const struct bat_debuginfo_function *function = function_at(&started.functions, i);
        for (size_t j = 0; j < function->range_count; j++)
            (*runs)[(*count)++] =
                (struct range_run){function->ranges[j].start, function->ranges[j].end - 1, 0};
    }
    bat_counts_free(&started.functions);
    bat_counts_free(&started.clones);
    return *runs ? BAT_OK : bat_fail_memory(work->error, "to make the profile");
}

/* Count the instructions that start in a run, from *next on; *next is set to the last one's end. */
static enum bat_code count_run(struct work *work, const struct range_run *run, uint64_t *next)
{
    enum bat_code code = BAT_OK;
    uint64_t address = run->first < *next ? *next : run->first;
    while (address <= run->last && code == BAT_OK && code_map_has(&work->code, address)) {
        if (!code_map_starts(&work->code, address)) {
            address++;
            continue;
        }
        struct leaf leaf;
        code = leaves_find(&work->leaves, address, &leaf);
        if (code != BAT_OK)
            break;
        const uint64_t end = leaf.end <= run->last ? leaf.end : run->last + 1;
        const struct code_span span = code_map_span(&work->code, address, end);
        /* Totals count bytes, as llvm-profgen's do: the compiler's thresholds expect that. */
        code = count_instructions(work, &leaf, span.count, span.size, run->count);
        address = span.next;
    }
    *next = address;
    return code;
}

static enum bat_code count_ranges(struct work *work)
{
    struct range_run *ranges;
    size_t count;
    BAT_TRY(list_runs(work, &ranges, &count));
    struct range_run *runs;
    size_t run_count;
    enum bat_code code = ranges_cut(ranges, count, &runs, &run_count, work->error);
    free(ranges);
    if (code != BAT_OK)
        return code;
    uint64_t next = 0;
    for (size_t i = 0; i < run_count && code == BAT_OK; i++)
        code = count_run(work, &runs[i], &next);
    free(runs);
    return code == BAT_OK ? code : bat_fail_memory(work->error, "to make the profile");
}

/* The name of a function as the target of calls: its name in DWARF without suffixes. */
static enum bat_code find_callee(struct work *work, const char *text, uint32_t *name,
                                 size_t *length)
{
    const uint64_t key = (uintptr_t)text;
    const uint64_t *found = bat_counts_find(&work->callees, &key);
    if (found) {
        *name = (uint32_t)found[1];
        *length = (size_t)found[2];
        return BAT_OK;
    }
    *length = profile_name_length(text);
    enum bat_code code = bat_strings_add(&work->forest.names, text, *length, name);
    return code ? code : bat_counts_add(&work->callees, &key, *name, *length);
}

/* The entry of a function, looked up once. name_length is that of its name without suffixes. */
static enum bat_code find_entry(struct work *work, const struct bat_debuginfo_function *function,
                                size_t name_length, uint64_t *entry)
{
    const uint64_t key = function_key(function);
    const uint64_t *found = bat_counts_find(&work->entries, &key);
    *entry = found ? found[1] : entry_of(work->debuginfo, function, name_length);
    return found ? BAT_OK : bat_counts_add(&work->entries, &key, *entry, 0);
}

/* A function as the target of calls. */
struct target {
    uint64_t address; /* where it is looked up */
    uint64_t entry;   /* ENTRY_NONE: calls of it have no name */
    uint32_t callee;
};

static enum bat_code find_target(struct work *work, uint64_t address, struct target *target)
{
    const struct bat_debuginfo_function *function =
        bat_debuginfo_function(work->debuginfo, address);
    *target = (struct target){.address = address, .entry = ENTRY_NONE};
    if (!function || !function->linkage_name)
        return BAT_OK;
    size_t name_length;
    enum bat_code code = find_callee(work, function->linkage_name, &target->callee, &name_length);
    return code ? code : find_entry(work, function, name_length, &target->entry);
}

/* A branch to a function's entry is a call of it. */
static enum bat_code count_call(struct work *work, const uint64_t *branch,
                                const struct target *target)
{
    if (target->entry != target->address)
        return BAT_OK;
    enum bat_code code = BAT_OK;
    struct leaf leaf = {0};
    if (branch[0] != RANGES_OUTSIDE)
        code = leaves_find(&work->leaves, branch[0], &leaf);
    if (code == BAT_OK && leaf.is_found)
        code = forest_call(&work->forest, leaf.node, leaf.place, target->callee, branch[2]);
    uint32_t root;
    BAT_TRY(code);
    BAT_TRY(forest_root(&work->forest, target->callee, &root));
    struct forest_node *node = &work->forest.nodes[root];
    node->head = forest_add(node->head, branch[2]);
    return BAT_OK;
}

/* Go through the branches by their targets: each function is looked up once for one address. */
static enum bat_code count_calls(struct work *work)
{
    const struct bat_counts *branches = &work->ranges.branches;
    const size_t count = branches->count;
    struct bat_sort_key *keys = malloc(2 * count * sizeof(*keys) + 1);
    BAT_TRY_MEMORY(keys, work->error, "to make the profile");
    for (uint32_t i = 0; i < count; i++)
        keys[i] = (struct bat_sort_key){bat_counts_item(branches, i)[1], i};
    const struct bat_sort_key *sorted = bat_sort_keys(keys, keys + count, count);
    struct target target = {.entry = ENTRY_NONE};
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        if (i == 0 || sorted[i].key != target.address)
            code = find_target(work, sorted[i].key, &target);
        if (code == BAT_OK)
            code = count_call(work, bat_counts_item(branches, (uint32_t)sorted[i].value), &target);
    }
    free(keys);
    return code == BAT_OK ? code : bat_fail_memory(work->error, "to make the profile");
}

static enum bat_code count_traces(struct work *work)
{
    enum bat_code code = visit_all(work);
    if (code == BAT_OK)
        code =
            ranges_collect(&work->ranges, work->profile, &work->code, &work->counters, work->error);
    code = code ? code : count_ranges(work);
    return code ? code : count_calls(work);
}

/* --- Basic samples -------------------------------------------------------------------------- */

/* A basic sample says nothing about the instructions around it: these get no count, not 0. */
static enum bat_code count_samples(struct work *work)
{
    const struct bat_counts *samples = &work->profile->samples;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < samples->count && code == BAT_OK; i++) {
        const uint64_t *sample = bat_counts_item(samples, i);
        uint64_t before = work->counters.instructions;
        work->counters.samples = forest_add(work->counters.samples, sample[1]);
        if (!code_map_has(&work->code, sample[0])) {
            work->counters.outside += sample[1];
            continue;
        }
        struct leaf leaf;
        code = leaves_find(&work->leaves, sample[0], &leaf);
        code = code ? code : count_instructions(work, &leaf, 1, 1, sample[1]);
        if (work->counters.instructions == before)
            work->counters.without_debug += sample[1];
    }
    return code == BAT_OK ? code : bat_fail_memory(work->error, "to make the profile");
}

/* --- Both ----------------------------------------------------------------------------------- */

static enum bat_code fail_empty(struct work *work)
{
    const struct bat_autofdo_counters *counters = &work->counters;
    return bat_fail(work->error, BAT_ERR_NO_DEBUG,
                    "expected samples in functions that have debug information, found none: of "
                    "%llu samples %llu are outside of the program's code, %llu have a range that "
                    "cannot be executed, and %llu are in functions without (compile these with "
                    "-g)",
                    (unsigned long long)counters->samples, (unsigned long long)counters->outside,
                    (unsigned long long)counters->invalid,
                    (unsigned long long)counters->without_debug);
}

static enum bat_code make_forest(struct work *work, enum bat_profile_kind kind)
{
    enum bat_code code = kind == BAT_PROFILE_SAMPLES ? count_samples(work) : count_traces(work);
    struct bat_debuginfo_counters read = bat_debuginfo_counters(work->debuginfo);
    work->counters.units = read.units;
    work->counters.units_read = read.units_read;
    work->counters.units_missing = read.units_missing;
    if (code == BAT_OK && bat_debuginfo_lacks_memory(work->debuginfo))
        code = bat_fail_memory(work->error, "to make the profile");
    if (code == BAT_OK && work->counters.instructions == 0)
        code = fail_empty(work);
    return code;
}

enum bat_code bat_autofdo_write(const struct bat_profile *profile, const struct bat_elf *elf,
                                struct bat_debuginfo *debuginfo, enum bat_profile_kind kind,
                                struct bat_output *output, struct bat_autofdo_counters *counters,
                                struct bat_error *error)
{
    struct work work = {.profile = profile,
                        .debuginfo = debuginfo,
                        .forest = forest_new(),
                        .callees = bat_counts_new(1),
                        .functions = bat_counts_new(1),
                        .entries = bat_counts_new(1),
                        .error = error};
    enum bat_code code = code_map_create(&work.code, elf, error);
    if (code == BAT_OK && leaves_new(&work.leaves, debuginfo, &work.forest) != BAT_OK)
        code = bat_fail_memory(work.error, "to make the profile");
    code = code ? code : make_forest(&work, kind);
    if (code == BAT_OK)
        forest_add_up(&work.forest);
    if (code == BAT_OK)
        code = forest_write(&work.forest, debug_threads(debuginfo), output,
                            &work.counters.functions, error);
    if (counters)
        *counters = work.counters;
    code_map_free(&work.code);
    ranges_free(&work.ranges);
    forest_free(&work.forest);
    leaves_free(&work.leaves);
    bat_counts_free(&work.callees);
    bat_counts_free(&work.functions);
    bat_counts_free(&work.entries);
    return code;
}
