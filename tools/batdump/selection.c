/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "tools/common/tool.h"

struct selection selection_all(const struct bat_map *map)
{
    return (struct selection){.tables = bat_map_tables(map), .fragments = map->cold_count};
}

void selection_free(struct selection *selection)
{
    free(selection->chosen);
    *selection = (struct selection){0};
}

static void choose(struct selection *selection, const struct bat_map *map, uint32_t table)
{
    if (selection->chosen[table])
        return;
    selection->chosen[table] = true;
    selection->tables++;
    selection->fragments += table >= map->hot_count;
}

static void choose_with_fragments(struct selection *selection, const struct bat_map *map,
                                  uint32_t table)
{
    choose(selection, map, table);
    if (table >= map->hot_count)
        return;
    for (uint32_t i = map->fragment_start[table]; i < map->fragment_start[table + 1]; i++)
        choose(selection, map, map->fragments[i]);
}

/* The table that contains an address. Without symbols, a table ends at its last entry. */
static uint32_t find_address(const struct bat_binary *binary, const struct bat_names *names,
                             uint64_t address)
{
    const struct bat_map *map = binary->map;
    uint32_t table = bat_binary_table_containing(binary, names, address);
    if (table == BAT_NONE || names->count != 0)
        return table;
    const struct bat_table *found = &map->tables[table];
    uint64_t last = 0;
    if (found->entry_count != 0)
        last = map->output_offsets[found->first_entry + found->entry_count - 1];
    return address - found->address <= last ? table : BAT_NONE;
}

static bool select_address(struct selection *selection, const char *path,
                           const struct bat_binary *binary, const struct bat_names *names,
                           uint64_t address)
{
    uint32_t table = find_address(binary, names, address);
    if (table == BAT_NONE)
        return tool_refuse(path,
                           "expected the address of a function with a table, found 0x%" PRIx64
                           ", which is in none",
                           address);
    choose_with_fragments(selection, binary->map, table);
    return true;
}

/* Report a name that selects nothing. */
static void report_bad_name(const char *path, const struct bat_binary *binary,
                            const struct bat_names *names, const char *name, bool known)
{
    if (known) {
        tool_message(path, "function \"%s\" has no table in the note: BOLT left it as it was",
                     name);
        return;
    }
    if (names->count == 0) {
        tool_message(path, "function \"%s\" cannot be found: %s has no symbols; give an address",
                     name, binary->elf ? "the file" : "a raw note");
        return;
    }
    char similar[SIMILAR_SIZE];
    similar_names(names, name, similar);
    tool_message(path, "there is no function \"%s\"%s", name, similar);
}

/* What find_profile_name() adds tables to. */
struct named {
    struct selection *selection;
    const struct bat_map *map;
    bool is_found;
};

static void choose_named(void *context, uint32_t table)
{
    struct named *named = context;
    named->is_found = true;
    choose_with_fragments(named->selection, named->map, table);
}

/* Select a function by its name in profiles. False, with a message, if that cannot be done. */
static bool select_profile_name(struct selection *selection, const char *path,
                                const struct bat_binary *binary, const char *name, bool *found)
{
    struct named named = {selection, binary->map, false};
    if (binary->elf && strchr(name, '/') &&
        !find_profile_name(path, binary, name, choose_named, &named))
        return false;
    *found = named.is_found;
    return true;
}

static bool select_name(struct selection *selection, const char *path,
                        const struct bat_binary *binary, const struct bat_names *names,
                        const char *name)
{
    bool known = false;
    bool found = false;
    for (size_t i = 0; i < names->count; i++) {
        const struct bat_symbol *symbol = names->symbols[i];
        bool same_place = i > 0 && names->symbols[i - 1]->address == symbol->address;
        if (strcmp(symbol->name, name) != 0 ||
            (same_place && strcmp(names->symbols[i - 1]->name, name) == 0))
            continue;
        known = true;
        uint32_t table = bat_binary_table_containing(binary, names, symbol->address);
        if (table == BAT_NONE)
            continue;
        found = true;
        choose_with_fragments(selection, binary->map, table);
    }
    if (!found && !select_profile_name(selection, path, binary, name, &found))
        return false;
    if (!found)
        report_bad_name(path, binary, names, name, known);
    return found;
}

bool selection_find(struct selection *selection, const char *path, const struct bat_binary *binary,
                    const struct bat_names *names, const char *const *wanted, size_t count)
{
    *selection = (struct selection){0};
    selection->chosen = calloc((size_t)bat_map_tables(binary->map) + 1, sizeof(bool));
    if (!selection->chosen)
        return tool_refuse(path, "not enough memory");
    bool found = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = 0;
        bool is_address = strncmp(wanted[i], "0x", 2) == 0;
        if (is_address && tool_parse_address(wanted[i], &address))
            found &= select_address(selection, path, binary, names, address);
        else
            found &= select_name(selection, path, binary, names, wanted[i]);
    }
    if (!found)
        selection_free(selection);
    return found;
}
