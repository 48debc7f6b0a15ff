/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "joint.h"

#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "text_fields.h"

/*
 * An address is the number of its binary + 1, above this many bits, BAT_JOINT_RETURN, and the place
 * in the binary.
 */
#define PLACE_BITS 48u
#define PLACE_MAX (BAT_JOINT_RETURN - 1)

/* Numbers below those of the constants of traces. */
#define BINARIES_MAX 0xfffeu

/* The words of a build-id's key: its first bytes. */
#define KEY_WORDS 3u
#define KEY_SIZE (KEY_WORDS * sizeof(uint64_t))

struct bat_joint {
    struct bat_profile *const *profiles;
    uint32_t count;
    uint64_t *low;         /* of each binary: places are relative to it */
    struct bat_counts ids; /* the beginning of a build-id: number of the first binary + 1 */
    uint32_t *next;        /* binary whose build-id begins like this: number + 1, or 0 */
};

/* --- Build-ids ------------------------------------------------------------------------------ */

static enum bat_code add_id(struct bat_joint *joint, uint32_t number)
{
    const struct bat_profile *profile = joint->profiles[number];
    size_t size = profile->build_id_size;
    uint64_t key[KEY_WORDS] = {0};
    if (size == 0)
        return BAT_OK;
    memcpy(key, profile->build_id, size < KEY_SIZE ? size : KEY_SIZE);
    const uint64_t *item = bat_counts_find(&joint->ids, key);
    if (!item)
        return bat_counts_add(&joint->ids, key, (uint64_t)number + 1, 0);
    const size_t first = (size_t)item[KEY_WORDS] - 1;
    joint->next[number] = joint->next[first];
    joint->next[first] = number + 1;
    return BAT_OK;
}

void bat_joint_free(struct bat_joint *joint)
{
    if (!joint)
        return;
    bat_counts_free(&joint->ids);
    BAT_FREE_ALL(joint->low, joint->next, joint);
}

struct bat_joint *bat_joint_new(struct bat_profile *const *profiles, size_t count)
{
    struct bat_joint *joint = count <= BINARIES_MAX ? calloc(1, sizeof(*joint)) : NULL;
    if (!joint)
        return NULL;
    joint->profiles = profiles;
    joint->count = (uint32_t)count;
    joint->ids = bat_counts_new(KEY_WORDS);
    joint->low = calloc(count + 1, sizeof(*joint->low));
    joint->next = calloc(count + 1, sizeof(*joint->next));
    bool is_made = joint->low && joint->next;
    for (uint32_t i = 0; is_made && i < joint->count; i++) {
        joint->low[i] = profiles[i]->elf ? bat_elf_base_address(profiles[i]->elf) : 0;
        is_made = add_id(joint, i) == BAT_OK;
    }
    if (is_made)
        return joint;
    bat_joint_free(joint);
    return NULL;
}

/* --- Addresses ------------------------------------------------------------------------------ */

static bool is_constant(uint64_t address)
{
    return address == BAT_ADDRESS_EXTERNAL || address >= BAT_TRACE_EXTERNAL_RETURN;
}

bool bat_joint_place(const struct bat_joint *joint, const uint8_t *name, size_t size,
                     uint64_t offset, uint64_t *address)
{
    uint8_t bytes[KEY_SIZE] = {0};
    bat_skip_hex_prefix(&name, &size);
    for (size_t i = 0; i < KEY_SIZE && 2 * i + 1 < size; i++)
        bytes[i] = (uint8_t)(bat_hex_value(name[2 * i]) << 4 | bat_hex_value(name[2 * i + 1]));
    uint64_t key[KEY_WORDS];
    memcpy(key, bytes, sizeof(key));
    const uint64_t *item = bat_counts_find(&joint->ids, key);
    for (uint32_t next = item ? (uint32_t)item[KEY_WORDS] : 0; next != 0;
         next = joint->next[next - 1]) {
        const struct bat_profile *profile = joint->profiles[next - 1];
        if (!bat_is_hex_of(name, size, profile->build_id, profile->build_id_size))
            continue;
        uint64_t place = offset + profile->base_address - joint->low[next - 1];
        /* No code is so far away: any such place is in no function. */
        uint64_t inside = (uint64_t)next << PLACE_BITS | (place < PLACE_MAX ? place : PLACE_MAX);
        *address = is_constant(offset) ? offset : inside;
        return true;
    }
    return false;
}

/* The number of an address's binary + 1; 0 for a constant. */
static uint32_t owner_of(uint64_t address)
{
    return is_constant(address) ? 0 : (uint32_t)(address >> PLACE_BITS);
}

/* The address as binaries have it that it is not in. */
static uint64_t outside_address(uint64_t address)
{
    if (is_constant(address))
        return address;
    return address & BAT_JOINT_RETURN ? BAT_TRACE_EXTERNAL_RETURN : BAT_ADDRESS_EXTERNAL;
}

/* The address as a binary has it. */
static uint64_t own_address(const struct bat_joint *joint, uint32_t owner, uint64_t address)
{
    return owner_of(address) == owner ? joint->low[owner - 1] + (address & PLACE_MAX)
                                      : outside_address(address);
}

/* --- Splitting ------------------------------------------------------------------------------ */

/*
 * Items of a table, split: those with no address in a binary are counted once for all binaries. In
 * the tables outside and inside, items without counts have keys of their own, and their number is
 * counted.
 */
struct split {
    const struct bat_joint *joint;
    struct bat_profiles_counters *counters;
    const struct bat_counts *from;
    size_t offset;             /* of the table in struct bat_profile */
    struct bat_counts outside; /* all items without their addresses */
    struct bat_counts *inside; /* those of them that a binary has with addresses */
};

static void *table_of(const struct split *split, struct bat_profile *profile)
{
    return (char *)profile + split->offset;
}

/* Add an item to a table of items without their addresses. */
static enum bat_code add_outside(const struct split *split, const uint64_t *item,
                                 struct bat_counts *counts)
{
    const uint32_t words = split->from->words;
    uint64_t key[BAT_COUNTS_MAX_WORDS];
    for (uint32_t i = 0; i < words; i++)
        key[i] = outside_address(item[i]);
    bool is_zero = item[words] == 0 && item[words + 1] == 0;
    key[words] = is_zero;
    return bat_counts_add(counts, key, is_zero ? 1 : item[words], item[words + 1]);
}

static enum bat_code give(const struct split *split, struct bat_profile *part, uint32_t owner,
                          const uint64_t *item)
{
    const uint32_t words = split->from->words;
    uint64_t key[BAT_COUNTS_MAX_WORDS];
    for (uint32_t i = 0; i < words; i++)
        key[i] = own_address(split->joint, owner, item[i]);
    enum bat_code code = bat_counts_add(table_of(split, part), key, item[words], item[words + 1]);
    if (code == BAT_OK && owner_of(item[0]) == owner && (item[0] & BAT_JOINT_RETURN))
        code = bat_counts_add(&part->returns, key, 0, 0);
    if (code != BAT_OK)
        return code;
    if (split->counters->inside)
        split->counters->inside[owner - 1] += item[words];
    return add_outside(split, item, &split->inside[owner - 1]);
}

static enum bat_code split_item(struct split *split, struct bat_profile *const *parts,
                                const uint64_t *item)
{
    const uint32_t words = split->from->words;
    enum bat_code code = add_outside(split, item, &split->outside);
    bool is_inside = false;
    for (uint32_t i = 0; i < words && code == BAT_OK; i++) {
        uint32_t owner = owner_of(item[i]);
        bool is_new = owner != 0;
        for (uint32_t before = 0; before < i; before++)
            is_new &= owner_of(item[before]) != owner;
        is_inside |= owner != 0;
        if (is_new)
            code = give(split, parts[owner - 1], owner, item);
    }
    split->counters->samples += item[words];
    split->counters->none += is_inside ? 0 : item[words];
    return code;
}

/* Add to a part the items in which it has no address. */
static enum bat_code give_outside(const struct split *split, struct bat_profile *part,
                                  uint32_t number)
{
    const uint32_t words = split->from->words;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < split->outside.count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(&split->outside, i);
        const uint64_t *inside = bat_counts_find(&split->inside[number], item);
        bool is_zero = item[words] != 0;
        uint64_t first = item[words + 1] - (inside ? inside[words + 1] : 0);
        uint64_t second = item[words + 2] - (inside ? inside[words + 2] : 0);
        if (first != 0 || second != 0)
            code = bat_counts_add(table_of(split, part), item, is_zero ? 0 : first, second);
    }
    return code;
}

static enum bat_code split_table(const struct bat_joint *joint, const struct bat_profile *from,
                                 size_t offset, struct bat_profile *const *parts,
                                 struct bat_profiles_counters *counters)
{
    struct split split = {.joint = joint, .counters = counters, .offset = offset};
    split.from = (const struct bat_counts *)((const char *)from + offset);
    const uint32_t words = split.from->words + 1;
    split.outside = bat_counts_new(words);
    split.inside = calloc((size_t)joint->count + 1, sizeof(*split.inside));
    enum bat_code code = split.inside ? BAT_OK : BAT_ERR_MEMORY;
    for (uint32_t i = 0; split.inside && i < joint->count; i++)
        split.inside[i] = bat_counts_new(words);
    for (uint32_t i = 0; i < split.from->count && code == BAT_OK; i++)
        code = split_item(&split, parts, bat_counts_item(split.from, i));
    for (uint32_t i = 0; i < joint->count && code == BAT_OK; i++)
        code = give_outside(&split, parts[i], i);
    for (uint32_t i = 0; split.inside && i < joint->count; i++)
        bat_counts_free(&split.inside[i]);
    free(split.inside);
    bat_counts_free(&split.outside);
    return code;
}

enum bat_code bat_joint_split(const struct bat_joint *joint, const struct bat_profile *from,
                              struct bat_profile *const *parts,
                              struct bat_profiles_counters *counters)
{
    enum bat_code code =
        split_table(joint, from, offsetof(struct bat_profile, traces), parts, counters);
    code = code ? code
                : split_table(joint, from, offsetof(struct bat_profile, samples), parts, counters);
    for (uint32_t i = 0; i < joint->count && code == BAT_OK; i++) {
        parts[i]->sum = from->sum;
        parts[i]->counters = from->counters;
        parts[i]->names_events = from->names_events;
        code = bat_strings_add_all(&parts[i]->events, &from->events, NULL);
    }
    return code;
}
