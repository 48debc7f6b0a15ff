/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Long runs through one function. A step from a block into the next one gives the same records
 * whichever run it is of, so only the places where runs begin and end are noted, and each step is
 * made once, for all runs. Traces come by the start of their runs, so the runs of one function
 * follow each other.
 */
#include <string.h>

#include "spec/array.h"
#include "translation.h"

enum bat_code translation_add_fallthrough(struct translation *translation, uint32_t function,
                                          const struct bat_code_block *block, uint64_t count)
{
    return translation_add(translation, (struct place){function, block[0].last},
                           (struct place){function, block[1].start}, count, 0);
}

/* Add the record of a fall-through behind an entry of a function's table, if it is a block. */
static enum bat_code add_entry(struct translation *translation, uint32_t function, uint32_t entry,
                               uint64_t count)
{
    const struct bat_map *map = translation_map(translation);
    const struct bat_table *table = &map->tables[translation->records->tables[function]];
    struct bat_fallthrough_walk walk = {
        .map = map, .table = table, .entry = table->first_entry + entry, .last = BAT_NONE};
    struct bat_fallthrough pair;
    if (map->input_offsets[walk.entry] & BAT_BRANCH_ENTRY || !bat_fallthrough_next(&walk, &pair))
        return BAT_OK;
    return translation_add_inside(translation, translation_parent(translation, function), pair.from,
                                  pair.to, count, 0);
}

static enum bat_code add_step(struct translation *translation, uint32_t step, uint64_t count)
{
    uint32_t function = translation->long_runs.function;
    if (translation->records->tables[function] != BAT_NONE)
        return translation->options.keep_all_records
                   ? add_entry(translation, function, step, count)
                   : translation_flow_step(translation, function, step, count);
    const struct bat_code_blocks *blocks;
    enum bat_code code = bat_tableless_blocks(&translation->records->tableless, function, &blocks,
                                              translation->error);
    return code ? code
                : translation_add_fallthrough(translation, function, &blocks->all[step], count);
}

enum bat_code translation_end_long_runs(struct translation *translation)
{
    struct long_runs *runs = &translation->long_runs;
    uint64_t count = 0;
    uint64_t count_of_runs = 0;
    const unsigned outcome = translation->outcome; /* of another run */
    enum bat_code code = BAT_OK;
    for (uint32_t i = runs->low; i < runs->high && code == BAT_OK; i++) {
        count += runs->steps[i].count;
        count_of_runs += runs->steps[i].runs;
        if (count_of_runs != 0)
            code = add_step(translation, i, count);
    }
    uint32_t end = runs->high > runs->tried ? runs->high : runs->tried;
    if (runs->steps)
        memset(runs->steps + runs->low, 0, (end - runs->low + 1) * sizeof(*runs->steps));
    runs->low = runs->high = runs->tried = 0;
    translation->outcome = outcome;
    return code;
}

enum bat_code translation_begin_long_run(struct translation *translation, uint32_t function,
                                         uint32_t step_count, uint32_t first)
{
    struct long_runs *runs = &translation->long_runs;
    enum bat_code code = BAT_OK;
    if (runs->function != function || first < runs->low)
        code = translation_end_long_runs(translation);
    if (code == BAT_OK && !bat_reserve_cleared(&runs->steps, &runs->capacity,
                                               (size_t)step_count + 1, sizeof(*runs->steps)))
        return bat_counts_fail(translation->error, BAT_ERR_MEMORY, "the translated profile");
    if (runs->high == 0 && runs->tried == 0)
        runs->low = runs->high = runs->tried = first;
    runs->function = function;
    return code;
}

enum bat_code translation_add_long_run(struct translation *translation, uint32_t function,
                                       uint32_t step_count, uint32_t first, uint32_t end,
                                       uint64_t count)
{
    struct long_runs *runs = &translation->long_runs;
    BAT_TRY(translation_begin_long_run(translation, function, step_count, first));
    if (end > runs->high)
        runs->high = end;
    translation->outcome |= OUTCOME_RECORDED;
    runs->steps[first].count += count;
    runs->steps[first].runs++;
    runs->steps[end].count -= count;
    runs->steps[end].runs--;
    return BAT_OK;
}
