/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A unit's DIEs become flat arrays. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"

/* Compilers' extension, which elfutils does not name. */
#define AT_GNU_DISCRIMINATOR 0x2136

/* From the DIE of an abstract function to its index in names. */
struct name_cache {
    const void **keys;
    uint32_t *values;
    size_t size; /* a power of two, or 0 */
    size_t used;
};

/* Where the walk through a unit is. */
struct walk {
    struct bat_debuginfo *debuginfo;
    struct debug_unit *unit;
    Dwarf_Die die;
    const uint8_t *end; /* of the unit's bytes */
    uint32_t *outer;    /* at each depth the node that the DIEs there are in */
    size_t depth;
    size_t outer_capacity;
    struct name_cache cache;
    struct debug_run *runs;
    size_t run_count;
    size_t run_capacity;
    size_t node_capacity;
    size_t name_capacity;
    size_t function_capacity;
    size_t range_capacity;
    size_t range_budget; /* lists may be shared, and so be longer than the file in all */
};

bool debug_grow(void *array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? 2 * *capacity : 16;
    if (larger >= BAT_NONE)
        return false;
    void *grown = realloc(*(void **)array, larger * size);
    if (!grown)
        return false;
    *(void **)array = grown;
    *capacity = larger;
    return true;
}

/* --- Attributes ----------------------------------------------------------------------------- */

/* Those that nodes are made of, found in one pass over a DIE. */
struct attributes {
    Dwarf_Attribute low;
    Dwarf_Attribute high;
    Dwarf_Attribute origin;
    bool has_low;
    bool has_high;
    bool has_ranges;
    bool has_origin;
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_column;
    uint32_t discriminator;
};

static uint32_t number_of(Dwarf_Attribute *attribute)
{
    Dwarf_Word value;
    return dwarf_formudata(attribute, &value) == 0 ? (uint32_t)value : 0;
}

static int take_attribute(Dwarf_Attribute *attribute, void *context)
{
    struct attributes *attributes = context;
    switch (dwarf_whatattr(attribute)) {
    case DW_AT_low_pc:
        attributes->low = *attribute;
        attributes->has_low = true;
        break;
    case DW_AT_high_pc:
        attributes->high = *attribute;
        attributes->has_high = true;
        break;
    case DW_AT_ranges:
        attributes->has_ranges = true;
        break;
    case DW_AT_abstract_origin:
        attributes->origin = *attribute;
        attributes->has_origin = true;
        break;
    case DW_AT_call_file:
        attributes->call_file = number_of(attribute);
        break;
    case DW_AT_call_line:
        attributes->call_line = number_of(attribute);
        break;
    case DW_AT_call_column:
        attributes->call_column = number_of(attribute);
        break;
    case AT_GNU_DISCRIMINATOR:
        attributes->discriminator = number_of(attribute);
        break;
    default:
        break;
    }
    return DWARF_CB_OK;
}

static const char *find_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* The unit that an attribute's DIE is in: for file numbers. */
static uint32_t unit_of(const struct walk *walk, Dwarf_Attribute *attribute)
{
    const struct bat_debuginfo *debuginfo = walk->debuginfo;
    Dwarf_Die unit_die;
    if (walk->unit->is_split)
        return (uint32_t)(walk->unit - debuginfo->units);
    if (!attribute->cu || dwarf_cu_getdwarf(attribute->cu) != debuginfo->dwarf ||
        !dwarf_cu_die(attribute->cu, &unit_die, NULL, NULL, NULL, NULL, NULL, NULL))
        return BAT_NONE;
    return debug_unit_at(debuginfo, dwarf_dieoffset(&unit_die));
}

static struct debug_name read_name(const struct walk *walk, Dwarf_Die *die)
{
    struct debug_name name = {.start_unit = BAT_NONE};
    name.linkage_name = find_string(die, DW_AT_linkage_name);
    if (!name.linkage_name)
        name.linkage_name = find_string(die, DW_AT_MIPS_linkage_name);
    name.name = find_string(die, DW_AT_name);
    if (!name.linkage_name)
        name.linkage_name = name.name;
    if (!name.name)
        name.name = name.linkage_name;
    Dwarf_Attribute attribute;
    if (dwarf_attr_integrate(die, DW_AT_decl_line, &attribute))
        name.start_line = number_of(&attribute);
    if (dwarf_attr_integrate(die, DW_AT_decl_file, &attribute)) {
        name.start_number = number_of(&attribute);
        name.start_unit = unit_of(walk, &attribute);
    }
    return name;
}

/* --- Names ---------------------------------------------------------------------------------- */

/* The place of a key, or of where it would go. */
static size_t cache_place(const struct name_cache *cache, const void *key)
{
    size_t place =
        (size_t)((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (cache->size - 1);
    while (cache->keys[place] && cache->keys[place] != key)
        place = (place + 1) & (cache->size - 1);
    return place;
}

static bool cache_grow(struct name_cache *cache)
{
    if (2 * cache->used < cache->size)
        return true;
    struct name_cache larger = {.size = cache->size ? 2 * cache->size : 64, .used = cache->used};
    larger.keys = calloc(larger.size, sizeof(*larger.keys));
    larger.values = malloc(larger.size * sizeof(*larger.values));
    if (!larger.keys || !larger.values) {
        free(larger.keys);
        free(larger.values);
        return false;
    }
    for (size_t i = 0; i < cache->size; i++) {
        if (!cache->keys[i])
            continue;
        size_t place = cache_place(&larger, cache->keys[i]);
        larger.keys[place] = cache->keys[i];
        larger.values[place] = cache->values[i];
    }
    free(cache->keys);
    free(cache->values);
    *cache = larger;
    return true;
}

static uint32_t add_name(struct walk *walk, Dwarf_Die *die)
{
    struct debug_unit *unit = walk->unit;
    if (!debug_grow(&unit->names, &walk->name_capacity, unit->name_count, sizeof(*unit->names)))
        return BAT_NONE;
    unit->names[unit->name_count] = read_name(walk, die);
    return (uint32_t)unit->name_count++;
}

/* An inlined call is called what its abstract function is; of those each is read once. */
static uint32_t find_name(struct walk *walk, const struct attributes *attributes)
{
    Dwarf_Attribute attribute = attributes->origin;
    Dwarf_Die origin;
    if (!attributes->has_origin || !dwarf_formref_die(&attribute, &origin))
        return add_name(walk, &walk->die);
    if (!cache_grow(&walk->cache))
        return BAT_NONE;
    size_t place = cache_place(&walk->cache, origin.addr);
    if (!walk->cache.keys[place]) {
        uint32_t name = add_name(walk, &origin);
        if (name == BAT_NONE)
            return BAT_NONE;
        walk->cache.keys[place] = origin.addr;
        walk->cache.values[place] = name;
        walk->cache.used++;
    }
    return walk->cache.values[place];
}

/* --- Addresses ------------------------------------------------------------------------------ */

static bool add_run(struct walk *walk, uint32_t node, bool is_function, uint64_t start,
                    uint64_t end)
{
    if (start >= end || !debug_is_code(walk->debuginfo, start))
        return true;
    if (!debug_grow(&walk->runs, &walk->run_capacity, walk->run_count, sizeof(*walk->runs)))
        return false;
    walk->runs[walk->run_count++] = (struct debug_run){start, end, node};
    if (!is_function)
        return true;
    struct debug_unit *unit = walk->unit;
    if (!debug_grow(&unit->ranges, &walk->range_capacity, unit->range_count, sizeof(*unit->ranges)))
        return false;
    unit->ranges[unit->range_count++] = (struct bat_debuginfo_range){start, end};
    return true;
}

/* DW_AT_low_pc and DW_AT_high_pc, the latter an address or a size. */
static bool read_bounds(struct attributes *attributes, uint64_t *start, uint64_t *end)
{
    Dwarf_Addr low;
    if (!attributes->has_low || dwarf_formaddr(&attributes->low, &low) != 0)
        return false;
    *start = low;
    if (!attributes->has_high)
        return false;
    Dwarf_Addr high;
    if (dwarf_formaddr(&attributes->high, &high) == 0) {
        *end = high;
        return true;
    }
    Dwarf_Word size;
    if (dwarf_formudata(&attributes->high, &size) != 0)
        return false;
    *end = low + size;
    return true;
}

static bool add_runs(struct walk *walk, struct attributes *attributes, uint32_t node,
                     bool is_function)
{
    uint64_t start = 0;
    uint64_t end = 0;
    bool has_bounds = read_bounds(attributes, &start, &end);
    walk->unit->nodes[node].low_pc = start;
    if (has_bounds)
        return add_run(walk, node, is_function, start, end);
    if (!attributes->has_ranges)
        return true;
    Dwarf_Addr base;
    for (ptrdiff_t at = 0; walk->range_budget > 0; walk->range_budget--) {
        at = dwarf_ranges(&walk->die, at, &base, &start, &end);
        if (at <= 0)
            break;
        if (!add_run(walk, node, is_function, start, end))
            return false;
    }
    return true;
}

/* --- Nodes ---------------------------------------------------------------------------------- */

/* Remember where the function's ranges begin: the array may still move. */
static bool add_function(struct walk *walk, uint32_t node, size_t first_range)
{
    struct debug_unit *unit = walk->unit;
    size_t count = unit->range_count - first_range;
    if (count == 0)
        return true;
    if (!debug_grow(&unit->functions, &walk->function_capacity, unit->function_count,
                    sizeof(*unit->functions)))
        return false;
    unit->nodes[node].function = (uint32_t)unit->function_count;
    unit->functions[unit->function_count++] = (struct bat_debuginfo_function){
        .linkage_name = unit->names[unit->nodes[node].name].linkage_name,
        .range_count = count,
        .entry = unit->ranges[first_range].start};
    return true;
}

static void place_ranges(struct debug_unit *unit)
{
    const struct bat_debuginfo_range *ranges = unit->ranges;
    for (size_t i = 0; i < unit->function_count; i++) {
        unit->functions[i].ranges = ranges;
        ranges += unit->functions[i].range_count;
    }
}

static int compare_names(const void *left, const void *right)
{
    const struct bat_debuginfo_function *a = *(struct bat_debuginfo_function *const *)left;
    const struct bat_debuginfo_function *b = *(struct bat_debuginfo_function *const *)right;
    int order =
        strcmp(a->linkage_name ? a->linkage_name : "", b->linkage_name ? b->linkage_name : "");
    return order ? order : a < b ? -1 : a > b;
}

/* Link each function with the next one of its name; without memory each is taken for alone. */
static void link_namesakes(struct debug_unit *unit)
{
    size_t count = unit->function_count;
    for (size_t i = 0; i < count; i++)
        unit->functions[i].namesake = &unit->functions[i];
    struct bat_debuginfo_function **sorted = count > 1 ? malloc(count * sizeof(*sorted)) : NULL;
    if (!sorted)
        return;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &unit->functions[i];
    qsort(sorted, count, sizeof(struct bat_debuginfo_function *), compare_names);
    for (size_t first = 0, end; first < count; first = end) {
        const char *name = sorted[first]->linkage_name;
        for (end = first + 1; name && end < count && sorted[end]->linkage_name &&
                              strcmp(name, sorted[end]->linkage_name) == 0;
             end++)
            sorted[end - 1]->namesake = sorted[end];
        sorted[end - 1]->namesake = sorted[first];
    }
    free(sorted);
}

/* Make a node of a subprogram or an inlined call. False if there is no memory. */
static bool add_node(struct walk *walk, uint32_t outer, bool is_function, uint32_t *added)
{
    struct attributes attributes = {0};
    dwarf_getattrs(&walk->die, take_attribute, &attributes, 0);
    *added = outer;
    bool has_code = attributes.has_low || attributes.has_ranges;
    /* Declarations and abstract functions; what is inlined in those is abstract too. */
    if (is_function && !has_code) {
        *added = BAT_NONE;
        return true;
    }
    struct debug_unit *unit = walk->unit;
    if (!debug_grow(&unit->nodes, &walk->node_capacity, unit->node_count, sizeof(*unit->nodes)))
        return false;
    uint32_t name = is_function ? add_name(walk, &walk->die) : find_name(walk, &attributes);
    if (name == BAT_NONE)
        return false;
    uint32_t node = (uint32_t)unit->node_count++;
    unit->nodes[node] = (struct debug_node){.parent = is_function ? BAT_NONE : outer,
                                            .name = name,
                                            .call_file = attributes.call_file,
                                            .call_line = attributes.call_line,
                                            .call_column = attributes.call_column,
                                            .call_discriminator = attributes.discriminator,
                                            .function = BAT_NONE};
    *added = node;
    size_t first_range = unit->range_count;
    return add_runs(walk, &attributes, node, is_function) &&
           (!is_function || add_function(walk, node, first_range));
}

/* --- The walk ------------------------------------------------------------------------------- */

/* DIEs that can have functions below them. */
static bool may_hold_functions(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type: /* Rust's have methods */
        return true;
    default:
        return false;
    }
}

/* Go into the children of the current DIE, if it has any. */
static bool enter(struct walk *walk, int tag, uint32_t node)
{
    Dwarf_Die child;
    if (!may_hold_functions(tag) || dwarf_child(&walk->die, &child) != 0 ||
        !debug_grow(&walk->outer, &walk->outer_capacity, walk->depth + 1, sizeof(*walk->outer)))
        return false;
    walk->outer[++walk->depth] = node;
    walk->die = child;
    return true;
}

/*
 * Go to the DIE after the current one and its children, which may be one of an outer level: libdw
 * tells the byte where a row of siblings ends, and going on from there spares reading a DIE again
 * for each level that it is below.
 */
static bool go_on(struct walk *walk)
{
    Dwarf_Die next = walk->die;
    int result = dwarf_siblingof(&walk->die, &next);
    if (result < 0 || !next.addr)
        return false;
    if (result == 0) {
        walk->die = next;
        return true;
    }
    const uint8_t *at = next.addr;
    for (; at < walk->end && *at == 0; at++)
        if (walk->depth-- == 0)
            return false;
    if (at >= walk->end)
        return false;
    Dwarf_CU *cu = walk->die.cu;
    walk->die = (Dwarf_Die){.addr = (void *)at, .cu = cu};
    return true;
}

static void walk_dies(struct walk *walk)
{
    Dwarf_Die child;
    if (!debug_grow(&walk->outer, &walk->outer_capacity, 0, sizeof(*walk->outer)) ||
        dwarf_child(&walk->die, &child) != 0)
        return;
    walk->outer[0] = BAT_NONE;
    walk->die = child;
    for (;;) {
        int tag = dwarf_tag(&walk->die);
        uint32_t node = walk->outer[walk->depth];
        if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) &&
            !add_node(walk, node, tag == DW_TAG_subprogram, &node))
            return;
        if (!enter(walk, tag, node) && !go_on(walk))
            return;
    }
}

/* Where the unit that has this DIE ends. */
static const uint8_t *find_end(Dwarf_Die *die)
{
    Dwarf_Off offset = dwarf_dieoffset(die);
    Dwarf_Off start = offset - dwarf_cuoffset(die);
    Dwarf_Off next;
    size_t header_size;
    if (dwarf_next_unit(dwarf_cu_getdwarf(die->cu), start, &next, &header_size, NULL, NULL, NULL,
                        NULL, NULL, NULL) != 0 ||
        next <= offset)
        return NULL;
    return (const uint8_t *)die->addr + (next - offset);
}

static void read_dies(struct bat_debuginfo *debuginfo, struct debug_unit *unit)
{
    Dwarf_Die *die = unit->is_split ? &unit->split : &unit->die;
    if (!die->addr)
        return;
    struct walk walk = {.debuginfo = debuginfo, .unit = unit, .die = *die, .end = find_end(die)};
    walk.range_budget = debuginfo->file_size;
    if (walk.end)
        walk_dies(&walk);
    place_ranges(unit);
    link_namesakes(unit);
    debug_map_make(&unit->map, walk.runs, walk.run_count);
    free(walk.runs);
    free(walk.outer);
    free(walk.cache.keys);
    free(walk.cache.values);
}

/* --- The unit ------------------------------------------------------------------------------- */

static bool is_code(uint64_t address, const void *debuginfo)
{
    return debug_is_code(debuginfo, address);
}

void debug_read_lines(struct bat_debuginfo *debuginfo, struct debug_unit *unit)
{
    if (unit->is_table_read)
        return;
    unit->is_table_read = true;
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    unit->lines.compile_folder =
        dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
    if (!dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute) ||
        dwarf_formudata(&attribute, &offset) != 0)
        return;
    struct line_sections sections = line_sections_find(debuginfo->elf, "");
    line_table_read(&unit->lines, &sections, offset, is_code, debuginfo);
    if (!unit->split.addr)
        return;
    unit->split_lines.compile_folder = unit->lines.compile_folder;
    sections = line_sections_find(dwarf_getelf(dwarf_cu_getdwarf(unit->split.cu)), ".dwo");
    line_table_read(&unit->split_lines, &sections, 0, is_code, debuginfo);
}

const char *debug_file_path(struct bat_debuginfo *debuginfo, struct debug_unit *unit,
                            uint32_t number)
{
    debug_read_lines(debuginfo, unit);
    return line_table_path(unit->split_lines.file_count ? &unit->split_lines : &unit->lines,
                           number);
}

void debug_read_unit(struct bat_debuginfo *debuginfo, struct debug_unit *unit)
{
    if (unit->is_read)
        return;
    unit->is_read = true;
    debuginfo->counters.units_read++;
    if (unit->is_split && !unit->split.addr)
        debuginfo->counters.units_missing++;
    read_dies(debuginfo, unit);
    debug_read_lines(debuginfo, unit);
}

void debug_free_unit(struct debug_unit *unit)
{
    free(unit->nodes);
    free(unit->names);
    free(unit->functions);
    free(unit->ranges);
    free(unit->map.starts);
    free(unit->map.nodes);
    line_table_free(&unit->lines);
    line_table_free(&unit->split_lines);
}
