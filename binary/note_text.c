/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "note_text.h"

#include <elf.h>

#include "bat_decoder.h"

/* No line of numbers is longer. */
#define LINE_SIZE_MAX 128u

/* See dump_function(). Symbols of fragments may be missing, so twice as much is allowed. */
#define TEXT_FACTOR 2u
#define NAMES_SPARE 65536u

void note_text_parsed(struct bat_text_writer *output, const struct bat_map *map)
{
    bat_text_format(output, "BOLT-INFO: Parsed %u BAT entries\n", bat_map_tables(map));
    if (map->version == BAT_VERSION_1)
        bat_text_format(output, "BOLT-INFO: Parsed %u BAT cold-to-hot entries\n", map->cold_count);
}

static void dump_entries(struct bat_text_writer *output, const struct bat_map *map,
                         const struct bat_table *table)
{
    const uint32_t *outputs = map->output_offsets + table->first_entry;
    const uint32_t *inputs = map->input_offsets + table->first_entry;
    bool has_hashes = bat_map_has_hashes(map);
    const uint64_t *hash = has_hashes ? map->block_hashes + table->first_block : NULL;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        char *at = bat_text_room(output, LINE_SIZE_MAX);
        at = bat_put_text(at, "0x");
        at = bat_put_hex32(at, outputs[i]);
        at = bat_put_text(at, " -> 0x");
        at = bat_put_hex32(at, inputs[i] >> 1);
        if (inputs[i] & BAT_BRANCH_ENTRY) {
            at = bat_put_text(at, " (branch)");
        } else if (has_hashes) {
            at = bat_put_text(at, " hash: 0x");
            at = bat_put_hex(at, *hash++);
        }
        at = bat_put_text(at, "\n");
        bat_text_end(output, at);
    }
}

static void dump_secondary_entries(struct bat_text_writer *output, const struct bat_map *map,
                                   const struct bat_table *table)
{
    if (table->secondary_count == 0)
        return;
    bat_text_format(output, "%u secondary entry points:\n", table->secondary_count);
    const uint32_t *offsets = map->secondary_entries + table->first_secondary;
    for (uint32_t i = 0; i < table->secondary_count; i++) {
        char *at = bat_text_room(output, LINE_SIZE_MAX);
        at = bat_put_text(at, "0x");
        at = bat_put_hex32(at, offsets[i]);
        at = bat_put_text(at, "\n");
        bat_text_end(output, at);
    }
}

/* All names at an address, the best one first, each behind a comma. */
static void dump_names(struct bat_text_writer *output, const struct bat_names *names,
                       uint64_t address)
{
    const struct bat_symbol *best = bat_names_best(names, address);
    if (!best)
        return;
    bat_text_name(output, ", name: ", best->name, "");
    size_t first = 0;
    size_t count = bat_names_at(names, address, &first);
    for (size_t i = first; i < first + count; i++) {
        const struct bat_symbol *symbol = names->symbols[i];
        if (symbol == best || (symbol->type == STT_NOTYPE && best->type != STT_NOTYPE))
            continue;
        bat_text_name(output, ", ", symbol->name, "");
    }
}

/*
 * A function's name, or its address if it has none. Fragments' names begin with their parents', so
 * in a sound file these together have no more bytes than all names: beyond that they have no name.
 */
static void dump_function(struct bat_text_writer *output, const struct bat_names *names,
                          uint64_t address, uint64_t *text_left)
{
    const struct bat_symbol *symbol = bat_names_best(names, address);
    if (symbol && symbol->name_length > *text_left)
        symbol = NULL;
    *text_left -= symbol ? symbol->name_length : 0;
    if (symbol)
        bat_text_escaped(output, symbol->name);
    else
        bat_text_format(output, "0x%lx", address);
}

static void dump_table(struct bat_text_writer *output, const struct bat_map *map, uint32_t index,
                       const struct bat_names *names, uint64_t *text_left)
{
    const struct bat_table *table = &map->tables[index];
    bool hot = index < map->hot_count;
    char *at = bat_text_room(output, LINE_SIZE_MAX);
    at = bat_put_text(at, "Function Address: 0x");
    at = bat_put_hex(at, table->address);
    if (hot && bat_map_has_hashes(map)) {
        at = bat_put_text(at, ", hash: 0x");
        at = bat_put_hex(at, table->hash);
    }
    bat_text_end(output, at);
    if (names)
        dump_names(output, names, table->address);
    if (names && !hot) {
        bat_text_string(output, ", fragment of: ");
        dump_function(output, names, map->tables[table->parent].address, text_left);
    }
    bat_text_string(output, "\nBB mappings:\n");
    dump_entries(output, map, table);
    at = bat_text_room(output, LINE_SIZE_MAX);
    if (hot && bat_map_has_hashes(map)) {
        at = bat_put_text(at, "NumBlocks: ");
        at = bat_put_decimal(at, table->input_block_count);
        at = bat_put_text(at, "\n");
    }
    bat_text_end(output, at);
    dump_secondary_entries(output, map, table);
    bat_text_string(output, "\n");
}

static void dump_parents(struct bat_text_writer *output, const struct bat_map *map,
                         const struct note_selection *selection)
{
    if (selection->fragments == 0)
        return;
    bat_text_format(output, "%u cold mappings:\n", selection->fragments);
    for (uint32_t i = map->hot_count; i < bat_map_tables(map); i++) {
        if (!note_selection_has(selection, i))
            continue;
        char *at = bat_text_room(output, LINE_SIZE_MAX);
        at = bat_put_text(at, "0x");
        at = bat_put_hex(at, map->tables[i].address);
        at = bat_put_text(at, " -> ");
        at = bat_put_hex(at, map->tables[bat_map_parent(map, i)].address);
        at = bat_put_text(at, "\n");
        bat_text_end(output, at);
    }
    bat_text_string(output, "\n");
}

/* Bytes that names of functions may have together in a text. */
static uint64_t names_size(const struct bat_names *names)
{
    uint64_t size = NAMES_SPARE;
    for (size_t i = 0; i < names->count; i++)
        size += TEXT_FACTOR * ((uint64_t)names->symbols[i]->name_length + 1);
    return size;
}

void note_text_tables(struct bat_text_writer *output, const struct bat_map *map,
                      const struct note_selection *selection, const struct bat_names *names)
{
    uint64_t text_left = names ? names_size(names) : 0;
    bat_text_format(output, "BAT tables for %u functions:\n", selection->tables);
    for (uint32_t i = 0; i < bat_map_tables(map) && output->code == BAT_OK; i++)
        if (note_selection_has(selection, map->by_address[i]))
            dump_table(output, map, map->by_address[i], names, &text_left);
    dump_parents(output, map, selection);
}

static void dump_translation(struct bat_text_writer *output, const struct bat_binary *binary,
                             const struct bat_names *names, const struct note_address *request,
                             uint64_t *text_left)
{
    const struct bat_map *map = binary->map;
    uint64_t address = request->address;
    uint32_t table = bat_binary_table_containing(binary, names, address);
    uint64_t start = 0;
    uint64_t function = 0;
    if (table != BAT_NONE) {
        start = map->tables[table].address;
        function = map->tables[bat_map_parent(map, table)].address;
    } else {
        const struct bat_symbol *symbol = bat_names_containing(names, address);
        if (!symbol) {
            bat_text_format(output, "No function symbol found for 0x%lx\n", address);
            return;
        }
        start = function = symbol->address;
    }
    bat_text_format(output, "0x%lx -> ", address);
    dump_function(output, names, function, text_left);
    bat_text_format(output, " + 0x%lx\n",
                    bat_map_translate(map, table, address - start, request->is_branch_source));
}

void note_text_translations(struct bat_text_writer *output, const struct bat_binary *binary,
                            const struct bat_names *names, const struct note_address *addresses,
                            size_t count)
{
    uint64_t text_left = UINT64_MAX; /* one for each that was asked for */
    bat_text_string(output, "Translating addresses according to parsed BAT tables:\n");
    for (size_t i = 0; i < count; i++)
        dump_translation(output, binary, names, &addresses[i], &text_left);
}
