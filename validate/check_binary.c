/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares the tables with the binary's sections, symbols and frame descriptions. */
#include <elf.h>
#include <stdlib.h>

#include "bat_decoder.h"
#include "binary/note_text.h"
#include "checking.h"
#include "spec/order.h"

/* --- Executable sections -------------------------------------------------------------------- */

struct interval {
    uint64_t start;
    uint64_t end;
};

/* The addresses of all executable sections, ascending; the caller frees *intervals. */
static enum bat_code collect_executable(struct bat_checking *checking, struct interval **intervals,
                                        size_t *count)
{
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
    size_t sections_count = 0;
    const struct bat_section *sections = bat_elf_sections(checking->binary->elf, &sections_count);
    *count = 0;
    *intervals = malloc((sections_count + 1) * sizeof(**intervals));
    BAT_TRY_MEMORY(*intervals, checking->error, "for %zu sections", sections_count);
    for (size_t i = 0; i < sections_count; i++) {
        const struct bat_section *section = &sections[i];
        if ((section->flags & wanted) == wanted && section->size != 0 &&
            section->size <= UINT64_MAX - section->address)
            (*intervals)[(*count)++] =
                (struct interval){section->address, section->address + section->size};
    }
    BAT_SORT_BY(*intervals, *count, start);
    return BAT_OK;
}

/* Tables and sections both ascend, so one pass checks all. */
static enum bat_code check_executable(struct bat_checking *checking)
{
    const struct bat_map *map = checking->map;
    struct interval *intervals = NULL;
    size_t count = 0;
    enum bat_code code = collect_executable(checking, &intervals, &count);
    size_t next = 0;
    uint64_t end = 0; /* the greatest end of the sections that start at or below the table */
    for (uint32_t rank = 0; code == BAT_OK && rank < bat_map_tables(map); rank++) {
        uint32_t table = map->by_address[rank];
        uint64_t address = map->tables[table].address;
        for (; next < count && intervals[next].start <= address; next++)
            if (intervals[next].end > end)
                end = intervals[next].end;
        if (address >= end && !bat_map_is_unemitted(map, table))
            bat_checking_find(
                checking, CHECK_EXECUTABLE, table, BAT_NONE,
                "table at 0x%lx: expected an executable section at this address, found none",
                address);
    }
    free(intervals);
    return code;
}

/* --- Functions ------------------------------------------------------------------------------ */

/* What symbols and frame descriptions say about the address of a table. */
struct start {
    bool is_known;           /* a function starts there */
    const char *size_source; /* for messages; NULL if the size is not known */
    uint64_t size;
};

/*
 * Looks for symbols first. BOLT also moves functions that it knows only from their frame
 * description; a stripped binary has no others.
 */
static struct start find_start(const struct bat_names *names, const struct bat_frames *frames,
                               uint64_t address)
{
    struct start start = {0};
    start.size = bat_names_size(names, address);
    start.is_known = bat_names_best(names, address) != NULL;
    start.size_source = start.size ? "symbol" : NULL;
    if (!start.is_known) {
        start.is_known = bat_frames_at(frames, address, &start.size);
        start.size_source = start.size ? "frame description" : NULL;
    }
    return start;
}

static void check_size(struct bat_checking *checking, uint32_t index, const struct start *start)
{
    const struct bat_map *map = checking->map;
    const struct bat_table *table = &map->tables[index];
    struct bat_fault fault = bat_fault_none(CHECK_SIZE);
    for (uint32_t i = bat_first_beyond(map, table, start->size); i < table->entry_count; i++) {
        uint32_t entry = table->first_entry + i;
        if (!bat_is_stray(map, index, entry))
            bat_fault_add(&fault, index, entry,
                          "table at 0x%lx: expected entries within 0x%lx bytes (size by its %s), "
                          "found one at 0x%x",
                          table->address, start->size, start->size_source,
                          map->output_offsets[entry]);
    }
    bat_fault_report(checking, &fault, "entries");
}

/* A function's fragments that have symbols are named after it. */
static void check_fragment_names(struct bat_checking *checking, uint32_t hot)
{
    const struct bat_map *map = checking->map;
    const struct bat_names *names = &checking->names;
    uint64_t parent = map->tables[hot].address;
    const struct bat_symbol *of_parent = NULL; /* for messages only, so searched when needed */
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++) {
        uint64_t address = map->tables[map->fragments[i]].address;
        size_t first = 0;
        size_t count = bat_names_at(names, address, &first);
        if (count == 0 || bat_names_after_parent(names, first, count, parent))
            continue;
        of_parent = of_parent ? of_parent : bat_names_best(names, parent);
        bat_checking_find(checking, CHECK_FRAGMENT_NAME, map->fragments[i], BAT_NONE,
                          "table at 0x%lx: expected a fragment of \"%.100s\" at 0x%lx, found one "
                          "called \"%.100s\"",
                          address, of_parent ? of_parent->name : "", parent,
                          bat_names_best(names, address)->name);
    }
}

static void check_function(struct bat_checking *checking, const struct bat_frames *frames,
                           bool has_symbols, uint32_t table)
{
    const struct bat_map *map = checking->map;
    if (bat_map_is_unemitted(map, table))
        return;
    uint64_t address = map->tables[table].address;
    struct start start = find_start(&checking->names, frames, address);
    if (!start.is_known && has_symbols)
        bat_checking_find(checking, CHECK_START, table, BAT_NONE,
                          "table at 0x%lx: expected a %s to start there, found neither symbol nor "
                          "frame description",
                          address, table < map->hot_count ? "function" : "fragment");
    if (start.size_source)
        check_size(checking, table, &start);
}

/*
 * Without a symbol table, a table may start where no function is known. Exported symbols of a
 * shared library do not count: they name few functions.
 */
static void report_no_symbols(struct bat_checking *checking, const struct bat_frames *frames)
{
    bat_checking_find(checking, CHECK_NO_SYMBOLS, BAT_NONE, BAT_NONE,
                      "the binary has no symbol table: functions are known only from %s, and the "
                      "names of fragments are not checked",
                      frames->count ? "frame descriptions and exported symbols"
                                    : "exported symbols, if any");
}

enum bat_code bat_check_binary(struct bat_checking *checking)
{
    if (!checking->binary->elf)
        return BAT_OK;
    BAT_TRY(check_executable(checking));
    const struct bat_map *map = checking->map;
    const struct bat_symbol *symbols = NULL;
    size_t symbol_count = 0;
    struct bat_frames frames;
    struct bat_elf *elf = checking->binary->elf;
    BAT_TRY(bat_elf_symbols(elf, false, &symbols, &symbol_count, checking->error));
    BAT_TRY(bat_frames_collect(elf, &frames, checking->error));
    if (symbol_count == 0)
        report_no_symbols(checking, &frames);
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        check_function(checking, &frames, symbol_count != 0, i);
    bat_frames_free(&frames);
    for (uint32_t hot = 0; hot < map->hot_count; hot++)
        check_fragment_names(checking, hot);
    return BAT_OK;
}
