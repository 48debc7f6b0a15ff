/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Adds up the records of old functions with the same code that are one in the new program. */
#include <stdlib.h>

#include "carrying.h"
#include "spec/order.h"

/* An old unit, and where it is. */
struct placed {
    uint32_t place; /* new unit */
    bool is_idle;   /* it has no records */
    uint32_t unit;
};

static enum bat_code fail_memory(const struct next_carrying *carrying)
{
    return bat_fail_memory(carrying->error, "to match functions");
}

/* The old unit that an end of a record is in; BAT_NONE. */
static uint32_t unit_of_end(const struct next_carrying *carrying, uint64_t word)
{
    return bat_records_is_function(&carrying->records, word)
               ? carrying->olds.unit_of[(uint32_t)word]
               : BAT_NONE;
}

/* Fill placed with the units that have a place, those of one place together, those with records
 * first. */
static enum bat_code find_placed(struct next_carrying *carrying, uint32_t *places,
                                 struct placed *placed, uint32_t *count)
{
    struct next_program *olds = &carrying->olds;
    for (uint32_t i = 0; i < olds->unit_count; i++) {
        places[i] = BAT_NONE;
        placed[i] = (struct placed){.is_idle = true, .unit = i};
    }
    BAT_TRY(next_find_places(olds, &carrying->news, places, &carrying->members,
                             &carrying->member_count, carrying->error));
    for (uint32_t i = 0; i < carrying->records.branches.count; i++) {
        const uint64_t *item = bat_records_branch(&carrying->records, i);
        for (unsigned end = 0; end < 4; end += 2)
            if (unit_of_end(carrying, item[end]) != BAT_NONE)
                placed[unit_of_end(carrying, item[end])].is_idle = false;
    }
    *count = 0;
    for (uint32_t i = 0; i < olds->unit_count; i++) {
        placed[i].place = places[i];
        if (places[i] != BAT_NONE)
            placed[(*count)++] = placed[i];
    }
    BAT_SORT(placed, *count, BAT_ASCENDING(struct placed, place),
             BAT_ASCENDING(struct placed, is_idle), BAT_ASCENDING(struct placed, unit));
    return BAT_OK;
}

/* Let the first of the units that are in one place stand for the others that have its code. */
static enum bat_code fold_group(struct next_carrying *carrying, const struct placed *group,
                                uint32_t count)
{
    struct next_program *olds = &carrying->olds;
    const struct next_unit *whole;
    const struct next_unit *other;
    for (uint32_t i = 1; i < count; i++) {
        BAT_TRY(next_unit_get(olds, group->unit, &whole, carrying->error));
        BAT_TRY(next_unit_get(olds, group[i].unit, &other, carrying->error));
        if (!next_same_code(whole, other))
            continue;
        olds->same_as[group[i].unit] = group->unit;
        olds->name_of[olds->first_part[group[i].unit]] =
            olds->name_of[olds->first_part[group->unit]];
        carrying->report->folded += !group[i].is_idle;
    }
    return BAT_OK;
}

/* Where an end of a record is if it is in a folded unit. */
static void move_end(const struct next_carrying *carrying, uint64_t *word, uint64_t *offset)
{
    const struct next_program *olds = &carrying->olds;
    uint32_t unit = unit_of_end(carrying, *word);
    struct next_place place;
    if (unit == BAT_NONE || olds->same_as[unit] == unit ||
        !next_same_place(olds, olds->units[unit], olds->units[olds->same_as[unit]], (uint32_t)*word,
                         *offset, &place))
        return;
    *word = bat_fdata_word(BAT_KIND_SYMBOL, place.function);
    *offset = place.offset;
}

static enum bat_code add_up(struct next_carrying *carrying)
{
    const struct bat_counts *branches = &carrying->records.branches;
    struct bat_counts *sums = &carrying->folded_branches;
    enum bat_code code = BAT_OK;
    *sums = bat_counts_new(4);
    for (uint32_t i = 0; i < branches->count && code == BAT_OK; i++) {
        const uint64_t *item = bat_counts_item(branches, i);
        uint64_t key[] = {item[0], item[1], item[2], item[3]};
        move_end(carrying, &key[0], &key[1]);
        move_end(carrying, &key[2], &key[3]);
        code = bat_counts_add(sums, key, item[4], item[5]);
    }
    carrying->records.branches = *sums;
    return bat_counts_fail(carrying->error, code, "the records");
}

enum bat_code next_fold(struct next_carrying *carrying, const struct bat_records *records)
{
    struct next_program *olds = &carrying->olds;
    carrying->records = *records;
    uint32_t *places = malloc(((size_t)olds->unit_count + 1) * sizeof(*places));
    struct placed *placed = malloc(((size_t)olds->unit_count + 1) * sizeof(*placed));
    uint32_t count = 0;
    enum bat_code code =
        places && placed ? find_placed(carrying, places, placed, &count) : fail_memory(carrying);
    for (uint32_t first = 0, end; first < count && code == BAT_OK; first = end) {
        end = first;
        while (end < count && placed[end].place == placed[first].place)
            end++;
        if (!placed[first].is_idle)
            code = fold_group(carrying, placed + first, end - first);
    }
    free(places);
    free(placed);
    if (code == BAT_OK && carrying->report->folded != 0)
        code = add_up(carrying);
    /* Code that was read has the names of before. */
    for (uint32_t i = 0; i < olds->unit_count; i++)
        next_unit_forget(olds, i);
    return code;
}
