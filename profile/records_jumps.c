/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which records to the start of their own function are no calls of it, but jumps. */
#include <stdlib.h>

#include "original.h"
#include "profile.h"
#include "records.h"

/* The calls of the function that was last asked for, as far as the note knows them. */
struct own_calls {
    uint32_t function;
    uint32_t *offsets; /* in the input, ascending */
    size_t count;
};

static int by_offset(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for jumps of functions");
}

static size_t count_entries(const struct bat_map *map, uint32_t hot)
{
    size_t count = map->functions[hot].entry_count;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        count += map->functions[map->fragments[i]].entry_count;
    return count;
}

/* The input offsets of a table's entries where the output has calls. */
static void add_calls(const struct bat_records *records, uint32_t table, struct own_calls *calls)
{
    const struct bat_map *map = records->map;
    const struct bat_function *function = &map->functions[table];
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t entry = function->first_entry + i;
        uint64_t address = function->address + map->output_offsets[entry];
        struct bat_instruction instruction;
        if (bat_original_decode(records->binary->elf, address, &instruction) &&
            (instruction.kind == BAT_INSTRUCTION_CALL ||
             instruction.kind == BAT_INSTRUCTION_INDIRECT_CALL))
            calls->offsets[calls->count++] = map->input_offsets[entry] >> 1;
    }
}

static enum bat_code read_calls(const struct bat_records *records, uint32_t function,
                                struct own_calls *calls, struct bat_error *error)
{
    const struct bat_map *map = records->map;
    uint32_t hot = bat_parent(map, records->tables[function]);
    free(calls->offsets);
    calls->function = function;
    calls->count = 0;
    calls->offsets = malloc((count_entries(map, hot) + 1) * sizeof(*calls->offsets));
    if (!calls->offsets)
        return fail_memory(error);
    add_calls(records, hot, calls);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        add_calls(records, map->fragments[i], calls);
    qsort(calls->offsets, calls->count, sizeof(*calls->offsets), by_offset);
    return BAT_OK;
}

/* By the note and the output's code. */
static enum bat_code is_no_call(const struct bat_records *records, const uint64_t *item,
                                struct own_calls *calls, bool *is_jump, struct bat_error *error)
{
    uint32_t function = (uint32_t)item[0];
    enum bat_code code = BAT_OK;
    *is_jump = false;
    if (records->tables[function] == BAT_NONE || item[1] > UINT32_MAX)
        return BAT_OK;
    if (calls->function != function)
        code = read_calls(records, function, calls, error);
    if (code != BAT_OK)
        return code;
    uint32_t offset = (uint32_t)item[1];
    *is_jump = !calls->offsets ||
               !bsearch(&offset, calls->offsets, calls->count, sizeof(offset), by_offset);
    return BAT_OK;
}

/* By the input's code. */
static bool is_input_jump(const struct bat_records *records, const uint64_t *item)
{
    uint64_t address = records->symbols[(uint32_t)item[0]].address + item[1];
    struct bat_instruction instruction;
    return bat_original_decode(records->input->elf, address, &instruction) &&
           (instruction.kind == BAT_INSTRUCTION_JUMP ||
            instruction.kind == BAT_INSTRUCTION_CONDITIONAL);
}

enum bat_code bat_records_find_jumps(struct bat_records *records, struct bat_error *error)
{
    struct own_calls calls = {.function = BAT_NONE};
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < records->branches.count && !records->is_parity && code == BAT_OK;
         i++) {
        const uint64_t *item = bat_counts_item(&records->branches, i);
        bool is_to_start = item[0] == item[2] && item[3] == 0 && item[0] >> 32 == BAT_KIND_SYMBOL &&
                           (uint32_t)item[0] < records->function_count;
        bool is_jump = false;
        if (is_to_start && records->input)
            is_jump = is_input_jump(records, item);
        else if (is_to_start)
            code = is_no_call(records, item, &calls, &is_jump, error);
        const uint64_t key[2] = {(uint32_t)item[0], item[1]};
        if (is_jump && bat_counts_add(&records->own_jumps, key, 1, 0) != BAT_OK)
            code = fail_memory(error);
    }
    free(calls.offsets);
    return code;
}

bool bat_records_jumps_to_start(const struct bat_records *records, const uint64_t *item)
{
    const uint64_t key[2] = {(uint32_t)item[0], item[1]};
    return item[0] == item[2] && item[3] == 0 && item[0] >> 32 == BAT_KIND_SYMBOL &&
           bat_counts_find(&records->own_jumps, key);
}
