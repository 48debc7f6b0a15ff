/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle_short.h"

#include <stdlib.h>

#include "demangle_parts.h"

/* --- Functions of local names --------------------------------------------------------------- */

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
bool mangled_read_encoding(struct name *name)
{
    struct ending ending;
    bool is_standard;
    if (!mangled_read_name(name, true, &ending, &is_standard))
        return false;
    if (peek(name) == 'E')
        return !ending.is_const && skip(name, 'E');
    name->has_signature_types = ending.is_template;
    if (ending.is_template && !ending.is_structor) {
        const uint32_t start = name->used;
        const unsigned substitution = name->substitution_count;
        const unsigned element = name->element_count;
        struct part type;
        if (!mangled_read_type(name, &type) || type.is_function || type.is_pack ||
            !hide(name, start, substitution, element))
            return false;
    }
    return mangled_read_parameters(name) && skip(name, 'E') &&
           (!ending.is_const || put_string(name, " const"));
}

/* --- The whole name ------------------------------------------------------------------------- */

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
    if (!mangled_read_name(name, true, &ending, &is_standard))
        return false;
    *function = (struct function){.name = part_from(name, 0), .is_const = ending.is_const};
    if (name->at == name->end)
        return !ending.is_const;
    name->has_signature_types = ending.is_template;
    if (ending.is_template && !ending.is_structor) {
        const uint32_t start = name->used;
        struct part type;
        if (!mangled_read_type(name, &type) || type.is_function || type.is_pack)
            return false;
        function->result = part_from(name, start);
    }
    const uint32_t start = name->used;
    if (name->at == name->end || !mangled_read_parameters(name) || name->at != name->end)
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
