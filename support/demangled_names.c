/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangled_names.h"
#include "spec/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct demangled_name {
    const char *name; /* the key is the pointer; NULL for a free slot */
    char *plain;      /* NULL if it is not mangled or not kept */
    bool is_left;     /* not kept */
};

struct demangled_names {
    char *(*demangle)(const char *name);
    struct demangled_name *slots;
    size_t count;
    size_t mask; /* number of slots - 1 */
    struct kept_names kept;
    char *last; /* the last name that was made again, because it is not kept */
};

#define FIRST_SLOTS ((size_t)1 << 12)

struct demangled_names *demangled_names_new(char *(*demangle)(const char *name))
{
    struct demangled_names *names = calloc(1, sizeof(*names));
    if (!names)
        return NULL;
    names->demangle = demangle;
    names->slots = calloc(FIRST_SLOTS, sizeof(*names->slots));
    names->mask = FIRST_SLOTS - 1;
    if (names->slots)
        return names;
    free(names);
    return NULL;
}

void demangled_names_free(struct demangled_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i <= names->mask; i++)
        free(names->slots[i].plain);
    BAT_FREE_ALL(names->slots, names->last, names);
}

static struct demangled_name *find_slot(struct demangled_name *slots, size_t mask, const char *name)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (slots[at].name && slots[at].name != name)
        at = (at + 1) & mask;
    return &slots[at];
}

static bool grow(struct demangled_names *names)
{
    size_t mask = names->mask * 2 + 1;
    struct demangled_name *slots = calloc(mask + 1, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i <= names->mask; i++)
        if (names->slots[i].name)
            *find_slot(slots, mask, names->slots[i].name) = names->slots[i];
    free(names->slots);
    names->slots = slots;
    names->mask = mask;
    return true;
}

/* Fill a free slot. */
static void fill(struct demangled_names *names, struct demangled_name *slot, const char *name)
{
    *slot = (struct demangled_name){.name = name, .plain = names->demangle(name)};
    names->count++;
    if (slot->plain && !kept_names_has_room(&names->kept, name, strlen(slot->plain))) {
        slot->is_left = true;
        free(slot->plain);
        slot->plain = NULL;
    }
}

/* The name's slot; NULL without memory. */
static const struct demangled_name *slot_of(struct demangled_names *names, const char *name)
{
    struct demangled_name *slot = find_slot(names->slots, names->mask, name);
    if (slot->name)
        return slot;
    if (names->count * 2 > names->mask) {
        if (!grow(names))
            return NULL;
        slot = find_slot(names->slots, names->mask, name);
    }
    fill(names, slot, name);
    return slot;
}

bool demangled_names_warning(const struct demangled_names *names,
                             char text[KEPT_NAMES_WARNING_SIZE])
{
    return kept_names_warning(&names->kept, text);
}

const char *demangled_kept(struct demangled_names *names, const char *name)
{
    const struct demangled_name *slot = slot_of(names, name);
    return slot && slot->plain ? slot->plain : name;
}

const char *demangled(struct demangled_names *names, const char *name)
{
    const struct demangled_name *slot = slot_of(names, name);
    if (!slot || !slot->is_left)
        return slot && slot->plain ? slot->plain : name;
    free(names->last);
    names->last = names->demangle(name);
    return names->last ? names->last : name;
}
