/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* From an address to frames. */
#include <stdlib.h>

#include "debuginfo.h"

/* The last run that starts at or below the address; the number of runs if there is none. */
static size_t find_run(const struct bat_debuginfo *debuginfo, uint64_t address)
{
    const struct debug_unit_run *runs = debuginfo->runs;
    size_t last = debuginfo->last_run;
    if (last < debuginfo->run_count && runs[last].start <= address &&
        (last + 1 == debuginfo->run_count || address < runs[last + 1].start))
        return last;
    size_t low = 0;
    size_t high = debuginfo->run_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (runs[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? debuginfo->run_count : low - 1;
}

/* The unit that has code at the address, read, or NULL. */
static struct debug_unit *find_unit(struct bat_debuginfo *debuginfo, uint64_t address)
{
    size_t run = find_run(debuginfo, address);
    if (run == debuginfo->run_count)
        return NULL;
    /* Runs do not overlap in sound DWARF; where they do, an earlier one may reach up to here. */
    while (debuginfo->runs[run].end <= address) {
        if (run == 0 || debuginfo->runs[run].reach <= address)
            return NULL;
        run--;
    }
    debuginfo->last_run = run;
    struct debug_unit *unit = &debuginfo->units[debuginfo->runs[run].unit];
    debug_read_unit(debuginfo, unit);
    return unit;
}

/* The innermost node of an address, or BAT_NONE. */
static uint32_t find_node(const struct debug_map *map, uint64_t address)
{
    size_t low = 0;
    size_t high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->starts[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? BAT_NONE : map->nodes[low - 1];
}

static void set_place(struct bat_frame *frame, struct debug_unit *unit, uint64_t address)
{
    const struct line_row *row = line_table_find(&unit->lines, address);
    if (!row)
        return;
    frame->file = line_table_path(&unit->lines, row->file);
    frame->line = row->line;
    frame->column = row->column;
    frame->discriminator = row->discriminator;
}

static const char *start_file(struct bat_debuginfo *debuginfo, struct debug_name *name)
{
    if (!name->start_file && name->start_unit != BAT_NONE) {
        struct debug_unit *unit = &debuginfo->units[name->start_unit];
        name->start_file = debug_file_path(debuginfo, unit, name->start_number);
    }
    return name->start_file;
}

static struct bat_frame *next_frame(struct bat_debuginfo *debuginfo, size_t count)
{
    if (!debug_grow(&debuginfo->frames, &debuginfo->frame_capacity, count,
                    sizeof(*debuginfo->frames)))
        return NULL;
    return &debuginfo->frames[count];
}

size_t bat_debuginfo_frames(struct bat_debuginfo *debuginfo, uint64_t address,
                            const struct bat_frame **frames)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    uint32_t index = unit ? find_node(&unit->map, address) : BAT_NONE;
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
            frame->file = debug_file_path(debuginfo, unit, inner->call_file);
            frame->line = inner->call_line;
            frame->column = inner->call_column;
            frame->discriminator = inner->call_discriminator;
        } else {
            set_place(frame, unit, address);
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
    if (!unit || !line_table_find(&unit->lines, address))
        return false;
    set_place(frame, unit, address);
    return true;
}

const char *bat_debuginfo_folder(struct bat_debuginfo *debuginfo, uint64_t address)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    return unit ? unit->lines.compile_folder : NULL;
}

const struct bat_debuginfo_function *bat_debuginfo_function(struct bat_debuginfo *debuginfo,
                                                            uint64_t address)
{
    struct debug_unit *unit = find_unit(debuginfo, address);
    uint32_t index = unit ? find_node(&unit->map, address) : BAT_NONE;
    while (index != BAT_NONE && unit->nodes[index].parent != BAT_NONE)
        index = unit->nodes[index].parent;
    if (index == BAT_NONE || unit->nodes[index].function == BAT_NONE)
        return NULL;
    return &unit->functions[unit->nodes[index].function];
}
