/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "yaml_lists.h"

#include <stdlib.h>

#include "profile/translate/yaml_string.h"
#include "spec/grow.h"

void bat_yaml_profile_free_block(struct bat_yaml_profile_block *block)
{
    free(block->calls.all);
    free(block->successors.all);
}

void bat_yaml_profile_free_function(struct bat_yaml_profile_function *function)
{
    for (uint32_t i = 0; i < function->count; i++)
        bat_yaml_profile_free_block(&function->blocks[i]);
    free(function->blocks);
    free(function->name);
}

void bat_yaml_profile_free(struct bat_yaml_profile *profile)
{
    for (uint32_t i = 0; i < profile->count; i++)
        bat_yaml_profile_free_function(&profile->functions[i]);
    free(profile->functions);
    free(profile->binary);
    free(profile->build_id);
    free(profile->origin);
    free(profile->events);
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

struct yaml_out {
    struct bat_text_writer text;
    size_t column; /* in a list */
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

static void write_block(struct yaml_out *out, const struct bat_yaml_profile_block *block)
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
}

static void write_function(struct yaml_out *out, const struct bat_yaml_profile_function *function)
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
    for (uint32_t i = 0; i < function->count; i++)
        write_block(out, &function->blocks[i]);
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

static void write_profile(struct yaml_out *out, const struct bat_yaml_profile *profile)
{
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
    for (uint32_t i = 0; i < profile->count; i++)
        write_function(out, &profile->functions[i]);
    bat_text_string(&out->text, "...\n");
}

enum bat_code bat_yaml_profile_write(const struct bat_yaml_profile *profile,
                                     struct bat_output *output, struct bat_error *error)
{
    struct yaml_out out = {0};
    enum bat_code code = bat_text_begin(&out.text, output, error);
    if (code != BAT_OK)
        return code;
    write_profile(&out, profile);
    return bat_text_finish(&out.text, BAT_OK);
}
