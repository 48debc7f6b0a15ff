/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opening debug information: which units there are, and which addresses they have. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_elf.h"
#include "debuginfo.h"

bool debug_is_code(const struct bat_debuginfo *debuginfo, uint64_t address)
{
    /* Linkers leave 0 and 1 where a function was dropped; no program has code there. */
    if (address <= 1)
        return false;
    for (size_t i = 0; i < debuginfo->code_count; i++)
        if (address >= debuginfo->code[i].start && address < debuginfo->code[i].end)
            return true;
    return false;
}

/* --- Units ---------------------------------------------------------------------------------- */

static bool add_run(struct bat_debuginfo *debuginfo, size_t *capacity, uint32_t unit,
                    uint64_t start, uint64_t end)
{
    if (start >= end || !debug_is_code(debuginfo, start))
        return true;
    if (!debug_grow(&debuginfo->runs, capacity, debuginfo->run_count, sizeof(*debuginfo->runs)))
        return false;
    debuginfo->runs[debuginfo->run_count++] =
        (struct debug_unit_run){.start = start, .end = end, .unit = unit};
    return true;
}

/* The addresses of a unit whose own DIE does not tell them: those of its functions. */
static bool add_function_runs(struct bat_debuginfo *debuginfo, size_t *capacity, uint32_t index)
{
    struct debug_unit *unit = &debuginfo->units[index];
    debug_read_unit(debuginfo, unit);
    for (size_t i = 0; i < unit->range_count; i++)
        if (!add_run(debuginfo, capacity, index, unit->ranges[i].start, unit->ranges[i].end))
            return false;
    return true;
}

static bool add_unit_runs(struct bat_debuginfo *debuginfo, size_t *capacity, uint32_t index,
                          uint64_t *budget)
{
    Dwarf_Die die = debuginfo->units[index].die;
    bool is_told = dwarf_hasattr(&die, DW_AT_ranges) || dwarf_hasattr(&die, DW_AT_high_pc);
    if (!is_told && debuginfo->units[index].is_split)
        is_told = dwarf_hasattr(&die, DW_AT_low_pc);
    if (!is_told)
        return add_function_runs(debuginfo, capacity, index);
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;
    for (ptrdiff_t at = 0; *budget > 0; --*budget) {
        at = dwarf_ranges(&die, at, &base, &start, &end);
        if (at <= 0)
            break;
        if (!add_run(debuginfo, capacity, index, start, end))
            return false;
    }
    return true;
}

static int compare_runs(const void *left, const void *right)
{
    const struct debug_unit_run *a = left;
    const struct debug_unit_run *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static void sort_runs(struct bat_debuginfo *debuginfo)
{
    if (debuginfo->run_count == 0)
        return;
    qsort(debuginfo->runs, debuginfo->run_count, sizeof(*debuginfo->runs), compare_runs);
    uint64_t reach = 0;
    for (size_t i = 0; i < debuginfo->run_count; i++) {
        if (debuginfo->runs[i].end > reach)
            reach = debuginfo->runs[i].end;
        debuginfo->runs[i].reach = reach;
    }
}

static bool add_unit(struct bat_debuginfo *debuginfo, size_t *capacity, Dwarf_Die *die,
                     Dwarf_Die *split, uint8_t kind)
{
    if (!debug_grow(&debuginfo->units, capacity, debuginfo->unit_count, sizeof(*debuginfo->units)))
        return false;
    struct debug_unit *unit = &debuginfo->units[debuginfo->unit_count++];
    *unit = (struct debug_unit){.die = *die, .start = dwarf_dieoffset(die)};
    unit->is_split = kind == DW_UT_skeleton;
    unit->has_code = kind == DW_UT_compile || kind == DW_UT_skeleton;
    if (unit->is_split && dwarf_tag(split) == DW_TAG_compile_unit)
        unit->split = *split;
    debuginfo->counters.units += unit->has_code;
    return true;
}

enum bat_code debug_read_units(struct bat_debuginfo *debuginfo, struct bat_error *error)
{
    size_t capacity = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    Dwarf_Die split;
    uint8_t kind;
    Dwarf_Half version;
    while (dwarf_get_units(debuginfo->dwarf, cu, &cu, &version, &kind, &die, &split) == 0) {
        if (!die.addr || (uint64_t)dwarf_dieoffset(&die) == UINT64_MAX)
            continue;
        if (!add_unit(debuginfo, &capacity, &die, &split, kind))
            return bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    }
    uint64_t budget = debuginfo->file_size;
    capacity = 0;
    for (size_t i = 0; i < debuginfo->unit_count; i++)
        if (debuginfo->units[i].has_code &&
            !add_unit_runs(debuginfo, &capacity, (uint32_t)i, &budget))
            return bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    sort_runs(debuginfo);
    return BAT_OK;
}

uint32_t debug_unit_at(const struct bat_debuginfo *debuginfo, uint64_t die_offset)
{
    size_t low = 0;
    size_t high = debuginfo->unit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (debuginfo->units[middle].start < die_offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < debuginfo->unit_count && debuginfo->units[low].start == die_offset ? (uint32_t)low
                                                                                    : BAT_NONE;
}

/* --- Opening -------------------------------------------------------------------------------- */

enum bat_code bat_debuginfo_open(const char *path, const char *debug_file,
                                 struct bat_debuginfo **debuginfo, struct bat_error *error)
{
    struct bat_debuginfo *opened = calloc(1, sizeof(*opened));
    if (!opened)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    opened->file = -1;
    enum bat_code code = debug_find_file(opened, path, debug_file, error);
    if (code == BAT_OK)
        code = debug_read_units(opened, error);
    if (code == BAT_OK)
        *debuginfo = opened;
    else
        bat_debuginfo_close(opened);
    return code;
}

void bat_debuginfo_close(struct bat_debuginfo *debuginfo)
{
    if (!debuginfo)
        return;
    for (size_t i = 0; i < debuginfo->unit_count; i++)
        debug_free_unit(&debuginfo->units[i]);
    free(debuginfo->units);
    free(debuginfo->runs);
    free(debuginfo->code);
    free(debuginfo->frames);
    dwarf_end(debuginfo->dwarf);
    elf_end(debuginfo->elf);
    if (debuginfo->file >= 0)
        close(debuginfo->file);
    free(debuginfo->path);
    free(debuginfo);
}

const char *bat_debuginfo_path(const struct bat_debuginfo *debuginfo)
{
    return debuginfo->path;
}

struct bat_debuginfo_counters bat_debuginfo_counters(const struct bat_debuginfo *debuginfo)
{
    return debuginfo->counters;
}
