/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "note_text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "spec/hex_bytes.h"

struct note_selection note_selection_all(const struct bat_map *map)
{
    return (struct note_selection){.tables = bat_map_tables(map), .fragments = map->cold_count};
}

enum bat_code note_selection_none(const struct bat_map *map, struct note_selection *selection,
                                  struct bat_error *error)
{
    *selection =
        (struct note_selection){.chosen = calloc((size_t)bat_map_tables(map) + 1, sizeof(bool))};
    return selection->chosen ? BAT_OK : bat_fail_memory(error, "for the tables");
}

static void choose(struct note_selection *selection, const struct bat_map *map, uint32_t table)
{
    if (selection->chosen[table])
        return;
    selection->chosen[table] = true;
    selection->tables++;
    selection->fragments += table >= map->hot_count;
}

static void choose_with_fragments(struct note_selection *selection, const struct bat_map *map,
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

static enum bat_code select_address(struct note_selection *selection,
                                    const struct bat_binary *binary, const struct bat_names *names,
                                    uint64_t address, struct bat_error *error)
{
    uint32_t table = find_address(binary, names, address);
    if (table == BAT_NONE)
        return bat_fail(
            error, BAT_ERR_MISMATCH,
            "expected the address of a function with a table, found 0x%lx, which is in none",
            address);
    choose_with_fragments(selection, binary->map, table);
    return BAT_OK;
}

/*
 * True if BOLT wrote the code of a function without a table, too (-strict, -use-old-text): the
 * code that it read has another name, and this is where functions with tables are.
 */
static bool is_written_anew(const struct bat_binary *binary, const struct bat_symbol *function)
{
    size_t count = 0;
    const struct bat_section *all = binary->elf ? bat_elf_sections(binary->elf, &count) : NULL;
    size_t i = 0;
    while (i < count &&
           (!(all[i].flags & SHF_EXECINSTR) || function->address - all[i].address >= all[i].size))
        i++;
    if (i == count || !bat_elf_section(binary->elf, ".bolt.org.text"))
        return false;
    const struct bat_map *map = binary->map;
    uint32_t table = 0;
    while (table < bat_map_tables(map) &&
           map->tables[table].address - all[i].address >= all[i].size)
        table++;
    return table < bat_map_tables(map);
}

/* Fail for a name that selects nothing; known is a function of this name, or NULL. */
static enum bat_code fail_bad_name(const struct bat_binary *binary, const struct bat_names *names,
                                   const char *name, const struct bat_symbol *known,
                                   struct bat_error *error)
{
    if (known)
        return bat_fail(
            error, BAT_ERR_MISMATCH, "function \"%s\" has no table in the note: BOLT %s", name,
            is_written_anew(binary, known) ? "wrote it anew without one" : "left it as it was");
    if (names->count == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "function \"%s\" cannot be found: %s has no symbols; give an address", name,
                        binary->elf ? "the file" : "a raw note");
    char similar[SIMILAR_SIZE];
    similar_names(names, name, similar);
    return bat_fail(error, BAT_ERR_MISMATCH, "there is no function \"%s\"%s", name, similar);
}

/* What find_profile_name() adds tables to. */
struct named {
    struct note_selection *selection;
    const struct bat_map *map;
    bool is_found;
};

static void choose_named(void *context, uint32_t table)
{
    struct named *named = context;
    named->is_found = true;
    choose_with_fragments(named->selection, named->map, table);
}

enum bat_code note_selection_add(struct note_selection *selection, const struct bat_binary *binary,
                                 const struct bat_names *names, const char *wanted,
                                 struct bat_error *error)
{
    uint64_t address = 0;
    if (strncmp(wanted, "0x", 2) == 0 && bat_parse_address(wanted, &address))
        return select_address(selection, binary, names, address, error);
    /* Select a function by its name, or else by its name in profiles. */
    const struct bat_symbol *known = NULL;
    struct named named = {selection, binary->map, false};
    for (size_t i = 0; i < names->count; i++) {
        const struct bat_symbol *symbol = names->symbols[i];
        bool same_place = i > 0 && names->symbols[i - 1]->address == symbol->address;
        if (strcmp(symbol->name, wanted) != 0 ||
            (same_place && strcmp(names->symbols[i - 1]->name, wanted) == 0))
            continue;
        known = symbol;
        uint32_t table = bat_binary_table_containing(binary, names, symbol->address);
        if (table != BAT_NONE)
            choose_named(&named, table);
    }
    if (!named.is_found && binary->elf && strchr(wanted, '/'))
        BAT_TRY(find_profile_name(binary, wanted, choose_named, &named, error));
    return named.is_found ? BAT_OK : fail_bad_name(binary, names, wanted, known, error);
}
