/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "match_functions.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "signature.h"
#include "spec/array.h"
#include "support/key_sort.h"

/* A group of namesakes with more members than this on one side is not compared all with all. */
#define NAMESAKES_MAX 64u
#define NAMESAKE_MIN 0.2f

/* A name of a unit. */
struct naming {
    uint64_t name; /* hash */
    uint32_t unit;
    bool is_new;
};

struct function_matching {
    struct next_program *programs[2]; /* old, new */
    struct next_pairs *pairs;
    struct naming *names;
    size_t count;
    size_t capacity;
    /* For names that many functions of the source have: only where one ran are they compared. */
    const struct next_measured *measured;
    struct bat_error *error;
};

static enum bat_code fail_memory(const struct function_matching *matching)
{
    return bat_fail_memory(matching->error, "to match functions");
}

void next_pairs_free(struct next_pairs *pairs)
{
    BAT_FREE_ALL(pairs->new_of, pairs->old_of, pairs->how, pairs->likeness);
    *pairs = (struct next_pairs){0};
}

/* --- Names ---------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name, size_t length)
{
    return (uint64_t)next_hash(name, length, 1) << 32 | next_hash(name, length, 2);
}

static bool add_name(struct function_matching *matching, uint64_t name, uint32_t unit, bool is_new)
{
    return BAT_APPEND(matching->names, matching->count, matching->capacity,
                      (struct naming){name, unit, is_new});
}

static bool is_paired(const struct function_matching *matching, bool is_new, uint32_t unit)
{
    const uint32_t *other = is_new ? matching->pairs->old_of : matching->pairs->new_of;
    return other[unit] != BAT_NONE;
}

static bool has_samples(const struct next_measured *measured, uint32_t unit)
{
    return measured->units[unit] && measured->units[unit]->total > 0;
}

/* All names of a program's functions, aliases too, without the numbers of local ones; or those of
 * local ones with their source files. */
static enum bat_code add_symbols(struct function_matching *matching, bool is_new, bool by_file)
{
    struct next_program *program = matching->programs[is_new];
    const struct bat_symbol *symbols;
    size_t count;
    enum bat_code code = bat_elf_symbols((struct bat_elf *)program->symbols, false, &symbols,
                                         &count, matching->error);
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        const struct bat_symbol *symbol = &symbols[i];
        if ((symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC) ||
            symbol->section == BAT_SECTION_UNDEFINED || (by_file && !symbol->file))
            continue;
        uint32_t function = bat_functions_at(program->functions, symbol->address);
        uint32_t unit = function == BAT_NONE ? BAT_NONE : program->unit_of[function];
        if (unit == BAT_NONE || program->first_part[unit] != function)
            continue;
        unit = program->same_as[unit];
        uint64_t name = hash_name(symbol->name, strlen(symbol->name));
        if (by_file)
            name = name * 31 + hash_name(symbol->file, strlen(symbol->file));
        if (!add_name(matching, name, unit, is_new))
            code = fail_memory(matching);
    }
    return code;
}

/*
 * A part of a function (f.part.0), the rest of which is inlined in its callers, may become all of
 * it. All of it does not become a part: both are put in place of their calls then.
 */
static bool add_whole_or_part(struct function_matching *matching, uint64_t name, uint32_t unit,
                              bool is_new)
{
    bool is_part = strstr(next_unit_name(matching->programs[is_new], unit), ".part.");
    return ((is_part && is_new) || add_name(matching, name, unit, is_new)) &&
           (!is_part || add_name(matching, name + 1, unit, is_new));
}

/* The names without suffixes of units that are not paired yet. */
static enum bat_code add_plain_names(struct function_matching *matching, bool is_new)
{
    const struct next_program *program = matching->programs[is_new];
    for (uint32_t i = 0; i < program->unit_count; i++) {
        const char *name = next_unit_name(program, i);
        if (is_paired(matching, is_new, i) || !*name || program->same_as[i] != i)
            continue;
        uint64_t whole = hash_name(name, next_plain_name_length(name));
        if (!add_whole_or_part(matching, whole, i, is_new))
            return fail_memory(matching);
    }
    return BAT_OK;
}

/* What the source calls functions that are not paired yet. */
static enum bat_code add_source_names(struct function_matching *matching, bool is_new)
{
    const struct next_program *program = matching->programs[is_new];
    for (uint32_t i = 0; i < program->unit_count; i++) {
        if (is_paired(matching, is_new, i) || program->same_as[i] != i)
            continue;
        uint64_t name = next_source_name(next_unit_name(program, i));
        if (name != 0 && !add_whole_or_part(matching, name << 32, i, is_new))
            return fail_memory(matching);
    }
    return BAT_OK;
}

/* Units of one name stand together, the old ones first: sorted by the unit, then by the name. */
static enum bat_code sort_names(struct function_matching *matching)
{
    struct bat_sort_key *keys = malloc((2 * matching->count + 1) * sizeof(*keys));
    if (!keys)
        return fail_memory(matching);
    struct bat_sort_key *spare = keys + matching->count;
    for (size_t i = 0; i < matching->count; i++) {
        const struct naming *name = &matching->names[i];
        keys[i] = (struct bat_sort_key){(uint64_t)name->is_new << 32 | name->unit, name->name};
    }
    struct bat_sort_key *sorted = bat_sort_keys(keys, spare, matching->count);
    for (size_t i = 0; i < matching->count; i++)
        sorted[i] = (struct bat_sort_key){sorted[i].value, sorted[i].key};
    sorted = bat_sort_keys(sorted, sorted == keys ? spare : keys, matching->count);
    for (size_t i = 0; i < matching->count; i++)
        matching->names[i] = (struct naming){sorted[i].key, (uint32_t)sorted[i].value,
                                             (bool)(sorted[i].value >> 32)};
    free(keys);
    return BAT_OK;
}

/* --- Folded functions ----------------------------------------------------------------------- */

/* Where old units are in the new program. */
struct placing {
    uint32_t *places;
    struct next_member *members;
    size_t count;
    size_t capacity;
};

static bool add_member(struct placing *placing, uint32_t old_unit, uint32_t new_unit)
{
    return BAT_APPEND(placing->members, placing->count, placing->capacity,
                      (struct next_member){.old_unit = old_unit, .new_unit = new_unit});
}

/* Take over where the old units of a group of symbols with one name, the old ones first, are in the
 * new program, if each of them has a symbol there and all these are of one unit. */
static bool take_places(const struct naming *group, size_t count, struct placing *placing)
{
    size_t olds = 0;
    while (olds < count && !group[olds].is_new)
        olds++;
    if (olds > count - olds || group[olds].unit != group[count - 1].unit)
        return true;
    const uint32_t new_unit = group[olds].unit;
    for (size_t i = 0; i < olds; i++) {
        uint32_t *place = &placing->places[group[i].unit];
        if (*place == BAT_NONE)
            *place = new_unit;
        else if (*place != new_unit && group[0].unit == group[olds - 1].unit)
            return add_member(placing, group[i].unit, *place) &&
                   add_member(placing, group[i].unit, new_unit);
    }
    return true;
}

enum bat_code next_find_places(struct next_program *old_program, struct next_program *new_program,
                               uint32_t *places, struct next_member **members, size_t *member_count,
                               struct bat_error *error)
{
    struct placing placing = {.places = places};
    struct function_matching matching = {.programs = {old_program, new_program}, .error = error};
    enum bat_code code = BAT_OK;
    for (unsigned by_file = 2; by_file-- > 0 && code == BAT_OK;) {
        for (unsigned is_new = 0; is_new < 2 && code == BAT_OK; is_new++)
            code = add_symbols(&matching, is_new, by_file);
        code = code ? code : sort_names(&matching);
        for (size_t first = 0, end; first < matching.count && code == BAT_OK; first = end) {
            end = first;
            while (end < matching.count && matching.names[end].name == matching.names[first].name)
                end++;
            if (!take_places(matching.names + first, end - first, &placing))
                code = fail_memory(&matching);
        }
        matching.count = 0;
    }
    free(matching.names);
    *members = placing.members;
    *member_count = placing.count;
    return code;
}

/* --- Namesakes ------------------------------------------------------------------------------ */

struct namesakes {
    const struct naming *olds;
    const struct naming *news;
    uint32_t old_count;
    uint32_t new_count;
    bool has_run;
};

static enum bat_code compare_namesakes(struct function_matching *matching,
                                       const struct namesakes *group,
                                       struct next_candidate *candidates, size_t *count)
{
    struct next_signature news[NAMESAKES_MAX] = {0};
    enum bat_code code = BAT_OK;
    for (uint32_t k = 0; k < group->new_count && code == BAT_OK; k++)
        code = next_signature_make(matching->programs[1], group->news[k].unit, &news[k],
                                   matching->error);
    for (uint32_t i = 0; i < group->old_count && code == BAT_OK; i++) {
        struct next_signature old;
        code =
            next_signature_make(matching->programs[0], group->olds[i].unit, &old, matching->error);
        for (uint32_t k = 0; k < group->new_count && code == BAT_OK; k++)
            candidates[(*count)++] = (struct next_candidate){
                next_signature_compare(&old, &news[k]), group->olds[i].unit, group->news[k].unit};
        next_signature_free(&old);
    }
    for (uint32_t k = 0; k < group->new_count; k++)
        next_signature_free(&news[k]);
    return code;
}

/* Pair the most alike first. The only ones of a name are paired however unlike they are, and those
 * that never ran in their order. */
static enum bat_code pair_namesakes(struct function_matching *matching,
                                    const struct namesakes *group, enum next_how how)
{
    uint32_t fewer = group->old_count < group->new_count ? group->old_count : group->new_count;
    if ((group->old_count == 1 && group->new_count == 1) || !group->has_run) {
        for (uint32_t i = 0; i < fewer; i++)
            next_pair(matching->pairs, group->olds[i].unit, group->news[i].unit, how);
        return BAT_OK;
    }
    if (group->old_count > NAMESAKES_MAX || group->new_count > NAMESAKES_MAX)
        return BAT_OK;
    struct next_candidate *candidates =
        malloc((size_t)group->old_count * group->new_count * sizeof(*candidates) + 1);
    size_t count = 0;
    if (!candidates)
        return fail_memory(matching);
    enum bat_code code = compare_namesakes(matching, group, candidates, &count);
    qsort(candidates, count, sizeof(*candidates), next_by_likeness);
    for (size_t i = 0; i < count && code == BAT_OK; i++) {
        const struct next_candidate *all = &candidates[i];
        if (all->likeness > NAMESAKE_MIN && !is_paired(matching, false, all->old_index) &&
            !is_paired(matching, true, all->new_index))
            next_pair(matching->pairs, all->old_index, all->new_index, how);
    }
    free(candidates);
    return code;
}

/* Pair the namesakes among the names; units may have several names. */
static enum bat_code pair_names(struct function_matching *matching, enum next_how how)
{
    enum bat_code code = sort_names(matching);
    for (size_t first = 0, end; first < matching->count && code == BAT_OK; first = end) {
        size_t kept = first;
        size_t news = SIZE_MAX;
        bool has_run = !matching->measured;
        for (end = first;
             end < matching->count && matching->names[end].name == matching->names[first].name;
             end++) {
            const struct naming name = matching->names[end];
            bool is_double = kept > first && matching->names[kept - 1].unit == name.unit &&
                             matching->names[kept - 1].is_new == name.is_new;
            if (is_double || is_paired(matching, name.is_new, name.unit))
                continue;
            if (name.is_new && news == SIZE_MAX)
                news = kept;
            has_run = has_run || (!name.is_new && has_samples(matching->measured, name.unit));
            /* matching->names[first].name is needed until the end of the group: it is the same. */
            matching->names[kept++] = name;
        }
        if (news == SIZE_MAX || news == first)
            continue;
        const struct namesakes group = {.olds = matching->names + first,
                                        .news = matching->names + news,
                                        .old_count = (uint32_t)(news - first),
                                        .new_count = (uint32_t)(kept - news),
                                        .has_run = has_run};
        code = pair_namesakes(matching, &group, how);
    }
    matching->count = 0;
    return code;
}

/* --- Parts that ran --------------------------------------------------------------------------- */

/* True if a compiler made a function of a part or a variant of another one. */
static bool is_made(const char *name)
{
    return name[next_plain_name_length(name)] == '.';
}

/* The names of old functions that never ran and are paired, and of parts or variants of functions
 * that ran and are not paired. */
static enum bat_code add_parts(struct function_matching *matching,
                               const struct next_measured *measured)
{
    const struct next_program *program = matching->programs[0];
    for (uint32_t i = 0; i < program->unit_count; i++) {
        const char *name = next_unit_name(program, i);
        bool ran = has_samples(measured, i);
        if (*name && ran == is_made(name) && ran != is_paired(matching, false, i) &&
            !add_name(matching, hash_name(name, next_plain_name_length(name)), i, ran))
            return fail_memory(matching);
    }
    return BAT_OK;
}

/*
 * All callers of an old function have its beginning inlined, and call the rest of it, f.part.0; f
 * itself is there and never ran. If the new program has only f, that does what the part did.
 */
static enum bat_code prefer_parts(struct function_matching *matching,
                                  const struct next_measured *measured)
{
    struct next_pairs *pairs = matching->pairs;
    enum bat_code code = add_parts(matching, measured);
    code = code ? code : sort_names(matching);
    for (size_t i = 0; i + 1 < matching->count && code == BAT_OK; i++) {
        const struct naming *whole = &matching->names[i];
        const struct naming *part = whole + 1; /* is_new stands for what ran: it is behind */
        if (whole->name != part->name || whole->is_new || !part->is_new)
            continue;
        uint32_t partner = pairs->new_of[whole->unit];
        pairs->new_of[whole->unit] = BAT_NONE;
        pairs->how[whole->unit] = NEXT_GONE;
        next_pair(pairs, part->unit, partner, NEXT_BY_PLAIN_NAME);
    }
    matching->count = 0;
    return code;
}

/* --- All of it ------------------------------------------------------------------------------ */

/* Functions that are known to be the same have the same name from now on. */
static void take_old_names(struct function_matching *matching)
{
    const struct next_program *old_program = matching->programs[0];
    struct next_program *new_program = matching->programs[1];
    for (uint32_t i = 0; i < old_program->unit_count; i++)
        if (matching->pairs->new_of[i] != BAT_NONE)
            new_program->name_of[new_program->first_part[matching->pairs->new_of[i]]] =
                old_program->name_of[old_program->first_part[i]];
    for (uint32_t i = 0; i < new_program->unit_count; i++)
        next_unit_forget(new_program, i);
}

static enum bat_code allocate(struct function_matching *matching)
{
    struct next_pairs *pairs = matching->pairs;
    uint32_t olds = matching->programs[0]->unit_count;
    uint32_t news = matching->programs[1]->unit_count;
    *pairs = (struct next_pairs){
        .new_of = malloc(((size_t)olds + 1) * sizeof(*pairs->new_of)),
        .old_of = malloc(((size_t)news + 1) * sizeof(*pairs->old_of)),
        .how = calloc((size_t)olds + 1, 1),
        .likeness = calloc((size_t)olds + 1, sizeof(*pairs->likeness)),
    };
    if (!pairs->new_of || !pairs->old_of || !pairs->how || !pairs->likeness)
        return fail_memory(matching);
    memset(pairs->new_of, 0xff, ((size_t)olds + 1) * sizeof(*pairs->new_of));
    memset(pairs->old_of, 0xff, ((size_t)news + 1) * sizeof(*pairs->old_of));
    return BAT_OK;
}

enum bat_code next_match_functions(const struct next_measured *measured,
                                   struct next_program *new_program, struct next_pairs *pairs,
                                   struct bat_error *error)
{
    struct function_matching matching = {
        .programs = {measured->program, new_program}, .pairs = pairs, .error = error};
    enum bat_code code = allocate(&matching);
    /* Static functions of one name in several files may have the same code, too. */
    for (unsigned by_file = 2; by_file-- > 0 && code == BAT_OK;) {
        for (unsigned is_new = 0; is_new < 2 && code == BAT_OK; is_new++)
            code = add_symbols(&matching, is_new, by_file);
        code = code ? code : pair_names(&matching, NEXT_BY_NAME);
    }
    for (unsigned is_new = 0; is_new < 2 && code == BAT_OK; is_new++)
        code = add_plain_names(&matching, is_new);
    code = code ? code : pair_names(&matching, NEXT_BY_PLAIN_NAME);
    code = code ? code : prefer_parts(&matching, measured);
    if (code == BAT_OK) {
        take_old_names(&matching);
        matching.measured = measured;
        for (unsigned is_new = 0; is_new < 2 && code == BAT_OK; is_new++)
            code = add_source_names(&matching, is_new);
        code = code ? code : pair_names(&matching, NEXT_BY_PLAIN_NAME);
    }
    if (code == BAT_OK) {
        take_old_names(&matching);
        code = next_match_by_code(measured, new_program, pairs, error);
    }
    if (code == BAT_OK)
        take_old_names(&matching);
    for (uint32_t i = 0; i < measured->program->unit_count && code == BAT_OK; i++) {
        pairs->new_of[i] = pairs->new_of[measured->program->same_as[i]];
        pairs->how[i] = pairs->how[measured->program->same_as[i]];
    }
    free(matching.names);
    return code;
}
