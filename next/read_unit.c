/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the code of a unit part by part, then puts the parts together. */
#include "unit.h"

#include <elf.h>
#include <stdlib.h>

#include "binary/code/conditions.h"
#include "binary/code/sweep.h"
#include "instruction_aarch64.h"
#include "spec/array.h"
#include "spec/order.h"
#include "tables_aarch64.h"

/* Entries of a function's jump tables that are read: so many, and more for each byte of code. */
#define ENTRIES_MIN 4096u
#define ENTRIES_FACTOR 4u

#define INSTRUCTION_AARCH64 4u /* bytes */

struct unit_reading {
    struct next_program *program;
    uint32_t index; /* of the unit */
    struct next_unit *unit;
    struct next_pages pages; /* AArch64: what is in registers, from block to block of a part */
    /* AArch64: the jump tables of a part, and where they lead to, ascending. */
    struct next_read_tables read_tables;
    uint32_t *splits;
    uint32_t split_count;
    size_t split_capacity;
    struct bat_error *error;
};

static enum bat_code fail_memory(const struct unit_reading *reading)
{
    return bat_fail_memory(reading->error, "for the code of %s",
                           next_unit_name(reading->program, reading->index));
}

void next_unit_free(struct next_unit *unit)
{
    if (!unit)
        return;
    BAT_FREE_ALL(unit->blocks, unit->edges, unit->instructions, unit->tables, unit->targets,
                 unit->source, unit);
}

/* --- Look-ups ------------------------------------------------------------------------------- */

/* Blocks of a part are together, and ascend. */
uint32_t next_block_at(const struct next_program *program, const struct next_unit *unit,
                       uint32_t function, uint64_t offset)
{
    (void)program;
    uint32_t first = 0;
    while (first < unit->block_count && unit->blocks[first].function != function)
        first++;
    struct bat_search search = {.low = first, .high = unit->block_count};
    while (bat_search_next(&search)) {
        const struct next_block *block = &unit->blocks[search.middle];
        bat_search_go(&search, block->function == function && block->start <= offset);
    }
    return search.low == first ? BAT_NONE : (uint32_t)search.low - 1;
}

uint32_t next_find_edge(const struct next_unit *unit, uint32_t from, uint32_t to, uint32_t offset)
{
    const struct next_block *block = &unit->blocks[from];
    uint32_t found = BAT_NONE;
    for (uint32_t i = block->first_edge; i < block->first_edge + block->edge_count; i++) {
        if (unit->edges[i].to != to)
            continue;
        if (unit->edges[i].offset == offset)
            return i;
        found = found == BAT_NONE ? i : found;
    }
    return found;
}

/* --- Instructions --------------------------------------------------------------------------- */

static bool add_instruction(struct next_unit *unit, const struct next_instruction *instruction)
{
    return BAT_APPEND(unit->instructions, unit->instruction_count, unit->instruction_capacity,
                      *instruction);
}

/* Forget what an instruction calls if it is in the same unit: it is a jump. */
static void keep_callee(const struct unit_reading *reading, struct next_instruction *instruction)
{
    if (instruction->callee == BAT_NONE || (instruction->flags & NEXT_IS_CALL))
        return;
    if (reading->program->unit_of[instruction->callee] != reading->index)
        return;
    instruction->callee = BAT_NONE;
    instruction->name = 0;
}

/* Describe the instruction at an address, of which so many bytes are known. Data in code, and what
 * cannot be decoded, are no-operations. */
static void describe_instruction(struct unit_reading *reading, const uint8_t *bytes, size_t size,
                                 uint64_t address, struct next_instruction *instruction,
                                 uint32_t *length)
{
    const struct next_program *program = reading->program;
    *instruction = (struct next_instruction){.callee = BAT_NONE, .flags = NEXT_IS_NOP};
    *length = 1;
    if (!bytes)
        return;
    if (bat_elf_machine(program->elf) == EM_X86_64)
        next_describe_x86(program, bytes, size, address, instruction, length);
    else if (code_is_data(program->reader, address))
        *length = (uint32_t)(code_end_of_data(program->reader, address, address + size) - address);
    else
        next_describe_aarch64(program, &reading->pages, bytes, size, address, instruction, length);
}

/* Describe the instructions of a block up to offset end. */
static enum bat_code describe_block(struct unit_reading *reading, struct next_block *block,
                                    uint32_t end)
{
    const struct next_program *program = reading->program;
    uint64_t address = program->all[block->function].address;
    block->first_instruction = reading->unit->instruction_count;
    for (uint32_t offset = block->start; offset < end;) {
        uint64_t size = end - offset;
        const uint8_t *bytes = code_bytes(program->reader, address + offset, &size);
        struct next_instruction instruction;
        uint32_t length;
        describe_instruction(reading, bytes, (size_t)size, address + offset, &instruction, &length);
        instruction.offset = offset;
        keep_callee(reading, &instruction);
        block->has_callees |= instruction.callee != BAT_NONE;
        if (!add_instruction(reading->unit, &instruction))
            return fail_memory(reading);
        offset += length;
    }
    block->instruction_count = reading->unit->instruction_count - block->first_instruction;
    return BAT_OK;
}

/* --- Parts ---------------------------------------------------------------------------------- */

/* A table of the part: its targets are offsets until the parts are put together. */
static enum bat_code add_table(struct unit_reading *reading, const struct code_sweep *sweep,
                               const struct code_table *table, uint32_t *index)
{
    struct next_unit *unit = reading->unit;
    uint32_t count;
    code_table_targets(sweep, table, NULL, 0, &count);
    if (!BAT_GROW(unit->tables, unit->table_count, unit->table_capacity) ||
        !BAT_RESERVE(unit->targets, unit->target_count, unit->target_capacity, count))
        return fail_memory(reading);
    code_table_targets(sweep, table, unit->targets + unit->target_count, count, &count);
    *index = unit->table_count;
    unit->tables[unit->table_count++] =
        (struct next_table){.first = unit->target_count, .count = count};
    unit->target_count += count;
    return BAT_OK;
}

/* Find which blocks of a part, from the unit's block first on, end in a jump by which table. */
static enum bat_code read_tables(struct unit_reading *reading, uint32_t function,
                                 const struct code_sweep *sweep, uint32_t first)
{
    struct next_unit *unit = reading->unit;
    /* Jumps may share a table, and each has its entries: compilers make few for what code there is.
     */
    uint64_t most = unit->target_count + ENTRIES_MIN +
                    (uint64_t)ENTRIES_FACTOR * reading->program->all[function].size;
    uint32_t at = first;
    for (uint32_t i = 0; i < sweep->count; i++) {
        const struct code_instruction *jump = &sweep->all[i];
        if (jump->kind != BAT_INSTRUCTION_INDIRECT_JUMP || jump->table == 0)
            continue;
        while (at + 1 < unit->block_count && unit->blocks[at + 1].start <= jump->offset)
            at++;
        uint32_t index = 0;
        uint32_t base = unit->target_count;
        uint32_t count;
        code_table_targets(sweep, &sweep->tables[jump->table - 1], NULL, 0, &count);
        if (base + (uint64_t)count > most)
            continue;
        BAT_TRY(add_table(reading, sweep, &sweep->tables[jump->table - 1], &index));
        unit->blocks[at].table = index;
        for (uint32_t k = base; k < unit->target_count; k++)
            unit->targets[k] = next_block_at(reading->program, unit, function, unit->targets[k]);
    }
    return BAT_OK;
}

/* Find the tables of a part's indirect jumps. */
static enum bat_code find_tables_aarch64(struct unit_reading *reading, uint32_t function,
                                         const struct code_sweep *sweep)
{
    if (!next_read_tables_aarch64(reading->program, function, sweep, &reading->read_tables))
        return fail_memory(reading);
    for (uint32_t i = 0; i < reading->read_tables.count; i++) {
        const struct next_read_table *table = &reading->read_tables.all[i];
        if (!BAT_RESERVE(reading->splits, reading->split_count, reading->split_capacity,
                         table->count))
            return fail_memory(reading);
        for (uint32_t k = 0; k < table->count; k++)
            reading->splits[reading->split_count++] = table->targets[k];
    }
    if (reading->split_count > 1)
        qsort(reading->splits, reading->split_count, sizeof(*reading->splits), bat_compare_u32);
    return BAT_OK;
}

/* Attach the tables to the blocks of a part that end in their jumps. */
static enum bat_code attach_tables_aarch64(struct unit_reading *reading, uint32_t function)
{
    struct next_unit *unit = reading->unit;
    for (uint32_t i = 0; i < reading->read_tables.count; i++) {
        const struct next_read_table *table = &reading->read_tables.all[i];
        uint32_t block = next_block_at(reading->program, unit, function, table->jump);
        if (table->count == 0 || block == BAT_NONE)
            continue;
        if (!BAT_GROW(unit->tables, unit->table_count, unit->table_capacity) ||
            !BAT_RESERVE(unit->targets, unit->target_count, unit->target_capacity, table->count))
            return fail_memory(reading);
        unit->blocks[block].table = unit->table_count;
        unit->tables[unit->table_count++] =
            (struct next_table){.first = unit->target_count, .count = table->count};
        for (uint32_t k = 0; k < table->count; k++) {
            uint32_t to = next_block_at(reading->program, unit, function, table->targets[k]);
            bool is_start = to != BAT_NONE && unit->blocks[to].start == table->targets[k];
            unit->targets[unit->target_count++] = is_start ? to : BAT_NONE;
        }
    }
    return BAT_OK;
}

/* A block of the graph, or if is_split its rest from start on, up to end. */
static enum bat_code add_block(struct unit_reading *reading, uint32_t function,
                               const struct bat_code_block *from, uint32_t start, uint32_t end)
{
    struct next_unit *unit = reading->unit;
    bool is_split = start != from->start;
    struct next_block block = {
        .function = function,
        .start = start,
        .last = from->last < end ? from->last : end - INSTRUCTION_AARCH64,
        .table = BAT_NONE,
        .is_entered = !is_split && from->flags & (BAT_BLOCK_ENTRY | BAT_BLOCK_REFERENCED |
                                                  BAT_BLOCK_LANDING_PAD),
        .is_split = is_split,
        .is_cold = reading->program->all[function].flags & BAT_FUNCTION_FRAGMENT,
    };
    if (!BAT_GROW(unit->blocks, unit->block_count, unit->block_capacity))
        return fail_memory(reading);
    enum bat_code code = describe_block(reading, &block, end);
    unit->blocks[unit->block_count++] = block;
    return code;
}

/* Blocks, taken apart where jump tables lead to that BOLT does not read. */
static enum bat_code add_blocks(struct unit_reading *reading, uint32_t function,
                                const struct bat_code_blocks *blocks)
{
    uint32_t target = 0;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < blocks->count && code == BAT_OK; i++) {
        const struct bat_code_block *from = &blocks->all[i];
        uint32_t end = i + 1 < blocks->count ? from[1].start : blocks->size;
        uint32_t start = from->start;
        for (; target < reading->split_count && code == BAT_OK; target++) {
            if (reading->splits[target] <= start)
                continue;
            if (reading->splits[target] >= end || reading->splits[target] > from->last)
                break;
            code = add_block(reading, function, from, start, reading->splits[target]);
            start = reading->splits[target];
        }
        code = code ? code : add_block(reading, function, from, start, end);
    }
    return code;
}

static bool add_edge(struct next_unit *unit, const struct next_edge *edge)
{
    return BAT_APPEND(unit->edges, unit->edge_count, unit->edge_capacity, *edge);
}

/* The branch or jump that a block's instructions have before index `end`; BAT_NONE. */
static uint32_t last_branch(const struct unit_reading *reading, const struct next_block *block,
                            uint32_t end, struct bat_instruction *decoded)
{
    const struct next_program *program = reading->program;
    for (uint32_t i = end; i-- > 0;) {
        const struct next_instruction *instruction =
            &reading->unit->instructions[block->first_instruction + i];
        if (instruction->flags & NEXT_IS_NOP)
            continue;
        uint64_t address = program->all[block->function].address + instruction->offset;
        uint64_t size = 16;
        const uint8_t *bytes = code_bytes(program->reader, address, &size);
        if (!bytes ||
            !bat_instruction_decode(bat_elf_machine(program->elf), bytes, (size_t)size, address,
                                    decoded) ||
            decoded->kind == BAT_INSTRUCTION_OTHER || bat_kind_is_call(decoded->kind))
            return BAT_NONE;
        return i;
    }
    return BAT_NONE;
}

/* The block of another part of the unit that an address is the start of; BAT_NONE. */
static uint32_t block_in_part(const struct unit_reading *reading, uint64_t address)
{
    const struct next_program *program = reading->program;
    uint32_t function = bat_functions_find(program->functions, address);
    if (function == BAT_NONE || program->unit_of[function] != reading->index)
        return BAT_NONE;
    uint64_t offset = address - program->all[function].address;
    uint32_t block = next_block_at(program, reading->unit, function, offset);
    return block != BAT_NONE && reading->unit->blocks[block].start == offset ? block : BAT_NONE;
}

/* The edges of a block's jump table, from the jump at offset: one to each block, in the order of
 * the entries. */
static bool add_table_edges(struct unit_reading *reading, uint32_t index, uint32_t offset)
{
    struct next_unit *unit = reading->unit;
    const struct next_table *table = &unit->tables[unit->blocks[index].table];
    bool *is_target = calloc(unit->block_count, sizeof(*is_target));
    bool is_fine = is_target != NULL;
    for (uint32_t i = 0; is_fine && i < table->count; i++) {
        const struct next_edge edge = {.from = index,
                                       .to = unit->targets[table->first + i],
                                       .offset = offset,
                                       .kind = NEXT_EDGE_TABLE};
        if (edge.to == BAT_NONE || is_target[edge.to])
            continue;
        is_target[edge.to] = true;
        is_fine = add_edge(unit, &edge);
    }
    free(is_target);
    return is_fine;
}

/* What ends a block, and the edges that follow from it. */
static enum bat_code end_block(struct unit_reading *reading, uint32_t index)
{
    struct next_unit *unit = reading->unit;
    struct next_block *block = &unit->blocks[index];
    const struct next_block *next =
        index + 1 < unit->block_count && block[1].function == block->function ? block + 1 : NULL;
    uint64_t address = reading->program->all[block->function].address;
    struct bat_instruction decoded;
    struct bat_instruction before;
    uint32_t last = last_branch(reading, block, block->instruction_count, &decoded);
    const struct next_instruction *all = &unit->instructions[block->first_instruction];
    uint32_t first = BAT_NONE;
    bool is_jump = last != BAT_NONE && decoded.kind == BAT_INSTRUCTION_JUMP;
    if (is_jump) { /* a jump shares its block with the conditional branch before it */
        first = last_branch(reading, block, last, &before);
        if (first != BAT_NONE && before.kind != BAT_INSTRUCTION_CONDITIONAL)
            first = BAT_NONE;
    } else if (last != BAT_NONE && decoded.kind == BAT_INSTRUCTION_CONDITIONAL) {
        first = last;
        before = decoded;
    }
    block->first_edge = unit->edge_count;
    if (first != BAT_NONE) {
        uint32_t to = block_in_part(reading, before.target);
        block->end = to == BAT_NONE ? NEXT_END_TAIL_IF : NEXT_END_BRANCH;
        block->condition = condition_of_any_register(
            condition_at(reading->program->elf, address + all[first].offset));
        const struct next_edge edge = {
            .from = index, .to = to, .offset = all[first].offset, .kind = NEXT_EDGE_TAKEN};
        if (to != BAT_NONE && !add_edge(unit, &edge))
            return fail_memory(reading);
    }
    if (is_jump) {
        uint32_t to = block_in_part(reading, decoded.target);
        if (to == BAT_NONE && first == BAT_NONE)
            block->end = NEXT_END_TAIL;
        const struct next_edge edge = {.from = index, .to = to, .offset = all[last].offset};
        if (to != BAT_NONE && !add_edge(unit, &edge))
            return fail_memory(reading);
    } else if (last != BAT_NONE && decoded.kind == BAT_INSTRUCTION_INDIRECT_JUMP) {
        block->end = block->table == BAT_NONE ? NEXT_END_TAIL : NEXT_END_TABLE;
        if (block->table != BAT_NONE && !add_table_edges(reading, index, all[last].offset))
            return fail_memory(reading);
    } else if (last != BAT_NONE && decoded.kind == BAT_INSTRUCTION_RETURN) {
        block->end = NEXT_END_RETURN;
    } else if ((last != BAT_NONE && decoded.kind == BAT_INSTRUCTION_TRAP) ||
               (!next && first == BAT_NONE)) {
        block->end = NEXT_END_TRAP;
    } else if (next) {
        const struct next_edge edge = {.from = index, .to = index + 1, .offset = block->last};
        if (!add_edge(unit, &edge))
            return fail_memory(reading);
    }
    block->edge_count = unit->edge_count - block->first_edge;
    return BAT_OK;
}

/* --- Padding -------------------------------------------------------------------------------- */

static bool is_all_nops(const struct next_unit *unit, const struct next_block *block)
{
    for (uint32_t i = 0; i < block->instruction_count; i++)
        if (!(unit->instructions[block->first_instruction + i].flags & NEXT_IS_NOP))
            return false;
    return true;
}

static void renumber(uint32_t *block, const uint32_t *numbers)
{
    if (*block != BAT_NONE)
        *block = numbers[*block];
}

/* Leave out blocks of no-operations that nothing reaches: of `jmp *slot` linkers make a shorter
 * jump and one of these. */
static enum bat_code drop_padding(struct unit_reading *reading)
{
    struct next_unit *unit = reading->unit;
    uint32_t *numbers = calloc((size_t)unit->block_count + 1, sizeof(*numbers));
    if (!numbers)
        return fail_memory(reading);
    for (uint32_t i = 0; i < unit->edge_count; i++)
        numbers[unit->edges[i].to] = 1;
    uint32_t blocks = 0;
    uint32_t edges = 0;
    for (uint32_t i = 0; i < unit->block_count; i++) {
        struct next_block block = unit->blocks[i];
        const bool is_kept = i == 0 || numbers[i] != 0 || block.is_entered ||
                             unit->blocks[i - 1].function != block.function ||
                             block.edge_count > 1 || !is_all_nops(unit, &block);
        numbers[i] = is_kept ? blocks : BAT_NONE;
        if (!is_kept)
            continue;
        for (uint32_t k = 0; k < block.edge_count; k++)
            unit->edges[edges + k] = unit->edges[block.first_edge + k];
        block.first_edge = edges;
        edges += block.edge_count;
        unit->blocks[blocks++] = block;
    }
    unit->block_count = blocks;
    unit->edge_count = edges;
    for (uint32_t i = 0; i < edges; i++) {
        renumber(&unit->edges[i].from, numbers);
        renumber(&unit->edges[i].to, numbers);
    }
    for (uint32_t i = 0; i < unit->target_count; i++)
        renumber(&unit->targets[i], numbers);
    free(numbers);
    return BAT_OK;
}

/* Lead edges past blocks of no-operations that only the block before reaches. */
static enum bat_code skip_padding(struct unit_reading *reading)
{
    struct next_unit *unit = reading->unit;
    uint8_t *is_target = calloc((size_t)unit->block_count + 1, 1);
    if (!is_target)
        return fail_memory(reading);
    for (uint32_t i = 0; i < unit->edge_count; i++)
        is_target[unit->edges[i].to] |=
            unit->edges[i].kind != NEXT_EDGE_ON || unit->edges[i].to != unit->edges[i].from + 1;
    for (uint32_t i = 0; i < unit->block_count; i++) {
        struct next_block *block = &unit->blocks[i];
        block->is_padding = i > 0 && !is_target[i] && !block->is_entered &&
                            block->edge_count <= 1 && block->end != NEXT_END_BRANCH &&
                            is_all_nops(unit, block);
    }
    for (uint32_t i = 0; i < unit->edge_count; i++) {
        struct next_edge *edge = &unit->edges[i];
        const struct next_block *to = &unit->blocks[edge->to];
        while (to->is_padding && to->edge_count == 1 && edge->padding < UINT8_MAX &&
               !unit->blocks[edge->from].is_padding) {
            edge->to = unit->edges[to->first_edge].to;
            edge->padding++;
            to = &unit->blocks[edge->to];
        }
    }
    free(is_target);
    return BAT_OK;
}

/* --- The unit ------------------------------------------------------------------------------- */

static enum bat_code read_part(struct unit_reading *reading, uint32_t function)
{
    struct code_sweep sweep;
    struct bat_code_blocks blocks = {0};
    const uint32_t first = reading->unit->block_count;
    const bool is_aarch64 = bat_elf_machine(reading->program->elf) == EM_AARCH64;
    reading->pages = (struct next_pages){.known = 0};
    enum bat_code code =
        code_sweep_function(reading->program->reader, function, &sweep, reading->error);
    code = code ? code : code_build_blocks(&sweep, &blocks, reading->error);
    bool has_jump = false;
    for (uint32_t i = 0; i < sweep.count && blocks.count > 0; i++)
        has_jump |= sweep.all[i].kind == BAT_INSTRUCTION_INDIRECT_JUMP;
    if (code == BAT_OK && has_jump && is_aarch64)
        code = find_tables_aarch64(reading, function, &sweep);
    code = code ? code : add_blocks(reading, function, &blocks);
    if (code == BAT_OK && has_jump)
        code = is_aarch64 ? attach_tables_aarch64(reading, function)
                          : read_tables(reading, function, &sweep, first);
    bat_code_blocks_free(&blocks);
    code_sweep_free(&sweep);
    next_read_tables_free(&reading->read_tables);
    reading->split_count = 0;
    return code;
}

static enum bat_code read_unit(struct unit_reading *reading)
{
    const struct next_program *program = reading->program;
    struct next_unit *unit = reading->unit;
    enum bat_code code = BAT_OK;
    uint32_t part = program->first_part[reading->index];
    for (; part != BAT_NONE && code == BAT_OK; part = program->next_part[part])
        code = read_part(reading, part);
    for (uint32_t i = 0; i < unit->block_count && code == BAT_OK; i++)
        code = end_block(reading, i);
    if (code == BAT_OK && unit->block_count > 0)
        code = drop_padding(reading);
    if (code == BAT_OK && unit->block_count > 0)
        code = skip_padding(reading);
    /* Without its first part it has no entry. */
    unit->is_read =
        unit->block_count > 0 && unit->blocks[0].function == program->first_part[reading->index];
    if (!unit->is_read)
        unit->block_count = unit->edge_count = 0;
    return code;
}

/* Give back what growing left over. */
static void trim(struct next_unit *unit)
{
    BAT_SHRINK(unit->blocks, unit->block_count);
    BAT_SHRINK(unit->edges, unit->edge_count);
    BAT_SHRINK(unit->instructions, unit->instruction_count);
}

static enum bat_code begin_reading(struct unit_reading *reading, struct next_program *program,
                                   uint32_t unit, struct bat_error *error)
{
    *reading = (struct unit_reading){.program = program,
                                     .index = unit,
                                     .unit = calloc(1, sizeof(struct next_unit)),
                                     .error = error};
    return reading->unit ? BAT_OK : fail_memory(reading);
}

enum bat_code next_unit_get(struct next_program *program, uint32_t unit,
                            const struct next_unit **found, struct bat_error *error)
{
    *found = __atomic_load_n(&program->units[unit], __ATOMIC_ACQUIRE);
    if (*found)
        return BAT_OK;
    struct unit_reading reading;
    BAT_TRY(begin_reading(&reading, program, unit, error));
    enum bat_code code = read_unit(&reading);
    free(reading.splits);
    if (code != BAT_OK) {
        next_unit_free(reading.unit);
        return code;
    }
    trim(reading.unit);
    struct next_unit *other = NULL; /* what another thread has read */
    bool is_first = __atomic_compare_exchange_n(&program->units[unit], &other, reading.unit, false,
                                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!is_first)
        next_unit_free(reading.unit);
    *found = is_first ? reading.unit : other;
    return BAT_OK;
}

/* The instructions of a part, if all of it is there. */
static enum bat_code read_code(struct unit_reading *reading, uint32_t function)
{
    const struct next_program *program = reading->program;
    uint64_t size = program->all[function].size;
    struct next_block all = {.function = function};
    reading->pages = (struct next_pages){.known = 0};
    if ((program->all[function].flags & (BAT_FUNCTION_CONFLICT | BAT_FUNCTION_PLT)) ||
        !code_bytes(program->reader, program->all[function].address, &size) ||
        size != program->all[function].size || size >= UINT32_MAX)
        return BAT_OK;
    return describe_block(reading, &all, (uint32_t)size);
}

enum bat_code next_unit_read_code(struct next_program *program, uint32_t unit,
                                  struct next_unit **found, struct bat_error *error)
{
    struct unit_reading reading;
    BAT_TRY(begin_reading(&reading, program, unit, error));
    enum bat_code code = BAT_OK;
    uint32_t part = program->first_part[unit];
    for (; part != BAT_NONE && code == BAT_OK; part = program->next_part[part])
        code = read_code(&reading, part);
    if (code == BAT_OK)
        *found = reading.unit;
    else
        next_unit_free(reading.unit);
    return code;
}

void next_unit_forget(struct next_program *program, uint32_t unit)
{
    next_unit_free(program->units[unit]);
    program->units[unit] = NULL;
}
