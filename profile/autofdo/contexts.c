/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes a sample profile with contexts: spec/pseudo-probes.md 6. */
#include <stdlib.h>
#include <string.h>

#include "bat_autofdo.h"
#include "binary/functions/name_parts.h"
#include "forest.h"
#include "probe_functions.h"
#include "spec/array.h"
#include "support/key_sort.h"
#include "tail_calls.h"

/* The probe that a function is entered at. */
#define ENTRY_ID 1u

/* A list of addresses, or of frames: functions on the way to another one, each with the id of the
 * probe where it goes on. The outermost comes first. */
struct list {
    uint64_t *all;
    size_t count;
    size_t capacity;
};

static inline uint64_t frame_of(uint32_t function, uint32_t id)
{
    return (uint64_t)function << 32 | id;
}

/* Of the probes' functions; of a name's the first. */
static inline uint32_t frame_function(uint64_t frame)
{
    return (uint32_t)(frame >> 32);
}

static inline uint64_t frame_place(uint64_t frame)
{
    return forest_place((uint32_t)frame, 0);
}

/* The places of a node's probes, ascending, in an array of all nodes' places. */
struct node_places {
    uint32_t first;
    uint32_t count;
};

struct bat_contexts {
    const struct bat_probes *probes;
    struct unwinder unwinder;
    struct probe_functions functions;
    struct forest forest;
    struct bat_counts nodes; /* context, node of the probes: node of the forest, number of its first
                                count + 1 or 0 */
    struct list path;
    struct list calls; /* of one context */
    struct tail_calls tail_calls;
    uint32_t *names; /* of the probes' functions in the forest, as far as they were needed */
    struct node_places *node_places;
    uint64_t *places;
    uint32_t *place_numbers; /* of each probe, among those of its node */
    struct bat_autofdo_counters counters;
};

/* --- Paths ---------------------------------------------------------------------------------- */

static enum bat_code add(struct list *list, uint64_t item)
{
    return BAT_APPEND(list->all, list->count, list->capacity, item) ? BAT_OK : BAT_ERR_MEMORY;
}

/* Turn the order of the items from `first` on. */
static void turn(struct list *list, size_t first)
{
    for (size_t i = first, k = list->count; i + 1 < k; i++) {
        const uint64_t last = list->all[--k];
        list->all[k] = list->all[i];
        list->all[i] = last;
    }
}

/* Longer sequences are not looked for. */
#define REPEATED_MAX 64u

/* Remove each sequence of this length that follows an equal one. Returns the number of items left.
 */
static size_t remove_repeated(uint64_t *items, size_t count, size_t length)
{
    size_t end = 0;
    size_t alike = 0; /* how many of the last items are equal to those `length` before */
    for (size_t i = 0; i < count; i++) {
        items[end] = items[i];
        alike = end >= length && items[end] == items[end - length] ? alike + 1 : 0;
        end++;
        if (alike == length) {
            end -= length;
            alike = 0;
        }
    }
    return end;
}

/* True if a sequence of this length follows an equal one. */
static bool has_repeated(const uint64_t *items, size_t count, size_t length)
{
    size_t alike = 0;
    for (size_t i = length; i < count && alike < length; i++)
        alike = items[i] == items[i - length] ? alike + 1 : 0;
    return alike == length;
}

/*
 * Remove repetitions, the shortest ones first: so the contexts of recursive functions are few.
 * Returns the number of items left.
 */
static size_t compress(uint64_t *items, size_t count)
{
    for (size_t length = 1; length <= count / 2 && length <= REPEATED_MAX; length++)
        if (has_repeated(items, count, length))
            count = remove_repeated(items, count, length);
    return count;
}

/*
 * Add a node of the probes behind those that it is inlined in, and at the probe of this id. Inlined
 * at an unknown place, it begins the path anew.
 */
static enum bat_code add_inlined(struct bat_contexts *contexts, uint32_t number, uint32_t id)
{
    struct list *path = &contexts->path;
    size_t first = path->count;
    const struct bat_probe_node *node;
    for (;;) {
        node = &contexts->probes->nodes[number];
        BAT_TRY(add(path, frame_of(node->function, id)));
        id = node->call_site;
        if (id == 0)
            break;
        number = node->parent;
    }
    turn(path, first);
    if (node->parent == BAT_NONE)
        return BAT_OK;
    path->count -= first;
    memmove(path->all, path->all + first, path->count * sizeof(*path->all));
    return BAT_OK;
}

/* List the calls of a context, the outermost first, from behind the last one of another file. */
static enum bat_code list_calls(struct bat_contexts *contexts, uint32_t context)
{
    const struct context *all = contexts->unwinder.contexts;
    struct list *calls = &contexts->calls;
    enum bat_code code = BAT_OK;
    calls->count = 0;
    for (uint32_t i = context; all[i].behind != BAT_ADDRESS_EXTERNAL && code == BAT_OK;
         i = all[i].caller) {
        uint64_t call;
        code = unwinder_call(&contexts->unwinder, all[i].behind, &call);
        code = code ? code : add(calls, call);
    }
    turn(calls, 0);
    calls->count = compress(calls->all, calls->count);
    return code;
}

/*
 * Add to the path the function that has a call's probe. Without a probe the path begins anew: the
 * compiler does not know the way from there.
 */
static enum bat_code add_caller(struct bat_contexts *contexts, uint64_t call)
{
    const struct bat_probe *probe = probe_call_at(contexts->probes, call);
    if (probe)
        return add_inlined(contexts, probe->node, probe->id);
    contexts->path.count = 0;
    return BAT_OK;
}

/* Add the functions that jumped on, on the way from a call to some code. */
static enum bat_code add_jumps(struct bat_contexts *contexts, uint64_t call, uint64_t address)
{
    const uint64_t *jumps;
    size_t count;
    enum bat_code code = tail_calls_between(&contexts->tail_calls, call, address, &jumps, &count);
    for (size_t i = 0; i < count && code == BAT_OK; i++)
        code = add_caller(contexts, jumps[i]);
    return code;
}

/* Make the path up to the code of a context that is at an address. */
static enum bat_code begin_path(struct bat_contexts *contexts, uint32_t context, uint64_t address)
{
    const struct list *calls = &contexts->calls;
    contexts->path.count = 0;
    enum bat_code code = list_calls(contexts, context);
    for (size_t i = 0; i < calls->count && code == BAT_OK; i++) {
        const bool is_last = i + 1 == calls->count;
        code = add_caller(contexts, calls->all[i]);
        code =
            code ? code : add_jumps(contexts, calls->all[i], is_last ? address : calls->all[i + 1]);
    }
    return code;
}

/* Find the forest's node of the path; BAT_NONE if the name of its code is not known. */
static enum bat_code follow_path(struct bat_contexts *contexts, uint32_t *node)
{
    struct forest *forest = &contexts->forest;
    uint64_t *frames = contexts->path.all;
    const size_t count = contexts->path.count - 1;
    const uint64_t leaf = frames[count];
    const size_t last = compress(frames, count);
    enum bat_code code = BAT_OK;
    frames[last] = leaf;
    *node = BAT_NONE;
    for (size_t i = 0; i <= last && code == BAT_OK; i++) {
        uint32_t name;
        if (frame_function(frames[i]) == BAT_NONE) {
            *node = BAT_NONE; /* what calls it is not known */
            continue;
        }
        code = probe_function_name(&forest->names, contexts->probes, frame_function(frames[i]),
                                   contexts->names, &name);
        if (code == BAT_OK)
            code = *node == BAT_NONE
                       ? forest_root(forest, name, node)
                       : forest_child(forest, *node, frame_place(frames[i - 1]), name, node);
    }
    if (code == BAT_OK && !bat_reserve_cleared(&forest->contexts, &forest->context_capacity,
                                               forest->node_count, sizeof(*forest->contexts)))
        code = BAT_ERR_MEMORY;
    return code;
}

/* --- Counts --------------------------------------------------------------------------------- */

static uint64_t place_of(const struct bat_probe *probe)
{
    return forest_place(probe->id, probe->discriminator);
}

/* The probes' numbers by their places. *keys is to be freed; NULL: there is no memory. */
static const struct bat_sort_key *sort_places(const struct bat_probes *probes,
                                              struct bat_sort_key **keys)
{
    const size_t count = probes->probe_count;
    *keys = bat_array_new(2 * count, sizeof(**keys));
    for (uint32_t i = 0; *keys && i < count; i++)
        (*keys)[i] = (struct bat_sort_key){place_of(&probes->probes[i]), i};
    return *keys ? bat_sort_keys(*keys, *keys + count, count) : NULL;
}

/* List the places of each node, in the order in which they are written. */
static enum bat_code list_places(struct bat_contexts *contexts)
{
    const struct bat_probes *probes = contexts->probes;
    struct node_places *nodes = contexts->node_places =
        calloc((size_t)probes->node_count + 1, sizeof(*nodes));
    contexts->places = bat_array_new(probes->probe_count, sizeof(*contexts->places));
    contexts->place_numbers = bat_array_new(probes->probe_count, sizeof(uint32_t));
    struct bat_sort_key *keys;
    const struct bat_sort_key *sorted = sort_places(probes, &keys);
    if (!nodes || !contexts->places || !contexts->place_numbers || !sorted) {
        free(keys);
        return BAT_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < probes->probe_count; i++)
        nodes[probes->probes[i].node + 1].first++;
    for (uint32_t i = 0; i < probes->node_count; i++)
        nodes[i + 1].first += nodes[i].first;
    for (uint32_t i = 0; i < probes->probe_count; i++) {
        struct node_places *node = &nodes[probes->probes[sorted[i].value].node];
        uint64_t *places = contexts->places + node->first;
        if (node->count == 0 || places[node->count - 1] != sorted[i].key)
            places[node->count++] = sorted[i].key;
        contexts->place_numbers[sorted[i].value] = node->count - 1;
    }
    free(keys);
    return BAT_OK;
}

/* A node of the forest, and the number of the first of the counts that a node of the probes has
 * there. */
struct counted_node {
    uint32_t number;
    size_t first;
};

/*
 * Find the forest's node of a probe's code in a context; BAT_NONE if its function has no name. If a
 * run was there, all places get counts: 0 if they were not executed, as far as is known of a
 * context.
 */
static enum bat_code find_node(struct bat_contexts *contexts, uint32_t context,
                               const struct bat_probe *probe, bool has_run,
                               struct counted_node *found)
{
    const uint32_t node = probe->node;
    const uint64_t key[2] = {context, node};
    const uint64_t *known = bat_counts_find(&contexts->nodes, key);
    enum bat_code code = BAT_OK;
    *found = (struct counted_node){BAT_NONE, 0};
    if (known) {
        *found = (struct counted_node){(uint32_t)known[2], known[3] - 1};
    } else {
        code = begin_path(contexts, context, probe->address);
        code = code ? code : add_inlined(contexts, node, 0);
        code = code ? code : follow_path(contexts, &found->number);
        code = code ? code : bat_counts_add(&contexts->nodes, key, found->number, 0);
    }
    if (code != BAT_OK || found->number == BAT_NONE)
        return code;
    const struct bat_probe_node *inlined = &contexts->probes->nodes[node];
    contexts->forest.contexts[found->number].was_inlined |= inlined->parent != BAT_NONE;
    if (!has_run || (known && known[3] != 0))
        return BAT_OK;
    const struct node_places *places = &contexts->node_places[node];
    code = forest_begin(&contexts->forest, found->number, contexts->places + places->first,
                        places->count, &found->first);
    return code ? code : bat_counts_add(&contexts->nodes, key, 0, found->first + 1);
}

static enum bat_code count_place(struct bat_contexts *contexts, uint32_t node, uint64_t place,
                                 uint64_t count)
{
    struct forest_node *counted = &contexts->forest.nodes[node];
    counted->total = forest_add(counted->total, count);
    return forest_raise(&contexts->forest, node, place, count);
}

/* The start of inlined code was executed: so was the call that it stands for. */
static enum bat_code count_inlined_call(struct bat_contexts *contexts, uint32_t node,
                                        uint64_t count)
{
    const struct forest_node called = contexts->forest.nodes[node];
    if (called.parent == BAT_NONE)
        return BAT_OK;
    enum bat_code code = count_place(contexts, called.parent, called.place, count);
    return code ? code
                : forest_call(&contexts->forest, called.parent, called.place, called.name, count);
}

static enum bat_code count_probe(struct bat_contexts *contexts, uint32_t context,
                                 const struct bat_probe *probe, uint64_t count)
{
    struct counted_node node;
    const size_t place = contexts->place_numbers[probe - contexts->probes->probes];
    enum bat_code code = find_node(contexts, context, probe, true, &node);
    if (code != BAT_OK || node.number == BAT_NONE)
        return code;
    contexts->counters.probes++;
    forest_add_to(&contexts->forest, node.number, node.first + place, count);
    if (probe->id != ENTRY_ID)
        return BAT_OK;
    struct forest_context *entered = &contexts->forest.contexts[node.number];
    entered->head = forest_add(entered->head, count);
    return contexts->probes->nodes[probe->node].parent != BAT_NONE
               ? count_inlined_call(contexts, node.number, count)
               : BAT_OK;
}

/* Count the blocks of runs, which ascend. */
static enum bat_code count_ranges(struct bat_contexts *contexts)
{
    const struct bat_probes *probes = contexts->probes;
    const struct bat_counts *ranges = &contexts->unwinder.ranges;
    uint32_t first = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < ranges->count && code == BAT_OK; i++) {
        const uint64_t *range = bat_counts_item(ranges, i);
        while (first < probes->probe_count && probes->probes[first].address < range[0])
            first++;
        uint32_t end = first;
        for (; end < probes->probe_count && probes->probes[end].address <= range[1]; end++)
            if (probes->probes[end].type == BAT_PROBE_BLOCK && code == BAT_OK)
                code = count_probe(contexts, (uint32_t)range[2], &probes->probes[end], range[3]);
        contexts->counters.without_probes += end == first ? range[3] : 0;
    }
    return code;
}

/* Count a branch from a call's probe; entry is the function that it enters, or NULL. */
static enum bat_code count_call(struct bat_contexts *contexts, const uint64_t *branch,
                                const struct bat_probe *probe, const struct probe_piece *entry)
{
    struct counted_node found;
    enum bat_code code = find_node(contexts, (uint32_t)branch[2], probe, false, &found);
    const uint32_t node = found.number;
    if (code != BAT_OK || node == BAT_NONE)
        return code;
    code = count_place(contexts, node, forest_place(probe->id, 0), branch[3]);
    if (!entry || code != BAT_OK)
        return code;
    const char *name = entry->symbol->name;
    uint32_t callee;
    code = bat_strings_add(&contexts->forest.names, name, profile_name_length(name), &callee);
    return code == BAT_OK
               ? forest_call(&contexts->forest, node, forest_place(probe->id, probe->discriminator),
                             callee, branch[3])
               : code;
}

/* Count the branches that are calls. */
static enum bat_code count_branches(struct bat_contexts *contexts)
{
    const struct bat_counts *branches = &contexts->unwinder.branches;
    const struct bat_probe *probe = NULL;
    const struct probe_piece *entry = NULL;
    const uint64_t *last = NULL;
    bool is_inside = false;
    uint32_t next = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < branches->count && code == BAT_OK; i++) {
        const uint64_t *branch = bat_counts_item(branches, i);
        if (!last || branch[0] != last[0])
            probe = probe_call_from(contexts->probes, branch[0], &next);
        if (probe && (!last || branch[0] != last[0] || branch[1] != last[1])) {
            entry = probe_functions_entry(&contexts->functions, contexts->probes, branch[1]);
            is_inside = probe_functions_at(&contexts->functions, branch[1]) != BAT_NONE;
        }
        /* The PLT is another file's. */
        if (probe && is_inside)
            code = count_call(contexts, branch, probe, entry);
        last = branch;
    }
    return code;
}

static enum bat_code count_all(struct bat_contexts *contexts)
{
    struct unwinder *unwinder = &contexts->unwinder;
    BAT_TRY(unwinder_flush(unwinder));
    bat_counts_sort(&unwinder->ranges);
    bat_counts_sort(&unwinder->branches);
    enum bat_code code = list_places(contexts);
    contexts->names = probe_function_names(contexts->probes);
    if (!contexts->names)
        return BAT_ERR_MEMORY;
    code = code ? code : tail_calls_new(&contexts->tail_calls, unwinder, &contexts->functions);
    code = code ? code : count_ranges(contexts);
    return code ? code : count_branches(contexts);
}

/* Give each name the checksum of its function. */
static enum bat_code add_checksums(struct bat_contexts *contexts)
{
    struct forest *forest = &contexts->forest;
    forest->checksums = calloc((size_t)forest->names.count + 1, sizeof(*forest->checksums));
    for (uint32_t i = 0; forest->checksums && i < forest->names.count; i++) {
        const char *name = bat_strings_get(&forest->names, i);
        const struct bat_probe_function *function =
            bat_probes_function(contexts->probes, bat_probe_guid(name, strlen(name)));
        forest->checksums[i] = function ? function->hash : 0;
    }
    return forest->checksums ? BAT_OK : BAT_ERR_MEMORY;
}

/* --- All of it ------------------------------------------------------------------------------ */

enum bat_code bat_contexts_new(const struct bat_elf *elf, struct bat_elf *symbols,
                               const struct bat_probes *probes, struct bat_contexts **contexts,
                               struct bat_error *error)
{
    struct bat_contexts *made = *contexts = calloc(1, sizeof(*made));
    BAT_TRY_MEMORY(made, error, "for contexts");
    made->probes = probes;
    made->forest = forest_new();
    made->forest.adds_up = true;
    made->nodes = bat_counts_new(2);
    enum bat_code code = probes_check_symbols(probes, symbols, error);
    code = code ? code : unwinder_new(&made->unwinder, elf, probes, error);
    code = code ? code : probe_functions_read(&made->functions, symbols, error);
    if (code == BAT_OK)
        return BAT_OK;
    bat_contexts_free(made);
    *contexts = NULL;
    return code;
}

enum bat_code bat_contexts_add(struct bat_contexts *contexts, const struct bat_call_chain *sample)
{
    return unwinder_add(&contexts->unwinder, sample);
}

enum bat_code bat_contexts_write(struct bat_contexts *contexts, unsigned threads,
                                 struct bat_output *output, struct bat_autofdo_counters *counters,
                                 struct bat_error *error)
{
    struct bat_autofdo_counters *counted = &contexts->counters;
    *counted = (struct bat_autofdo_counters){.samples = contexts->unwinder.samples,
                                             .invalid = contexts->unwinder.cut,
                                             .ranges = contexts->unwinder.ranges.count,
                                             .branches = contexts->unwinder.branches.count};
    enum bat_code code = count_all(contexts);
    code = code ? code : add_checksums(contexts);
    if (code == BAT_ERR_RANGE)
        return bat_fail(error, code, "expected counts that add up to less than 2^63, found more");
    if (code != BAT_OK)
        return bat_fail_memory(error, "for contexts");
    if (contexts->forest.node_count == 0)
        code = bat_fail(error, BAT_ERR_NO_DEBUG,
                        "expected samples with call stacks at pseudo probes, found none in %llu "
                        "samples with a branch stack and a call stack",
                        (unsigned long long)counted->samples);
    code =
        code ? code : forest_write(&contexts->forest, threads, output, &counted->functions, error);
    if (counters)
        *counters = *counted;
    return code;
}

void bat_contexts_free(struct bat_contexts *contexts)
{
    if (!contexts)
        return;
    unwinder_free(&contexts->unwinder);
    probe_functions_free(&contexts->functions);
    forest_free(&contexts->forest);
    bat_counts_free(&contexts->nodes);
    BAT_FREE_ALL(contexts->path.all, contexts->calls.all, contexts->names);
    tail_calls_free(&contexts->tail_calls);
    BAT_FREE_ALL(contexts->node_places, contexts->places, contexts->place_numbers, contexts);
}
