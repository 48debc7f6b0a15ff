/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Looks up the frames of an address. */

#include "debuginfo.h"
#include "stretches.h"

/* The unit that has code at the address, which is read if it is new, or NULL. */
static struct debug_unit *find_unit(struct bat_debuginfo *debuginfo, uint64_t address)
{
    uint32_t run = debug_map_find(&debuginfo->run_map, address);
    if (run == BAT_NONE)
        return NULL;
    struct debug_unit *unit = &debuginfo->units[debuginfo->runs[run].unit];
    debug_read_unit(debuginfo, unit);
    return unit;
}

/* The path of a file of a table, or NULL. */
static const char *path_in(struct bat_debuginfo *debuginfo, struct line_table *lines,
                           uint32_t number)
{
    const char *path = line_table_path(lines, number);
    debuginfo->no_memory |= lines->lacks_memory;
    return path;
}

static void set_place(struct bat_debuginfo *debuginfo, struct bat_frame *frame,
                      const struct debug_unit *unit, uint64_t address)
{
    struct line_table *lines = debug_table(debuginfo, unit->table);
    const struct line_row *row = lines ? line_table_find(lines, address) : NULL;
    if (!row)
        return;
    frame->file = path_in(debuginfo, lines, row->file);
    frame->line = row->line;
    frame->column = row->column;
    frame->discriminator = row->discriminator;
}

/* The path of a file by the number that a DIE has for it, or NULL. */
static const char *file_path(struct bat_debuginfo *debuginfo, uint32_t table, uint32_t number)
{
    struct line_table *lines = debug_table(debuginfo, table);
    return lines ? path_in(debuginfo, lines, number) : NULL;
}

static const char *start_file(struct bat_debuginfo *debuginfo, struct debug_name *name)
{
    if (!name->start_file)
        name->start_file = file_path(debuginfo, name->start_table, name->start_number);
    return name->start_file;
}

static struct bat_frame *next_frame(struct bat_debuginfo *debuginfo, size_t count)
{
    if (!BAT_GROW(debuginfo->frames, count, debuginfo->frame_capacity))
        debuginfo->no_memory = true;
    return count < debuginfo->frame_capacity ? &debuginfo->frames[count] : NULL;
}

size_t bat_debuginfo_frames(struct bat_debuginfo *debuginfo, uint64_t address,
                            const struct bat_frame **frames)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    uint32_t index = unit ? debug_map_find(&unit->map, address) : BAT_NONE;
    size_t count = 0;
    const struct debug_node *inner = NULL;
    while (index != BAT_NONE) {
        const struct debug_node *node = &unit->nodes[index];
        struct bat_frame *frame = next_frame(debuginfo, count);
        if (!frame)
            break;
        struct debug_name *name = &unit->names[node->name];
        *frame = (struct bat_frame){.linkage_name = name->linkage_name,
                                    .name = name->name,
                                    .start_file = start_file(debuginfo, name),
                                    .start_line = name->start_line,
                                    .low_pc = node->low_pc};
        if (inner) {
            frame->file = file_path(debuginfo, unit->table, inner->call_file);
            frame->line = inner->call_line;
            frame->column = inner->call_column;
            frame->discriminator = inner->call_discriminator;
        } else {
            set_place(debuginfo, frame, unit, address);
        }
        count++;
        inner = node;
        index = node->parent;
    }
    *frames = debuginfo->frames;
    return count;
}

bool bat_debuginfo_line(struct bat_debuginfo *debuginfo, uint64_t address, struct bat_frame *frame)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    *frame = (struct bat_frame){0};
    struct line_table *lines = unit ? debug_table(debuginfo, unit->table) : NULL;
    if (!lines || !line_table_find(lines, address))
        return false;
    set_place(debuginfo, frame, unit, address);
    return true;
}

const char *bat_debuginfo_folder(struct bat_debuginfo *debuginfo, uint64_t address)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    return unit ? unit->compile_folder : NULL;
}

const struct bat_debuginfo_function *bat_debuginfo_function(struct bat_debuginfo *debuginfo,
                                                            uint64_t address)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    uint32_t index = unit ? debug_map_find(&unit->map, address) : BAT_NONE;
    while (index != BAT_NONE && unit->nodes[index].parent != BAT_NONE)
        index = unit->nodes[index].parent;
    if (index == BAT_NONE || unit->nodes[index].function == BAT_NONE)
        return NULL;
    return &unit->functions[unit->nodes[index].function];
}

/* --- Stretches ------------------------------------------------------------------------------ */

/* Shorten a stretch to the part that has the same node as the last address looked up in map. */
static void cut_at_node(struct debug_stretch *stretch, const struct debug_map *map)
{
    if (map->last + 1 < map->count && map->starts[map->last + 1] < stretch->end)
        stretch->end = map->starts[map->last + 1];
}

struct debug_stretch debug_stretch_at(struct bat_debuginfo *debuginfo, uint64_t address)
{
    struct debug_stretch stretch = {.end = address + 1, .unit = BAT_NONE, .node = BAT_NONE};
    struct debug_unit *unit = find_unit(debuginfo, address);
    if (!unit)
        return stretch;
    stretch.unit = (uint32_t)(unit - debuginfo->units);
    stretch.node = debug_map_find(&unit->map, address);
    struct line_table *lines = debug_table(debuginfo, unit->table);
    const struct line_row *row = lines ? line_table_find(lines, address) : NULL;
    if (stretch.node == BAT_NONE || !row)
        return stretch;
    stretch.line = row->line;
    stretch.discriminator = row->discriminator;
    stretch.end = line_table_last_end(lines);
    cut_at_node(&stretch, &unit->map);
    cut_at_node(&stretch, &debuginfo->run_map);
    return stretch;
}

uint64_t debug_gap_end(struct bat_debuginfo *debuginfo, uint64_t address)
{
    struct debug_map *map = &debuginfo->run_map;
    if (debug_map_find(map, address) != BAT_NONE)
        return 0;
    if (map->count == 0)
        return UINT64_MAX;
    if (address < map->starts[0])
        return map->starts[0];
    return map->last + 1 < map->count ? map->starts[map->last + 1] : UINT64_MAX;
}

size_t debug_call_count(const struct bat_debuginfo *debuginfo, uint32_t unit)
{
    return debuginfo->units[unit].node_count;
}

size_t debug_name_count(const struct bat_debuginfo *debuginfo, uint32_t unit)
{
    return debuginfo->units[unit].name_count;
}

struct debug_call debug_call_at(const struct bat_debuginfo *debuginfo, uint32_t unit, uint32_t node)
{
    const struct debug_unit *in = &debuginfo->units[unit];
    const struct debug_node *found = &in->nodes[node];
    const struct debug_name *name = &in->names[found->name];
    return (struct debug_call){.linkage_name = name->linkage_name,
                               .name = found->name,
                               .parent = found->parent,
                               .start_line = name->start_line,
                               .call_line = found->call_line,
                               .call_discriminator = found->call_discriminator};
}
