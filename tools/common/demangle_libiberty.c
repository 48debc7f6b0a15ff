/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Demangles with libiberty, within limits: in a damaged name each part can be twice the part
 * before, so that libiberty would search or print for hours.
 *
 * Its cplus_demangle_v3_components() is of no use for that. It leaves a variable without a value,
 * and may therefore refuse names with an expression like A<T>::value.
 */
#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/array.h"
#include "tool.h"

/* The most bytes of text of a name with that length. Of 245,000 names in LLVM's libraries none
 * becomes 30 times as long. */
static uint64_t limit_of(size_t length)
{
    return 128 * (uint64_t)length + 4096;
}

/* libiberty's limit: longer names would take too much of the stack. */
#define LENGTH_MAX 1024u

/* The most template parameters with arguments of a name with conversions: each doubles the time. Of
 * 345,000 names of C++ in libraries none has one. */
#define CONVERSIONS_MOST 8u

/* With so many references to parts, each of the two before it, there are a thousand parts. */
#define REFERENCES_FEW 16u

/* --- Text ----------------------------------------------------------------------------------- */

/* Text that libiberty prints, which can be stopped only by a jump. */
struct plain_text {
    char *text; /* NULL before its first byte */
    size_t length;
    size_t capacity;
    uint64_t most;
    bool is_rust;
    bool is_stopped;
    jmp_buf stop;
};

/*
 * libiberty holds memory while it prints an identifier of Rust with letters beyond ASCII. It is
 * stopped at the next part, then, which is no such identifier.
 */
static void stop(struct plain_text *plain, const char *part, size_t length)
{
    plain->is_stopped = true;
    for (size_t i = 0; plain->is_rust && i < length; i++)
        if (!isascii((unsigned char)part[i]))
            return;
    longjmp(plain->stop, 1);
}

static void append(const char *part, size_t length, void *context)
{
    struct plain_text *plain = context;
    if (length == 0)
        return; /* part can be NULL */
    if (plain->is_stopped || length > plain->most - plain->length ||
        !bat_reserve(&plain->text, &plain->capacity, plain->length, length + 1, 1)) {
        stop(plain, part, length);
        return;
    }
    memcpy(plain->text + plain->length, part, length);
    plain->length += length;
    plain->text[plain->length] = '\0';
}

#define OPTIONS (DMGL_PARAMS | DMGL_ANSI)

static bool print_rust(struct plain_text *plain, const char *name)
{
    plain->is_rust = true;
    if (setjmp(plain->stop) != 0)
        return false;
    return rust_demangle_callback(name, OPTIONS, append, plain) != 0 && !plain->is_stopped;
}

static bool print_cplus(struct plain_text *plain, const char *name)
{
    plain->is_rust = false;
    plain->is_stopped = false;
    plain->length = 0;
    if (setjmp(plain->stop) != 0)
        return false;
    return cplus_demangle_v3_callback(name, OPTIONS, append, plain) != 0;
}

/* --- Names with packs ----------------------------------------------------------------------- */

/*
 * Codes of what libiberty searches for packs before it prints it, and codes that take the same
 * arguments, make the same S_, and are printed without a search.
 */
static const struct {
    char searched[3];
    char printed[3];
} codes[] = {
    {"Dp", "A_"}, /* types of a pack: an array */
    {"sp", "ng"}, /* values of a pack: a value, negated */
    {"sZ", "sz"}, /* sizeof...: sizeof */
    {"fl", "ng"}, /* folds: a value, negated */
    {"fr", "ng"}, {"fL", "ng"}, {"fR", "ng"},
};

/* A pack without arguments, which is printed only where it is expanded, and nullptr_t. */
static const char empty_pack[] = "JE";
static const char one_type[] = "Dn";

/* True for an operator of a fold of two values. "fL0p_" is a parameter, and "fLb0E" and "fLin1E"
 * are a type and a value. */
static bool is_operator(const char *at)
{
    if (!islower((unsigned char)at[0]))
        return false;
    if (isdigit((unsigned char)at[1]))
        return at[0] == 'v';
    return isalpha((unsigned char)at[1]) && (at[1] != 'n' || at[0] == 'a');
}

/* The length of the name's code at `at`; 0 if it is not the i-th one. */
static size_t code_length(const char *at, size_t i)
{
    if (memcmp(at, codes[i].searched, 2) != 0)
        return 0;
    if (*at != 'f')
        return 2;
    if (isupper((unsigned char)at[1]))
        return is_operator(at + 2) ? 2 : 0;
    /* With its operator, or with the two types after float and long. */
    return islower((unsigned char)at[2]) && islower((unsigned char)at[3]) ? 4 : 2;
}

/*
 * Put the other codes into a name, which keeps its length; false if libiberty searches nothing in
 * it. In identifiers, codes may be replaced as well: they stay identifiers.
 */
static bool replace_packs(char *name)
{
    bool is_searched = false;
    for (char *at = name; at[0] && at[1]; at++) {
        if (memcmp(at, empty_pack, 2) == 0)
            memcpy(at, one_type, 2);
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
            const size_t length = code_length(at, i);
            for (size_t j = 0; j < length; j += 2)
                memcpy(at + j, codes[i].printed, 2);
            is_searched |= length > 0;
        }
    }
    return is_searched;
}

/* The number of S_, S0_ and so on, or more: what is in identifiers counts as well. */
static unsigned count_references(const char *name)
{
    unsigned count = 0;
    for (const char *at = strchr(name, 'S'); at; at = strchr(at + 1, 'S'))
        count += at[1] == '_' || isdigit((unsigned char)at[1]) || isupper((unsigned char)at[1]);
    return count;
}

/*
 * True if libiberty is not going to search parts of parts without an end. With few references,
 * parts cannot be many. Otherwise it prints them all in the name with other codes, and stops at the
 * limit.
 */
static bool is_soon_searched(const char *name, size_t length, struct plain_text *plain)
{
    if (count_references(name) <= REFERENCES_FEW)
        return true;
    char other[LENGTH_MAX + 1];
    memcpy(other, name, length + 1);
    return !replace_packs(other) || print_cplus(plain, other);
}

/*
 * In the name of a conversion, "cv", libiberty reads the arguments of a template parameter, "T_I"
 * or "T0_I", and reads them again if no other arguments follow: the n-th in the first 2^n times.
 * What is in identifiers counts as well.
 */
static bool is_soon_read(const char *name)
{
    if (!strstr(name, "cv"))
        return true;
    unsigned count = 0;
    for (const char *at = strchr(name, 'T'); at; at = strchr(at + 1, 'T')) {
        /* With the level of a lambda's parameter: "TL0__I" or "TL0_0_I". */
        const char *end = at + 1 + strspn(at + 1, "L0123456789_");
        count += end[-1] == '_' && *end == 'I';
    }
    return count <= CONVERSIONS_MOST;
}

/* Rust's older names end in a part "17h" and 16 digits. Other names of C++'s form are C++'s. */
static bool can_be_rust(const char *name)
{
    return name[1] != 'Z' || strstr(name, "17h");
}

char *demangle_by_libiberty(const char *name)
{
    const size_t length = strlen(name);
    struct plain_text plain = {.most = limit_of(length)};
    if ((can_be_rust(name) && print_rust(&plain, name)) ||
        (length <= LENGTH_MAX && is_soon_read(name) && is_soon_searched(name, length, &plain) &&
         print_cplus(&plain, name)))
        return plain.text;
    free(plain.text);
    return NULL;
}
