/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes records of fdata from the counts of the new program, as a run of it would have given. */
#include <stdlib.h>
#include <string.h>

#include "carrying.h"
#include "profile/translate/escape_name.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"

struct writing {
    struct next_carrying *carrying;
    struct bat_profile *profile;
    uint32_t *names;            /* for each function of the new program: its number, or BAT_NONE */
    uint32_t unknown;           /* the number of "[unknown]" */
    uint64_t *arrivals;         /* for each unit: counts of records that enter it at its start */
    struct bat_sort_key *slots; /* PLT entries of the new program: name and function, by the name */
    size_t slot_count;
    struct bat_counts_batch batch; /* records that are added together */
    enum bat_code code;
};

/* --- Records -------------------------------------------------------------------------------- */

static uint32_t add_name(struct writing *writing, const char *name)
{
    struct bat_error *error = writing->carrying->error;
    size_t size = strlen(name);
    uint32_t number = 0;
    char *escaped = malloc(size * BAT_NAME_ESCAPED_BYTE + 1);
    if (!escaped || bat_strings_add(&writing->profile->fdata.names, escaped,
                                    (size_t)(bat_escape_name(escaped, name, size) - escaped),
                                    &number) != BAT_OK)
        writing->code = bat_fail_memory(error, "for names");
    free(escaped);
    return number;
}

/* The word of a function's name; BAT_NONE: outside of all functions. */
static uint64_t word_of(struct writing *writing, uint32_t function)
{
    if (function == BAT_NONE)
        return bat_fdata_word(BAT_KIND_UNKNOWN, writing->unknown);
    if (writing->names[function] == BAT_NONE) {
        const char *name = writing->carrying->news.all[function].name;
        writing->names[function] = add_name(writing, name ? name : "");
    }
    return bat_fdata_word(BAT_KIND_SYMBOL, writing->names[function]);
}

static enum bat_code records_fail(const struct writing *writing, enum bat_code code)
{
    return bat_counts_fail(writing->carrying->error, code, "the records");
}

static void write_record(struct writing *writing, uint32_t from, uint32_t from_offset, uint32_t to,
                         uint32_t to_offset, uint64_t count, uint64_t mispredictions)
{
    if (count == 0 || writing->code != BAT_OK)
        return;
    const struct next_program *program = &writing->carrying->news;
    const uint64_t key[4] = {word_of(writing, from), from_offset, word_of(writing, to), to_offset};
    if (to != BAT_NONE && to_offset == 0 && program->unit_of[to] != BAT_NONE &&
        program->first_part[program->unit_of[to]] == to)
        writing->arrivals[program->unit_of[to]] += count;
    if (writing->code == BAT_OK)
        writing->code = records_fail(
            writing, bat_counts_add_later(&writing->profile->fdata.branches, &writing->batch, key,
                                          count, mispredictions));
    writing->profile->sum += count;
    writing->profile->counters.fdata_records++;
}

/* --- Functions whose code did not change ----------------------------------------------------- */

/* A part of a record: of an old function that has become several, one of these. */
struct part {
    const struct next_member *member; /* NULL: of all others the partner */
    uint64_t count;
    uint64_t mispredictions;
};

/* The place in the partner of a unit whose code is the same. False if there is none. */
static bool find_place(const struct writing *writing, const struct part *part, uint32_t old_unit,
                       uint32_t function, uint64_t offset, struct next_place *place)
{
    const struct next_carrying *carrying = writing->carrying;
    const uint32_t partner = part->member && part->member->old_unit == old_unit
                                 ? part->member->new_unit
                                 : carrying->pairs.new_of[old_unit];
    return next_same_place(&carrying->olds, carrying->olds.units[old_unit],
                           carrying->news.units[partner], function, offset, place);
}

/* List the PLT entries of the new program. Returns what is to be freed; NULL without memory. */
static struct bat_sort_key *list_slots(struct writing *writing)
{
    const struct next_program *program = &writing->carrying->news;
    size_t count = 0;
    for (uint32_t i = 0; i < program->function_count; i++)
        count += (program->all[i].flags & BAT_FUNCTION_PLT) != 0;
    struct bat_sort_key *keys = malloc((2 * count + 1) * sizeof(*keys));
    for (uint32_t i = 0; i < program->function_count && keys; i++)
        if (program->all[i].flags & BAT_FUNCTION_PLT)
            keys[writing->slot_count++] = (struct bat_sort_key){program->name_of[i], i};
    writing->slots = keys ? bat_sort_keys(keys, keys + count, count) : NULL;
    return keys;
}

/* The new function that an old one's calls lead to now; BAT_NONE if it is gone. */
static uint32_t partner_of(const struct writing *writing, uint32_t old_function)
{
    const struct next_carrying *carrying = writing->carrying;
    uint32_t unit = carrying->olds.unit_of[old_function];
    if (unit != BAT_NONE) {
        uint32_t partner = carrying->pairs.new_of[unit];
        bool is_first = carrying->olds.first_part[unit] == old_function;
        return is_first && partner != BAT_NONE ? carrying->news.first_part[partner] : BAT_NONE;
    }
    const uint64_t name = carrying->olds.name_of[old_function];
    const size_t found = BAT_COUNT_BELOW(writing->slots, writing->slot_count, key, name);
    return found < writing->slot_count && writing->slots[found].key == name
               ? (uint32_t)writing->slots[found].value
               : BAT_NONE;
}

/* Where a record that starts in the same code, or outside of all functions, leads now. */
static bool find_target(const struct writing *writing, const uint64_t *item,
                        const struct part *part, const struct next_place *from,
                        struct next_place *to)
{
    const struct next_carrying *carrying = writing->carrying;
    *to = (struct next_place){.function = BAT_NONE};
    if (!bat_records_is_function(carrying->measured.records, item[2]))
        return true;
    uint32_t function = (uint32_t)item[2];
    uint32_t unit = carrying->olds.unit_of[function];
    bool is_call =
        item[3] == 0 && (unit == BAT_NONE || carrying->olds.first_part[unit] == function);
    if (is_call && from->instruction && from->instruction->callee != BAT_NONE) {
        to->function = from->instruction->callee;
        return true;
    }
    if (unit != BAT_NONE && carrying->pairs.new_of[unit] != BAT_NONE && carrying->is_same[unit])
        return find_place(writing, part, unit, function, item[3], to);
    to->function = is_call ? partner_of(writing, function) : BAT_NONE;
    return true;
}

static uint32_t unit_of_end(const struct next_carrying *carrying, uint64_t word)
{
    return bat_records_is_function(carrying->measured.records, word)
               ? carrying->olds.unit_of[(uint32_t)word]
               : BAT_NONE;
}

/* Write a part of a record from the same code, from a PLT entry, or from outside of all functions
 * into the same code. */
static void write_part(struct writing *writing, const uint64_t *item, const struct part *part)
{
    const struct next_carrying *carrying = writing->carrying;
    const struct bat_records *records = carrying->measured.records;
    const uint32_t from_unit = unit_of_end(carrying, item[0]);
    const uint32_t to_unit = unit_of_end(carrying, item[2]);
    struct next_place from = {.function = BAT_NONE};
    struct next_place to;
    if (from_unit != BAT_NONE &&
        (!carrying->is_same[from_unit] ||
         !find_place(writing, part, from_unit, (uint32_t)item[0], item[1], &from)))
        return;
    bool is_plt = from_unit == BAT_NONE && bat_records_is_function(records, item[0]);
    if (is_plt)
        from = (struct next_place){.function = partner_of(writing, (uint32_t)item[0]),
                                   .offset = (uint32_t)item[1]};
    bool is_to_plt = to_unit == BAT_NONE && bat_records_is_function(records, item[2]);
    bool is_to_same = to_unit != BAT_NONE && carrying->is_same[to_unit];
    if (is_plt ? from.function == BAT_NONE : from_unit == BAT_NONE && !is_to_plt && !is_to_same)
        return;
    /* From outside to what is gone is no record. */
    if (find_target(writing, item, part, &from, &to) &&
        (from.function != BAT_NONE || to.function != BAT_NONE))
        write_record(writing, from.function, from.offset, to.function, to.offset, part->count,
                     part->mispredictions);
}

/* The part of a number up to a share, 0 to 1. */
static uint64_t up_to(uint64_t number, double share)
{
    return share < 1 ? (uint64_t)((double)number * share + 0.5) : number;
}

/* True if the new code tells where a call of the same code leads. */
static bool tells_callee(const struct writing *writing, const uint64_t *item)
{
    const struct next_carrying *carrying = writing->carrying;
    const uint32_t unit = unit_of_end(carrying, item[0]);
    const struct part whole = {NULL, item[4], item[5]};
    struct next_place from;
    return item[3] == 0 && unit != BAT_NONE && carrying->is_same[unit] &&
           find_place(writing, &whole, unit, (uint32_t)item[0], item[1], &from) &&
           from.instruction->callee != BAT_NONE;
}

static void write_same(struct writing *writing)
{
    const struct next_carrying *carrying = writing->carrying;
    for (uint32_t i = 0; i < carrying->measured.records->branches.count; i++) {
        const uint64_t *item = bat_counts_item(&carrying->measured.records->branches, i);
        struct next_members members = next_members_of(carrying, unit_of_end(carrying, item[0]));
        if (members.count == 0 && !tells_callee(writing, item))
            members = next_members_of(carrying, unit_of_end(carrying, item[2]));
        if (members.count == 0)
            write_part(writing, item, &(struct part){NULL, item[4], item[5]});
        double begin = 0;
        for (size_t k = 0; k < members.count; k++) {
            const struct next_member *member = &members.all[k];
            write_part(writing, item,
                       &(struct part){member, up_to(item[4], member->end) - up_to(item[4], begin),
                                      up_to(item[5], member->end) - up_to(item[5], begin)});
            begin = member->end;
        }
    }
}

/* --- Functions whose counts were inferred ---------------------------------------------------- */

/* An edge, with the padding that it was led past. */
static void write_edge(struct writing *writing, const struct next_unit *unit, uint32_t index,
                       uint64_t count)
{
    const struct next_edge *edge = &unit->edges[index];
    const struct next_block *from = &unit->blocks[edge->from];
    uint32_t offset = edge->offset;
    for (uint32_t i = 0; i < edge->padding; i++) {
        const struct next_block *padding = &unit->blocks[edge->from + 1 + i];
        write_record(writing, from->function, offset, padding->function, padding->start, count, 0);
        offset = padding->last;
    }
    const struct next_block *to = &unit->blocks[edge->to];
    if (!to->is_split || !next_is_fall_through(unit, edge))
        write_record(writing, from->function, offset, to->function, to->start, count, 0);
}

static int by_place(const void *left, const void *right)
{
    const struct next_call_origin *a = left;
    const struct next_call_origin *b = right;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* A call by pointer: to where the old ones led, with their shares. */
static void write_by_pointer(struct writing *writing, uint32_t function, uint32_t offset,
                             uint64_t count)
{
    const struct next_carrying *carrying = writing->carrying;
    struct bat_search search = {.high = carrying->origin_count};
    const struct next_call_origin key = {.function = function, .offset = offset};
    while (bat_search_next(&search))
        bat_search_go(&search, by_place(&carrying->origins[search.middle], &key) < 0);
    if (search.low == carrying->origin_count || by_place(&carrying->origins[search.low], &key) != 0)
        return;
    const struct next_call_origin *origin = &carrying->origins[search.low];
    size_t first;
    size_t end;
    uint64_t sum = 0;
    next_calls_at(&carrying->measured, origin->old_function, origin->old_offset, &first, &end);
    for (size_t i = first; i < end; i++)
        sum += carrying->measured.calls[i].count;
    for (size_t i = first; i < end; i++) {
        const struct next_call *call = &carrying->measured.calls[i];
        uint32_t target = call->target == BAT_NONE ? BAT_NONE : partner_of(writing, call->target);
        double part = (double)count * (double)call->count / (double)sum;
        write_record(writing, function, offset, target, 0, (uint64_t)(part + 0.5), 0);
    }
}

/* How often a conditional tail call is taken: what does not go on. */
static uint64_t leaving(const struct next_unit *unit, const struct next_new_counts *counts,
                        uint32_t block)
{
    uint64_t left = counts->blocks[block];
    const struct next_block *from = &unit->blocks[block];
    for (uint32_t i = 0; i < from->edge_count; i++) {
        uint64_t edge = counts->edges[from->first_edge + i];
        left -= edge < left ? edge : left;
    }
    return left;
}

static void write_calls(struct writing *writing, const struct next_unit *unit,
                        const struct next_new_counts *counts, uint32_t block)
{
    const struct next_block *from = &unit->blocks[block];
    for (uint32_t i = 0; i < from->instruction_count; i++) {
        const struct next_instruction *all = &unit->instructions[from->first_instruction + i];
        bool is_call = all->flags & NEXT_IS_CALL;
        uint64_t count = is_call || from->end == NEXT_END_TAIL ? counts->blocks[block]
                         : from->end == NEXT_END_TAIL_IF       ? leaving(unit, counts, block)
                                                               : 0;
        if (all->callee != BAT_NONE)
            write_record(writing, from->function, all->offset, all->callee, 0, count, 0);
        else if (all->flags & NEXT_IS_INDIRECT)
            write_by_pointer(writing, from->function, all->offset, count);
    }
}

static void write_inferred(struct writing *writing, uint32_t index)
{
    const struct next_unit *unit = writing->carrying->news.units[index];
    const struct next_new_counts *counts = writing->carrying->counts[index];
    for (uint32_t i = 0; i < unit->edge_count; i++)
        if (!unit->blocks[unit->edges[i].from].is_padding)
            write_edge(writing, unit, i, counts->edges[i]);
    for (uint32_t i = 0; i < unit->block_count; i++)
        if (counts->blocks[i] > 0)
            write_calls(writing, unit, counts, i);
}

/* Entries that no call explains come from outside. */
static void write_entries(struct writing *writing)
{
    const struct next_carrying *carrying = writing->carrying;
    for (uint32_t i = 0; i < carrying->news.unit_count; i++) {
        uint64_t expected = carrying->counts[i] ? carrying->counts[i]->entries : 0;
        uint32_t old_unit = carrying->pairs.old_of[i];
        /* Of several functions in place of one, which were entered is told by their calls. */
        if (old_unit != BAT_NONE && carrying->is_same[old_unit] &&
            carrying->measured.units[old_unit] && next_members_of(carrying, old_unit).count == 0)
            expected += carrying->measured.units[old_unit]->entry;
        if (expected > writing->arrivals[i])
            write_record(writing, BAT_NONE, 0, carrying->news.first_part[i], 0,
                         expected - writing->arrivals[i], 0);
    }
}

enum bat_code next_write_records(struct next_carrying *carrying, struct bat_profile *profile)
{
    struct writing writing = {.carrying = carrying, .profile = profile};
    uint32_t functions = carrying->news.function_count;
    writing.names = malloc(((size_t)functions + 1) * sizeof(*writing.names));
    writing.arrivals = calloc((size_t)carrying->news.unit_count + 1, sizeof(*writing.arrivals));
    struct bat_sort_key *slots = list_slots(&writing);
    if (!writing.names || !writing.arrivals || !slots) {
        writing.code = bat_fail_memory(carrying->error, "for records");
    } else {
        memset(writing.names, 0xff, ((size_t)functions + 1) * sizeof(*writing.names));
        if (carrying->origin_count > 1)
            qsort(carrying->origins, carrying->origin_count, sizeof(*carrying->origins), by_place);
        struct bat_counts *branches = &profile->fdata.branches;
        if (!profile->fdata.seen)
            *branches = bat_counts_new(4);
        profile->fdata.seen = true;
        writing.code = records_fail(
            &writing,
            bat_counts_expect(branches, branches->count + carrying->records.branches.count));
        writing.unknown = add_name(&writing, "[unknown]");
        write_same(&writing);
        for (uint32_t i = 0; i < carrying->news.unit_count && writing.code == BAT_OK; i++)
            if (carrying->counts[i])
                write_inferred(&writing, i);
        write_entries(&writing);
        if (writing.code == BAT_OK)
            writing.code = records_fail(&writing, bat_counts_flush(branches, &writing.batch));
    }
    BAT_FREE_ALL(writing.names, writing.arrivals, slots);
    return writing.code;
}
