/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the place of each record in YAML. fdata has addresses only. YAML has successors of blocks
 * and calls, so a record to the start of its own function must be known as a jump or a recursive
 * call; and its blocks are those of the note, so records of other blocks are left out.
 */
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/original/original.h"
#include "records.h"
#include "spec/map.h"
#include "spec/order.h"

/* The calls of one function that have an entry in the note; kept for its further records. */
struct own_calls {
    uint32_t function;
    uint32_t *offsets; /* in the input, ascending */
    size_t count;
};

/* Add the input offsets of a table's entries where the output has calls. */
static void add_calls(const struct bat_records *records, uint32_t table, struct own_calls *calls)
{
    const struct bat_map *map = records->map;
    const struct bat_table *function = &map->tables[table];
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
    uint32_t hot = bat_map_parent(map, records->tables[function]);
    free(calls->offsets);
    calls->function = function;
    calls->count = 0;
    calls->offsets = malloc((bat_map_count_entries(map, hot) + 1) * sizeof(*calls->offsets));
    BAT_TRY_MEMORY(calls->offsets, error, "for the places of records in YAML");
    add_calls(records, hot, calls);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        add_calls(records, map->fragments[i], calls);
    qsort(calls->offsets, calls->count, sizeof(*calls->offsets), bat_compare_u32);
    return BAT_OK;
}

/* Decide by the note and the output's code: a call if the entry is one in the output. */
static enum bat_code is_no_call(const struct bat_records *records, const uint64_t *item,
                                struct own_calls *calls, bool *is_jump, struct bat_error *error)
{
    uint32_t function = (uint32_t)item[0];
    *is_jump = false;
    if (records->tables[function] == BAT_NONE || item[1] > UINT32_MAX)
        return BAT_OK;
    if (calls->function != function)
        BAT_TRY(read_calls(records, function, calls, error));
    uint32_t offset = (uint32_t)item[1];
    *is_jump = !calls->offsets ||
               !bsearch(&offset, calls->offsets, calls->count, sizeof(offset), bat_compare_u32);
    return BAT_OK;
}

/* Decide by the input's code. */
static bool is_input_jump(const struct bat_records *records, const uint64_t *item)
{
    uint64_t address = records->symbols[(uint32_t)item[0]].address + item[1];
    struct bat_instruction instruction;
    return bat_original_decode(records->binary->elf, address, &instruction) &&
           (instruction.kind == BAT_INSTRUCTION_JUMP ||
            instruction.kind == BAT_INSTRUCTION_CONDITIONAL);
}

/* Find the place of a record to the start of its own function. */
static enum bat_code find_jump(const struct bat_records *records, const uint64_t *item,
                               struct own_calls *calls, uint8_t *place, struct bat_error *error)
{
    bool is_jump = false;
    enum bat_code code = BAT_OK;
    if (bat_records_have_note(records))
        code = is_no_call(records, item, calls, &is_jump, error);
    else
        is_jump = is_input_jump(records, item);
    if (is_jump)
        *place = BAT_YAML_SUCCESSOR;
    return code;
}

/* --- Blocks that the note lacks --------------------------------------------------------------- */

/* The blocks of one input function, by the note and by its code. */
struct both_blocks {
    struct bat_block *noted;
    uint32_t count; /* of noted */
    const struct bat_code_blocks *code;
};

/* True if the note lists the block of the code that holds an offset. */
static bool has_block(const struct both_blocks *blocks, uint64_t offset)
{
    uint32_t noted = bat_block_at(blocks->noted, blocks->count, offset);
    uint32_t block = bat_code_block_at(blocks->code, offset);
    return noted != BAT_NONE && block != BAT_NONE &&
           blocks->noted[noted].input_offset == blocks->code->all[block].start;
}

/* Leave out the records of blocks that the note lacks. */
static void leave_out(struct bat_records *records, const struct both_blocks *blocks, uint32_t first,
                      uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        uint8_t place = records->yaml_places[i];
        if (place != BAT_YAML_NOWHERE &&
            (!has_block(blocks, item[1]) ||
             (place == BAT_YAML_SUCCESSOR && !has_block(blocks, item[3]))))
            records->yaml_places[i] = BAT_YAML_NOWHERE;
    }
}

/*
 * Check the records first to end - 1, which are of one input function with a table. YAML would give
 * records of blocks that the note lacks to the blocks before them.
 */
static enum bat_code check_blocks(struct bat_records *records, uint32_t function, uint32_t first,
                                  uint32_t end, struct bat_error *error)
{
    uint32_t table = records->tables[function];
    uint32_t capacity = bat_map_blocks(records->map, table, NULL, 0);
    struct both_blocks blocks = {.noted = malloc(((size_t)capacity + 1) * sizeof(*blocks.noted))};
    BAT_TRY_MEMORY(blocks.noted, error, "for the places of records in YAML");
    blocks.count = bat_map_blocks(records->map, table, blocks.noted, capacity);
    enum bat_code code = BAT_OK;
    if (blocks.count < records->map->tables[table].input_block_count)
        code = bat_tableless_blocks(&records->tableless, function, &blocks.code, error);
    if (code == BAT_OK && blocks.code && blocks.code->count != 0)
        leave_out(records, &blocks, first, end);
    free(blocks.noted);
    return code;
}

/* --- All records ------------------------------------------------------------------------------ */

/* The place of a record by its ends alone: one to its own function's start counts as a call. */
static enum bat_yaml_place place_of(const uint64_t *item)
{
    if (item[0] >> 32 > BAT_KIND_SYMBOL || item[2] >> 32 > BAT_KIND_SYMBOL)
        return BAT_YAML_NOWHERE;
    return item[0] == item[2] && item[3] != 0 ? BAT_YAML_SUCCESSOR : BAT_YAML_CALL;
}

static enum bat_code find_unknown_blocks(struct bat_records *records, struct bat_error *error)
{
    const struct bat_counts *branches = &records->branches;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0, end; i < branches->count && code == BAT_OK; i = end) {
        uint64_t word = bat_counts_item(branches, i)[0];
        for (end = i + 1; end < branches->count && bat_counts_item(branches, end)[0] == word; end++)
            continue;
        uint32_t function = (uint32_t)word;
        if (bat_records_is_function(records, word) && records->tables[function] != BAT_NONE &&
            bat_tableless_has(&records->tableless, function))
            code = check_blocks(records, function, i, end, error);
    }
    return code;
}

enum bat_code bat_records_find_places(struct bat_records *records, struct bat_error *error)
{
    uint32_t count = records->branches.count;
    records->yaml_places = malloc((size_t)count + 1);
    BAT_TRY_MEMORY(records->yaml_places, error, "for the places of records in YAML");
    struct own_calls calls = {.function = BAT_NONE};
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        const uint64_t *item = bat_records_branch(records, i);
        records->yaml_places[i] = (uint8_t)place_of(item);
        if (!records->is_parity && item[0] == item[2] && item[3] == 0 &&
            bat_records_is_function(records, item[0]))
            code = find_jump(records, item, &calls, &records->yaml_places[i], error);
    }
    free(calls.offsets);
    if (code == BAT_OK && !records->is_parity && !bat_records_have_note(records))
        code = find_unknown_blocks(records, error);
    return code;
}
