/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Types. */
#include "demangle_parts.h"

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
bool mangled_read_parameters(struct name *name)
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
        if (!mangled_read_type(name, &unused))
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
    if (name->is_in_lambda || peek(name) == 'Y' || !mangled_read_type(name, &result) ||
        result.is_function || !put_string(name, " ") || !mangled_read_parameters(name) ||
        !skip(name, 'E'))
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
    if (!mangled_read_type(name, &inner) || inner.is_function || inner.is_pack)
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
    if (!has_parameters(name) || !mangled_read_sequence(name, 10, &number) ||
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
    if (!skip(name, 'T') || !has_parameters(name) || !mangled_read_sequence(name, 10, &number) ||
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
    if (peek(name) == 'S' && mangled_is_numbered(name)) {
        struct part found;
        if (!mangled_read_numbered(name, &found))
            return false;
        if (!skip(name, 'I')) {
            *type = found;
            return true;
        }
        if (found.is_modified || !mangled_read_template(name, false))
            return false;
    } else if (!mangled_read_name(name, false, &ending, &is_standard) || ending.is_structor) {
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

bool mangled_read_type(struct name *name, struct part *type)
{
    if (name->depth == DEPTH_MAX)
        return false;
    name->depth++;
    const bool is_read = read_any_type(name, type);
    name->depth--;
    return is_read;
}
