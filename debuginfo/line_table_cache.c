/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line tables by their addresses in memory: a table that units share is read once. */
#include <dwarf.h>
#include <stdlib.h>

#include "debuginfo.h"

static bool is_code(uint64_t address, const void *debuginfo)
{
    return debug_is_code(debuginfo, address);
}

uint32_t debug_find_table(struct bat_debuginfo *debuginfo, const struct line_sections *sections,
                          Dwarf_Die *unit_die, const char *compile_folder)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    if (!entries_attribute(unit_die, DW_AT_stmt_list, &attribute) ||
        dwarf_formudata(&attribute, &offset) != 0 || offset >= sections->line.size)
        return BAT_NONE;
    if (!BAT_GROW(debuginfo->tables, debuginfo->table_count, debuginfo->table_capacity)) {
        debuginfo->no_memory = true;
        return BAT_NONE;
    }
    uint32_t next = (uint32_t)debuginfo->table_count;
    const uint64_t key = (uintptr_t)(sections->line.bytes + offset);
    const uint64_t *found;
    bool is_new;
    if (bat_counts_find_or_add(&debuginfo->table_index, &key, next, 0, &found, &is_new)) {
        debuginfo->no_memory = true;
        return BAT_NONE;
    }
    const uint32_t number = (uint32_t)found[0];
    if (is_new)
        debuginfo->tables[debuginfo->table_count++] =
            (struct debug_table){.sections = *sections, .offset = offset};
    /* Type units have no folder; they share the table of a unit that has one. */
    if (!debuginfo->tables[number].lines.compile_folder)
        debuginfo->tables[number].lines.compile_folder = compile_folder;
    return number;
}

struct line_table *debug_table(struct bat_debuginfo *debuginfo, uint32_t number)
{
    if (number == BAT_NONE)
        return NULL;
    struct debug_table *table = &debuginfo->tables[number];
    if (!table->is_read) {
        table->is_read = true;
        if (!line_table_read(&table->lines, &table->sections, table->offset, is_code, debuginfo,
                             &debuginfo->budget.lines))
            debuginfo->no_memory = true;
    }
    return &table->lines;
}
