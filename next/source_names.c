/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What the source calls a function: its mangled name without what changes from version to version.
 * C++ (Itanium C++ ABI): without parameters, arguments of templates, and numbers at the ends of
 * names. Rust (v0): without numbers of crates, implementations and closures, and of what is meant
 * again.
 */
#include "program.h"

#include <string.h>

#define DEPTH_MAX 64u

/* A mangled name as it is read, and the hash of the names in it. */
struct mangled {
    const char *at;
    const char *end;
    uint32_t hash;
};

/* The next character, 0 at the end. */
static char peek(const struct mangled *name)
{
    if (name->at < name->end)
        return *name->at;
    return 0;
}

static bool take(struct mangled *name, char wanted)
{
    bool is_there = peek(name) == wanted;
    name->at += is_there;
    return is_there;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static void add(struct mangled *name, const char *text, size_t length)
{
    name->hash = next_hash(text, length, name->hash);
}

/* Skip the number of a substitution, parameter, lambda or local name, and _ behind it. */
static void skip_number(struct mangled *name)
{
    while (is_digit(peek(name)) || (peek(name) >= 'A' && peek(name) <= 'Z'))
        name->at++;
    take(name, '_');
}

/* Take a name with its length before it. */
static bool take_source_name(struct mangled *name, const char **text, size_t *length)
{
    *length = 0;
    for (; is_digit(peek(name)) && *length < (size_t)(name->end - name->at); name->at++)
        *length = *length * 10 + (size_t)(*name->at - '0');
    if (*length == 0 || *length > (size_t)(name->end - name->at))
        return false;
    *text = name->at;
    name->at += *length;
    return true;
}

/* Skip a literal, L and the type of which are read, up to its E: numbers have no names' lengths. */
static void skip_value(struct mangled *name)
{
    while (peek(name) && peek(name) != 'E')
        name->at++;
}

/* Skip types, arguments and expressions up to the E that closes them. Of some expressions the end
 * is found too late or too soon: then names of one function have different hashes, and are no help.
 */
static bool skip_to_end(struct mangled *name)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    while (peek(name)) {
        const char *text;
        size_t length;
        char c = *name->at;
        if (is_digit(c)) {
            if (!take_source_name(name, &text, &length))
                return false;
            continue;
        }
        name->at++;
        if (c == 'E') {
            if (depth-- == 0)
                return true;
            if (open[depth] == 'U')
                skip_number(name);
        } else if (c == 'S' && is_lower(peek(name))) {
            name->at++;
        } else if (c == 'S' || c == 'T' || c == 'A' || c == '_') {
            skip_number(name);
        } else if (c == 'L' && peek(name) != '_' && !is_digit(peek(name)) && peek(name) != 'N') {
            skip_value(name);
            take(name, 'E');
        } else if (strchr("NIJXFZ", c) || (c == 'U' && peek(name) == 'l')) {
            if (depth == DEPTH_MAX)
                return false;
            open[depth++] = c;
        }
    }
    return false;
}

static bool add_unqualified(struct mangled *name)
{
    const char *text = name->at;
    size_t length;
    char c = peek(name);
    if (is_digit(c)) {
        if (!take_source_name(name, &text, &length))
            return false;
        while (length > 1 && (is_digit(text[length - 1]) || text[length - 1] == '_'))
            length--; /* v9 and v10 are one namespace */
        add(name, text, length);
    } else if (c == 'C' || c == 'D') { /* constructors, destructors; all kinds are one */
        add(name, text, 1);
        name->at += 2;
    } else if (c == 'U' && name->end - name->at > 1) {
        add(name, text, 2);
        name->at += 2;
        if (text[1] == 'l' && !skip_to_end(name))
            return false;
        skip_number(name);
    } else if (is_lower(c) && name->end - name->at > 1 && memcmp(text, "cv", 2) != 0) {
        add(name, text, 2); /* an operator */
        name->at += 2;
    } else {
        return false;
    }
    while (take(name, 'B'))
        if (!take_source_name(name, &text, &length))
            return false;
    return true;
}

static bool add_nested(struct mangled *name)
{
    while (strchr("rVKRO", peek(name)) && peek(name))
        name->at++;
    while (!take(name, 'E')) {
        bool is_fine = true;
        if (take(name, 'I'))
            is_fine = skip_to_end(name);
        else if (take(name, 'S'))
            is_lower(peek(name)) ? (void)name->at++ : skip_number(name);
        else if (!take(name, 'L'))
            is_fine = add_unqualified(name);
        if (!is_fine)
            return false;
    }
    return true;
}

static bool add_name(struct mangled *name)
{
    size_t depth = 0;
    while (take(name, 'Z')) {
        add(name, "Z", 1);
        depth++;
    }
    for (;; depth--) {
        take(name, 'L');
        if (name->end - name->at > 1 && name->at[0] == 'S' && name->at[1] == 't')
            name->at += 2;
        if (!(take(name, 'N') ? add_nested(name) : add_unqualified(name)))
            return false;
        if (depth == 0)
            return true;
        if (!skip_to_end(name))
            return false;
    }
}

static uint32_t hash_rust(struct mangled *name)
{
    while (name->at < name->end) {
        const char *text = name->at;
        size_t length = 0;
        if (is_digit(*text)) {
            if (!take_source_name(name, &text, &length))
                return 0;
        } else if (strchr("sBK", *text)) { /* a number up to _; of a constant it says something */
            while (name->at < name->end && *name->at != '_')
                name->at++;
            length = *text == 'K' ? (size_t)(name->at - text) : 0;
            name->at++;
        } else {
            length = 1;
            name->at++;
        }
        add(name, text, length);
    }
    return name->hash;
}

uint32_t next_source_name(const char *name)
{
    const bool is_rust = strncmp(name, "_R", 2) == 0;
    if (!is_rust && strncmp(name, "_Z", 2) != 0)
        return 0;
    struct mangled mangled = {name + 2, name + next_plain_name_length(name), 0};
    if (mangled.at >= mangled.end)
        return 0;
    if (is_rust)
        return hash_rust(&mangled);
    return add_name(&mangled) ? mangled.hash : 0;
}
