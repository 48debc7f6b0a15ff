/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads a unit's DIEs into flat arrays. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"
#include "spec/array.h"

/* An extension of compilers that elfutils does not define. */
#define AT_GNU_DISCRIMINATOR 0x2136

/* Inlined calls nest at most this deep; deeper ones belong to the call around them. */
#define DEPTH_MAX 1000u

/* The node of code that the linker dropped: calls inlined there are not in the program. */
#define NODE_DROPPED (BAT_NONE - 1)

/* The state of the walk through a unit's DIEs. */
struct walk {
    struct bat_debuginfo *debuginfo;
    struct debug_unit *unit;
    struct split_found split; /* where the DIEs are if the unit is a skeleton */
    struct debug_addresses addresses;
    struct debug_strings strings;
    Dwarf_Die die;
    struct entries entries;
    uint32_t *outer; /* for each depth, the node that contains the DIEs there, or NODE_DROPPED */
    size_t depth;
    size_t outer_capacity;
    struct bat_counts cache; /* address of the DIE of an abstract function: its index in names */
    struct debug_run *runs;
    size_t run_count;
    size_t run_capacity;
    size_t node_capacity;
    size_t name_capacity;
    size_t function_capacity;
    size_t range_capacity;
    Dwarf_CU *other; /* the last other unit whose files were needed, and its line table */
    uint32_t other_table;
};

/* --- Attributes ----------------------------------------------------------------------------- */

/* The attributes that a node needs, found in one pass over a DIE. */
struct attributes {
    Dwarf_Attribute low;
    Dwarf_Attribute high;
    Dwarf_Attribute origin;
    bool has_low;
    bool has_high;
    bool has_ranges;
    bool has_origin;
    Dwarf_Attribute ranges;
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_column;
    uint32_t discriminator;
};

static uint32_t number_of(Dwarf_Attribute *attribute)
{
    uint64_t value;
    return debug_read_number(attribute, &value) ? (uint32_t)value : 0;
}

static void take_attribute(Dwarf_Attribute *attribute, void *context)
{
    struct attributes *attributes = context;
    switch (attribute->code) {
    case DW_AT_low_pc:
        attributes->low = *attribute;
        attributes->has_low = true;
        break;
    case DW_AT_high_pc:
        attributes->high = *attribute;
        attributes->has_high = true;
        break;
    case DW_AT_ranges:
        attributes->ranges = *attribute;
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
}

/*
 * The line table that file numbers in a unit refer to. A split unit uses its skeleton's; the type
 * units beside it have their own.
 */
static uint32_t table_of(struct walk *walk, Dwarf_CU *cu)
{
    struct bat_debuginfo *debuginfo = walk->debuginfo;
    if (cu == walk->die.cu)
        return walk->unit->table;
    if (cu == walk->other)
        return walk->other_table;
    uint32_t table = BAT_NONE;
    Dwarf_Die die;
    const struct line_sections *sections = NULL;
    Dwarf *dwarf = cu ? dwarf_cu_getdwarf(cu) : NULL;
    if (dwarf == debuginfo->image.dwarf)
        sections = &debuginfo->image.lines;
    else if (dwarf && dwarf == debuginfo->alternate.dwarf)
        sections = &debuginfo->alternate.lines;
    else if (dwarf && walk->split.image)
        sections = &walk->split.image->lines;
    if (sections && dwarf_cu_die(cu, &die, NULL, NULL, NULL, NULL, NULL, NULL)) {
        Dwarf_Attribute attribute;
        const char *folder = entries_attribute(&die, DW_AT_comp_dir, &attribute)
                                 ? debug_form_string(debuginfo, walk->split.image, &attribute)
                                 : NULL;
        table = debug_find_table(debuginfo, sections, &die, folder);
    }
    walk->other = cu;
    walk->other_table = table;
    return table;
}

/* --- Names ---------------------------------------------------------------------------------- */

/* Take a name's bytes from the budget, unless the name is known. False if they are too many. */
static bool pay_name(struct bat_debuginfo *debuginfo, const char *name)
{
    const uint64_t key = (uintptr_t)name;
    const uint64_t *found;
    bool is_new;
    if (bat_counts_find_or_add(&debuginfo->strings, &key, 0, 0, &found, &is_new)) {
        debuginfo->no_memory = true;
        return false;
    }
    if (!is_new)
        return true;
    const uint64_t left = debuginfo->budget.names;
    const uint64_t length = strnlen(name, left);
    debuginfo->budget.names -= length;
    return length < left;
}

/* Pay once for each different name of all units, no longer for each name of each unit. */
static void list_names(struct bat_debuginfo *debuginfo)
{
    debuginfo->has_strings = true;
    debuginfo->budget.names = debuginfo->name_budget;
    for (size_t i = 0; i < debuginfo->unit_count; i++) {
        const struct debug_unit *unit = &debuginfo->units[i];
        for (size_t j = 0; j < unit->name_count; j++)
            if ((unit->names[j].linkage_name &&
                 !pay_name(debuginfo, unit->names[j].linkage_name)) ||
                (unit->names[j].name && !pay_name(debuginfo, unit->names[j].name)))
                return;
    }
}

/*
 * The name, or NULL if all names together are too long because they overlap. A table of them is
 * only made for a file in which they could be too long.
 */
static const char *take_name(struct walk *walk, const char *name)
{
    if (!name)
        return NULL;
    if (!walk->debuginfo->has_strings) {
        uint64_t *left = &walk->debuginfo->budget.names;
        const uint64_t length = strnlen(name, *left);
        if (length < *left) {
            *left -= length;
            return name;
        }
        list_names(walk->debuginfo);
    }
    return pay_name(walk->debuginfo, name) ? name : NULL;
}

/* The string that an attribute has, or NULL. */
static const char *string_of(struct walk *walk, Dwarf_Attribute *attribute)
{
    if (attribute->code == 0)
        return NULL;
    const char *string =
        attribute->cu == walk->entries.unit ? debug_read_string(&walk->strings, attribute) : NULL;
    return string ? string : debug_form_string(walk->debuginfo, walk->split.image, attribute);
}

static struct debug_name read_name(struct walk *walk, Dwarf_Die *die)
{
    struct name_attributes attributes = {0};
    name_attributes_find(&attributes, &walk->entries, die);
    struct debug_name name = {.start_table = BAT_NONE};
    const char *linkage_name = string_of(walk, &attributes.linkage_name);
    if (!linkage_name)
        linkage_name = string_of(walk, &attributes.old_linkage_name);
    name.linkage_name = take_name(walk, linkage_name);
    name.name = take_name(walk, string_of(walk, &attributes.name));
    if (!name.linkage_name)
        name.linkage_name = name.name;
    if (!name.name)
        name.name = name.linkage_name;
    if (attributes.line.code)
        name.start_line = number_of(&attributes.line);
    if (attributes.file.code) {
        name.start_number = number_of(&attributes.file);
        name.start_table = table_of(walk, attributes.file.cu);
    }
    return name;
}

static uint32_t add_name(struct walk *walk, Dwarf_Die *die)
{
    struct debug_unit *unit = walk->unit;
    if (!BAT_GROW(unit->names, unit->name_count, walk->name_capacity))
        return BAT_NONE;
    unit->names[unit->name_count] = read_name(walk, die);
    return (uint32_t)unit->name_count++;
}

/* An inlined call has the name of its abstract function, which is read once. */
static uint32_t find_name(struct walk *walk, const struct attributes *attributes)
{
    Dwarf_Attribute attribute = attributes->origin;
    Dwarf_Die origin;
    const uint8_t *place =
        attributes->has_origin ? entries_reference(&walk->entries, &attribute) : NULL;
    uint64_t key = (uintptr_t)place;
    const uint64_t *known = place ? bat_counts_find(&walk->cache, &key) : NULL;
    if (known)
        return (uint32_t)known[1];
    if (place) {
        origin = (Dwarf_Die){.addr = (void *)place, .cu = walk->entries.unit};
    } else if (!attributes->has_origin || !dwarf_formref_die(&attribute, &origin)) {
        return add_name(walk, &walk->die);
    }
    key = (uintptr_t)origin.addr;
    known = place ? NULL : bat_counts_find(&walk->cache, &key);
    const uint32_t name = known ? (uint32_t)known[1] : add_name(walk, &origin);
    return known || name == BAT_NONE || bat_counts_add(&walk->cache, &key, name, 0) == BAT_OK
               ? name
               : BAT_NONE;
}

/* --- Addresses ------------------------------------------------------------------------------ */

/* How many ranges a function or call has. */
struct range_counts {
    size_t kept;
    size_t dropped; /* by the linker: no code of the program */
};

static bool add_run(struct walk *walk, uint32_t node, bool is_function, uint64_t start,
                    uint64_t end, struct range_counts *counts)
{
    if (start >= end || !debug_is_code(walk->debuginfo, start)) {
        counts->dropped += start != end || start == DEBUG_DROPPED;
        return true;
    }
    counts->kept++;
    if (!BAT_APPEND(walk->runs, walk->run_count, walk->run_capacity,
                    (struct debug_run){start, end, node}))
        return false;
    if (!is_function)
        return true;
    struct debug_unit *unit = walk->unit;
    return BAT_APPEND(unit->ranges, unit->range_count, walk->range_capacity,
                      (struct bat_debuginfo_range){start, end});
}

/* Add the addresses of a node, which may be added later. *low_pc is set to where its code starts.
 */
static bool add_runs(struct walk *walk, struct attributes *attributes, uint32_t node,
                     bool is_function, uint64_t *low_pc, struct range_counts *counts)
{
    uint64_t start = 0;
    uint64_t end = 0;
    *counts = (struct range_counts){0};
    bool has_bounds =
        attributes->has_low && attributes->has_high &&
        debug_read_bounds(&walk->addresses, &attributes->low, &attributes->high, &start, &end);
    if (!has_bounds && attributes->has_low)
        debug_read_address(&walk->addresses, &attributes->low, &start);
    *low_pc = start;
    if (has_bounds)
        return add_run(walk, node, is_function, start, end, counts);
    struct debug_ranges ranges;
    if (!attributes->has_ranges ||
        !debug_ranges_begin(&ranges, &walk->addresses, &attributes->ranges,
                            &walk->debuginfo->budget.ranges))
        return true;
    while (debug_ranges_next(&ranges, &start, &end))
        if (!add_run(walk, node, is_function, start, end, counts))
            return false;
    return true;
}

/* --- Nodes ---------------------------------------------------------------------------------- */

/* Add a function. place_ranges() sets its ranges at the end: the array may still move. */
static bool add_function(struct walk *walk, uint32_t node, size_t first_range)
{
    struct debug_unit *unit = walk->unit;
    size_t count = unit->range_count - first_range;
    if (count == 0)
        return true;
    if (!BAT_GROW(unit->functions, unit->function_count, walk->function_capacity))
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

/* Many functions may share one long string, which is not compared with itself. */
static int compare_linkage_names(const struct bat_debuginfo_function *a,
                                 const struct bat_debuginfo_function *b)
{
    if (a->linkage_name == b->linkage_name)
        return 0;
    return strcmp(a->linkage_name ? a->linkage_name : "", b->linkage_name ? b->linkage_name : "");
}

static int compare_names(const void *left, const void *right)
{
    const struct bat_debuginfo_function *a = *(struct bat_debuginfo_function *const *)left;
    const struct bat_debuginfo_function *b = *(struct bat_debuginfo_function *const *)right;
    int order = compare_linkage_names(a, b);
    return order ? order : a < b ? -1 : a > b;
}

/* Link each function with the next one of its name; without memory each with itself. */
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
        const bool has_name = sorted[first]->linkage_name != NULL;
        for (end = first + 1; has_name && end < count && sorted[end]->linkage_name &&
                              compare_linkage_names(sorted[first], sorted[end]) == 0;
             end++)
            sorted[end - 1]->namesake = sorted[end];
        sorted[end - 1]->namesake = sorted[first];
    }
    free(sorted);
}

/* How many addresses the walk has found, which belong to nodes. */
struct found {
    size_t runs;
    size_t ranges;
};

/* Set how many there are. Returns how many there were. */
static struct found set_found(struct walk *walk, struct found found)
{
    const struct found before = {walk->run_count, walk->unit->range_count};
    walk->run_count = found.runs;
    walk->unit->range_count = found.ranges;
    return before;
}

/* An entry can take a byte, a node takes hundreds. False if there are too many nodes. */
static bool pay_node(struct walk *walk)
{
    struct bat_debuginfo *debuginfo = walk->debuginfo;
    if (debuginfo->budget.nodes == 0) {
        debuginfo->has_too_many = true;
        return false;
    }
    debuginfo->budget.nodes--;
    return true;
}

/*
 * Make a node of a subprogram or an inlined call. False if there is no memory. The addresses are
 * read first, because much of a unit can be code that the linker dropped, which needs no name. But
 * they count only when their node is there: without memory libdw leaves this function by a jump.
 */
static bool add_node(struct walk *walk, struct attributes *attributes, uint32_t outer,
                     bool is_function, bool has_children, uint32_t *added)
{
    *added = outer;
    bool has_code = attributes->has_low || attributes->has_ranges;
    /* Declarations and abstract functions; calls inlined in the latter are abstract too. */
    if (is_function && !has_code) {
        *added = BAT_NONE;
        return true;
    }
    struct debug_unit *unit = walk->unit;
    uint32_t depth = is_function || outer == BAT_NONE ? 0 : unit->nodes[outer].depth + 1;
    if (depth > DEPTH_MAX)
        return true;
    if (!BAT_GROW(unit->nodes, unit->node_count, walk->node_capacity))
        return false;
    const uint32_t node = (uint32_t)unit->node_count;
    const struct found before = {walk->run_count, unit->range_count};
    uint64_t low_pc;
    struct range_counts counts;
    const bool has_memory = add_runs(walk, attributes, node, is_function, &low_pc, &counts);
    const struct found after = set_found(walk, before);
    if (!has_memory)
        return false;
    if (is_function && counts.kept == 0 && counts.dropped != 0) {
        *added = NODE_DROPPED;
        return true;
    }
    /* Nobody asks for what has no code. */
    if (counts.kept == 0 && !has_children)
        return true;
    if (!pay_node(walk))
        return false;
    const uint32_t name = is_function ? add_name(walk, &walk->die) : find_name(walk, attributes);
    if (name == BAT_NONE)
        return false;
    unit->node_count++;
    unit->nodes[node] = (struct debug_node){.parent = is_function ? BAT_NONE : outer,
                                            .depth = depth,
                                            .name = name,
                                            .call_file = attributes->call_file,
                                            .call_line = attributes->call_line,
                                            .call_column = attributes->call_column,
                                            .call_discriminator = attributes->discriminator,
                                            .function = BAT_NONE,
                                            .low_pc = low_pc};
    set_found(walk, after);
    *added = node;
    return !is_function || add_function(walk, node, before.ranges);
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

/* True if a DIE of that kind is a function without code, which has no functions below it. */
static bool is_declaration(const struct entries *entries,
                           const struct entry_abbreviation *abbreviation)
{
    bool is_found = false;
    for (uint32_t i = 0; i < abbreviation->field_count; i++) {
        const struct entry_field *field = &entries->fields[abbreviation->first_field + i];
        if (field->name == DW_AT_low_pc || field->name == DW_AT_ranges)
            return false;
        is_found |= field->name == DW_AT_declaration && field->form == DW_FORM_flag_present;
    }
    return is_found && abbreviation->tag == DW_TAG_subprogram;
}

/* Leave out the DIEs that neither are functions or inlined calls nor can have some below them. */
static void choose_dies(struct walk *walk)
{
    struct entries *entries = &walk->entries;
    for (size_t i = 0; i < entries->count; i++) {
        struct entry_abbreviation *abbreviation = &entries->abbreviations[i];
        const unsigned tag = abbreviation->tag;
        const bool is_node = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
        const bool may_hold = abbreviation->has_children && may_hold_functions((int)tag);
        abbreviation->is_skipped = (!is_node && !may_hold) || is_declaration(entries, abbreviation);
    }
}

/* Go into the children of a DIE. */
static bool enter(struct walk *walk, uint32_t node)
{
    if (!BAT_GROW(walk->outer, walk->depth + 1, walk->outer_capacity))
        return false;
    walk->outer[++walk->depth] = node;
    return true;
}

/* Read or skip the attributes of the current DIE. *go_on becomes false if they are damaged. */
static bool visit(struct walk *walk, const struct entry_abbreviation *abbreviation, uint32_t *node,
                  bool *go_on)
{
    const bool is_function = abbreviation->tag == DW_TAG_subprogram;
    const bool is_call = abbreviation->tag == DW_TAG_inlined_subroutine && *node != NODE_DROPPED;
    if (!is_function && !is_call) {
        *go_on = entries_skip(&walk->entries, abbreviation);
        return true;
    }
    struct attributes attributes = {0};
    *go_on = entries_read(&walk->entries, abbreviation, take_attribute, &attributes);
    return add_node(walk, &attributes, *node, is_function, abbreviation->has_children, node);
}

/* Go through the DIEs up to the end, or up to where they are damaged. False if out of memory. */
static bool walk_dies(struct walk *walk)
{
    struct entries *entries = &walk->entries;
    const struct entry_abbreviation *abbreviation;
    if (!BAT_GROW(walk->outer, 0, walk->outer_capacity))
        return false;
    if (!entries_next(entries, &abbreviation) || !abbreviation || !abbreviation->has_children ||
        !entries_skip(entries, abbreviation))
        return true;
    choose_dies(walk);
    walk->outer[0] = BAT_NONE;
    while (entries_next_wanted(entries, &abbreviation)) {
        if (!abbreviation) {
            if (walk->depth-- == 0)
                return true;
            continue;
        }
        /* libdw keeps an entry's abbreviation in the Dwarf_Die: each entry takes a new one. */
        walk->die = (Dwarf_Die){.addr = (void *)entries->current, .cu = entries->unit};
        uint32_t node = walk->outer[walk->depth];
        bool go_on;
        if (!visit(walk, abbreviation, &node, &go_on))
            return false;
        if (!go_on)
            return true;
        if (abbreviation->has_children && !enter(walk, node))
            return false;
    }
    return true;
}

/* --- The unit ------------------------------------------------------------------------------- */

/* Use the lists of ranges of a split unit. */
static void use_split(struct walk *walk, const struct entries_place *place)
{
    struct debug_addresses *addresses = &walk->addresses;
    walk->strings.image = NULL;
    /* A damaged one differs from its skeleton. */
    addresses->version = place->version;
    addresses->size = place->address_size;
    addresses->is_64_bit = place->offset_size == 8;
    if (addresses->version < 5) {
        Dwarf_Attribute attribute;
        Dwarf_Word base;
        if (entries_attribute(&walk->unit->die, DW_AT_GNU_ranges_base, &attribute) &&
            dwarf_formudata(&attribute, &base) == 0)
            addresses->ranges_base = base;
        return;
    }
    addresses->ranges = walk->split.image->rnglists;
    /* Behind the header: its length, version, sizes and the count of offsets. */
    addresses->lists_base = addresses->is_64_bit ? 20 : 12;
}

/*
 * Without its .dwo file a skeleton may still have the inlined calls: clang puts them there for
 * profilers (-fsplit-dwarf-inlining).
 */
static void read_dies(void *context)
{
    struct walk *walk = context;
    struct bat_debuginfo *debuginfo = walk->debuginfo;
    struct debug_unit *unit = walk->unit;
    struct entries_place place = unit->place;
    if (unit->is_split && debug_find_split(debuginfo, unit, &walk->split)) {
        walk->die = walk->split.die;
        place = entries_find(&walk->die);
        use_split(walk, &place);
    } else if (unit->is_split) {
        unit->is_missing = true;
        debuginfo->counters.units_missing++;
    }
    /* Also for the units that this one refers to. */
    const struct debug_image *split = walk->split.image;
    if (!debug_has_memory(&debuginfo->image) || !debug_has_memory(&debuginfo->alternate) ||
        (split && !debug_has_memory(split)))
        debuginfo->no_memory = true;
    if (debuginfo->no_memory)
        return;
    const struct debug_image *image = split ? split : &debuginfo->image;
    if (!entries_begin(&walk->entries, walk->die.cu, &place, &image->abbreviations) ||
        !walk_dies(walk))
        debuginfo->no_memory = true;
}

/* Finish the unit's arrays, which do not move any more. False if there is no memory. */
static bool finish_unit(const struct walk *walk)
{
    struct debug_unit *unit = walk->unit;
    BAT_SHRINK(unit->nodes, unit->node_count);
    BAT_SHRINK(unit->names, unit->name_count);
    BAT_SHRINK(unit->functions, unit->function_count);
    BAT_SHRINK(unit->ranges, unit->range_count);
    place_ranges(unit);
    link_namesakes(unit);
    return debug_map_make(&unit->map, walk->runs, walk->run_count);
}

void debug_read_unit(struct bat_debuginfo *debuginfo, struct debug_unit *unit)
{
    /* After libdw ran out of memory it cannot be called again. */
    if (unit->is_read || debuginfo->no_memory)
        return;
    unit->is_read = unit->is_counted = true;
    debuginfo->counters.units_read++;
    struct walk walk = {.debuginfo = debuginfo,
                        .unit = unit,
                        .die = unit->die,
                        .addresses = unit->addresses,
                        .strings = unit->strings,
                        .cache = bat_counts_new(1)};
    if (!debug_run_libdw(read_dies, &walk))
        debuginfo->no_memory = true;
    if (!finish_unit(&walk))
        debuginfo->no_memory = true;
    debug_image_close(&walk.split.slice);
    BAT_FREE_ALL(walk.runs, walk.outer);
    entries_free(&walk.entries);
    bat_counts_free(&walk.cache);
}

void debug_free_unit(struct debug_unit *unit)
{
    BAT_FREE_ALL(unit->nodes, unit->names, unit->functions, unit->ranges, unit->map.starts,
                 unit->map.nodes);
}
