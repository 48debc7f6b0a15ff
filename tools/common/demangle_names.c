/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names in namespaces, in classes and in functions. */
#include "demangle_parts.h"

bool mangled_is_numbered(const struct name *name)
{
    const char next = peek_next(name);
    return next == '_' || is_digit(next) || (next >= 'A' && next <= 'Z');
}

/* A substitution by number. */
bool mangled_read_numbered(struct name *name, struct part *found)
{
    unsigned number;
    name->at++;
    if (!mangled_read_sequence(name, 36, &number) || number >= name->substitution_count)
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
            if (!(mangled_is_numbered(name)
                      ? mangled_read_numbered(name, &found) && !found.is_modified
                      : read_standard(name)) ||
                peek(name) == 'E')
                return false;
            continue;
        }
        if (first == 'I') {
            if (is_first || ending->is_template ||
                !(name->at++, mangled_read_template(name, is_own)))
                return false;
            ending->is_template = true;
        } else if ((!is_first && !put_string(name, "::")) ||
                   !mangled_read_unqualified(name, is_own, ending)) {
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
    const bool is_read = mangled_read_encoding(name);
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
    return mangled_read_name(name, is_own, ending, &is_standard) &&
           (is_lambda ? peek(name) != '_' : read_discriminator(name));
}

/* Any name but a substitution by number. *is_standard: it is one that needs no new substitution. */
bool mangled_read_name(struct name *name, bool is_own, struct ending *ending, bool *is_standard)
{
    *ending = (struct ending){.is_const = false};
    *is_standard = false;
    if (skip(name, 'N'))
        return read_nested(name, is_own, ending);
    if (skip(name, 'Z'))
        return read_local(name, is_own, ending);
    if (peek(name) == 'U')
        return mangled_read_unqualified(name, is_own, ending);
    const uint32_t start = name->used;
    bool can_substitute = true;
    if (peek(name) == 'S') {
        const bool is_namespace = peek_next(name) == 't';
        if (!read_standard(name))
            return false;
        can_substitute = is_namespace;
        *is_standard = !is_namespace;
        if (is_namespace &&
            (!put_string(name, "::") || !mangled_read_unqualified(name, is_own, ending)))
            return false;
    } else if (!mangled_read_unqualified(name, is_own, ending)) {
        return false;
    }
    if (ending->is_structor)
        return false;
    if (!skip(name, 'I'))
        return !is_own || !*is_standard;
    *is_standard = false;
    ending->is_template = true;
    return (!can_substitute || add_substitution(name, part_from(name, start))) &&
           mangled_read_template(name, is_own);
}
