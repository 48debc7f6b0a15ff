/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "leaves.h"

#include <stdlib.h>
#include <string.h>

#include "debuginfo/stretches.h"
#include "discriminator.h"
#include "spec/array.h"

enum call_state {
    CALL_NEW,    /* not looked up yet */
    CALL_NAMED,  /* it has the node */
    CALL_IN,     /* it or a call around it has no name: its code belongs to the place in the node */
    CALL_NOWHERE /* the function that has the code has no name */
};

/* What is known of a function or inlined call. */
struct leaf_call {
    uint64_t place;
    uint32_t node;
    uint32_t discriminator; /* of the place */
    enum call_state state;
};

/* What is known of a unit. Both arrays are NULL before it is needed. */
struct leaf_unit {
    struct leaf_call *calls; /* of each node */
    uint32_t *names;         /* of each name: its number in the forest, plus 1; 0: not known yet */
};

enum bat_code leaves_new(struct leaves *leaves, struct bat_debuginfo *debuginfo,
                         struct forest *forest)
{
    *leaves =
        (struct leaves){.debuginfo = debuginfo,
                        .forest = forest,
                        .has_fs_discriminators = bat_debuginfo_has_fs_discriminators(debuginfo),
                        .names = bat_counts_new(1),
                        .unit_count = bat_debuginfo_counters(debuginfo).units};
    leaves->units = calloc(leaves->unit_count + 1, sizeof(*leaves->units));
    return leaves->units ? BAT_OK : BAT_ERR_MEMORY;
}

void leaves_free(struct leaves *leaves)
{
    for (size_t i = 0; leaves->units && i < leaves->unit_count; i++) {
        BAT_FREE_ALL(leaves->units[i].calls, leaves->units[i].names);
    }
    BAT_FREE_ALL(leaves->units, leaves->chain);
    bat_counts_free(&leaves->names);
}

/* The number of a name in the forest. Units have names in common. */
static enum bat_code find_text(struct leaves *leaves, const char *text, uint32_t *name)
{
    uint64_t key = (uintptr_t)text;
    const uint64_t *found = bat_counts_find(&leaves->names, &key);
    if (found) {
        *name = (uint32_t)found[1];
        return BAT_OK;
    }
    enum bat_code code = bat_strings_add(&leaves->forest->names, text, strlen(text), name);
    return code ? code : bat_counts_add(&leaves->names, &key, *name, 0);
}

/* The same, for the name of a call: many calls in a unit have the same. */
static enum bat_code find_name(struct leaves *leaves, uint32_t unit, const struct debug_call *call,
                               uint32_t *name)
{
    uint32_t *known = &leaves->units[unit].names[call->name];
    enum bat_code code = BAT_OK;
    if (*known == 0) {
        code = find_text(leaves, call->linkage_name, name);
        *known = code == BAT_OK ? *name + 1 : 0;
    }
    *name = *known - 1;
    return code;
}

static uint64_t place_of(const struct leaves *leaves, const struct debug_call *function,
                         uint32_t line, uint32_t discriminator)
{
    if (!leaves->has_fs_discriminators)
        discriminator = discriminator_base(discriminator);
    /* As in LLVM's reader, lines in front of the function's first line wrap around. */
    return forest_place((line - function->start_line) & 0xffff, discriminator);
}

/* --- Calls ---------------------------------------------------------------------------------- */

/* Look up a function that has code, or a call whose outer one is known. */
static enum bat_code look_up(struct leaves *leaves, uint32_t unit, uint32_t index)
{
    const struct debug_call call = debug_call_at(leaves->debuginfo, unit, index);
    const bool has_name = call.linkage_name && *call.linkage_name;
    struct leaf_call *known = &leaves->units[unit].calls[index];
    struct leaf_call found = {.state = CALL_NOWHERE};
    uint64_t place = 0;
    if (call.parent != BAT_NONE) {
        found = leaves->units[unit].calls[call.parent];
        if (found.state != CALL_NAMED) {
            *known = found;
            return BAT_OK;
        }
        const struct debug_call outer = debug_call_at(leaves->debuginfo, unit, call.parent);
        place = place_of(leaves, &outer, call.call_line, call.call_discriminator);
    }
    if (!has_name) {
        if (call.parent != BAT_NONE)
            found = (struct leaf_call){place, found.node, call.call_discriminator, CALL_IN};
        *known = found;
        return BAT_OK;
    }
    uint32_t name;
    uint32_t node;
    enum bat_code code = find_name(leaves, unit, &call, &name);
    if (code == BAT_OK)
        code = call.parent == BAT_NONE
                   ? forest_root(leaves->forest, name, &node)
                   : forest_child(leaves->forest, found.node, place, name, &node);
    if (code == BAT_OK)
        *known = (struct leaf_call){.node = node, .state = CALL_NAMED};
    return code;
}

/* Make the arrays of a unit. False if there is no memory. */
static bool prepare_unit(struct leaves *leaves, uint32_t unit)
{
    struct leaf_unit *prepared = &leaves->units[unit];
    if (prepared->calls)
        return true;
    /* A node has a name, so there is at least one. */
    prepared->names = calloc(debug_name_count(leaves->debuginfo, unit), sizeof(*prepared->names));
    if (!prepared->names)
        return false;
    prepared->calls = calloc(debug_call_count(leaves->debuginfo, unit), sizeof(*prepared->calls));
    if (!prepared->calls) {
        free(prepared->names);
        prepared->names = NULL;
    }
    return prepared->calls != NULL;
}

/* Look up a call, after those around it that are not known yet. */
static enum bat_code look_up_all(struct leaves *leaves, uint32_t unit, uint32_t index)
{
    if (!prepare_unit(leaves, unit))
        return BAT_ERR_MEMORY;
    const struct leaf_call *calls = leaves->units[unit].calls;
    size_t count = 0;
    while (index != BAT_NONE && calls[index].state == CALL_NEW) {
        if (!BAT_APPEND(leaves->chain, count, leaves->chain_capacity, index))
            return BAT_ERR_MEMORY;
        index = debug_call_at(leaves->debuginfo, unit, index).parent;
    }
    enum bat_code code = BAT_OK;
    while (count > 0 && code == BAT_OK)
        code = look_up(leaves, unit, leaves->chain[--count]);
    return code;
}

enum bat_code leaves_find(struct leaves *leaves, uint64_t address, struct leaf *leaf)
{
    const struct debug_stretch stretch = debug_stretch_at(leaves->debuginfo, address);
    *leaf = (struct leaf){.end = stretch.end};
    if (stretch.node == BAT_NONE)
        return BAT_OK;
    BAT_TRY(look_up_all(leaves, stretch.unit, stretch.node));
    const struct leaf_call *call = &leaves->units[stretch.unit].calls[stretch.node];
    leaf->is_found = call->state != CALL_NOWHERE;
    leaf->node = call->node;
    leaf->place = call->place;
    leaf->discriminator = call->discriminator;
    if (call->state != CALL_NAMED)
        return BAT_OK;
    const struct debug_call function = debug_call_at(leaves->debuginfo, stretch.unit, stretch.node);
    leaf->place = place_of(leaves, &function, stretch.line, stretch.discriminator);
    leaf->discriminator = stretch.discriminator;
    return BAT_OK;
}
