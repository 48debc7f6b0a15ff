/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of names without template arguments: identifiers, operators, lambdas. */
#include <stdio.h>

#include "demangle_parts.h"

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
    const bool mangled_is_numbered = is_first || (is_digit(name->at[-1]) && skip(name, '_'));
    return mangled_is_numbered &&
           put(name, text, (size_t)snprintf(text, sizeof(text), "#%u}", number));
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
    const bool is_read = put_string(name, "{lambda") && mangled_read_parameters(name) &&
                         skip(name, 'E') && read_lambda_number(name);
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
bool mangled_read_unqualified(struct name *name, bool is_own, struct ending *ending)
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

/* The number behind "S" or "T": "_" is 0, "0_" is 1; digits of the base. */
bool mangled_read_sequence(struct name *name, unsigned base, unsigned *number)
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
