/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "match_functions.h"

#include <stdlib.h>
#include <string.h>

#include "signature.h"
#include "spec/array.h"
#include "support/key_sort.h"
#include "support/parallel.h"

/* A group of namesakes with more members than this on one side is not compared all with all. */
#define NAMESAKES_MAX 64u
#define NAMESAKE_MIN 0.2f
#define STRETCH 4u /* groups that a thread reads at a time */

/* A name of a unit. */
struct naming {
    uint64_t name; /* hash */
    uint32_t unit;
    bool is_new;
    struct next_signature *signature; /* where that of the unit is kept once it was made */
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

static bool add_name(struct function_matching *matching, uint64_t name, uint32_t unit, bool is_new)
{
    return BAT_APPEND(matching->names, matching->count, matching->capacity,
                      (struct naming){.name = name, .unit = unit, .is_new = is_new});
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

/* All names of a program's units; or those of local functions with their source files. */
static enum bat_code add_symbols(struct function_matching *matching, bool is_new, bool by_file)
{
    const struct next_program *program = matching->programs[is_new];
    for (size_t i = 0; i < program->name_count; i++) {
        const struct next_symbol *symbol = &program->names[i];
        if ((symbol->is_local || !by_file) &&
            !add_name(matching, by_file ? symbol->local_name : symbol->name,
                      program->same_as[symbol->unit], is_new))
            return fail_memory(matching);
    }
    return BAT_OK;
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
        uint64_t whole = next_hash_name(name, next_plain_name_length(name));
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
        matching->names[i] = (struct naming){.name = sorted[i].key,
                                             .unit = (uint32_t)sorted[i].value,
                                             .is_new = (bool)(sorted[i].value >> 32)};
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

/* Units of one name, the new ones behind the old ones. */
struct namesakes {
    const struct naming *olds;
    const struct naming *news;
    uint32_t old_count;
    uint32_t new_count;
    bool has_run;
};

/* The namesakes from first on that are not paired. The names of those that are get lost. */
static struct namesakes take_group(struct function_matching *matching, size_t first, size_t *end)
{
    struct naming *names = matching->names;
    struct namesakes group = {.olds = names + first, .has_run = !matching->measured};
    size_t kept = first;
    for (*end = first; *end < matching->count && names[*end].name == names[first].name; ++*end) {
        const struct naming name = names[*end];
        if (is_paired(matching, name.is_new, name.unit))
            continue;
        group.old_count += !name.is_new;
        group.new_count += name.is_new;
        group.has_run =
            group.has_run || (!name.is_new && has_samples(matching->measured, name.unit));
        /* names[first].name is needed until the end of the group: it is the same. */
        names[kept++] = name;
    }
    group.news = group.olds + group.old_count;
    return group;
}

/* The only ones of a name are paired however unlike they are, and those that never ran in their
 * order. */
static bool is_compared(const struct namesakes *group)
{
    return group->has_run && (group->old_count > 1 || group->new_count > 1);
}

static bool is_few(const struct namesakes *group)
{
    return group->old_count <= NAMESAKES_MAX && group->new_count <= NAMESAKES_MAX;
}

/* Make the signatures of a group that are not there yet. */
static enum bat_code make_signatures(const struct function_matching *matching,
                                     const struct namesakes *group, struct bat_error *error)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < group->old_count + group->new_count && code == BAT_OK; i++) {
        const struct naming *name = &group->olds[i];
        if (!name->signature->tokens)
            code = next_signature_make(matching->programs[name->is_new], name->unit,
                                       name->signature, error);
    }
    return code;
}

/* Pair the most alike first. */
static enum bat_code pair_namesakes(struct function_matching *matching,
                                    const struct namesakes *group, enum next_how how)
{
    uint32_t fewer = group->old_count < group->new_count ? group->old_count : group->new_count;
    if (!is_compared(group))
        for (uint32_t i = 0; i < fewer; i++)
            next_pair(matching->pairs, group->olds[i].unit, group->news[i].unit, how);
    if (fewer == 0 || !is_compared(group) || !is_few(group))
        return BAT_OK;
    struct next_candidate *candidates =
        malloc((size_t)group->old_count * group->new_count * sizeof(*candidates));
    size_t count = 0;
    if (!candidates)
        return fail_memory(matching);
    enum bat_code code = make_signatures(matching, group, matching->error);
    for (uint32_t i = 0; i < group->old_count && code == BAT_OK; i++)
        for (uint32_t k = 0; k < group->new_count; k++)
            candidates[count++] = (struct next_candidate){
                next_signature_compare(group->olds[i].signature, group->news[k].signature),
                group->olds[i].unit, group->news[k].unit};
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

/* Leave out names of units that are paired, and names that a unit has twice. Give the others places
 * for signatures. */
static void drop_names(struct function_matching *matching, struct next_signature *signatures)
{
    struct naming *names = matching->names;
    size_t kept = 0;
    for (size_t i = 0; i < matching->count; i++) {
        const struct naming name = names[i];
        bool is_double = kept > 0 && names[kept - 1].name == name.name &&
                         names[kept - 1].unit == name.unit && names[kept - 1].is_new == name.is_new;
        if (is_double || is_paired(matching, name.is_new, name.unit))
            continue;
        names[kept] = name;
        names[kept].signature = &signatures[kept];
        kept++;
    }
    matching->count = kept;
}

/* Groups that will be compared, if no other name pairs their units. */
struct comparing {
    const struct function_matching *matching;
    struct namesakes *groups;
    size_t count;
    size_t capacity;
};

static enum bat_code make_some(void *context, size_t item, unsigned thread, struct bat_error *error)
{
    const struct comparing *comparing = context;
    (void)thread;
    return make_signatures(comparing->matching, &comparing->groups[item], error);
}

/* Read what will be compared in several threads: that takes most of the time. */
static enum bat_code read_namesakes(struct function_matching *matching)
{
    struct comparing comparing = {.matching = matching};
    enum bat_code code = BAT_OK;
    for (size_t first = 0, end; first < matching->count && code == BAT_OK; first = end) {
        const struct namesakes group = take_group(matching, first, &end);
        if (group.old_count > 0 && group.new_count > 0 && is_compared(&group) && is_few(&group) &&
            !BAT_APPEND(comparing.groups, comparing.count, comparing.capacity, group))
            code = fail_memory(matching);
    }
    if (code == BAT_OK)
        code = bat_parallel_try(comparing.count, STRETCH, matching->programs[1]->threads, make_some,
                                &comparing, matching->error);
    free(comparing.groups);
    return code;
}

/* Pair the namesakes among the names; units may have several names. */
static enum bat_code pair_names(struct function_matching *matching, enum next_how how)
{
    const size_t count = matching->count;
    struct next_signature *signatures = calloc(count + 1, sizeof(*signatures));
    enum bat_code code = signatures ? sort_names(matching) : fail_memory(matching);
    if (code == BAT_OK) {
        drop_names(matching, signatures);
        code = read_namesakes(matching);
    }
    for (size_t first = 0, end; first < matching->count && code == BAT_OK; first = end) {
        const struct namesakes group = take_group(matching, first, &end);
        code = pair_namesakes(matching, &group, how);
    }
    for (size_t i = 0; i < count && signatures; i++)
        next_signature_free(&signatures[i]);
    free(signatures);
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
            !add_name(matching, next_hash_name(name, next_plain_name_length(name)), i, ran))
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
