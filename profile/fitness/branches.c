/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether the branches of a profile are branches of the code, and what code the samples are in. */
#include <elf.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/functions/loaded_sections.h"
#include "binary/original/original.h"
#include "measuring.h"

static bool is_branch(const struct bat_instruction *instruction)
{
    return instruction->kind != BAT_INSTRUCTION_OTHER && instruction->kind != BAT_INSTRUCTION_NOP &&
           instruction->kind != BAT_INSTRUCTION_TRAP;
}

/* True if one of the entries with the offset of entry i is a block's. */
static bool has_block_at(const struct bat_map *map, const struct bat_table *table, uint32_t i)
{
    const uint32_t *outputs = map->output_offsets + table->first_entry;
    uint32_t first = i;
    while (first > 0 && outputs[first - 1] == outputs[i])
        first--;
    for (; first < table->entry_count && outputs[first] == outputs[i]; first++)
        if (!(map->input_offsets[table->first_entry + first] & BAT_BRANCH_ENTRY))
            return true;
    return false;
}

/* True if the note has a block that starts at an address of the function at table. */
static bool is_block_of(const struct bat_map *map, uint32_t table, uint64_t address)
{
    const struct bat_table *found = &map->tables[table];
    uint64_t offset = address - found->address;
    for (uint32_t low = 0, high = found->entry_count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t at = map->output_offsets[found->first_entry + middle];
        if (at < offset) {
            low = middle + 1;
        } else if (at > offset) {
            high = middle;
        } else {
            return has_block_at(map, found, middle);
        }
    }
    return false;
}

/* --- Targets --------------------------------------------------------------------------------- */

enum answer { NO, YES, UNKNOWN };

/* Whether an indirect jump may go to an address. */
static enum answer jumps_to(const struct measuring *measuring, uint64_t branch, uint64_t target)
{
    uint32_t from = bat_functions_find(measuring->functions, branch);
    uint32_t to = bat_functions_find(measuring->functions, target);
    uint64_t start = measuring->symbols[to].address;
    if (start == target)
        return YES;
    uint32_t table = measuring->map ? bat_map_table_at(measuring->map, start) : BAT_NONE;
    if (table != BAT_NONE && measuring->map->tables[table].entry_count != 0)
        return is_block_of(measuring->map, table, target) ? YES : NO;
    return from == to ? UNKNOWN : NO;
}

/* Whether an instruction that is a branch may go to an address inside the binary. */
static enum answer goes_to(const struct measuring *measuring,
                           const struct bat_instruction *instruction, const struct bat_trace *trace)
{
    switch (instruction->kind) {
    case BAT_INSTRUCTION_CONDITIONAL:
    case BAT_INSTRUCTION_JUMP:
    case BAT_INSTRUCTION_CALL:
        return instruction->target == trace->from ? YES : NO;
    case BAT_INSTRUCTION_RETURN:
        return measuring_is_behind_call(measuring, trace->from) ? YES : NO;
    case BAT_INSTRUCTION_INDIRECT_CALL:
        return measuring_starts(measuring, trace->from) ? YES : UNKNOWN;
    default:
        return jumps_to(measuring, trace->branch, trace->from);
    }
}

void measure_branches(const struct measuring *measuring)
{
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(measuring->profile, i, &trace); i++) {
        uint32_t function = measuring_function(measuring, trace.branch);
        if (function == BAT_NONE)
            continue;
        struct bat_instruction instruction;
        bool is_one = bat_original_decode(measuring->elf, trace.branch, &instruction) &&
                      is_branch(&instruction);
        measuring_add(measuring, function, BAT_FITNESS_BRANCHES, is_one ? 0 : trace.count,
                      trace.count);
        if (!is_one || measuring_function(measuring, trace.from) == BAT_NONE)
            continue;
        enum answer answer = goes_to(measuring, &instruction, &trace);
        if (answer != UNKNOWN)
            measuring_add(measuring, function, BAT_FITNESS_TARGETS, answer == YES ? 0 : trace.count,
                          trace.count);
    }
}

/* --- New code -------------------------------------------------------------------------------- */

/* True if BOLT had no profile of the function, or put it away as cold. */
static bool is_new(const struct bat_map *map, uint64_t address)
{
    uint32_t table = bat_map_table_at(map, address);
    return table == BAT_NONE || map->tables[table].parent != table;
}

void measure_new_code(const struct measuring *measuring)
{
    if (!measuring->map)
        return;
    for (uint32_t i = 0; i < measuring->symbol_count; i++) {
        uint32_t function = measuring->numbers[i];
        if (function == BAT_NONE ||
            measuring->symbols[i].flags & (BAT_FUNCTION_PLT | BAT_FUNCTION_PATCHED))
            continue;
        uint64_t samples = measuring->sampled[function].samples;
        bool is_part = is_new(measuring->map, measuring->symbols[i].address);
        measuring_add(measuring, function, BAT_FITNESS_NEW_CODE, is_part ? samples : 0, samples);
    }
}

/* --- Old code -------------------------------------------------------------------------------- */

/* True if symbols name all functions that BOLT wrote: then it left symbols to all that it did not.
 */
static bool are_all_named(const struct measuring *measuring)
{
    const struct bat_map *map = measuring->map;
    for (uint32_t i = 0; i < map->hot_count; i++) {
        uint32_t symbol = bat_functions_at(measuring->functions, map->tables[i].address);
        if (symbol != BAT_NONE && measuring->symbols[symbol].flags & BAT_FUNCTION_LATE)
            return false;
    }
    return true;
}

/* The sections that BOLT has renamed, where it keeps the code that it read. */
#define OLD_PREFIX ".bolt.org."

struct old_code {
    struct measuring *measuring;
    struct loaded_sections sections;
    struct bat_fitness_function unnamed; /* old code that is in no function */
};

/* A jump that BOLT patched over a function's entry has so many bytes before its last instruction.
 */
static uint64_t patch_size(const struct measuring *measuring)
{
    return bat_elf_machine(measuring->elf) == EM_AARCH64 ? 8 : 0;
}

/*
 * True if code from one address to another is from before BOLT moved it: the symbols of functions
 * that BOLT moved go with them, so that of their old code at most .eh_frame knows. It hardly ever
 * runs, except for the jumps that BOLT patches over the entries (f.org.0).
 */
static bool is_old(const struct old_code *old, uint32_t function, uint64_t from, uint64_t to)
{
    const struct measuring *measuring = old->measuring;
    const struct bat_section *section = loaded_section_at(&old->sections, from);
    if (!section || !(section->flags & SHF_EXECINSTR) ||
        strncmp(section->name, OLD_PREFIX, strlen(OLD_PREFIX)) != 0)
        return false;
    if (function == BAT_NONE)
        return true;
    const struct bat_function_symbol *symbol = &measuring->symbols[function];
    if (symbol->flags & BAT_FUNCTION_PATCHED)
        return to - symbol->address > patch_size(measuring);
    return symbol->flags & (BAT_FUNCTION_FDE | BAT_FUNCTION_SECTION);
}

static void add_old(struct old_code *old, uint64_t from, uint64_t to, uint64_t count)
{
    const struct measuring *measuring = old->measuring;
    uint32_t symbol = bat_functions_find(measuring->functions, from);
    bool is_part = is_old(old, symbol, from, to);
    if (symbol != BAT_NONE && !(measuring->symbols[symbol].flags & BAT_FUNCTION_PLT))
        measuring_add(measuring, measuring->numbers[symbol], BAT_FITNESS_OLD_CODE,
                      is_part ? count : 0, count);
    else if (is_part)
        old->unnamed.samples += count;
}

enum bat_code measure_old_code(struct measuring *measuring)
{
    const struct bat_section *section = bat_elf_section(measuring->elf, OLD_PREFIX "text");
    if (!measuring->map || !section || !are_all_named(measuring))
        return BAT_OK;
    struct old_code old = {.measuring = measuring,
                           .unnamed = {.name = section->name, .address = section->address}};
    enum bat_code code =
        loaded_sections_read(&old.sections, measuring->elf, false, measuring->error);
    struct bat_trace trace;
    uint64_t address;
    uint64_t count;
    for (uint64_t i = 0; !code && bat_profile_trace(measuring->profile, i, &trace); i++)
        add_old(&old, trace.from, trace.to == BAT_TRACE_BRANCH_ONLY ? trace.from : trace.to,
                trace.count);
    for (uint64_t i = 0; !code && bat_profile_sample(measuring->profile, i, &address, &count); i++)
        add_old(&old, address, address, count);
    loaded_sections_free(&old.sections);
    if (!code && old.unnamed.samples != 0) {
        old.unnamed.shares[BAT_FITNESS_OLD_CODE] =
            (struct bat_fitness_share){old.unnamed.samples, old.unnamed.samples};
        measuring->sampled[measuring->sampled_count++] = old.unnamed;
    }
    return code;
}
