/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds and reads the jump tables of x86-64. Without relocations, a table is what an indirect jump
 * refers to and what holds addresses inside the function, or in other parts of a split one. It ends
 * at the first entry that is no such address, at the next table, or with its section.
 * Tables of AArch64 are not read, because perf2bolt does not read them.
 */
#include <elf.h>

#include "spec/array.h"
#include "spec/little_endian.h"
#include "spec/order.h"
#include "sweep.h"

#define RELATIVE_SIZE 4u
#define ADDRESS_SIZE 8u

/* The bytes from a table's start to its section's end; *size is 0 if there can be no table. */
static const uint8_t *table_bytes(const struct bat_code_reader *reader, uint64_t address,
                                  uint64_t *size)
{
    const struct bat_section *section = code_section_at(reader, address);
    *size = 0;
    if (!section || (section->flags & SHF_EXECINSTR))
        return NULL;
    uint64_t section_size;
    const uint8_t *bytes = bat_elf_section_bytes(reader->elf, section, &section_size);
    uint64_t offset = address - section->address;
    if (!bytes || offset >= section_size)
        return NULL;
    *size = section_size - offset;
    return bytes + offset;
}

static uint64_t entry_at(const struct code_table *table, const uint8_t *bytes, uint64_t index)
{
    if (table->is_relative)
        return table->address +
               (uint64_t)(int64_t)(int32_t)bat_load32(bytes + index * RELATIVE_SIZE);
    return bat_load64(bytes + index * ADDRESS_SIZE);
}

/*
 * True if the first entries are addresses of the function and two of them lead inside, or one
 * inside and another to its start or its end (which is what __builtin_unreachable() leaves). *steps
 * limits the entries that may still be read for the function.
 */
static bool is_table(const struct code_sweep *sweep, const struct code_table *table,
                     uint64_t *steps)
{
    uint64_t size;
    const uint8_t *bytes = table_bytes(sweep->reader, table->address, &size);
    uint64_t count = bytes ? size / (table->is_relative ? RELATIVE_SIZE : ADDRESS_SIZE) : 0;
    uint64_t inside = 0;
    uint64_t special = 0;
    for (uint64_t i = 0; i<count && * steps> 0; i++, --*steps) {
        uint64_t address = entry_at(table, bytes, i);
        uint64_t offset = address - sweep->function->address;
        if (offset == 0 || offset == sweep->size)
            special = 1;
        else if (offset < sweep->size ||
                 code_is_in_other_part(sweep->reader, sweep->function, address))
            inside++;
        else
            return false;
        if (inside + special >= 2)
            return true;
    }
    return false;
}

/* True if the entries fit the jump. Entries that look like distances are no addresses. */
static bool fits_jump(const struct code_sweep *sweep, const struct code_table *table,
                      uint64_t *steps)
{
    struct code_table other = *table;
    other.is_relative = true;
    bool looks_relative = is_table(sweep, &other, steps);
    if (table->is_relative || looks_relative)
        return table->is_relative && looks_relative;
    return is_table(sweep, table, steps);
}

/* A walk through the entries of a table. */
struct table_walk {
    const struct code_sweep *sweep;
    const struct code_table *table;
    const uint8_t *bytes;
    uint64_t count;
    uint64_t next;
};

static struct table_walk walk_table(const struct code_sweep *sweep, const struct code_table *table)
{
    uint64_t size;
    const uint8_t *bytes = table_bytes(sweep->reader, table->address, &size);
    const struct code_addresses *others = &sweep->reader->part_tables;
    uint32_t next = BAT_NUMBERS_BELOW(others->all, others->count, table->address + 1);
    uint64_t limit = table->limit;
    if (next < others->count && others->all[next] < limit)
        limit = others->all[next];
    if (size > limit - table->address)
        size = limit - table->address;
    const uint64_t entry_size = table->is_relative ? RELATIVE_SIZE : ADDRESS_SIZE;
    return (struct table_walk){
        .sweep = sweep, .table = table, .bytes = bytes, .count = bytes ? size / entry_size : 0};
}

/* The next target of the table, in any part of the function; false at the table's end. */
static bool next_target(struct table_walk *walk, uint64_t *address)
{
    const struct code_sweep *sweep = walk->sweep;
    while (walk->next < walk->count) {
        *address = entry_at(walk->table, walk->bytes, walk->next++);
        uint64_t offset = *address - sweep->function->address;
        if (offset < sweep->size)
            return !sweep->marks || sweep->marks[offset] & CODE_MARK_INSTRUCTION;
        if (offset != sweep->size)
            return code_is_in_other_part(sweep->reader, sweep->function, *address);
    }
    return false;
}

/* The next target of the table in this part, as an offset; false at the table's end. */
static bool next_entry(struct table_walk *walk, uint64_t *offset)
{
    uint64_t address;
    while (next_target(walk, &address)) {
        *offset = address - walk->sweep->function->address;
        if (*offset < walk->sweep->size)
            return true;
    }
    return false;
}

enum bat_code code_table_leaves(const struct code_sweep *sweep, const struct code_table *table,
                                struct code_addresses *others, bool *leaves,
                                struct bat_error *error)
{
    struct table_walk walk = walk_table(sweep, table);
    uint64_t address;
    enum bat_code code = BAT_OK;
    *leaves = false;
    while (code == BAT_OK && next_target(&walk, &address)) {
        if (address - sweep->function->address < sweep->size)
            continue;
        *leaves = true;
        code = code_addresses_add(others, address, error);
    }
    return code;
}

/*
 * Mark all targets of a table, which are then not referred to but by tables; or clear
 * CODE_MARK_TABLE there if not is_set.
 */
static void mark_entries(struct code_sweep *sweep, const struct code_table *table, bool is_set)
{
    struct table_walk walk = walk_table(sweep, table);
    uint64_t offset;
    while (next_entry(&walk, &offset)) {
        sweep->marks[offset] &= (uint8_t) ~(CODE_MARK_TABLE | CODE_MARK_REFERENCE);
        if (is_set)
            sweep->marks[offset] |= CODE_MARK_TABLE | CODE_MARK_LABEL;
    }
}

void code_table_targets(const struct code_sweep *sweep, const struct code_table *table,
                        uint32_t *targets, uint32_t capacity, uint32_t *count)
{
    struct table_walk walk = walk_table(sweep, table);
    uint64_t offset;
    for (*count = 0; next_entry(&walk, &offset); ++*count)
        if (*count < capacity)
            targets[*count] = (uint32_t)offset;
}

/* Link the jumps of tables first to end - 1, which are at one address, to their table; those
 * without a jump come last. */
static void lead_jumps(struct code_sweep *sweep, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end && sweep->tables[i].jump != CODE_NO_JUMP; i++) {
        uint32_t next = sweep->tables[i].jump + 1;
        sweep->all[next - 1].table = i + 1;
        if (next < sweep->count && (sweep->marks[sweep->all[next].offset] & CODE_MARK_TABLE))
            sweep->all[next - 1].reaches_next = true;
    }
}

void code_keep_tables(struct code_sweep *sweep)
{
    /* Tables end soon; this limits the time for a malicious file. */
    uint64_t steps = 4096 + UINT64_C(8) * sweep->size;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sweep->table_count; i++)
        if (fits_jump(sweep, &sweep->tables[i], &steps))
            sweep->tables[kept++] = sweep->tables[i];
    sweep->table_count = kept;
    BAT_SORT_BY_TWO(sweep->tables, kept, address, jump);
}

/* The index behind the tables at the address of tables[first]. */
static uint32_t end_of_group(const struct code_sweep *sweep, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < sweep->table_count && sweep->tables[end].address == sweep->tables[first].address)
        end++;
    return end;
}

uint64_t code_limit_tables(struct code_sweep *sweep)
{
    uint64_t highest = 0;
    uint32_t end;
    code_keep_tables(sweep);
    for (uint32_t first = 0; first < sweep->table_count; first = end) {
        end = end_of_group(sweep, first);
        for (uint32_t i = first; i < end; i++)
            sweep->tables[i].limit =
                end < sweep->table_count ? sweep->tables[end].address : UINT64_MAX;
        struct table_walk walk = walk_table(sweep, &sweep->tables[first]);
        uint64_t offset;
        while (sweep->tables[first].is_relative && next_entry(&walk, &offset)) {
            offset += (walk.next - 1) * RELATIVE_SIZE;
            highest = offset > highest ? offset : highest;
        }
    }
    return highest;
}

void code_end_tables(struct code_sweep *sweep, const struct code_sweep *other)
{
    for (uint32_t i = 0; i < sweep->table_count; i++) {
        struct code_table *table = &sweep->tables[i];
        uint32_t next =
            BAT_COUNT_BELOW(other->tables, other->table_count, address, table->address + 1);
        if (next < other->table_count && other->tables[next].address < table->limit)
            table->limit = other->tables[next].address;
    }
}

void code_mark_tables(struct code_sweep *sweep)
{
    uint32_t end;
    for (uint32_t first = 0; first < sweep->table_count; first = end) {
        end = end_of_group(sweep, first);
        mark_entries(sweep, &sweep->tables[first], true);
        lead_jumps(sweep, first, end);
        mark_entries(sweep, &sweep->tables[first], false);
    }
}

/* The slot is constant if its section is not writable; its target must be in the function. */
void code_read_slot(struct code_sweep *sweep, struct code_instruction *jump, uint64_t slot)
{
    const struct bat_section *section = code_section_at(sweep->reader, slot);
    if (!section || (section->flags & SHF_WRITE))
        return;
    uint64_t size;
    const uint8_t *bytes = bat_elf_section_bytes(sweep->reader->elf, section, &size);
    uint64_t offset = slot - section->address;
    if (!bytes || offset > size || size - offset < ADDRESS_SIZE)
        return;
    uint64_t target = bat_load64(bytes + offset) - sweep->function->address;
    if (target >= sweep->size)
        return;
    jump->kind = BAT_INSTRUCTION_JUMP;
    jump->target = (uint32_t)target;
    sweep->has_fixed_jump = true;
    code_mark(sweep, target, CODE_MARK_LABEL | CODE_MARK_ENTRY);
}

enum bat_code code_add_table(struct code_sweep *sweep, const struct code_table *table,
                             struct bat_error *error)
{
    return BAT_APPEND(sweep->tables, sweep->table_count, sweep->table_capacity, *table)
               ? BAT_OK
               : bat_fail_memory(error, "for %zu jump tables", (size_t)sweep->table_count + 1);
}
