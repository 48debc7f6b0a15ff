/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Names of the Itanium C++ ABI, section 5.1. Everything is written to one text, and what a
 * substitution or a template parameter stands for is a part of the text that was written before.
 * Where libiberty's text depends on more than that (declarators of pointers to functions,
 * expressions, ...), these functions return false.
 *
 * Internal to demangle_*.c.
 */
#ifndef BAT_DEMANGLE_PARTS_H
#define BAT_DEMANGLE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Longer names, which libiberty can refuse, longer texts, and more parts are left to libiberty. */
#define MANGLED_MAX 1000u
#define TEXT_MAX 8192u
#define PARTS_MAX 128u
#define OWN_MAX 32u /* a function's template arguments */
#define DEPTH_MAX 32u

/* A part of the text. */
struct part {
    uint32_t start;
    uint32_t end;
    uint32_t scope;    /* of the template parameters in it; 0: it has none */
    bool has_lambda;   /* one with a constant type, of which libiberty writes "const" once less if
                          it follows, too */
    bool is_function;  /* a type of functions: a pointer to it is written around it */
    bool is_pack;      /* written once for each of a pack's elements */
    bool is_modified;  /* not a class or namespace: nothing can be in it */
    bool is_parameter; /* of the function's template: references to it are special */
};

/* An argument of the function's template: a part, or a pack of parts. */
struct argument {
    struct part part;
    uint32_t first_element;
    uint32_t element_count;
    bool is_pack;
};

struct name {
    const char *at;
    const char *end;
    unsigned depth;
    uint32_t used;          /* of text */
    uint32_t limit;         /* of text: behind it are results of functions, which are not printed */
    uint32_t parameter_end; /* no text behind it is that of a template parameter */
    uint32_t lambda_end;    /* no text behind it is that of such a lambda */
    uint32_t scope;         /* the function whose name or types are read, from 1 */
    uint32_t scope_count;
    unsigned substitution_count;
    unsigned argument_count;
    unsigned element_count;
    struct part last_source;  /* the last identifier: constructors have it */
    bool has_signature_types; /* template parameters are allowed, but in lambdas */
    bool is_in_lambda;        /* in its types, where they are written in another way */
    struct part substitutions[PARTS_MAX];
    struct argument arguments[PARTS_MAX];
    struct part elements[PARTS_MAX];
    char text[TEXT_MAX];
};

/* What stands at the end of a name. */
struct ending {
    bool is_template;
    bool is_operator;
    bool is_structor; /* a constructor or destructor */
    bool is_const;    /* a member function */
};

/* --- Reading and writing -------------------------------------------------------------------- */

static inline char peek(const struct name *name)
{
    if (name->at < name->end)
        return *name->at;
    return '\0';
}

static inline char peek_next(const struct name *name)
{
    if (name->end - name->at > 1)
        return name->at[1];
    return '\0';
}

static inline bool skip(struct name *name, char wanted)
{
    if (peek(name) != wanted)
        return false;
    name->at++;
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool put(struct name *name, const char *text, size_t length)
{
    if (length > name->limit - name->used)
        return false;
    memcpy(name->text + name->used, text, length);
    name->used += (uint32_t)length;
    return true;
}

static inline bool put_string(struct name *name, const char *text)
{
    return put(name, text, strlen(text));
}

static inline bool put_part(struct name *name, const struct part *part)
{
    return put(name, name->text + part->start, part->end - part->start);
}

/* True if the text from start on ends in suffix. */
static inline bool ends_in(const struct name *name, uint32_t start, const char *suffix)
{
    const size_t length = strlen(suffix);
    return name->used - start >= length &&
           memcmp(name->text + name->used - length, suffix, length) == 0;
}

static inline struct part part_from(const struct name *name, uint32_t start)
{
    return (struct part){
        .start = start,
        .end = name->used,
        .scope = name->parameter_end > start ? name->scope : 0,
        .has_lambda = name->lambda_end > start,
    };
}

static inline bool add_substitution(struct name *name, struct part part)
{
    if (name->substitution_count == PARTS_MAX)
        return false;
    name->substitutions[name->substitution_count++] = part;
    return true;
}

/* --- Parts of names ------------------------------------------------------------------------- */

/*
 * Each function reads what its name says, writes its text, and returns false if the name has
 * something else there, or something that is left to libiberty, or is too long.
 */

/* The next part of a qualified name, without template arguments. is_own: the name can be that of a
 * function. (demangle_identifiers.c) */
bool mangled_read_unqualified(struct name *name, bool is_own, struct ending *ending);

/* The number behind "S" or "T": "_" is 0, "0_" is 1; digits of the base. (demangle_identifiers.c)
 */
bool mangled_read_sequence(struct name *name, unsigned base, unsigned *number);

/* Arguments behind "I". keep: the name can be the function's, whose types refer to them.
 * (demangle_templates.c) */
bool mangled_read_template(struct name *name, bool keep);

/* True at a substitution by number; it is read by mangled_read_numbered(). (demangle_names.c) */
bool mangled_is_numbered(const struct name *name);
bool mangled_read_numbered(struct name *name, struct part *found);

/* Any name but a substitution by number. *is_standard: it is one that needs no new substitution.
 * (demangle_names.c) */
bool mangled_read_name(struct name *name, bool is_own, struct ending *ending, bool *is_standard);

/* A type, and the types of parameters up to the end or "E". (demangle_types.c) */
bool mangled_read_type(struct name *name, struct part *type);
bool mangled_read_parameters(struct name *name);

/* A function that a name is local to, up to "E". (demangle_short.c) */
bool mangled_read_encoding(struct name *name);

#endif
