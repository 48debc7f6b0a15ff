/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_lists.h"

#include <stdlib.h>

#include "profile/translate/yaml_string.h"
#include "spec/array.h"
#include "spec/order.h"

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

/* --- Writing -------------------------------------------------------------------------------- */

/* A list is continued on a new line when a line has more columns. */
#define WRAP_COLUMN 70u

/* The column of a block's lists: behind "calls:" with its blanks. */
#define LIST_COLUMN 25u

/* The same of functions' trees and of tables. */
#define TREE_COLUMN 21u

struct yaml_out {
    struct bat_text_writer text;
    size_t column; /* in a list */
    const struct bat_yaml_profile *profile;
    uint32_t *guids;               /* indices of profile->guids, by GUID */
    struct bat_yaml_group *groups; /* of a block */
    size_t group_capacity;
};

/* Write text in a list. */
static void put(struct yaml_out *out, const char *string)
{
    bat_text_string(&out->text, string);
    out->column += strlen(string);
}

static void put_value(struct yaml_out *out, uint64_t value, bool as_hash)
{
    char digits[32];
    char *at = as_hash ? bat_put_upper_hex(bat_put_text(digits, "0x"), value)
                       : bat_put_decimal(digits, value);
    *at = '\0';
    put(out, digits);
}

/* Go on at the next line if this one is full. */
static void wrap(struct yaml_out *out, size_t column)
{
    if (out->column <= WRAP_COLUMN)
        return;
    bat_text_string(&out->text, "\n");
    out->column = 0;
    for (size_t i = 0; i < column + 2; i++)
        put(out, " ");
}

static void put_member(struct yaml_out *out, const char *key, uint64_t value, bool as_hash,
                       size_t column)
{
    if (key[0] == ',')
        put(out, ", ");
    key += key[0] == ',';
    wrap(out, column);
    put(out, key);
    put(out, ": ");
    put_value(out, value, as_hash);
}

static void write_edge(struct yaml_out *out, const struct bat_yaml_edge *edge, bool is_call)
{
    size_t column = out->column;
    put(out, "{ ");
    put_member(out, is_call ? "off" : "bid", edge->at, is_call, column);
    if (is_call)
        put_member(out, ",fid", edge->function, false, column);
    if (is_call && edge->entry != 0)
        put_member(out, ",disc", edge->entry, false, column);
    put_member(out, ",cnt", edge->count, false, column);
    if (edge->mispredictions != 0)
        put_member(out, ",mis", edge->mispredictions, false, column);
    if (is_call && edge->probe != 0)
        put_member(out, ",pp", edge->probe, false, column);
    if (is_call && edge->probe != 0 && edge->probe_node != 0)
        put_member(out, ",ppn", edge->probe_node, false, column);
    if (is_call && edge->probe != 0 && edge->is_indirect)
        put(out, ", ind: true");
    put(out, " }");
}

static void write_edges(struct yaml_out *out, const char *key, const struct bat_yaml_edges *edges,
                        bool is_call)
{
    if (edges->count == 0)
        return;
    bat_text_string(&out->text, key);
    out->column = LIST_COLUMN;
    put(out, "[ ");
    for (uint32_t i = 0; i < edges->count; i++) {
        if (i != 0)
            put(out, ", ");
        wrap(out, LIST_COLUMN);
        write_edge(out, &edges->all[i], is_call);
    }
    put(out, " ]\n");
}

static void write_number(struct yaml_out *out, const char *key, uint64_t value)
{
    bat_text_string(&out->text, key);
    put_value(out, value, false);
    bat_text_string(&out->text, "\n");
}

static void write_hash(struct yaml_out *out, const char *key, uint64_t value)
{
    bat_text_string(&out->text, key);
    put_value(out, value, true);
    bat_text_string(&out->text, "\n");
}

static void write_text(struct yaml_out *out, const char *key, const char *value)
{
    bat_text_string(&out->text, key);
    bat_yaml_string(&out->text, value);
    bat_text_string(&out->text, "\n");
}

/* --- Pseudo probes -------------------------------------------------------------------------- */

/* Begin a list, whose items begin at the column. */
static void begin_list(struct yaml_out *out, const char *key)
{
    bat_text_string(&out->text, key);
    out->column = strlen(key);
}

/* The probes' ids, or the nodes, of the groups first to end - 1; *before stands before the key. */
static void write_words(struct yaml_out *out, const char *key, const uint64_t *words,
                        uint32_t count, bool is_node, const char **before)
{
    put(out, *before);
    put(out, key);
    for (uint32_t i = 0; i < count; i++) {
        put(out, i == 0 ? "" : ", ");
        wrap(out, LIST_COLUMN);
        put_value(out, is_node ? words[i] >> 32 : (uint32_t)words[i], false);
    }
    put(out, " ]");
    *before = ", ";
}

/* Write an entry: the ids of its first group, and the nodes of all. */
static void write_probe_entry(struct yaml_out *out, const uint64_t *probes, uint32_t first,
                              uint32_t end)
{
    const struct bat_yaml_group *groups = out->groups;
    const uint64_t *ids = probes + groups[first].first;
    const uint32_t id_count = groups[first].end - groups[first].first;
    const char *before = "";
    put(out, "{ ");
    if (id_count != 1 || (uint32_t)ids[0] != 1)
        write_words(out, "blk: [ ", ids, id_count, false, &before);
    if (end - first != 1 || ids[0] >> 32 != 0) {
        put(out, before);
        put(out, "ids: [ ");
        before = "";
        for (uint32_t i = first; i < end; i++) {
            put(out, before);
            wrap(out, LIST_COLUMN);
            put_value(out, probes[groups[i].first] >> 32, false);
            before = ", ";
        }
        put(out, " ]");
    }
    put(out, " }");
}

/* False if there is no memory. */
static bool write_probes(struct yaml_out *out, const struct bat_yaml_profile_block *block)
{
    if (block->probe_count == 0)
        return true;
    if (!BAT_RESERVE(out->groups, 0, out->group_capacity, block->probe_count))
        return false;
    const uint32_t count = bat_yaml_probe_groups(block->probes, block->probe_count, out->groups);
    begin_list(out, "        probes:          ");
    put(out, "[ ");
    uint32_t end;
    for (uint32_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && out->groups[end].entry == out->groups[i].entry;)
            end++;
        put(out, i == 0 ? "" : ", ");
        wrap(out, LIST_COLUMN);
        write_probe_entry(out, block->probes, i, end);
    }
    put(out, " ]\n");
    return true;
}

static int compare_guids(const void *left_pointer, const void *right_pointer, void *guids_pointer)
{
    const uint32_t left = *(const uint32_t *)left_pointer;
    const uint32_t right = *(const uint32_t *)right_pointer;
    const struct bat_yaml_guid *guids = guids_pointer;
    const int order = bat_compare_numbers(guids[left].guid, guids[right].guid);
    return order ? order : bat_compare_numbers(left, right);
}

/* Fill out->guids. False if there is no memory. */
static bool index_guids(struct yaml_out *out)
{
    const uint32_t count = out->profile->guid_count;
    out->guids = bat_array_new(count, sizeof(*out->guids));
    for (uint32_t i = 0; out->guids && i < count; i++)
        out->guids[i] = i;
    if (out->guids && count > 1)
        qsort_r(out->guids, count, sizeof(*out->guids), compare_guids, out->profile->guids);
    return out->guids != NULL;
}

/* The index of a GUID; 0 if there is none. */
static uint32_t index_of(const struct yaml_out *out, uint64_t guid)
{
    uint32_t first = 0;
    for (uint32_t end = out->profile->guid_count; first < end;) {
        const uint32_t middle = first + (end - first) / 2;
        if (out->profile->guids[out->guids[middle]].guid < guid)
            first = middle + 1;
        else
            end = middle;
    }
    return first < out->profile->guid_count ? out->guids[first] : 0;
}

static void write_node(struct yaml_out *out, const struct bat_yaml_node *node, uint32_t guid,
                       const uint32_t last[2])
{
    const size_t column = out->column;
    const char *const keys[2][3] = {{"g", "p", "cs"}, {",g", ",p", ",cs"}};
    unsigned has = 0;
    put(out, "{ ");
    if (guid != last[0])
        put_member(out, keys[has][0], guid, false, column), has = 1;
    if (node->parent != last[1])
        put_member(out, keys[has][1], node->parent - last[1], false, column), has = 1;
    if (node->call_site != 0)
        put_member(out, keys[has][2], node->call_site, false, column);
    put(out, " }");
}

static void write_tree(struct yaml_out *out, const struct bat_yaml_profile_function *function)
{
    if (function->node_count == 0)
        return;
    uint32_t last[2] = {0, 0}; /* index of the GUID, parent */
    begin_list(out, "    inline_tree:     ");
    put(out, "[ ");
    for (uint32_t i = 0; i < function->node_count; i++) {
        const struct bat_yaml_node *node = &function->nodes[i];
        const uint32_t guid = index_of(out, node->guid);
        put(out, i == 0 ? "" : ", ");
        wrap(out, TREE_COLUMN);
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

/* Write a list of a table; sorted: indices of hashes in place of GUIDs. */
static void write_table(struct yaml_out *out, const char *key, const struct bat_yaml_guid *sorted)
{
    const struct bat_yaml_profile *profile = out->profile;
    begin_list(out, key);
    put(out, "[ ");
    for (uint32_t i = 0; i < profile->guid_count; i++) {
        put(out, i == 0 ? "" : ", ");
        wrap(out, TREE_COLUMN);
        if (!sorted) {
            put_value(out, profile->guids[i].guid, true);
            continue;
        }
        const uint32_t place =
            BAT_COUNT_BELOW(sorted, profile->hash_count, hash, profile->guids[i].hash);
        put_value(out, place < profile->hash_count ? sorted[place].guid : 0, false);
    }
    put(out, " ]\n");
}

/* False if there is no memory. */
static bool write_tables(struct yaml_out *out)
{
    const struct bat_yaml_profile *profile = out->profile;
    if (profile->guid_count == 0)
        return true;
    struct bat_yaml_guid *sorted = index_hashes(profile);
    if (!sorted)
        return false;
    bat_text_string(&out->text, "pseudo_probe_desc:\n");
    write_table(out, "  gs:              ", NULL);
    write_table(out, "  gh:              ", sorted);
    begin_list(out, "  hs:              ");
    put(out, "[ ");
    for (uint32_t i = 0; i < profile->hash_count; i++) {
        put(out, i == 0 ? "" : ", ");
        wrap(out, TREE_COLUMN);
        put_value(out, profile->hashes[i], true);
    }
    put(out, " ]\n");
    free(sorted);
    return true;
}

/* --- Functions ------------------------------------------------------------------------------ */

static bool write_block(struct yaml_out *out, const struct bat_yaml_profile_block *block)
{
    write_number(out, "      - bid:             ", block->index);
    write_number(out, "        insns:           ", block->instructions);
    if (block->hash != 0)
        write_hash(out, "        hash:            ", block->hash);
    if (block->executions != 0)
        write_number(out, "        exec:            ", block->executions);
    if (block->events != 0)
        write_number(out, "        events:          ", block->events);
    write_edges(out, "        calls:           ", &block->calls, true);
    write_edges(out, "        succ:            ", &block->successors, false);
    return write_probes(out, block);
}

static bool write_function(struct yaml_out *out, const struct bat_yaml_profile_function *function)
{
    write_text(out, "  - name:            ", function->name);
    write_number(out, "    fid:             ", function->number);
    write_hash(out, "    hash:            ", function->hash);
    write_number(out, "    exec:            ", function->executions);
    if (function->from_outside != 0)
        write_number(out, "    extern:          ", function->from_outside);
    write_number(out, "    nblocks:         ", function->block_count);
    if (function->count != 0)
        bat_text_string(&out->text, "    blocks:\n");
    bool has_memory = true;
    for (uint32_t i = 0; i < function->count; i++)
        has_memory &= write_block(out, &function->blocks[i]);
    write_tree(out, function);
    return has_memory;
}

static void write_flags(struct yaml_out *out, uint32_t flags)
{
    static const char *const names[] = {"lbr", "sample", "memevent"};
    const char *before = "  profile-flags:   [ ";
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!(flags >> i & 1))
            continue;
        bat_text_string(&out->text, before);
        bat_text_string(&out->text, names[i]);
        before = ", ";
    }
    bat_text_string(&out->text, flags ? " ]\n" : "  profile-flags:   [  ]\n");
}

/* False if there is no memory. */
static bool write_profile(struct yaml_out *out)
{
    const struct bat_yaml_profile *profile = out->profile;
    bat_text_string(&out->text, "---\nheader:\n");
    write_number(out, "  profile-version: ", profile->version);
    write_text(out, "  binary-name:     ", profile->binary);
    write_text(out, "  binary-build-id: ", profile->build_id);
    write_flags(out, profile->flags);
    write_text(out, "  profile-origin:  ", profile->origin);
    write_text(out, "  profile-events:  ", profile->events);
    bat_text_string(&out->text, profile->is_dfs_order ? "  dfs-order:       true\n"
                                                      : "  dfs-order:       false\n");
    bat_text_string(&out->text, profile->has_xxh3 ? "  hash-func:       xxh3\n" : "");
    bat_text_string(&out->text, profile->count ? "functions:\n" : "functions:       []\n");
    bool has_memory = index_guids(out);
    for (uint32_t i = 0; i < profile->count && has_memory; i++)
        has_memory = write_function(out, &profile->functions[i]);
    has_memory = has_memory && write_tables(out);
    bat_text_string(&out->text, "...\n");
    return has_memory;
}

enum bat_code bat_yaml_profile_write(const struct bat_yaml_profile *profile,
                                     struct bat_output *output, struct bat_error *error)
{
    struct yaml_out out = {.profile = profile};
    BAT_TRY(bat_text_begin(&out.text, output, error));
    enum bat_code code = BAT_OK;
    if (!write_profile(&out))
        code = bat_fail_memory(error, "to write the profile");
    BAT_FREE_ALL(out.guids, out.groups);
    return bat_text_finish(&out.text, code);
}
