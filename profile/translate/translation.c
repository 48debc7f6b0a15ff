/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Places and records of a translation. */
#include "translation.h"

#undef translation_fail

uint32_t translation_parent(const struct translation *translation, uint32_t function)
{
    const struct bat_map *map = translation_map(translation);
    uint32_t table = translation->records->tables[function];
    if (table == BAT_NONE || map->tables[table].parent == table)
        return function;
    uint64_t parent = map->tables[map->tables[table].parent].address;
    uint32_t found = translation_function(translation, parent);
    return found == BAT_NONE ? function : found;
}

struct place translation_place_in(const struct translation *translation, uint32_t function,
                                  uint64_t address, bool is_branch_source)
{
    const struct bat_records *records = translation->records;
    if (function == BAT_NONE)
        return (struct place){.function = BAT_NONE};
    uint64_t offset =
        bat_map_translate(translation_map(translation), records->tables[function],
                          address - records->symbols[function].address, is_branch_source);
    return (struct place){.function = translation_parent(translation, function), .offset = offset};
}

struct place translation_place(const struct translation *translation, uint64_t address,
                               bool is_branch_source)
{
    uint32_t function = translation_function(translation, address);
    return translation_place_in(translation, function, address, is_branch_source);
}

void translation_touch(struct translation *translation, uint32_t function, uint64_t count)
{
    struct bat_records *records = translation->records;
    bool has_table = records->tables[function] != BAT_NONE;
    if (!has_table)
        records->counters.without_table += count;
    if (translation->touched[function] || translation->is_trial)
        return;
    translation->touched[function] = 1;
    records->counters.functions++;
    records->counters.functions_without_table += !has_table;
}

enum bat_code translation_fail(struct bat_error *error, enum bat_code code)
{
    return bat_counts_fail(error, code, "the translated profile");
}

enum bat_code translation_add(struct translation *translation, struct place from, struct place to,
                              uint64_t count, uint64_t mispredictions)
{
    const uint64_t unknown = bat_fdata_word(BAT_KIND_UNKNOWN, BAT_NAME_UNKNOWN);
    const uint64_t key[4] = {
        from.function == BAT_NONE ? unknown : bat_fdata_word(BAT_KIND_SYMBOL, from.function),
        from.offset,
        to.function == BAT_NONE ? unknown : bat_fdata_word(BAT_KIND_SYMBOL, to.function),
        to.offset,
    };
    translation->outcome |=
        mispredictions ? OUTCOME_RECORDED | OUTCOME_MISPREDICTED : OUTCOME_RECORDED;
    if (translation->is_trial)
        return BAT_OK;
    translation->records->counters.records.in += count;
    enum bat_code code = bat_counts_add_later(&translation->records->branches, &translation->batch,
                                              key, count, mispredictions);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}

enum bat_code translation_add_inside(struct translation *translation, uint32_t function,
                                     uint64_t from, uint64_t to, uint64_t count,
                                     uint64_t mispredictions)
{
    struct bat_records *records = translation->records;
    enum bat_code code = translation_add(translation, (struct place){function, from},
                                         (struct place){function, to}, count, mispredictions);
    if (code != BAT_OK || to != 0 || translation->is_trial)
        return code;
    const uint64_t key[2] = {function, from};
    code = bat_counts_add(&records->starts_reached, key, count, 0);
    return code == BAT_OK ? BAT_OK : translation_fail(translation->error, code);
}

void translation_settle(struct bat_balance *balance, unsigned outcome, uint64_t count)
{
    if (outcome & OUTCOME_RECORDED)
        balance->out += count;
    else if (outcome & OUTCOME_INVALID)
        balance->invalid += count;
    else if (outcome & OUTCOME_OUTSIDE)
        balance->outside += count;
    else if (outcome & OUTCOME_LEFT_OUT)
        balance->left_out += count;
    else if (outcome & OUTCOME_WITHIN)
        balance->joined += count;
}
