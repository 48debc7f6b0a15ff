/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Demangles with libiberty, within limits: in a damaged name each part can be twice the part
 * before, so that libiberty would search or print for hours.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

/*
 * The most bytes of text, and parts of the tree, of a name with that length. Of 245,000 names in
 * LLVM's libraries none becomes 30 times as long.
 */
static uint64_t limit_of(size_t length)
{
    return 128 * (uint64_t)length + 4096;
}

/* libiberty's limit: longer names would take too much of the stack. */
#define LENGTH_MAX 1024u

/* --- The size of the tree ------------------------------------------------------------------- */

/* Sizes of the parts that are known, by their addresses. A slot is free if its part is NULL. */
struct known_part {
    const struct demangle_component *part;
    uint64_t size; /* PENDING until its own parts are known */
};

struct known_parts {
    struct known_part *slots;
    size_t count; /* a power of two, more than twice the parts */
    uint64_t most;
};

#define PENDING UINT64_MAX

static struct known_part *slot_of(struct known_parts *known, const struct demangle_component *part)
{
    size_t slot = (uintptr_t)part / sizeof(*part) % known->count;
    for (size_t tried = 0; tried < known->count; tried++, slot = (slot + 1) % known->count)
        if (!known->slots[slot].part || known->slots[slot].part == part)
            return &known->slots[slot];
    return NULL;
}

/* The one or two parts that a part has, or NULL. */
static void parts_of(const struct demangle_component *whole,
                     const struct demangle_component *parts[2])
{
    parts[0] = parts[1] = NULL;
    switch (whole->type) {
    case DEMANGLE_COMPONENT_NAME:
    case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
    case DEMANGLE_COMPONENT_FUNCTION_PARAM:
    case DEMANGLE_COMPONENT_SUB_STD:
    case DEMANGLE_COMPONENT_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
    case DEMANGLE_COMPONENT_OPERATOR:
    case DEMANGLE_COMPONENT_NUMBER:
    case DEMANGLE_COMPONENT_CHARACTER:
    case DEMANGLE_COMPONENT_UNNAMED_TYPE:
        return;
    case DEMANGLE_COMPONENT_CTOR:
        parts[0] = whole->u.s_ctor.name;
        return;
    case DEMANGLE_COMPONENT_DTOR:
        parts[0] = whole->u.s_dtor.name;
        return;
    case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
        parts[0] = whole->u.s_extended_operator.name;
        return;
    case DEMANGLE_COMPONENT_FIXED_TYPE:
        parts[0] = whole->u.s_fixed.length;
        return;
    case DEMANGLE_COMPONENT_LAMBDA:
    case DEMANGLE_COMPONENT_DEFAULT_ARG:
        parts[0] = whole->u.s_unary_num.sub;
        return;
    default:
        parts[0] = whole->u.s_binary.left;
        parts[1] = whole->u.s_binary.right;
    }
}

/* How many parts the tree has, those that are shared counted each time; above known->most if too
 * many, or if a part contains itself. libiberty's own limit bounds the depth. */
static uint64_t tree_size(struct known_parts *known, const struct demangle_component *tree)
{
    if (!tree)
        return 0;
    struct known_part *slot = slot_of(known, tree);
    if (!slot || (slot->part && slot->size == PENDING))
        return known->most + 1;
    if (slot->part)
        return slot->size;
    *slot = (struct known_part){tree, PENDING};
    const struct demangle_component *parts[2];
    parts_of(tree, parts);
    uint64_t size = 1;
    for (unsigned i = 0; i < 2 && size <= known->most; i++)
        size += tree_size(known, parts[i]);
    slot->size = size <= known->most ? size : known->most + 1;
    return slot->size;
}

/* True if a tree of a name with that length is no larger than `most`. */
static bool is_small(const struct demangle_component *tree, size_t length, uint64_t most)
{
    struct known_parts known = {.count = 64, .most = most};
    while (known.count < 4 * length) /* a byte of the name makes two parts at most */
        known.count *= 2;
    known.slots = calloc(known.count, sizeof(*known.slots));
    bool is_small = known.slots && tree_size(&known, tree) <= most;
    free(known.slots);
    return is_small;
}

/* --- The text ------------------------------------------------------------------------------- */

/* Text that libiberty prints. It can be stopped only by a jump, and holds no memory then. */
struct plain_text {
    char *text; /* NULL before its first byte */
    size_t length;
    size_t capacity;
    uint64_t most;
    jmp_buf stop;
};

static void append(const char *part, size_t length, void *context)
{
    struct plain_text *plain = context;
    if (length > plain->most - plain->length)
        longjmp(plain->stop, 1);
    if (length >= plain->capacity - plain->length) {
        const size_t capacity = 2 * (plain->length + length) + 256;
        char *grown = realloc(plain->text, capacity);
        if (!grown)
            longjmp(plain->stop, 1);
        plain->text = grown;
        plain->capacity = capacity;
    }
    memcpy(plain->text + plain->length, part, length);
    plain->length += length;
    plain->text[plain->length] = '\0';
}

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

static bool print_rust(struct plain_text *plain, const char *name)
{
    if (setjmp(plain->stop) != 0)
        return false;
    return rust_demangle_callback(name, OPTIONS, append, plain) != 0;
}

static bool print_tree(struct plain_text *plain, struct demangle_component *tree)
{
    if (setjmp(plain->stop) != 0)
        return false;
    return cplus_demangle_print_callback(OPTIONS, tree, append, plain) != 0;
}

static bool print_cplus(struct plain_text *plain, const char *name)
{
    void *memory = NULL;
    struct demangle_component *tree = cplus_demangle_v3_components(name, OPTIONS, &memory);
    bool is_printed = tree && is_small(tree, strlen(name), plain->most) && print_tree(plain, tree);
    free(memory);
    return is_printed;
}

char *demangle_by_libiberty(const char *name, bool can_be_rust)
{
    const size_t length = strlen(name);
    struct plain_text plain = {.most = limit_of(length)};
    bool is_printed = can_be_rust && print_rust(&plain, name);
    if (!is_printed) {
        plain.length = 0;
        is_printed = length <= LENGTH_MAX && print_cplus(&plain, name);
    }
    if (is_printed)
        return plain.text;
    free(plain.text);
    return NULL;
}
