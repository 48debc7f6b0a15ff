/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads the flow of an output function (output_flow.h): makes its blocks from its instructions, the
 * note's entries and the inlined calls that are found in it.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "inlined.h"
#include "instructions.h"
#include "output_flow.h"
#include "spec/array.h"
#include "spec/little_endian.h"
#include "spec/map.h"
#include "spec/order.h"

/* An instruction that ends a block. */
struct leave {
    uint64_t at;
    uint64_t next;   /* address behind it */
    uint64_t target; /* 0 if none is known */
    bool falls_through;
    bool is_return;
    bool is_indirect;
};

/* A block entry of the note. */
struct begin {
    uint64_t address;
    uint32_t block; /* index into blocks */
    bool is_block;  /* the input block begins here; else this is some code of it */
};

/* A branch entry of the note. */
struct mark {
    uint64_t address;
    uint32_t block;
    uint32_t input; /* offset */
};

/* The most bytes of code that are read of a function: no real one has so many. */
#define CODE_MAX ((uint64_t)1 << 27)

/* 64 addresses of a part, a bit for each. */
struct word {
    uint64_t starts; /* where blocks start */
    uint32_t before; /* the number of blocks that start below them, in this and earlier parts */
};

/* A fragment, its words, and the ranges of leaves, begins and marks in it. Parts do not overlap. */
struct part {
    uint64_t start, end;
    size_t first_word;
    size_t first_leave, end_leave;
    size_t first_begin, end_begin;
    size_t first_mark, end_mark;
};

/* Reads one function after the other in the same memory. */
struct bat_flow_reader {
    struct bat_output_flows *flows;
    struct bat_arena *arena;      /* or NULL */
    struct bat_output_flow *flow; /* its blocks, all and begins are the arrays below */
    const struct bat_map *map;
    const struct bat_elf *elf;
    struct bat_block *blocks;
    size_t block_capacity;
    struct bat_output_block *all;
    size_t all_capacity;
    uint32_t *block_begins;
    size_t block_begin_capacity;
    uint32_t block_begin_count;
    void *owners; /* bat_output_flow_find_owners() */
    size_t owners_capacity;
    struct word *words;
    size_t word_count;
    size_t word_capacity;
    struct leave *leaves; /* ascending within each fragment */
    size_t leave_count;
    size_t leave_capacity;
    struct begin *begins; /* ascending within each fragment */
    size_t begin_count;
    size_t begin_capacity;
    struct mark *marks;
    size_t mark_count;
    size_t mark_capacity;
    struct part *parts;
    size_t part_count;
    size_t part_capacity;
    struct bat_inlined inlined; /* calls[i] is flow->inlined[i] */
    bool is_out_of_memory;
};

/* --- Entries and instructions ------------------------------------------------------------- */

/* The part that holds an address, or NULL. */
static const struct part *part_at(const struct bat_flow_reader *reader, uint64_t address)
{
    const size_t up_to = BAT_COUNT_UP_TO(reader->parts, reader->part_count, start, address);
    const struct part *part = reader->parts + up_to - 1;
    return up_to != 0 && address < part->end ? part : NULL;
}

static struct word *word_at(const struct bat_flow_reader *reader, const struct part *part,
                            uint64_t address)
{
    return &reader->words[part->first_word + (address - part->start) / 64];
}

/* Let a block start at an address. */
static void cut_part(struct bat_flow_reader *reader, const struct part *part, uint64_t address)
{
    if (address < part->end)
        word_at(reader, part, address)->starts |= (uint64_t)1 << (address - part->start) % 64;
}

/* The same at an address that may be in no part, when all parts are read. */
static void cut(struct bat_flow_reader *reader, uint64_t address)
{
    const struct part *part = part_at(reader, address);
    if (part)
        cut_part(reader, part, address);
}

/* The first address from `from` on where a block starts, or the part's end. */
static uint64_t next_start(const struct bat_flow_reader *reader, const struct part *part,
                           uint64_t from)
{
    uint64_t bits = UINT64_MAX << (from - part->start) % 64;
    for (uint64_t at = from - (from - part->start) % 64; at < part->end; at += 64) {
        bits &= word_at(reader, part, at)->starts;
        if (bits)
            return at + (uint64_t)__builtin_ctzll(bits);
        bits = UINT64_MAX;
    }
    return part->end;
}

/* The block that starts at an address, or BAT_NONE. */
static uint32_t block_at(const struct bat_flow_reader *reader, uint64_t address)
{
    const struct part *part = part_at(reader, address);
    if (!part)
        return BAT_NONE;
    const struct word *word = word_at(reader, part, address);
    const uint64_t bit = (uint64_t)1 << (address - part->start) % 64;
    return word->starts & bit
               ? word->before + (uint32_t)__builtin_popcountll(word->starts & (bit - 1))
               : BAT_NONE;
}

/* Fill *leave; false if the instruction does not end a block. */
static bool leaves_block(const struct bat_instruction *instruction, uint64_t at,
                         struct leave *leave)
{
    *leave = (struct leave){.at = at, .next = at + instruction->length};
    switch (instruction->kind) {
    case BAT_INSTRUCTION_CONDITIONAL:
        leave->falls_through = true;
        leave->target = instruction->target;
        return true;
    case BAT_INSTRUCTION_JUMP:
        leave->target = instruction->target;
        return true;
    case BAT_INSTRUCTION_RETURN:
        leave->is_return = true;
        return true;
    case BAT_INSTRUCTION_INDIRECT_JUMP:
        leave->is_indirect = true;
        return true;
    case BAT_INSTRUCTION_TRAP:
        return true;
    default:
        return false;
    }
}

/* Read the code of a fragment, the last part. Where it cannot be decoded, go on at an entry. */
static void read_code(struct bat_flow_reader *reader, uint64_t start, uint64_t size)
{
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(reader->elf, start, &available);
    if (!bytes)
        return;
    uint16_t machine = bat_elf_machine(reader->elf);
    size = size < available ? size : available;
    const struct part *part = &reader->parts[reader->part_count - 1];
    size_t next_begin = part->first_begin;
    for (uint64_t at = 0; at < size;) {
        at += bat_instructions_skip(machine, bytes + at, (size_t)(size - at));
        if (at == size)
            return;
        struct bat_instruction instruction;
        if (bat_instruction_decode(machine, bytes + at, (size_t)(size - at), start + at,
                                   &instruction) &&
            instruction.length != 0) {
            if (!BAT_GROW(reader->leaves, reader->leave_count, reader->leave_capacity)) {
                reader->is_out_of_memory = true;
                return;
            }
            struct leave *leave = &reader->leaves[reader->leave_count];
            if (leaves_block(&instruction, start + at, leave)) {
                if (machine == EM_AARCH64 && instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP)
                    leave->target = bat_long_jump_target(bytes, at, start);
                reader->leave_count++;
                cut_part(reader, part, leave->next);
            }
            at += instruction.length;
            continue;
        }
        while (next_begin < reader->begin_count && reader->begins[next_begin].address <= start + at)
            next_begin++;
        if (next_begin == reader->begin_count)
            return;
        at = reader->begins[next_begin].address - start;
    }
}

/* Read the entries of a table, and then its code. */
static void read_part(struct bat_flow_reader *reader, uint32_t table, uint64_t size)
{
    const struct bat_map *map = reader->map;
    const struct bat_table *function = &map->tables[table];
    const struct bat_output_flow *flow = reader->flow;
    const uint64_t left = CODE_MAX - 64 * (uint64_t)reader->word_count;
    size = size < left ? size : left;
    const size_t words = ((size_t)size + 63) / 64;
    if (words == 0)
        return;
    if (!BAT_RESERVE(reader->words, reader->word_count, reader->word_capacity, words)) {
        reader->is_out_of_memory = true;
        return;
    }
    struct part *part = &reader->parts[reader->part_count++];
    *part = (struct part){.start = function->address,
                          .end = function->address + size,
                          .first_word = reader->word_count,
                          .first_leave = reader->leave_count,
                          .first_begin = reader->begin_count,
                          .first_mark = reader->mark_count};
    memset(reader->words + reader->word_count, 0, words * sizeof(*reader->words));
    reader->word_count += words;
    cut_part(reader, part, part->start);
    uint32_t block_number = function->first_block;
    uint32_t block = BAT_NONE;
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t output = map->output_offsets[function->first_entry + i];
        uint32_t input = map->input_offsets[function->first_entry + i];
        bool is_branch = input & BAT_BRANCH_ENTRY;
        input >>= 1;
        uint32_t number = is_branch ? 0 : block_number++;
        if (output >= size)
            continue;
        block = bat_block_near(flow->blocks, flow->block_count, block, input);
        if (block == BAT_NONE)
            continue;
        uint64_t address = function->address + output;
        if (is_branch) {
            reader->marks[reader->mark_count++] = (struct mark){address, block, input};
            continue;
        }
        bool is_made = map->block_hashes && !bat_is_input_block(map->block_hashes[number],
                                                                map->block_indices[number], input);
        reader->begins[reader->begin_count++] =
            (struct begin){address, block, !is_made && flow->blocks[block].input_offset == input};
        cut_part(reader, part, address);
    }
    read_code(reader, function->address, size);
    part->end_leave = reader->leave_count;
    part->end_begin = reader->begin_count;
    part->end_mark = reader->mark_count;
}

/* --- Inlined code ------------------------------------------------------------------------- */

/* True if a part has a conditional branch without an entry, which BOLT must have made. */
static bool has_made_branch(const struct bat_flow_reader *reader, const struct part *part)
{
    size_t begin = part->first_begin;
    size_t mark = part->first_mark;
    for (size_t i = part->first_leave; i < part->end_leave; i++) {
        uint64_t at = reader->leaves[i].at;
        while (begin < part->end_begin && reader->begins[begin].address < at)
            begin++;
        while (mark < part->end_mark && reader->marks[mark].address < at)
            mark++;
        bool has_entry = (begin < part->end_begin && reader->begins[begin].address == at) ||
                         (mark < part->end_mark && reader->marks[mark].address == at);
        if (!has_entry && reader->leaves[i].falls_through)
            return true;
    }
    return false;
}

/* Append the addresses of a part's entries, ascending. Returns the new count. */
static size_t add_entries(const struct bat_flow_reader *reader, const struct part *part,
                          uint64_t *entries, size_t count)
{
    size_t begin = part->first_begin;
    size_t mark = part->first_mark;
    while (begin < part->end_begin || mark < part->end_mark) {
        bool is_begin = mark == part->end_mark ||
                        (begin < part->end_begin &&
                         reader->begins[begin].address <= reader->marks[mark].address);
        entries[count++] =
            is_begin ? reader->begins[begin++].address : reader->marks[mark++].address;
    }
    return count;
}

/* Find the inlined calls, if there is code that BOLT has made. */
static enum bat_code find_inlined(struct bat_flow_reader *reader, uint32_t table)
{
    bool may_inline = !reader->flows->are_independent;
    bool is_any = false;
    for (size_t i = 0; i < reader->part_count && may_inline && !is_any; i++)
        is_any = has_made_branch(reader, &reader->parts[i]);
    if (!is_any)
        return BAT_OK;
    struct bat_code_range *ranges = malloc((reader->part_count + 1) * sizeof(*ranges));
    uint64_t *entries = malloc((reader->begin_count + reader->mark_count + 1) * sizeof(*entries));
    size_t count = 0;
    enum bat_code code = BAT_ERR_MEMORY;
    if (ranges && entries) {
        for (size_t i = 0; i < reader->part_count; i++) {
            ranges[i] = (struct bat_code_range){reader->parts[i].start, reader->parts[i].end};
            count = add_entries(reader, &reader->parts[i], entries, count);
        }
        const struct bat_caller caller = {table, ranges, reader->part_count, entries, count};
        code = bat_output_flows_inlined(reader->flows, &caller, &reader->inlined);
    }
    BAT_FREE_ALL(ranges, entries);
    return code;
}

/* Cut a copied run where the callee's own code is cut into blocks. */
static void cut_run(struct bat_flow_reader *reader, const struct bat_copied_run *run,
                    const struct bat_output_flow *callee)
{
    cut(reader, run->start);
    cut(reader, run->end);
    uint32_t block = bat_output_flow_at(callee, run->origin);
    if (run->is_jump || block == BAT_NONE)
        return;
    for (block++; block < callee->count && callee->all[block].start < run->origin_end; block++)
        cut(reader, run->start + (callee->all[block].start - run->origin));
}

static enum bat_code read_inlined(struct bat_flow_reader *reader, uint32_t table)
{
    struct bat_output_flow *flow = reader->flow;
    struct bat_inlined *inlined = &reader->inlined;
    enum bat_code code = find_inlined(reader, table);
    if (code != BAT_OK || inlined->call_count == 0)
        return code;
    flow->inlined = calloc(inlined->call_count, sizeof(*flow->inlined));
    if (!flow->inlined)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < inlined->call_count && code == BAT_OK; i++) {
        const struct bat_inlined_call *call = &inlined->calls[i];
        const struct bat_output_flow *callee;
        flow->inlined[i].table = call->table;
        code = bat_output_flows_callee(reader->flows, call->table, &callee);
        if (code != BAT_OK || !callee)
            continue;
        flow->inlined[i].flow = callee;
        for (uint32_t j = 0; j < call->run_count; j++)
            cut_run(reader, &inlined->runs[call->first_run + j], callee);
    }
    return code;
}

/* Mark the blocks in a run as copies of the callee's blocks. */
static void copy_run(struct bat_output_flow *flow, uint32_t call, const struct bat_copied_run *run)
{
    const struct bat_output_flow *callee = flow->inlined[call].flow;
    uint32_t block = bat_output_flow_at(flow, run->start);
    for (; block < flow->count && flow->all[block].start < run->end; block++) {
        uint64_t start = flow->all[block].start;
        uint64_t origin = run->is_jump ? run->origin : run->origin + (start - run->start);
        uint32_t copied = bat_output_flow_at(callee, origin);
        if (start < run->start || copied == BAT_NONE)
            continue;
        flow->copies[block] = (struct bat_output_copy){
            .origin = run->is_jump ? 0 : origin,
            .inlined = call,
            .copied = copied,
            .begins_copy = !run->is_jump && callee->all[copied].start == origin,
        };
    }
}

/* False if there is no memory. */
static bool copy_runs(struct bat_flow_reader *reader)
{
    const struct bat_inlined *inlined = &reader->inlined;
    struct bat_output_flow *flow = reader->flow;
    if (inlined->call_count == 0)
        return true;
    flow->copies = malloc(((size_t)flow->count + 1) * sizeof(*flow->copies));
    if (!flow->copies)
        return false;
    for (uint32_t i = 0; i < flow->count; i++)
        flow->copies[i] = (struct bat_output_copy){.inlined = BAT_NONE, .copied = BAT_NONE};
    for (uint32_t i = 0; i < inlined->call_count; i++)
        for (uint32_t j = 0; j < inlined->calls[i].run_count && flow->inlined[i].flow; j++)
            copy_run(flow, i, &inlined->runs[inlined->calls[i].first_run + j]);
    return true;
}

/* --- Blocks ------------------------------------------------------------------------------- */

/* Cut the parts at the targets of branches, and count the blocks. */
static uint32_t count_blocks(struct bat_flow_reader *reader)
{
    for (size_t i = 0; i < reader->leave_count; i++)
        if (reader->leaves[i].target)
            cut(reader, reader->leaves[i].target);
    uint32_t count = 0;
    for (size_t i = 0; i < reader->part_count; i++) {
        const struct part *part = &reader->parts[i];
        for (uint64_t at = part->start; at < part->end; at += 64) {
            struct word *word = word_at(reader, part, at);
            word->before = count;
            count += (uint32_t)__builtin_popcountll(word->starts);
        }
    }
    return count;
}

/* Append the blocks of a part, with the owners that the note gives. */
static void make_blocks(struct bat_flow_reader *reader, size_t part, uint32_t *begin_count)
{
    struct bat_output_flow *flow = reader->flow;
    uint64_t end = reader->parts[part].end;
    size_t leave = reader->parts[part].first_leave;
    size_t begin = reader->parts[part].first_begin;
    size_t mark = reader->parts[part].first_mark;
    for (uint64_t start = reader->parts[part].start, next; start < end; start = next) {
        next = next_start(reader, &reader->parts[part], start + 1);
        struct bat_output_block block = {
            .start = start,
            .size = next - start < UINT32_MAX ? (uint32_t)(next - start) : UINT32_MAX,
            .target = BAT_NONE,
            .branch = BAT_NONE,
            .owner = BAT_OWNER_UNKNOWN,
            .first_begin = *begin_count,
            .falls_through = true};
        uint64_t last = 0;
        while (leave < reader->parts[part].end_leave && reader->leaves[leave].next < next)
            leave++;
        if (leave < reader->parts[part].end_leave && reader->leaves[leave].next == next) {
            block.falls_through = reader->leaves[leave].falls_through;
            block.has_target = reader->leaves[leave].target != 0;
            if (block.has_target)
                block.target = block_at(reader, reader->leaves[leave].target);
            last = reader->leaves[leave].at;
            block.last_size = (next - last) & 15;
            block.is_return = reader->leaves[leave].is_return && last == start;
            block.is_indirect = reader->leaves[leave].is_indirect;
        }
        bool has_entry = false;
        for (;
             begin < reader->parts[part].end_begin && reader->begins[begin].address <= block.start;
             begin++) {
            if (reader->begins[begin].address != block.start)
                continue;
            has_entry = true;
            block.owner = reader->begins[begin].block;
            if (!reader->begins[begin].is_block ||
                *begin_count - block.first_begin == BAT_BEGINS_MAX)
                continue;
            flow->begins[(*begin_count)++] = reader->begins[begin].block;
            if (last == block.start)
                block.branch = flow->blocks[block.owner].input_offset;
        }
        block.begin_count = (*begin_count - block.first_begin) & BAT_BEGINS_MAX;
        while (mark < reader->parts[part].end_mark && reader->marks[mark].address < block.start)
            mark++;
        for (; mark < reader->parts[part].end_mark && reader->marks[mark].address < next; mark++) {
            uint32_t marked = reader->marks[mark].block;
            if (reader->marks[mark].address == last)
                block.branch = reader->marks[mark].input;
            if (!has_entry)
                block.owner = block.owner == BAT_OWNER_UNKNOWN || block.owner == marked
                                  ? marked
                                  : BAT_OWNER_SEVERAL;
        }
        flow->all[flow->count++] = block;
    }
}

/* --- The function ------------------------------------------------------------------------- */

/* With a damaged symbol table, parts may overlap: let one end where the next one starts. */
static void end_part(const struct bat_flow_reader *reader, struct part *part, uint64_t end)
{
    part->end = end;
    word_at(reader, part, end)->starts &= ((uint64_t)1 << (end - part->start) % 64) - 1;
}

static void read_parts(struct bat_flow_reader *reader, uint32_t table,
                       const struct bat_functions *functions)
{
    const struct bat_map *map = reader->map;
    uint32_t function_count;
    const struct bat_function_symbol *all = bat_functions_all(functions, &function_count);
    uint32_t first = map->fragment_start[table];
    uint32_t end = map->fragment_start[table + 1];
    /* Ascending, as most addresses in them are then: the fragments are sorted. */
    bool has_hot = false;
    for (uint32_t i = first; i < end || !has_hot;) {
        bool is_hot = !has_hot && (i == end || map->tables[table].address <
                                                   map->tables[map->fragments[i]].address);
        uint32_t part = is_hot ? table : map->fragments[i++];
        has_hot |= is_hot;
        uint64_t address = map->tables[part].address;
        uint32_t symbol = bat_functions_find(functions, address);
        if (symbol != BAT_NONE && all[symbol].address == address &&
            address + all[symbol].size > address)
            read_part(reader, part, all[symbol].size);
    }
    BAT_SORT_BY(reader->parts, reader->part_count, start);
    for (size_t i = 1; i < reader->part_count; i++)
        if (reader->parts[i - 1].end > reader->parts[i].start)
            end_part(reader, &reader->parts[i - 1], reader->parts[i].start);
}

/* Make the blocks of all parts. False if there is no memory. */
static bool make_all_blocks(struct bat_flow_reader *reader)
{
    struct bat_output_flow *flow = reader->flow;
    if (!BAT_RESERVE(reader->all, 0, reader->all_capacity, count_blocks(reader)))
        return false;
    flow->all = reader->all;
    for (size_t i = 0; i < reader->part_count; i++)
        make_blocks(reader, i, &reader->block_begin_count);
    return true;
}

static bool build(struct bat_flow_reader *reader, uint32_t table)
{
    const struct bat_program *program = &reader->flows->program;
    const struct bat_map *map = program->map;
    struct bat_output_flow *flow = reader->flow;
    size_t parts = (size_t)(map->fragment_start[table + 1] - map->fragment_start[table]) + 1;
    size_t entries = map->tables[table].entry_count;
    uint32_t most_blocks = map->tables[table].block_count;
    for (uint32_t i = map->fragment_start[table]; i < map->fragment_start[table + 1]; i++) {
        entries += map->tables[map->fragments[i]].entry_count;
        most_blocks += map->tables[map->fragments[i]].block_count;
    }
    if (!BAT_RESERVE(reader->blocks, 0, reader->block_capacity, most_blocks) ||
        !BAT_RESERVE(reader->parts, 0, reader->part_capacity, parts) ||
        !BAT_RESERVE(reader->begins, 0, reader->begin_capacity, entries) ||
        !BAT_RESERVE(reader->marks, 0, reader->mark_capacity, entries) ||
        !BAT_RESERVE(reader->block_begins, 0, reader->block_begin_capacity, entries))
        return false;
    flow->blocks = reader->blocks;
    flow->begins = reader->block_begins;
    flow->block_count = bat_map_blocks(map, table, flow->blocks, most_blocks);
    read_parts(reader, table, program->functions);
    if (reader->is_out_of_memory || read_inlined(reader, table) != BAT_OK ||
        !make_all_blocks(reader))
        return false;
    return copy_runs(reader) &&
           bat_output_flow_find_owners(flow, &reader->owners, &reader->owners_capacity) &&
           (!reader->flows->may_have_pairs || bat_output_flow_find_pairs(flow, program->elf));
}

/* Without bytes there may be no memory, either. */
static void copy(void *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
}

/* A copy of the flow with what is in the reader's memory, in one block of its own; or NULL. */
static struct bat_output_flow *keep(const struct bat_flow_reader *reader)
{
    const struct bat_output_flow *flow = reader->flow;
    const size_t blocks = flow->block_count * sizeof(*flow->blocks);
    const size_t all = flow->count * sizeof(*flow->all);
    const size_t begins = reader->block_begin_count * sizeof(*flow->begins);
    const size_t size = sizeof(*flow) + blocks + all + begins;
    struct bat_output_flow *kept =
        reader->arena ? bat_arena_take(reader->arena, size) : malloc(size);
    if (!kept)
        return NULL;
    *kept = *flow;
    kept->is_in_arena = reader->arena != NULL;
    kept->blocks = (struct bat_block *)(kept + 1);
    kept->all = (struct bat_output_block *)(kept->blocks + flow->block_count);
    kept->begins = (uint32_t *)(kept->all + flow->count);
    copy(kept->blocks, flow->blocks, blocks);
    copy(kept->all, flow->all, all);
    copy(kept->begins, flow->begins, begins);
    return kept;
}

struct bat_flow_reader *bat_flow_reader_new(struct bat_output_flows *flows, struct bat_arena *arena)
{
    struct bat_flow_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return NULL;
    reader->flows = flows;
    reader->arena = arena;
    reader->map = flows->program.map;
    reader->elf = flows->program.elf;
    return reader;
}

void bat_flow_reader_free(struct bat_flow_reader *reader)
{
    if (!reader)
        return;
    BAT_FREE_ALL(reader->blocks, reader->all, reader->block_begins, reader->owners, reader->words,
                 reader->leaves, reader->begins, reader->marks, reader->parts, reader);
}

struct bat_output_flow *bat_flow_reader_read(struct bat_flow_reader *reader, uint32_t table)
{
    struct bat_output_flow flow = {0};
    reader->flow = &flow;
    reader->block_begin_count = 0;
    reader->word_count = reader->leave_count = reader->begin_count = 0;
    reader->mark_count = reader->part_count = 0;
    reader->is_out_of_memory = false;
    struct bat_output_flow *kept = build(reader, table) ? keep(reader) : NULL;
    bat_inlined_free(&reader->inlined);
    reader->inlined = (struct bat_inlined){0};
    if (!kept)
        bat_output_flow_free_parts(&flow);
    return kept;
}

enum bat_code bat_output_flows_inlined(struct bat_output_flows *flows,
                                       const struct bat_caller *caller, struct bat_inlined *inlined)
{
    enum bat_code code = bat_inlined_find(&flows->program, &flows->beginnings, caller, inlined);
    flows->limited += inlined->is_limited;
    return code;
}

#define MOST_DEEP 16u /* nested inlined calls */

enum bat_code bat_output_flows_callee(struct bat_output_flows *flows, uint32_t table,
                                      const struct bat_output_flow **flow)
{
    *flow = flows->all[table];
    if (*flow || flows->is_being_read[table] || flows->depth == MOST_DEEP)
        return BAT_OK;
    flows->is_being_read[table] = 1;
    flows->depth++;
    struct bat_flow_reader *reader = bat_flow_reader_new(flows, NULL);
    flows->all[table] = reader ? bat_flow_reader_read(reader, table) : NULL;
    flows->has_single = true;
    bat_flow_reader_free(reader);
    flows->depth--;
    flows->is_being_read[table] = 0;
    *flow = flows->all[table];
    return *flow ? BAT_OK : BAT_ERR_MEMORY;
}
