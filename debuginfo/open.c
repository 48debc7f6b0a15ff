/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens debug information: finds the units and their addresses. */
#include <dwarf.h>
#include <stdlib.h>

#include "bat_elf.h"
#include "debuginfo.h"
#include "spec/array.h"
#include "spec/order.h"
#include "stretches.h"

/* --- Addresses of units --------------------------------------------------------------------- */

static bool add_run(struct bat_debuginfo *debuginfo, size_t *capacity, uint32_t unit,
                    uint64_t start, uint64_t end)
{
    if (start >= end || !debug_is_code(debuginfo, start))
        return true;
    return BAT_APPEND(debuginfo->runs, debuginfo->run_count, *capacity,
                      (struct debug_unit_run){.start = start, .end = end, .unit = unit});
}

/* Add the addresses of a unit's functions, for a unit whose own DIE has none. */
static bool add_function_runs(struct bat_debuginfo *debuginfo, size_t *capacity, uint32_t index)
{
    struct debug_unit *unit = &debuginfo->units[index];
    debug_read_unit(debuginfo, unit);
    for (size_t i = 0; i < unit->range_count; i++)
        if (!add_run(debuginfo, capacity, index, unit->ranges[i].start, unit->ranges[i].end))
            return false;
    /* After libdw ran out of memory it cannot be called for the next unit. */
    return !debuginfo->no_memory;
}

/* Add the addresses in the unit's own DIE. *has_addresses becomes false if it has none. */
static bool add_unit_runs(struct bat_debuginfo *debuginfo, size_t *capacity, uint32_t index,
                          bool *has_addresses)
{
    struct debug_unit *unit = &debuginfo->units[index];
    Dwarf_Die die = unit->die;
    Dwarf_Attribute attribute;
    struct debug_ranges ranges;
    uint64_t start;
    uint64_t end;
    *has_addresses = true;
    if (entries_attribute(&die, DW_AT_ranges, &attribute)) {
        if (!debug_ranges_begin(&ranges, &unit->addresses, &attribute, &debuginfo->budget.ranges))
            return true;
        while (debug_ranges_next(&ranges, &start, &end))
            if (!add_run(debuginfo, capacity, index, start, end))
                return false;
        return true;
    }
    Dwarf_Attribute high;
    *has_addresses = entries_attribute(&die, DW_AT_low_pc, &attribute) &&
                     entries_attribute(&die, DW_AT_high_pc, &high) &&
                     debug_read_bounds(&unit->addresses, &attribute, &high, &start, &end);
    return !*has_addresses || add_run(debuginfo, capacity, index, start, end);
}

/* Sort the runs, and make the map from each address to the last run that has it. */
static bool sort_runs(struct bat_debuginfo *debuginfo)
{
    size_t count = debuginfo->run_count;
    if (count == 0)
        return true;
    BAT_SORT(debuginfo->runs, count, BAT_ASCENDING(struct debug_unit_run, start),
             BAT_ASCENDING(struct debug_unit_run, end), BAT_ASCENDING(struct debug_unit_run, unit));
    struct debug_run *runs = malloc(count * sizeof(*runs));
    if (!runs)
        return false;
    for (size_t i = 0; i < count; i++)
        runs[i] = (struct debug_run){debuginfo->runs[i].start, debuginfo->runs[i].end, (uint32_t)i};
    bool is_made = debug_map_make(&debuginfo->run_map, runs, count);
    free(runs);
    return is_made;
}

/* --- Units ---------------------------------------------------------------------------------- */

static uint64_t number_of(Dwarf_Die *die, unsigned first, unsigned second)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if ((entries_attribute(die, first, &attribute) || entries_attribute(die, second, &attribute)) &&
        dwarf_formudata(&attribute, &value) == 0)
        return value;
    return 0;
}

static const char *string_of(const struct bat_debuginfo *debuginfo, Dwarf_Die *die, unsigned first,
                             unsigned second)
{
    Dwarf_Attribute attribute;
    if (entries_attribute(die, first, &attribute) || entries_attribute(die, second, &attribute))
        return debug_form_string(debuginfo, NULL, &attribute);
    return NULL;
}

/* Read how the unit encodes addresses. */
static void read_addresses(const struct bat_debuginfo *debuginfo, struct debug_unit *unit,
                           unsigned version, unsigned address_size, unsigned offset_size)
{
    Dwarf_Die die = unit->die;
    const struct debug_image *image = &debuginfo->image;
    struct debug_addresses *addresses = &unit->addresses;
    *addresses = (struct debug_addresses){
        .table = image->addresses,
        .table_base = number_of(&die, DW_AT_addr_base, DW_AT_GNU_addr_base),
        .ranges = version >= 5 ? image->rnglists : image->ranges,
        .lists_base = number_of(&die, DW_AT_rnglists_base, DW_AT_rnglists_base),
        .version = version,
        .size = address_size == 4 ? 4 : 8,
        .is_64_bit = offset_size == 8,
    };
    Dwarf_Attribute attribute;
    if (entries_attribute(&die, DW_AT_low_pc, &attribute))
        debug_read_address(addresses, &attribute, &addresses->base);
}

static bool add_unit(struct bat_debuginfo *debuginfo, size_t *capacity, Dwarf_Die *die)
{
    Dwarf_Half version;
    uint8_t kind;
    uint8_t address_size;
    uint8_t offset_size;
    uint64_t id;
    if (dwarf_cu_info(die->cu, &version, &kind, NULL, NULL, &id, &address_size, &offset_size) !=
            0 ||
        (kind != DW_UT_compile && kind != DW_UT_skeleton && kind != DW_UT_split_compile))
        return true;
    if (!BAT_GROW(debuginfo->units, debuginfo->unit_count, *capacity))
        return false;
    struct debug_unit *unit = &debuginfo->units[debuginfo->unit_count++];
    *unit = (struct debug_unit){.die = *die, .split_id = id};
    read_addresses(debuginfo, unit, version, address_size, offset_size);
    unit->strings = (struct debug_strings){
        .image = &debuginfo->image, .base = DEBUG_NO_OFFSETS, .is_64_bit = offset_size == 8};
    Dwarf_Attribute offsets;
    if (entries_attribute(die, DW_AT_str_offsets_base, &offsets) &&
        dwarf_formudata(&offsets, &unit->strings.base) != 0)
        unit->strings.base = DEBUG_NO_OFFSETS;
    unit->place = entries_find(die);
    unit->compile_folder = string_of(debuginfo, die, DW_AT_comp_dir, DW_AT_comp_dir);
    /* libdw takes a skeleton of DWARF 4 that has inlined calls for the unit of a .dwo file. */
    unit->split_name = string_of(debuginfo, die, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    unit->is_split = unit->split_name || kind == DW_UT_skeleton;
    if (version < 5)
        unit->split_id = number_of(die, DW_AT_GNU_dwo_id, DW_AT_GNU_dwo_id);
    unit->table = debug_find_table(debuginfo, &debuginfo->image.lines, die, unit->compile_folder);
    debuginfo->counters.units++;
    return true;
}

static bool list_units(struct bat_debuginfo *debuginfo)
{
    size_t capacity = 0;
    Dwarf_Off offset = 0;
    Dwarf_Die die;
    while (debug_next_unit(&debuginfo->image, &offset, &die, &debuginfo->no_memory))
        if (!add_unit(debuginfo, &capacity, &die))
            return false;
    return !debuginfo->no_memory;
}

static bool list_runs(struct bat_debuginfo *debuginfo)
{
    size_t capacity = 0;
    for (size_t i = 0; i < debuginfo->unit_count; i++) {
        bool has_addresses;
        if (!add_unit_runs(debuginfo, &capacity, (uint32_t)i, &has_addresses) ||
            (!has_addresses && !add_function_runs(debuginfo, &capacity, (uint32_t)i)))
            return false;
    }
    return sort_runs(debuginfo);
}

/* --- Opening -------------------------------------------------------------------------------- */

static void read_units(void *context)
{
    struct bat_debuginfo *debuginfo = context;
    const struct debug_image *image = &debuginfo->image;
    const struct debug_image *alternate = &debuginfo->alternate;
    debug_allow(debuginfo, image->lines.line.size, image->info_size, image->size);
    debug_allow(debuginfo, alternate->lines.line.size, alternate->info_size, alternate->size);
    if (!list_units(debuginfo) || !list_runs(debuginfo))
        debuginfo->no_memory = true;
}

enum bat_code bat_debuginfo_open(const char *path, const char *debug_file,
                                 struct bat_debuginfo **debuginfo, struct bat_error *error)
{
    struct bat_debuginfo *opened = calloc(1, sizeof(*opened));
    BAT_TRY_MEMORY(opened, error, "to read debug information");
    opened->threads = 1;
    opened->table_index = opened->strings = bat_counts_new(1);
    enum bat_code code = debug_find_file(opened, path, debug_file, error);
    if (code == BAT_OK && (!debug_run_libdw(read_units, opened) || opened->no_memory))
        code = opened->has_too_many
                   ? bat_fail(error, BAT_ERR_ELF,
                              "expected functions and inlined calls of at least %u bytes each in "
                              ".debug_info, found more than %llu in %llu bytes",
                              DEBUG_NODE_SIZE_MIN,
                              (unsigned long long)opened->image.info_size / DEBUG_NODE_SIZE_MIN,
                              (unsigned long long)opened->image.info_size)
                   : bat_fail_memory(error, "to read debug information");
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
    for (size_t i = 0; i < debuginfo->table_count; i++)
        line_table_free(&debuginfo->tables[i].lines);
    BAT_FREE_ALL(debuginfo->units, debuginfo->runs, debuginfo->run_map.starts,
                 debuginfo->run_map.nodes, debuginfo->tables);
    bat_counts_free(&debuginfo->table_index);
    bat_counts_free(&debuginfo->strings);
    debug_close_splits(debuginfo);
    BAT_FREE_ALL(debuginfo->code, debuginfo->symbols, debuginfo->frames);
    debug_image_close(&debuginfo->image);
    debug_image_close(&debuginfo->alternate);
    BAT_FREE_ALL(debuginfo->program_path, debuginfo->debug_file, debuginfo);
}

void bat_debuginfo_set_threads(struct bat_debuginfo *debuginfo, unsigned threads)
{
    debuginfo->threads = threads;
}

unsigned debug_threads(const struct bat_debuginfo *debuginfo)
{
    return debuginfo->threads;
}

const char *bat_debuginfo_path(const struct bat_debuginfo *debuginfo)
{
    return debuginfo->image.path;
}

struct bat_debuginfo_counters bat_debuginfo_counters(const struct bat_debuginfo *debuginfo)
{
    return debuginfo->counters;
}

bool bat_debuginfo_lacks_memory(const struct bat_debuginfo *debuginfo)
{
    return debuginfo->no_memory;
}
