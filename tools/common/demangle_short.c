/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Names of the Itanium C++ ABI, section 5.1. Everything is written to one text, and what a
 * substitution or a template parameter stands for is a part of the text that was written before.
 * Where libiberty's text depends on more than that (declarators of pointers to functions,
 * expressions, ...), these functions return false.
 */
#include "demangle_short.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

static bool read_type(struct name *name, struct part *type);
static bool read_parameters(struct name *name);
static bool read_encoding(struct name *name);

/* --- Reading and writing -------------------------------------------------------------------- */

static char peek(const struct name *name)
{
    if (name->at < name->end)
        return *name->at;
    return '\0';
}

static char peek_next(const struct name *name)
{
    if (name->end - name->at > 1)
        return name->at[1];
    return '\0';
}

static bool skip(struct name *name, char wanted)
{
    if (peek(name) != wanted)
        return false;
    name->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool put(struct name *name, const char *text, size_t length)
{
    if (length > name->limit - name->used)
        return false;
    memcpy(name->text + name->used, text, length);
    name->used += (uint32_t)length;
    return true;
}

static bool put_string(struct name *name, const char *text)
{
    return put(name, text, strlen(text));
}

static bool put_part(struct name *name, const struct part *part)
{
    return put(name, name->text + part->start, part->end - part->start);
}

/* True if the text from start on ends in suffix. */
static bool ends_in(const struct name *name, uint32_t start, const char *suffix)
{
    const size_t length = strlen(suffix);
    return name->used - start >= length &&
           memcmp(name->text + name->used - length, suffix, length) == 0;
}

static struct part part_from(const struct name *name, uint32_t start)
{
    return (struct part){
        .start = start,
        .end = name->used,
        .scope = name->parameter_end > start ? name->scope : 0,
        .has_lambda = name->lambda_end > start,
    };
}

static bool add_substitution(struct name *name, struct part part)
{
    if (name->substitution_count == PARTS_MAX)
        return false;
    name->substitutions[name->substitution_count++] = part;
    return true;
}

/* --- Identifiers ---------------------------------------------------------------------------- */

static bool read_length(struct name *name, size_t *length)
{
    *length = 0;
    while (is_digit(peek(name)) && *length < TEXT_MAX)
        *length = *length * 10 + (size_t)(*name->at++ - '0');
    return *length != 0 && *length <= (size_t)(name->end - name->at);
}

static bool is_anonymous_namespace(const char *text, size_t length)
{
    static const char prefix[] = "_GLOBAL_";
    const size_t size = sizeof(prefix) - 1;
    return length >= size + 2 && memcmp(text, prefix, size) == 0 && strchr("._$", text[size]) &&
           text[size + 1] == 'N';
}

static bool read_source_name(struct name *name)
{
    size_t length;
    if (!read_length(name, &length))
        return false;
    const uint32_t start = name->used;
    const bool is_anonymous = is_anonymous_namespace(name->at, length);
    const bool is_put =
        is_anonymous ? put_string(name, "(anonymous namespace)") : put(name, name->at, length);
    name->at += length;
    name->last_source = part_from(name, start);
    return is_put;
}

static bool read_operator(struct name *name)
{
    static const char operators[][6] = {
        "aN&=", "aS=",  "aa&&", "ad&",  "an&",  "cl()",  "cm,",   "co~",  "dV/=", "de*", "dv/",
        "eO^=", "eo^",  "eq==", "ge>=", "gt>",  "ix[]",  "lS<<=", "le<=", "ls<<", "lt<", "mI-=",
        "mL*=", "mi-",  "ml*",  "mm--", "ne!=", "ng-",   "nt!",   "oR|=", "oo||", "or|", "pL+=",
        "pl+",  "pp++", "ps+",  "pt->", "rM%=", "rS>>=", "rm%",   "rs>>",
    };
    const char code[2] = {peek(name), peek_next(name)};
    size_t found = 0;
    while (found < sizeof(operators) / sizeof(operators[0]) &&
           memcmp(operators[found], code, 2) != 0)
        found++;
    if (found == sizeof(operators) / sizeof(operators[0]))
        return false;
    name->at += 2;
    const char *text = operators[found] + 2;
    const size_t length = strnlen(text, sizeof(operators[0]) - 2);
    /* Among arguments a bracket of the operator could be taken for one of a template. */
    return (name->depth == 0 || text[length - 1] != '>') && put_string(name, "operator") &&
           put(name, text, length);
}

/* A constructor has the class's name, which is behind its namespace in the text. */
static bool read_structor(struct name *name, struct ending *ending)
{
    const bool is_destructor = peek(name) == 'D';
    const char number = peek_next(name);
    if (is_destructor ? number < '0' || number > '2' : number < '1' || number > '3')
        return false;
    if (name->last_source.end == 0)
        return false;
    name->at += 2;
    ending->is_structor = true;
    return (!is_destructor || put_string(name, "~")) && put_part(name, &name->last_source);
}

/* The number of a lambda among those with the same types in a function, behind its types. */
static bool read_lambda_number(struct name *name)
{
    char text[16];
    unsigned number = 1;
    const bool is_first = skip(name, '_');
    if (!is_first) {
        size_t value = 0;
        while (is_digit(peek(name)) && value < 10000)
            value = value * 10 + (size_t)(*name->at++ - '0');
        number = (unsigned)value + 2;
    }
    const bool is_numbered = is_first || (is_digit(name->at[-1]) && skip(name, '_'));
    return is_numbered && put(name, text, (size_t)snprintf(text, sizeof(text), "#%u}", number));
}

/* A function without a name. */
static bool read_lambda(struct name *name)
{
    const bool has_signature_types = name->has_signature_types;
    const bool is_in_lambda = name->is_in_lambda;
    const uint32_t start = name->used;
    name->at += 2;
    name->has_signature_types = false;
    name->is_in_lambda = true;
    const bool is_read = put_string(name, "{lambda") && read_parameters(name) && skip(name, 'E') &&
                         read_lambda_number(name);
    name->has_signature_types = has_signature_types;
    name->is_in_lambda = is_in_lambda;
    name->last_source = (struct part){.end = 0};
    if (memmem(name->text + start, name->used - start, "const", 5))
        name->lambda_end = name->used;
    return is_read;
}

/* Tags behind an identifier, which are no part of a constructor's name. */
static bool read_tags(struct name *name)
{
    const struct part last_source = name->last_source;
    bool is_read = true;
    while (is_read && skip(name, 'B'))
        is_read = put_string(name, "[abi:") && read_source_name(name) && put_string(name, "]");
    name->last_source = last_source;
    return is_read;
}

/* The next part of a qualified name, without template arguments. */
static bool read_unqualified(struct name *name, bool is_own, struct ending *ending)
{
    if (ending->is_operator)
        return false;
    *ending = (struct ending){.is_const = ending->is_const};
    const char first = peek(name);
    bool is_read;
    if (is_digit(first)) {
        is_read = read_source_name(name);
    } else if (first == 'L' && is_digit(peek_next(name))) {
        name->at++;
        is_read = read_source_name(name) && peek(name) != '_';
    } else if (first == 'U' && peek_next(name) == 'l') {
        is_read = read_lambda(name);
    } else if (!is_own) {
        is_read = false;
    } else if (first == 'C' || first == 'D') {
        is_read = read_structor(name, ending);
    } else {
        is_read = ending->is_operator = read_operator(name);
    }
    /* libiberty takes a template of constructors with a tag for one of other functions. */
    return is_read && !(ending->is_structor && peek(name) == 'B') && read_tags(name);
}

/* --- Templates ------------------------------------------------------------------------------ */

/* The suffix of a literal of a type, or NULL: such a literal is written behind "(type)". */
static const char *literal_suffix(char type)
{
    switch (type) {
    case 'i':
        return "";
    case 'j':
        return "u";
    case 'l':
        return "l";
    case 'm':
        return "ul";
    case 'x':
        return "ll";
    case 'y':
        return "ull";
    default:
        return NULL;
    }
}

static bool read_digits(struct name *name)
{
    if (skip(name, 'n') && !put_string(name, "-"))
        return false;
    const char *start = name->at;
    while (is_digit(peek(name)))
        name->at++;
    return name->at != start && put(name, start, (size_t)(name->at - start)) && skip(name, 'E');
}

/* A number behind "L". */
static bool read_literal(struct name *name)
{
    const char type = peek(name);
    if (type == 'b') {
        const char value = peek_next(name);
        if ((value != '0' && value != '1') || name->end - name->at < 3 || name->at[2] != 'E')
            return false;
        name->at += 3;
        return put_string(name, value == '1' ? "true" : "false");
    }
    const char *suffix = literal_suffix(type);
    if (suffix) {
        name->at++;
        return read_digits(name) && put_string(name, suffix);
    }
    struct part unused;
    const bool is_number = (type >= 'a' && type <= 'c') || type == 'h' || type == 's' ||
                           type == 't' || type == 'N' || is_digit(type) || type == 'S';
    return is_number && put_string(name, "(") && read_type(name, &unused) && !unused.is_function &&
           put_string(name, ")") && read_digits(name);
}

static bool read_list(struct name *name, struct argument *pack);

static bool read_argument(struct name *name, struct argument *argument)
{
    const uint32_t start = name->used;
    *argument = (struct argument){.element_count = 0};
    bool is_read;
    if (skip(name, 'L')) {
        is_read = read_literal(name);
        argument->part = part_from(name, start);
    } else if (skip(name, 'J')) {
        argument->is_pack = true;
        is_read = read_list(name, argument);
    } else {
        is_read = read_type(name, &argument->part);
    }
    return is_read;
}

/*
 * Arguments up to "E", with commas. As in libiberty, empty ones at the end have none. pack is NULL,
 * or a pack whose elements they are.
 */
static bool read_list(struct name *name, struct argument *pack)
{
    uint32_t used = name->used; /* without empty ones */
    if (pack)
        pack->first_element = name->element_count;
    for (bool is_first = true; !skip(name, 'E'); is_first = false) {
        if (!is_first && !put_string(name, ", "))
            return false;
        const uint32_t start = name->used;
        struct argument argument;
        if (!read_argument(name, &argument))
            return false;
        if (name->used != start || is_first)
            used = name->used;
        if (!pack)
            continue;
        if (argument.is_pack || name->element_count == PARTS_MAX ||
            pack->first_element + pack->element_count != name->element_count)
            return false;
        name->elements[name->element_count++] = argument.part;
        pack->element_count++;
    }
    name->used = used;
    return true;
}

/* Arguments of the template that a name ends in up to now. */
static bool read_own_list(struct name *name, bool keep)
{
    uint32_t used = name->used;
    struct argument own[OWN_MAX];
    unsigned count = 0;
    for (; !skip(name, 'E'); count++) {
        if (count == OWN_MAX || (count != 0 && !put_string(name, ", ")))
            return false;
        const uint32_t start = name->used;
        if (!read_argument(name, &own[count]))
            return false;
        if (name->used != start || count == 0)
            used = name->used;
    }
    name->used = used;
    if (!keep)
        return true;
    memcpy(name->arguments, own, count * sizeof(own[0]));
    name->argument_count = count;
    return true;
}

/* Arguments behind "I". keep: the name can be the function's, whose types refer to them. */
static bool read_template(struct name *name, bool keep)
{
    const struct part last_source = name->last_source;
    if (name->depth == DEPTH_MAX)
        return false;
    if (name->used != 0 && name->text[name->used - 1] == '<' && !put_string(name, " "))
        return false;
    if (!put_string(name, "<"))
        return false;
    name->depth++;
    const bool is_read = keep ? read_own_list(name, true) : read_list(name, NULL);
    name->depth--;
    name->last_source = last_source;
    /* demangle_whole() has a blank between such brackets. */
    return is_read && !ends_in(name, 0, "operator>") && put_string(name, ">");
}

/* --- Names ---------------------------------------------------------------------------------- */

/* The number behind "S" or "T": "_" is 0, "0_" is 1; digits of the base. */
static bool read_sequence(struct name *name, unsigned base, unsigned *number)
{
    unsigned value = 0;
    bool is_first = true;
    for (; !skip(name, '_'); is_first = false) {
        const char c = peek(name);
        const unsigned digit = is_digit(c)            ? (unsigned)(c - '0')
                               : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10
                                                      : base;
        if (digit >= base || value > PARTS_MAX)
            return false;
        value = value * base + digit;
        name->at++;
    }
    *number = is_first ? 0 : value + 1;
    return true;
}

static bool is_numbered(const struct name *name)
{
    const char next = peek_next(name);
    return next == '_' || is_digit(next) || (next >= 'A' && next <= 'Z');
}

/* A substitution by number. */
static bool read_numbered(struct name *name, struct part *found)
{
    unsigned number;
    name->at++;
    if (!read_sequence(name, 36, &number) || number >= name->substitution_count)
        return false;
    *found = name->substitutions[number];
    if (found->is_pack || (found->is_function && name->is_in_lambda) || !put_part(name, found))
        return false;
    if (found->has_lambda)
        name->lambda_end = name->used;
    if (found->scope == 0)
        return true;
    name->parameter_end = name->used;
    return found->scope == name->scope && !name->is_in_lambda;
}

/* A name of the standard library. Constructors would have its long form. */
static bool read_standard(struct name *name)
{
    static const char *const texts[][2] = {
        {"a", "std::allocator"},
        {"b", "std::basic_string"},
        {"s", "std::string"},
        {"i", "std::istream"},
        {"o", "std::ostream"},
        {"d", "std::iostream"},
        {"t", "std"},
    };
    const char code = peek_next(name);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i][0][0] == code) {
            name->at += 2;
            return peek(name) != 'C' && peek(name) != 'D' && peek(name) != 'B' &&
                   put_string(name, texts[i][1]);
        }
    return false;
}

/* The parts between "N" and "E". is_own: the name of the function. */
static bool read_prefix(struct name *name, uint32_t start, bool is_own, struct ending *ending)
{
    for (bool is_first = true; !skip(name, 'E'); is_first = false) {
        const char first = peek(name);
        struct part found;
        if (first == 'S' && is_first) {
            if (!(is_numbered(name) ? read_numbered(name, &found) && !found.is_modified
                                    : read_standard(name)) ||
                peek(name) == 'E')
                return false;
            continue;
        }
        if (first == 'I') {
            if (is_first || ending->is_template || !(name->at++, read_template(name, is_own)))
                return false;
            ending->is_template = true;
        } else if ((!is_first && !put_string(name, "::")) ||
                   !read_unqualified(name, is_own, ending)) {
            return false;
        }
        if (peek(name) != 'E' && !add_substitution(name, part_from(name, start)))
            return false;
    }
    return name->used != start;
}

/* A name in namespaces or classes, behind "N". */
static bool read_nested(struct name *name, bool is_own, struct ending *ending)
{
    if (is_own && skip(name, 'K'))
        ending->is_const = true;
    const char first = peek(name);
    if (first == 'K' || first == 'V' || first == 'r' || first == 'R' || first == 'O' ||
        first == 'E')
        return false;
    return read_prefix(name, name->used, is_own, ending);
}

static bool read_name(struct name *name, bool is_own, struct ending *ending, bool *is_standard);

/* What distinguishes a name from others of one function. It is not written. */
static bool read_discriminator(struct name *name)
{
    if (!skip(name, '_'))
        return true;
    const bool is_long = skip(name, '_');
    size_t number;
    const char *start = name->at;
    if (!is_digit(peek(name)))
        return false;
    for (number = 0; is_digit(peek(name)) && number < 10000; name->at++)
        number = number * 10 + (size_t)(*name->at - '0');
    return name->at - start < 5 && (!is_long || number < 10 || skip(name, '_'));
}

/* The function that a name is local to, with its own template parameters. */
static bool read_scope(struct name *name)
{
    struct argument arguments[OWN_MAX];
    const unsigned argument_count = name->argument_count;
    const uint32_t scope = name->scope;
    const bool has_signature_types = name->has_signature_types;
    memcpy(arguments, name->arguments, argument_count * sizeof(arguments[0]));
    name->scope = ++name->scope_count;
    name->has_signature_types = false;
    const bool is_read = read_encoding(name);
    memcpy(name->arguments, arguments, argument_count * sizeof(arguments[0]));
    name->argument_count = argument_count;
    name->scope = scope;
    name->has_signature_types = has_signature_types;
    return is_read;
}

/* A name in a function, behind "Z". */
static bool read_local(struct name *name, bool is_own, struct ending *ending)
{
    if (name->depth == DEPTH_MAX)
        return false;
    name->depth++;
    const bool is_read = read_scope(name);
    name->depth--;
    name->last_source = (struct part){.end = 0};
    const char first = peek(name);
    const bool is_lambda = first == 'U' || (first == 'N' && peek_next(name) == 'U');
    /* String literals and what is in default arguments are written in other ways. */
    if (!is_read || !put_string(name, "::") || first == 's' || first == 'd' || first == 'S' ||
        first == 'Z')
        return false;
    bool is_standard;
    return read_name(name, is_own, ending, &is_standard) &&
           (is_lambda ? peek(name) != '_' : read_discriminator(name));
}

/* Any name but a substitution by number. *is_standard: it is one that needs no new substitution. */
static bool read_name(struct name *name, bool is_own, struct ending *ending, bool *is_standard)
{
    *ending = (struct ending){.is_const = false};
    *is_standard = false;
    if (skip(name, 'N'))
        return read_nested(name, is_own, ending);
    if (skip(name, 'Z'))
        return read_local(name, is_own, ending);
    if (peek(name) == 'U')
        return read_unqualified(name, is_own, ending);
    const uint32_t start = name->used;
    bool can_substitute = true;
    if (peek(name) == 'S') {
        const bool is_namespace = peek_next(name) == 't';
        if (!read_standard(name))
            return false;
        can_substitute = is_namespace;
        *is_standard = !is_namespace;
        if (is_namespace && (!put_string(name, "::") || !read_unqualified(name, is_own, ending)))
            return false;
    } else if (!read_unqualified(name, is_own, ending)) {
        return false;
    }
    if (ending->is_structor)
        return false;
    if (!skip(name, 'I'))
        return !is_own || !*is_standard;
    *is_standard = false;
    ending->is_template = true;
    return (!can_substitute || add_substitution(name, part_from(name, start))) &&
           read_template(name, is_own);
}

/* --- Types ---------------------------------------------------------------------------------- */

static const char *builtin(char code)
{
    switch (code) {
    case 'a':
        return "signed char";
    case 'b':
        return "bool";
    case 'c':
        return "char";
    case 'd':
        return "double";
    case 'e':
        return "long double";
    case 'f':
        return "float";
    case 'g':
        return "__float128";
    case 'h':
        return "unsigned char";
    case 'i':
        return "int";
    case 'j':
        return "unsigned int";
    case 'l':
        return "long";
    case 'm':
        return "unsigned long";
    case 'n':
        return "__int128";
    case 'o':
        return "unsigned __int128";
    case 's':
        return "short";
    case 't':
        return "unsigned short";
    case 'v':
        return "void";
    case 'w':
        return "wchar_t";
    case 'x':
        return "long long";
    case 'y':
        return "unsigned long long";
    case 'z':
        return "...";
    default:
        return NULL;
    }
}

/* Types of parameters up to the end or "E". "v" alone is none. */
static bool read_parameters(struct name *name)
{
    if (!put_string(name, "("))
        return false;
    if (peek(name) == 'v' && (name->end - name->at == 1 || peek_next(name) == 'E')) {
        name->at++;
        return put_string(name, ")");
    }
    if (name->at == name->end || peek(name) == 'E')
        return false;
    uint32_t used = name->used;
    for (bool is_first = true; name->at != name->end && peek(name) != 'E'; is_first = false) {
        if (!is_first && !put_string(name, ", "))
            return false;
        const uint32_t start = name->used;
        struct part unused;
        if (!read_type(name, &unused))
            return false;
        if (name->used != start || is_first)
            used = name->used;
    }
    name->used = used;
    return put_string(name, ")");
}

/* A type of functions, behind "F". */
static bool read_function_type(struct name *name, struct part *type)
{
    struct part result;
    const uint32_t start = name->used;
    /* libiberty writes what is behind a lambda, such as "&", into a function among its types. */
    if (name->is_in_lambda || peek(name) == 'Y' || !read_type(name, &result) ||
        result.is_function || !put_string(name, " ") || !read_parameters(name) || !skip(name, 'E'))
        return false;
    *type = part_from(name, start);
    type->is_function = true;
    type->is_modified = true;
    return add_substitution(name, *type);
}

/* "&" or "&&" behind a type. References to references are one. */
static bool put_reference(struct name *name, uint32_t start, bool is_rvalue)
{
    if (ends_in(name, start, "&&")) {
        if (!is_rvalue)
            name->used--;
        return true;
    }
    return ends_in(name, start, "&") || put_string(name, is_rvalue ? "&&" : "&");
}

/* "P", "R", "O" or "K" and the type that it modifies. */
static bool read_modified(struct name *name, struct part *type)
{
    const uint32_t start = name->used;
    const char modifier = *name->at++;
    const char next = peek(name);
    struct part inner;
    if (modifier == 'K' && (next == 'V' || next == 'K' || next == 'r'))
        return false;
    if (!read_type(name, &inner) || inner.is_function || inner.is_pack)
        return false;
    const bool is_reference = modifier == 'R' || modifier == 'O';
    if (ends_in(name, start, "&") && !(inner.is_parameter && is_reference))
        return false;
    bool is_put = true;
    if (modifier == 'P')
        is_put = put_string(name, "*");
    else if (modifier == 'K' && name->lambda_end > start)
        return false;
    else if (modifier == 'K')
        is_put = ends_in(name, start, " const") || put_string(name, " const");
    else
        is_put = put_reference(name, start, modifier == 'O');
    *type = part_from(name, start);
    type->is_modified = true;
    return is_put && add_substitution(name, *type);
}

/* True where parameters of the function's template can be read. */
static bool has_parameters(const struct name *name)
{
    return name->has_signature_types && !name->is_in_lambda;
}

/* A parameter of the function's template, behind "T". */
static bool read_parameter(struct name *name, struct part *type)
{
    unsigned number;
    if (!has_parameters(name) || !read_sequence(name, 10, &number) ||
        number >= name->argument_count || name->arguments[number].is_pack || peek(name) == 'I')
        return false;
    *type = name->arguments[number].part;
    type->is_modified = true;
    type->is_parameter = true;
    type->scope = name->scope;
    if (!add_substitution(name, *type) || !put_part(name, type))
        return false;
    name->parameter_end = name->used;
    if (type->has_lambda)
        name->lambda_end = name->used;
    return true;
}

/* "T_", "OT_" and the like for each element of a pack, behind "Dp". */
static bool read_expansion(struct name *name, struct part *type)
{
    char modifiers[4];
    unsigned count = 0;
    unsigned number;
    const uint32_t start = name->used;
    for (; strchr("PROK", peek(name)) && peek(name); count++) {
        const bool is_reference = peek(name) == 'R' || peek(name) == 'O';
        if (count == sizeof(modifiers) || (count != 0 && is_reference))
            return false;
        modifiers[count] = *name->at++;
    }
    if (!skip(name, 'T') || !has_parameters(name) || !read_sequence(name, 10, &number) ||
        number >= name->argument_count || !name->arguments[number].is_pack || peek(name) == 'I')
        return false;
    const struct argument *pack = &name->arguments[number];
    for (uint32_t i = 0; i < pack->element_count; i++) {
        const struct part *element = &name->elements[pack->first_element + i];
        const uint32_t element_start = name->used + (i != 0 ? 2 : 0);
        if (element->is_function || element->has_lambda || (i != 0 && !put_string(name, ", ")) ||
            !put_part(name, element))
            return false;
        for (unsigned m = count; m-- > 0;) {
            const char modifier = modifiers[m];
            if (modifier == 'P' || modifier == 'K') {
                const char *text = modifier == 'P' ? "*" : " const";
                if (ends_in(name, element_start, "&"))
                    return false;
                if (!(modifier == 'K' && ends_in(name, element_start, text)) &&
                    !put_string(name, text))
                    return false;
            } else if (!put_reference(name, element_start, modifier == 'O')) {
                return false;
            }
        }
    }
    /* The parameter, each modified type, and the expansion can be substituted. */
    *type = part_from(name, start);
    type->is_pack = true;
    for (unsigned i = 0; i < count + 2; i++)
        if (!add_substitution(name, *type))
            return false;
    return true;
}

static bool read_class(struct name *name, struct part *type)
{
    const uint32_t start = name->used;
    struct ending ending;
    bool is_standard = false;
    if (peek(name) == 'S' && is_numbered(name)) {
        struct part found;
        if (!read_numbered(name, &found))
            return false;
        if (!skip(name, 'I')) {
            *type = found;
            return true;
        }
        if (found.is_modified || !read_template(name, false))
            return false;
    } else if (!read_name(name, false, &ending, &is_standard) || ending.is_structor) {
        return false;
    }
    *type = part_from(name, start);
    return is_standard || add_substitution(name, *type);
}

/* A type of the language that is no builtin one of C. */
static bool read_special(struct name *name, struct part *type)
{
    static const char *const texts[] = {"aauto",     "cdecltype(auto)", "ichar32_t",
                                        "schar16_t", "uchar8_t",        "ndecltype(nullptr)"};
    const uint32_t start = name->used;
    const char code = peek_next(name);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i][0] == code) {
            name->at += 2;
            const bool is_put = put_string(name, texts[i] + 1);
            *type = part_from(name, start);
            type->is_modified = true;
            return is_put;
        }
    return false;
}

static bool read_any_type(struct name *name, struct part *type)
{
    const uint32_t start = name->used;
    const char first = peek(name);
    const char *text = builtin(first);
    if (text) {
        name->at++;
        const bool is_put = put_string(name, text);
        *type = part_from(name, start);
        return is_put;
    }
    switch (first) {
    case 'P':
    case 'R':
    case 'O':
    case 'K':
        return read_modified(name, type);
    case 'F':
        name->at++;
        return read_function_type(name, type);
    case 'T':
        name->at++;
        return read_parameter(name, type);
    case 'D':
        if (peek_next(name) != 'p')
            return read_special(name, type);
        name->at += 2;
        return read_expansion(name, type);
    default:
        return (is_digit(first) || first == 'N' || first == 'S' || first == 'Z') &&
               read_class(name, type);
    }
}

static bool read_type(struct name *name, struct part *type)
{
    if (name->depth == DEPTH_MAX)
        return false;
    name->depth++;
    const bool is_read = read_any_type(name, type);
    name->depth--;
    return is_read;
}

/* --- Functions ------------------------------------------------------------------------------ */

static void move_part(struct part *part, uint32_t start, uint32_t shift)
{
    if (part->start < start)
        return;
    part->start += shift;
    part->end += shift;
}

/* Keep what was written from start on for substitutions, but do not print it. */
static bool hide(struct name *name, uint32_t start, unsigned substitution, unsigned element)
{
    const uint32_t size = name->used - start;
    if (size > name->limit - name->used)
        return false;
    name->limit -= size;
    memcpy(name->text + name->limit, name->text + start, size);
    for (unsigned i = substitution; i < name->substitution_count; i++)
        move_part(&name->substitutions[i], start, name->limit - start);
    for (unsigned i = element; i < name->element_count; i++)
        move_part(&name->elements[i], start, name->limit - start);
    name->used = start;
    if (name->parameter_end > start)
        name->parameter_end = start;
    if (name->lambda_end > start)
        name->lambda_end = start;
    return true;
}

/* A function that a name is local to, up to "E". Its result is not written. */
static bool read_encoding(struct name *name)
{
    struct ending ending;
    bool is_standard;
    if (!read_name(name, true, &ending, &is_standard))
        return false;
    if (peek(name) == 'E')
        return !ending.is_const && skip(name, 'E');
    name->has_signature_types = ending.is_template;
    if (ending.is_template && !ending.is_structor) {
        const uint32_t start = name->used;
        const unsigned substitution = name->substitution_count;
        const unsigned element = name->element_count;
        struct part type;
        if (!read_type(name, &type) || type.is_function || type.is_pack ||
            !hide(name, start, substitution, element))
            return false;
    }
    return read_parameters(name) && skip(name, 'E') &&
           (!ending.is_const || put_string(name, " const"));
}

/* The parts of a text in the order in which they are written. */
struct function {
    struct part name;
    struct part result; /* empty: it is not known */
    struct part parameters;
    bool is_const;
};

static bool read_function(struct name *name, struct function *function)
{
    struct ending ending;
    bool is_standard;
    if (!read_name(name, true, &ending, &is_standard))
        return false;
    *function = (struct function){.name = part_from(name, 0), .is_const = ending.is_const};
    if (name->at == name->end)
        return !ending.is_const;
    name->has_signature_types = ending.is_template;
    if (ending.is_template && !ending.is_structor) {
        const uint32_t start = name->used;
        struct part type;
        if (!read_type(name, &type) || type.is_function || type.is_pack)
            return false;
        function->result = part_from(name, start);
    }
    const uint32_t start = name->used;
    if (name->at == name->end || !read_parameters(name) || name->at != name->end)
        return false;
    function->parameters = part_from(name, start);
    return true;
}

static char *copy(char *to, const struct name *name, const struct part *part)
{
    return mempcpy(to, name->text + part->start, part->end - part->start);
}

char *demangle_short(const char *mangled)
{
    const size_t length = strlen(mangled);
    if (length < 3 || length > MANGLED_MAX || memcmp(mangled, "_Z", 2) != 0)
        return NULL;
    /* Signs in the names themselves would be taken for those of types. */
    if (strpbrk(mangled, " &*<>(),[]"))
        return NULL;
    struct name name;
    name.at = mangled + 2;
    name.end = mangled + length;
    name.depth = 0;
    name.used = 0;
    name.limit = TEXT_MAX;
    name.parameter_end = 0;
    name.lambda_end = 0;
    name.scope = 1;
    name.scope_count = 1;
    name.substitution_count = 0;
    name.argument_count = 0;
    name.element_count = 0;
    name.last_source = (struct part){.end = 0};
    name.has_signature_types = false;
    name.is_in_lambda = false;
    struct function function;
    if (!read_function(&name, &function))
        return NULL;
    static const char suffix[] = " const";
    char *made = malloc((size_t)name.used + 1 + sizeof(suffix));
    if (!made)
        return NULL;
    char *at = made;
    if (function.result.end != 0) {
        at = copy(at, &name, &function.result);
        *at++ = ' ';
    }
    at = copy(at, &name, &function.name);
    at = copy(at, &name, &function.parameters);
    if (function.is_const)
        at = mempcpy(at, suffix, sizeof(suffix) - 1);
    *at = '\0';
    return made;
}
