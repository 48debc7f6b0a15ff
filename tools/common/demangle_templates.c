/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arguments of templates. */
#include "demangle_parts.h"

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
    return is_number && put_string(name, "(") && mangled_read_type(name, &unused) &&
           !unused.is_function && put_string(name, ")") && read_digits(name);
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
        is_read = mangled_read_type(name, &argument->part);
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
bool mangled_read_template(struct name *name, bool keep)
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
