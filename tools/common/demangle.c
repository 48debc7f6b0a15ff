/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* "a<b<int> >" becomes "a<b<int>>", as in C++11 and in LLVM. */
static void close_brackets(char *name)
{
    char *to = name;
    for (const char *from = name; *from; from++) {
        bool between = *from == ' ' && from[1] == '>' && from != name && from[-1] == '>';
        /* "operator> >" keeps its blank: the second bracket is not the name's. */
        static const char compares[] = "operator>";
        size_t length = sizeof(compares) - 1;
        if (between && (size_t)(from - name) >= length &&
            memcmp(from - length, compares, length) == 0)
            between = false;
        if (!between)
            *to++ = *from;
    }
    *to = '\0';
}

char *demangle(const char *name)
{
    /* Without these prefixes libiberty would take names of C for mangled ones. */
    if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 && strncmp(name, "_D", 2) != 0 &&
        strncmp(name, "___Z", 4) != 0)
        return NULL;
    char *plain = cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
    if (plain)
        close_brackets(plain);
    return plain;
}

/* --- The cache ------------------------------------------------------------------------------ */

struct demangled_name {
    const char *name; /* the key is the pointer; NULL for a free slot */
    char *plain;      /* NULL if it is not mangled */
};

struct demangled_names {
    struct demangled_name *slots;
    size_t count;
    size_t mask; /* number of slots - 1 */
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

const char *demangled(struct demangled_names *names, const char *name)
{
    struct demangled_name *slot = find_slot(names->slots, names->mask, name);
    if (!slot->name) {
        if (names->count * 2 > names->mask) {
            if (!grow(names))
                return name;
            slot = find_slot(names->slots, names->mask, name);
        }
        names->count++;
        *slot = (struct demangled_name){name, demangle(name)};
    }
    return slot->plain ? slot->plain : name;
}
