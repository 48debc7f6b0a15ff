/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Writing YAML profiles: spec/profiles.md 4, and pseudo probes: spec/pseudo-probes.md 4. */
#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"
#include "yaml_lists.h"
#include "yaml_out.h"

void bat_yaml_profile_free_block(struct bat_yaml_profile_block *block)
{
    BAT_FREE_ALL(block->calls.all, block->successors.all, block->probes);
}

void bat_yaml_profile_free_function(struct bat_yaml_profile_function *function)
{
    for (uint32_t i = 0; i < function->count; i++)
        bat_yaml_profile_free_block(&function->blocks[i]);
    BAT_FREE_ALL(function->blocks, function->nodes, function->name);
}

void bat_yaml_profile_free(struct bat_yaml_profile *profile)
{
    for (uint32_t i = 0; i < profile->count; i++)
        bat_yaml_profile_free_function(&profile->functions[i]);
    BAT_FREE_ALL(profile->functions, profile->guids, profile->hashes, profile->binary,
                 profile->build_id, profile->origin, profile->events);
    *profile = (struct bat_yaml_profile){0};
}

bool bat_yaml_profile_grow(void *list, uint32_t *capacity, uint32_t count, size_t size)
{
    size_t larger = *capacity ? *capacity : 2;
    if (count < *capacity)
        return true;
    if (!bat_grow_now(list, &larger, size))
        return false;
    *capacity = (uint32_t)larger;
    return true;
}

/* --- Fields --------------------------------------------------------------------------------- */

/* The most bytes of a key with a number or a hash behind it. */
#define FIELD_MAX 64u

/* Inline, like the next ones: keys are constants, which are copied faster if their size is known.
 */
static inline void put(struct bat_yaml_out *out, const char *string)
{
    bat_text_string(out->text, string);
    out->column += strlen(string);
}

static inline void put_number(struct bat_yaml_out *out, const char *before, uint64_t value)
{
    char *start = bat_text_room(out->text, FIELD_MAX);
    char *at = bat_put_decimal(stpcpy(start, before), value);
    bat_text_end(out->text, at);
    out->column += (size_t)(at - start);
}

static inline void put_hash(struct bat_yaml_out *out, const char *before, uint64_t value)
{
    char *start = bat_text_room(out->text, FIELD_MAX);
    char *at = bat_put_upper_hex(stpcpy(stpcpy(start, before), "0x"), value);
    bat_text_end(out->text, at);
    out->column += (size_t)(at - start);
}

static void put_text(struct bat_yaml_out *out, const char *before, const char *value)
{
    bat_text_string(out->text, before);
    bat_yaml_string(out->text, value);
}

/* --- Lists ---------------------------------------------------------------------------------- */

/* A list is continued on a new line when a line has more columns. */
#define WRAP_COLUMN 70u

/* The column of a block's lists: behind "calls:" with its blanks. */
#define LIST_COLUMN 25u

/* The same of functions' trees and of tables. */
#define TREE_COLUMN 21u

/* Go on at the next line, below the column, if this one is full. */
static inline void wrap(struct bat_yaml_out *out, size_t column)
{
    if (out->column <= WRAP_COLUMN || out->is_in_lines)
        return;
    bat_text_string(out->text, "\n");
    out->column = 0;
    for (size_t i = 0; i < column + 2; i++)
        put(out, " ");
}

static inline void begin_list(struct bat_yaml_out *out, const char *key, size_t column)
{
    bat_text_string(out->text, key);
    out->column = column;
    put(out, "[ ");
}

/* Before each item of a list, of which this is number i. */
static inline void begin_item(struct bat_yaml_out *out, size_t i, size_t column)
{
    if (i != 0)
        put(out, ", ");
    wrap(out, column);
}

/* True if a comma fills the line: it was written then, and the next line begun. */
static inline bool begins_line(struct bat_yaml_out *out, size_t column)
{
    if (out->is_in_lines || out->column + 2 <= WRAP_COLUMN)
        return false;
    put(out, ", ");
    wrap(out, column);
    return true;
}

/* A member of a mapping in a list that is not its first one. */
#define PUT_MEMBER(out, column, put_value, key, value)                                             \
    (begins_line(out, column) ? put_value(out, key, value) : put_value(out, ", " key, value))

static void write_edge(struct bat_yaml_out *out, const struct bat_yaml_edge *edge, bool is_call)
{
    const size_t column = out->column;
    put(out, "{ ");
    wrap(out, column);
    if (is_call) {
        put_hash(out, "off: ", edge->at);
        PUT_MEMBER(out, column, put_number, "fid: ", edge->function);
        if (edge->entry != 0)
            PUT_MEMBER(out, column, put_number, "disc: ", edge->entry);
    } else {
        put_number(out, "bid: ", edge->at);
    }
    PUT_MEMBER(out, column, put_number, "cnt: ", edge->count);
    if (edge->mispredictions != 0)
        PUT_MEMBER(out, column, put_number, "mis: ", edge->mispredictions);
    if (is_call && edge->probe != 0) {
        PUT_MEMBER(out, column, put_number, "pp: ", edge->probe);
        if (edge->probe_node != 0)
            PUT_MEMBER(out, column, put_number, "ppn: ", edge->probe_node);
        if (edge->is_indirect)
            put(out, ", ind: true");
    }
    put(out, " }");
}

static void write_edges(struct bat_yaml_out *out, const char *key,
                        const struct bat_yaml_edges *edges, bool is_call)
{
    if (edges->count == 0)
        return;
    begin_list(out, key, LIST_COLUMN);
    for (uint32_t i = 0; i < edges->count; i++) {
        begin_item(out, i, LIST_COLUMN);
        write_edge(out, &edges->all[i], is_call);
    }
    put(out, " ]\n");
}

/* --- Probes of a block ---------------------------------------------------------------------- */

/* The probes of one node in a block. */
struct bat_yaml_group {
    uint32_t first; /* index of its first probe */
    uint32_t end;   /* behind its last one */
    uint32_t entry; /* `first` of the first group with the same ids */
};

/* Compare the ids of two nodes as lists. */
static int compare_ids(const uint64_t *probes, const struct bat_yaml_group *left,
                       const struct bat_yaml_group *right)
{
    const uint32_t size = left->end - left->first;
    int order = bat_compare_numbers(size, right->end - right->first);
    for (uint32_t i = 0; i < size && order == 0; i++)
        order = bat_compare_numbers((uint32_t)probes[left->first + i],
                                    (uint32_t)probes[right->first + i]);
    return order;
}

static int compare_lists(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct bat_yaml_group *left = left_pointer;
    const struct bat_yaml_group *right = right_pointer;
    const int order = compare_ids(context, left, right);
    return order ? order : bat_compare_numbers(left->first, right->first);
}

/*
 * Divide sorted probes into groups, of which there is room for count. Groups with the same ids,
 * which share an entry, stand together. Returns the number of groups. n log n.
 */
static uint32_t find_groups(uint64_t *probes, uint32_t count, struct bat_yaml_group *groups)
{
    uint32_t group_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || probes[i - 1] >> 32 != probes[i] >> 32)
            groups[group_count++].first = i;
        groups[group_count - 1].end = i + 1;
    }
    if (group_count > 1)
        qsort_r(groups, group_count, sizeof(*groups), compare_lists, probes);
    for (uint32_t i = 0; i < group_count; i++) {
        const bool is_same = i != 0 && compare_ids(probes, &groups[i - 1], &groups[i]) == 0;
        groups[i].entry = is_same ? groups[i - 1].entry : groups[i].first;
    }
    BAT_SORT_BY_TWO(groups, group_count, entry, first);
    return group_count;
}

/* Write an entry: the ids of its first group unless there is only 1, and the nodes of all unless
 * there is only 0. */
static void write_probe_entry(struct bat_yaml_out *out, const uint64_t *probes, uint32_t first,
                              uint32_t end)
{
    const struct bat_yaml_group *groups = out->groups;
    const uint64_t *ids = probes + groups[first].first;
    const uint32_t id_count = groups[first].end - groups[first].first;
    const bool has_ids = id_count != 1 || (uint32_t)ids[0] != 1;
    put(out, has_ids ? "{ blk: [ " : "{ ");
    for (uint32_t i = 0; has_ids && i < id_count; i++) {
        begin_item(out, i, LIST_COLUMN);
        put_number(out, "", (uint32_t)ids[i]);
    }
    put(out, has_ids ? " ]" : "");
    if (end - first != 1 || ids[0] >> 32 != 0) {
        put(out, has_ids ? ", ids: [ " : "ids: [ ");
        for (uint32_t i = first; i < end; i++) {
            begin_item(out, i - first, LIST_COLUMN);
            put_number(out, "", probes[groups[i].first] >> 32);
        }
        put(out, " ]");
    }
    put(out, " }");
}

/* False if there is no memory. */
static bool write_probes(struct bat_yaml_out *out, const struct bat_yaml_profile_block *block)
{
    if (block->probe_count == 0)
        return true;
    if (!BAT_RESERVE(out->groups, 0, out->group_capacity, block->probe_count))
        return false;
    const uint32_t count = find_groups(block->probes, block->probe_count, out->groups);
    begin_list(out, "        probes:          ", LIST_COLUMN);
    uint32_t end;
    for (uint32_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && out->groups[end].entry == out->groups[i].entry;)
            end++;
        begin_item(out, i, LIST_COLUMN);
        write_probe_entry(out, block->probes, i, end);
    }
    put(out, " ]\n");
    return true;
}

/* --- Trees and tables of probes ------------------------------------------------------------- */

static int compare_guids(const void *left_pointer, const void *right_pointer, void *guids_pointer)
{
    const uint32_t left = *(const uint32_t *)left_pointer;
    const uint32_t right = *(const uint32_t *)right_pointer;
    const struct bat_yaml_guid *guids = guids_pointer;
    const int order = bat_compare_numbers(guids[left].guid, guids[right].guid);
    return order ? order : bat_compare_numbers(left, right);
}

uint32_t *bat_yaml_guids_in_order(const struct bat_yaml_profile *profile)
{
    uint32_t *guids = bat_array_new(profile->guid_count, sizeof(*guids));
    for (uint32_t i = 0; guids && i < profile->guid_count; i++)
        guids[i] = i;
    if (guids && profile->guid_count > 1)
        qsort_r(guids, profile->guid_count, sizeof(*guids), compare_guids, profile->guids);
    return guids;
}

/* The index of a GUID; 0 if there is none. */
static uint32_t index_of(const struct bat_yaml_out *out, uint64_t guid)
{
    struct bat_search search = {.high = out->profile->guid_count};
    while (bat_search_next(&search))
        bat_search_go(&search, out->profile->guids[out->guids[search.middle]].guid < guid);
    return search.low < out->profile->guid_count ? out->guids[search.low] : 0;
}

/* What a node does not say is as in the node before, of which last has the index of its GUID and
 * its parent. */
static void write_node(struct bat_yaml_out *out, const struct bat_yaml_node *node, uint32_t guid,
                       const uint32_t last[2])
{
    const size_t column = out->column;
    const struct {
        const char *key;
        uint32_t value;
        bool is_said;
    } members[] = {{"g: ", guid, guid != last[0]},
                   {"p: ", node->parent - last[1], node->parent != last[1]},
                   {"cs: ", node->call_site, node->call_site != 0}};
    const char *before = "{ ";
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (!members[i].is_said)
            continue;
        put(out, before);
        wrap(out, column);
        put_number(out, members[i].key, members[i].value);
        before = ", ";
    }
    put(out, before[0] == '{' ? "{  }" : " }");
}

void bat_yaml_write_tree(struct bat_yaml_out *out, const struct bat_yaml_profile_function *function)
{
    if (function->node_count == 0)
        return;
    uint32_t last[2] = {0, 0};
    begin_list(out, "    inline_tree:     ", TREE_COLUMN);
    for (uint32_t i = 0; i < function->node_count; i++) {
        const struct bat_yaml_node *node = &function->nodes[i];
        const uint32_t guid = index_of(out, node->guid);
        begin_item(out, i, TREE_COLUMN);
        write_node(out, node, guid, last);
        last[0] = guid;
        last[1] = node->parent;
    }
    put(out, " ]\n");
}

/* The hashes, sorted, each with its index in place of a GUID. NULL if there is no memory. */
static struct bat_yaml_guid *index_hashes(const struct bat_yaml_profile *profile)
{
    struct bat_yaml_guid *sorted = bat_array_new(profile->hash_count, sizeof(*sorted));
    for (uint32_t i = 0; sorted && i < profile->hash_count; i++)
        sorted[i] = (struct bat_yaml_guid){.guid = i, .hash = profile->hashes[i]};
    if (sorted)
        BAT_SORT_BY_TWO(sorted, profile->hash_count, hash, guid);
    return sorted;
}

bool bat_yaml_write_tables(struct bat_yaml_out *out)
{
    const struct bat_yaml_profile *profile = out->profile;
    struct bat_yaml_guid *sorted = index_hashes(profile);
    if (!sorted)
        return false;
    begin_list(out, "pseudo_probe_desc:\n  gs:              ", TREE_COLUMN - 2);
    for (uint32_t i = 0; i < profile->guid_count; i++) {
        begin_item(out, i, TREE_COLUMN);
        put_hash(out, "", profile->guids[i].guid);
    }
    begin_list(out, " ]\n  gh:              ", TREE_COLUMN - 2);
    for (uint32_t i = 0; i < profile->guid_count; i++) {
        const uint32_t place =
            BAT_COUNT_BELOW(sorted, profile->hash_count, hash, profile->guids[i].hash);
        begin_item(out, i, TREE_COLUMN);
        put_number(out, "", place < profile->hash_count ? sorted[place].guid : 0);
    }
    begin_list(out, " ]\n  hs:              ", TREE_COLUMN - 2);
    for (uint32_t i = 0; i < profile->hash_count; i++) {
        begin_item(out, i, TREE_COLUMN);
        put_hash(out, "", profile->hashes[i]);
    }
    put(out, " ]\n");
    free(sorted);
    return true;
}

/* --- Functions ------------------------------------------------------------------------------ */

bool bat_yaml_write_block(struct bat_yaml_out *out, const struct bat_yaml_profile_block *block,
                          bool is_first)
{
    if (is_first)
        bat_text_string(out->text, "    blocks:\n");
    put_number(out, "      - bid:             ", block->index);
    put_number(out, "\n        insns:           ", block->instructions);
    if (block->hash != 0)
        put_hash(out, "\n        hash:            ", block->hash);
    if (block->executions != 0)
        put_number(out, "\n        exec:            ", block->executions);
    if (block->events != 0)
        put_number(out, "\n        events:          ", block->events);
    bat_text_string(out->text, "\n");
    write_edges(out, "        calls:           ", &block->calls, true);
    write_edges(out, "        succ:            ", &block->successors, false);
    return write_probes(out, block);
}

void bat_yaml_write_head(struct bat_yaml_out *out, const struct bat_yaml_profile_function *function)
{
    put_text(out, "  - name:            ", function->name);
    put_number(out, "\n    fid:             ", function->number);
    put_hash(out, "\n    hash:            ", function->hash);
    put_number(out, "\n    exec:            ", function->executions);
    if (function->from_outside != 0)
        put_number(out, "\n    extern:          ", function->from_outside);
    put_number(out, "\n    nblocks:         ", function->block_count);
    bat_text_string(out->text, "\n");
}

static bool write_function(struct bat_yaml_out *out,
                           const struct bat_yaml_profile_function *function)
{
    bat_yaml_write_head(out, function);
    bool has_memory = true;
    for (uint32_t i = 0; i < function->count; i++)
        has_memory &= bat_yaml_write_block(out, &function->blocks[i], i == 0);
    bat_yaml_write_tree(out, function);
    return has_memory;
}

void bat_yaml_write_header(struct bat_yaml_out *out, uint32_t count)
{
    static const char *const flags[] = {"lbr", "sample", "memevent"};
    const struct bat_yaml_profile *profile = out->profile;
    put_number(out, "---\nheader:\n  profile-version: ", profile->version);
    put_text(out, "\n  binary-name:     ", profile->binary);
    put_text(out, "\n  binary-build-id: ", profile->build_id);
    begin_list(out, "\n  profile-flags:   ", 0);
    const char *before = "";
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!(profile->flags >> i & 1))
            continue;
        put(out, before);
        put(out, flags[i]);
        before = ", ";
    }
    put_text(out, " ]\n  profile-origin:  ", profile->origin);
    put_text(out, "\n  profile-events:  ", profile->events);
    put(out,
        profile->is_dfs_order ? "\n  dfs-order:       true\n" : "\n  dfs-order:       false\n");
    put(out, profile->has_xxh3 ? "  hash-func:       xxh3\n" : "");
    put(out, count ? "functions:\n" : "functions:       []\n");
}

enum bat_code bat_yaml_profile_write(const struct bat_yaml_profile *profile,
                                     struct bat_output *output, struct bat_error *error)
{
    struct bat_text_writer text;
    BAT_TRY(bat_text_begin(&text, output, error));
    uint32_t *guids = bat_yaml_guids_in_order(profile);
    struct bat_yaml_out out = {.text = &text, .profile = profile, .guids = guids};
    bool has_memory = guids != NULL;
    bat_yaml_write_header(&out, profile->count);
    for (uint32_t i = 0; i < profile->count && has_memory; i++)
        has_memory = write_function(&out, &profile->functions[i]);
    if (has_memory && profile->guid_count != 0)
        has_memory = bat_yaml_write_tables(&out);
    bat_text_string(&text, "...\n");
    BAT_FREE_ALL(guids, out.groups);
    return bat_text_finish(&text,
                           has_memory ? BAT_OK : bat_fail_memory(error, "to write the profile"));
}
