/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/kept_names.h"
#include "tool.h"

/* True for "operator>", whose bracket at `bracket` is not that of a template. */
static bool is_operator(const char *name, const char *bracket)
{
    static const char compares[] = "operator>";
    const size_t length = sizeof(compares) - 1;
    return (size_t)(bracket + 1 - name) >= length &&
           memcmp(bracket + 1 - length, compares, length) == 0;
}

/* "a<b<int> >" becomes "a<b<int>>", as in C++11 and in LLVM. "operator> >" keeps its blank. */
static void close_brackets(char *name)
{
    static const char open[] = "> >";
    char *to = strstr(name, open);
    const char *from = to;
    /* The bytes before from are those before to, without blanks. */
    while (from) {
        const char *next = strstr(from + 2, open);
        const size_t length = next ? (size_t)(next - from) : strlen(from);
        *to = *from;
        const size_t blank = is_operator(name, to) ? 0 : 1;
        memmove(to + 1, from + 1 + blank, length - 1 - blank);
        to += length - blank;
        from = next;
    }
    if (to)
        *to = '\0';
}

char *demangle_name(const char *name)
{
    /* Without these prefixes libiberty would take names of C for mangled ones. */
    if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 && strncmp(name, "___Z", 4) != 0)
        return NULL;
    char *plain = demangle_by_libiberty(name);
    if (plain)
        close_brackets(plain);
    return plain;
}

/* --- The cache ------------------------------------------------------------------------------ */

struct demangled_name {
    const char *name; /* the key is the pointer; NULL for a free slot */
    char *plain;      /* NULL if it is not mangled or not kept */
    bool is_left;     /* not kept */
};

struct demangled_names {
    struct demangled_name *slots;
    size_t count;
    size_t mask; /* number of slots - 1 */
    struct kept_names kept;
    char *last; /* the last name that was made again, because it is not kept */
};

#define FIRST_SLOTS ((size_t)1 << 12)

struct demangled_names *demangled_names_new(void)
{
    struct demangled_names *names = calloc(1, sizeof(*names));
    if (!names)
        return NULL;
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
    free(names->slots);
    free(names->last);
    free(names);
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
    *slot = (struct demangled_name){.name = name, .plain = demangle_name(name)};
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

void demangled_names_warn(const struct demangled_names *names, const char *path)
{
    char text[KEPT_NAMES_WARNING_SIZE];
    if (kept_names_warning(&names->kept, text))
        tool_message(path, "warning: %s", text);
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
    names->last = demangle_name(name);
    return names->last ? names->last : name;
}
