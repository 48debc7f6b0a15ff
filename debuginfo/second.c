/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "second.h"

#include "debuginfo.h"

static bool is_same_file(const struct debug_image *a, const struct debug_image *b)
{
    return a->device == b->device && a->inode == b->inode && a->file_size == b->file_size;
}

struct bat_debuginfo *debug_open_second(const struct bat_debuginfo *first)
{
    struct bat_debuginfo *second = NULL;
    if (bat_debuginfo_open(first->program_path, first->debug_file, &second, NULL) != BAT_OK)
        return NULL;
    if (is_same_file(&first->image, &second->image) &&
        is_same_file(&first->alternate, &second->alternate) &&
        first->unit_count == second->unit_count)
        return second;
    bat_debuginfo_close(second);
    return NULL;
}

void debug_close_second(struct bat_debuginfo *first, struct bat_debuginfo *second)
{
    for (size_t i = 0; i < second->unit_count; i++) {
        struct debug_unit *unit = &first->units[i];
        if (unit->is_counted || !second->units[i].is_counted)
            continue;
        unit->is_counted = true;
        first->counters.units_read++;
        first->counters.units_missing += second->units[i].is_missing;
    }
    first->no_memory |= second->no_memory;
    bat_debuginfo_close(second);
}
