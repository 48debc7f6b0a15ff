/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangled_names.h"
#include "counts.h"
#include "spec/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct demangled_name {
    char *plain;  /* NULL if it is not mangled or not kept */
    bool is_left; /* not kept */
};

struct demangled_names {
    char *(*demangle)(const char *name);
    struct bat_counts numbers; /* the name's address: number in all */
    struct demangled_name *all;
    size_t count;
    size_t capacity;
    struct kept_names kept;
    char *last; /* the last name that was made again, because it is not kept */
};

struct demangled_names *demangled_names_new(char *(*demangle)(const char *name))
{
    struct demangled_names *names = calloc(1, sizeof(*names));
    if (names)
        *names = (struct demangled_names){.demangle = demangle, .numbers = bat_counts_new(1)};
    return names;
}

void demangled_names_free(struct demangled_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->count; i++)
        free(names->all[i].plain);
    bat_counts_free(&names->numbers);
    BAT_FREE_ALL(names->all, names->last, names);
}

/* What is known of a name, now at the latest; NULL without memory. */
static const struct demangled_name *find(struct demangled_names *names, const char *name)
{
    const uint64_t key = (uintptr_t)name;
    const uint64_t *number;
    bool is_new;
    if (!BAT_GROW(names->all, names->count, names->capacity) ||
        bat_counts_find_or_add(&names->numbers, &key, names->count, 0, &number, &is_new))
        return NULL;
    struct demangled_name *found = &names->all[number[0]];
    if (!is_new)
        return found;
    *found = (struct demangled_name){.plain = names->demangle(name)};
    names->count++;
    if (found->plain && !kept_names_has_room(&names->kept, name, strlen(found->plain))) {
        found->is_left = true;
        free(found->plain);
        found->plain = NULL;
    }
    return found;
}

bool demangled_names_warning(const struct demangled_names *names,
                             char text[KEPT_NAMES_WARNING_SIZE])
{
    return kept_names_warning(&names->kept, text);
}

const char *demangled_kept(struct demangled_names *names, const char *name)
{
    const struct demangled_name *found = find(names, name);
    return found && found->plain ? found->plain : name;
}

const char *demangled(struct demangled_names *names, const char *name)
{
    const struct demangled_name *found = find(names, name);
    if (!found || !found->is_left)
        return found && found->plain ? found->plain : name;
    free(names->last);
    names->last = names->demangle(name);
    return names->last ? names->last : name;
}
