/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "string_table.h"

#include <stdlib.h>
#include <string.h>

#include "hash_seed.h"
#include "spec/array.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FIRST_CAPACITY 64u

void bat_strings_free(struct bat_strings *strings)
{
    BAT_FREE_ALL(strings->text, strings->starts, strings->slots);
    *strings = (struct bat_strings){0};
}

static bool equals(const struct bat_strings *strings, uint32_t number, const char *string,
                   size_t size)
{
    return bat_strings_length(strings, number) == size &&
           memcmp(bat_strings_get(strings, number), string, size) == 0;
}

static uint32_t find_slot(const struct bat_strings *strings, const char *string, size_t size)
{
    uint32_t mask = strings->capacity * 2 - 1;
    uint32_t slot = (uint32_t)XXH3_64bits_withSeed(string, size, strings->seed) & mask;
    while (strings->slots[slot] != 0 && !equals(strings, strings->slots[slot] - 1, string, size))
        slot = (slot + 1) & mask;
    return slot;
}

/* Fill the empty slots with all strings. */
static void fill_slots(struct bat_strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++) {
        const char *name = bat_strings_get(strings, i);
        strings->slots[find_slot(strings, name, bat_strings_length(strings, i))] = i + 1;
    }
}

static enum bat_code grow(struct bat_strings *strings)
{
    if (strings->capacity > UINT32_MAX / 8)
        return BAT_ERR_MEMORY;
    uint32_t capacity = strings->capacity ? strings->capacity * 2 : FIRST_CAPACITY;
    size_t *starts = realloc(strings->starts, capacity * sizeof(*starts));
    if (!starts)
        return BAT_ERR_MEMORY;
    strings->starts = starts;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));
    if (!slots)
        return BAT_ERR_MEMORY;
    if (!strings->slots)
        strings->seed = bat_hash_seed();
    free(strings->slots);
    strings->slots = slots;
    strings->capacity = capacity;
    fill_slots(strings);
    return BAT_OK;
}

void bat_strings_truncate(struct bat_strings *strings, uint32_t count)
{
    if (count == strings->count)
        return;
    strings->text_size = strings->starts[count];
    strings->count = count;
    memset(strings->slots, 0, (size_t)strings->capacity * 2 * sizeof(*strings->slots));
    fill_slots(strings);
}

static enum bat_code append_text(struct bat_strings *strings, const char *string, size_t size)
{
    if (!bat_reserve(&strings->text, &strings->text_capacity, strings->text_size, size + 1, 1))
        return BAT_ERR_MEMORY;
    memcpy(strings->text + strings->text_size, string, size);
    strings->text[strings->text_size + size] = '\0';
    strings->text_size += size + 1;
    return BAT_OK;
}

enum bat_code bat_strings_add(struct bat_strings *strings, const char *string, size_t size,
                              uint32_t *number)
{
    if (strings->last < strings->count && equals(strings, strings->last, string, size)) {
        *number = strings->last;
        return BAT_OK;
    }
    if (strings->count == strings->capacity)
        BAT_TRY(grow(strings));
    uint32_t slot = find_slot(strings, string, size);
    if (strings->slots[slot] == 0) {
        size_t start = strings->text_size;
        BAT_TRY(append_text(strings, string, size));
        strings->starts[strings->count] = start;
        strings->slots[slot] = ++strings->count;
    }
    *number = strings->last = strings->slots[slot] - 1;
    return BAT_OK;
}

enum bat_code bat_strings_add_all(struct bat_strings *strings, const struct bat_strings *from,
                                  uint32_t *numbers)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < from->count && code == BAT_OK; i++) {
        const char *string = bat_strings_get(from, i);
        uint32_t ignored;
        code = bat_strings_add(strings, string, bat_strings_length(from, i),
                               numbers ? &numbers[i] : &ignored);
    }
    return code;
}

uint32_t bat_strings_find(const struct bat_strings *strings, const char *string, size_t size)
{
    if (!strings->slots)
        return BAT_NONE;
    uint32_t slot = find_slot(strings, string, size);
    return strings->slots[slot] ? strings->slots[slot] - 1 : BAT_NONE;
}
