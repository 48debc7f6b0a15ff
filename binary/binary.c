/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_binary.h"

#include "bat_decoder.h"
#include "decoder/decoding.h"
#include "decoder/sparse.h"
#include "elfnote/file_state.h"
#include "note_facts.h"
#include "note_text.h"
#include "raw_note.h"
#include "sparse_note.h"
#include "spec/map.h"
#include "spec/order.h"

#include <stdlib.h>
#include <string.h>

/* --- Parents of fragments by symbols ---------------------------------------------------------- */

/* A symbol at the start of a hot function. */
struct named {
    const struct bat_symbol *symbol;
    uint32_t table;
};

/* Those of all hot functions, by name and then by their place in the symbol table. */
struct named_functions {
    struct named *all;
    size_t count;
};

static int compare_named(const void *left_pointer, const void *right_pointer)
{
    const struct named *left = left_pointer;
    const struct named *right = right_pointer;
    int names = strcmp(left->symbol->name, right->symbol->name);
    return names ? names
                 : (left->symbol->order > right->symbol->order) -
                       (left->symbol->order < right->symbol->order);
}

static enum bat_code collect(const struct bat_map *map, const struct bat_names *names,
                             struct named_functions *functions)
{
    functions->all = malloc((names->count + 1) * sizeof(*functions->all));
    if (!functions->all)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < map->hot_count; i++) {
        size_t first = 0;
        size_t count = bat_names_at(names, map->tables[i].address, &first);
        for (size_t j = first; j < first + count; j++)
            functions->all[functions->count++] =
                (struct named){.symbol = names->symbols[j], .table = i};
    }
    qsort(functions->all, functions->count, sizeof(*functions->all), compare_named);
    return BAT_OK;
}

/* How a function's symbol compares with the first `stem` bytes of a fragment's name. */
static int compare_stem(const char *function, const char *fragment, size_t stem)
{
    int names = strncmp(function, fragment, stem);
    return names ? names : function[stem] != '\0';
}

/* How many symbols come before those called by the stem, or before the fragment's among these. */
static size_t count_before(const struct named_functions *functions,
                           const struct bat_symbol *fragment, size_t stem, bool before_fragment)
{
    struct bat_search search = {.high = functions->count};
    while (bat_search_next(&search)) {
        const struct bat_symbol *symbol = functions->all[search.middle].symbol;
        int names = compare_stem(symbol->name, fragment->name, stem);
        bat_search_go(&search, names < 0 || (names == 0 && before_fragment &&
                                             symbol->order < fragment->order));
    }
    return search.low;
}

/* The hot function that a fragment's symbol is named after, or BAT_NONE. */
static uint32_t find_named(const struct named_functions *functions,
                           const struct bat_symbol *fragment)
{
    size_t stem = bat_name_stem(fragment->name);
    if (stem == 0)
        return BAT_NONE;
    size_t first = count_before(functions, fragment, stem, false);
    size_t behind = count_before(functions, fragment, stem, true);
    if (behind < functions->count &&
        compare_stem(functions->all[behind].symbol->name, fragment->name, stem) == 0)
        return functions->all[behind].table;
    return behind > first ? functions->all[behind - 1].table : BAT_NONE;
}

static uint32_t find_parent(const struct named_functions *functions, const struct bat_names *names,
                            uint64_t fragment)
{
    size_t first = 0;
    size_t count = bat_names_at(names, fragment, &first);
    uint32_t parent = BAT_NONE;
    for (size_t i = first; i < first + count && parent == BAT_NONE; i++)
        parent = find_named(functions, names->symbols[i]);
    return parent;
}

/*
 * Set parents by the names of symbols, and clear hot_index_ambiguous if all fragments' parents are
 * found. Time n log n in the symbols of tables. Fails with BAT_ERR_MEMORY only.
 */
static enum bat_code find_parents(struct bat_map *map, const struct bat_names *names,
                                  struct bat_error *error)
{
    struct named_functions functions = {0};
    enum bat_code code = collect(map, names, &functions);
    bool is_complete = true;
    for (uint32_t i = map->hot_count; code == BAT_OK && i < bat_map_tables(map); i++) {
        uint32_t parent = find_parent(&functions, names, map->tables[i].address);
        if (parent != BAT_NONE)
            map->tables[i].parent = parent;
        else if (!bat_map_is_unemitted(map, i))
            is_complete = false;
    }
    free(functions.all);
    code = code ? code : bat_map_link_fragments(map);
    if (code != BAT_OK)
        return bat_fail_memory(error, "for the symbols");
    map->hot_index_ambiguous = !is_complete;
    return BAT_OK;
}

/* --- Readings of hot indices: BAT.md 7.2 ------------------------------------------------------ */

/* True if a symbol at the fragment is named after one at its parent. */
static bool named_after_parent(const struct bat_names *names, uint64_t fragment, uint64_t parent)
{
    size_t first = 0;
    size_t count = bat_names_at(names, fragment, &first);
    return bat_names_after_parent(names, first, count, parent);
}

/* The number of fragments that are named after their current parents. */
static uint32_t count_named_after_parent(const struct bat_map *map, const struct bat_names *names)
{
    uint32_t agreeing = 0;
    uint32_t tables = bat_map_tables(map);
    for (uint32_t i = map->hot_count; i < tables; i++) {
        const struct bat_table *fragment = &map->tables[i];
        uint64_t parent = map->tables[fragment->parent].address;
        agreeing += named_after_parent(names, fragment->address, parent);
    }
    return agreeing;
}

/*
 * For a map whose hot_index_ambiguous is set: choose the reading of hot indices (BAT.md 7.2) that
 * gives more fragments the name of their parent, and clear hot_index_ambiguous unless both give
 * equally many. For one whose hot_index is FRAGMENT: set parents (BAT.md 9.2), and clear it if all
 * are found. Without sound symbols the map stays as it is. Fails with BAT_ERR_MEMORY only.
 */
static enum bat_code choose_reading(struct bat_binary *binary, struct bat_error *error)
{
    struct bat_map *map = binary->map;
    struct bat_names names;
    enum bat_code code = bat_names_collect(binary, &names, NULL);
    /* A damaged symbol table is not a fault of the note: it just cannot decide. */
    if (code == BAT_ERR_MEMORY)
        return bat_fail_memory(error, "for the symbols");
    if (code != BAT_OK || names.count == 0) {
        bat_names_free(&names);
        return BAT_OK;
    }
    if (map->hot_index == BAT_HOT_INDEX_FRAGMENT) {
        code = find_parents(map, &names, error);
        bat_names_free(&names);
        return code;
    }

    enum bat_hot_index first = map->hot_index;
    enum bat_hot_index second =
        first == BAT_HOT_INDEX_TABLE ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE;
    uint32_t for_first = count_named_after_parent(map, &names);
    code = bat_map_set_hot_index(map, second, error);
    if (code == BAT_OK) {
        uint32_t for_second = count_named_after_parent(map, &names);
        map->hot_index_ambiguous = for_first == for_second;
        if (for_second <= for_first)
            code = bat_map_set_hot_index(map, first, error);
    }
    bat_names_free(&names);
    return code;
}

enum bat_code bat_binary_find_note(const char *path, struct bat_binary *binary,
                                   struct bat_error *error)
{
    *binary = (struct bat_binary){0};
    struct bat_raw_note raw;
    enum bat_code code = bat_raw_note_read(path, &binary->elf, &raw, error);
    binary->owned = raw.bytes;
    binary->mapped = raw.mapped;
    binary->note = raw.bytes;
    binary->note_size = raw.size;
    if (code != BAT_OK || !binary->elf)
        return code;

    code = bat_elf_note(binary->elf, &binary->note, &binary->note_size, NULL, error);
    if (code != BAT_OK)
        bat_binary_close(binary);
    return code;
}

enum bat_code bat_binary_check_unchanged(const struct bat_binary *binary, struct bat_error *error)
{
    if (binary->elf)
        return bat_elf_check_unchanged(binary->elf, error);
    if (!binary->mapped)
        return BAT_OK;
    struct stat now;
    if (fstat(binary->mapped->file, &now) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be read any more: %m");
    if (!bat_file_is_same(&now, &binary->mapped->status))
        return bat_fail(error, BAT_ERR_IO, "was changed by another program while it was read");
    return BAT_OK;
}

enum bat_code bat_binary_without_note(struct bat_elf *elf, struct bat_binary *binary,
                                      struct bat_error *error)
{
    /* BAT.md 2 and 4: a note of no hot functions and no cold fragments. */
    static const uint8_t note[] = {5,   0,   0,   0,   2, 0, 0, 0, 1, 0, 0, 0,
                                   'B', 'O', 'L', 'T', 0, 0, 0, 0, 0, 0, 0, 0};
    *binary = (struct bat_binary){0};
    BAT_TRY(bat_decode(note, sizeof(note), NULL, &binary->map, error));
    binary->elf = elf;
    return BAT_OK;
}

enum bat_code bat_binary_find_note_if_any(const char *path, struct bat_binary *binary,
                                          struct bat_error *error)
{
    struct bat_error missing;
    enum bat_code code = bat_binary_find_note(path, binary, &missing);
    if (code != BAT_ERR_NO_NOTE) {
        if (code != BAT_OK && error)
            *error = missing;
        return code;
    }
    struct bat_elf *elf;
    BAT_TRY(bat_elf_open(path, &elf, error));
    size_t section_count;
    bat_elf_sections(elf, &section_count);
    if (section_count == 0) {
        if (error)
            *error = missing;
        code = BAT_ERR_NO_NOTE;
    } else if (note_is_bolted(elf)) {
        code = bat_fail(error, BAT_ERR_NO_NOTE,
                        "no .note.bolt_bat section, but BOLT has written this file: it was made "
                        "without --enable-bat, or the note was taken out (--store=DIR has it, if "
                        "it was put there; --note=FILE takes it from a file)");
    } else {
        code = bat_binary_without_note(elf, binary, error);
    }
    if (code != BAT_OK)
        bat_elf_close(elf);
    return code;
}

static struct bat_raw_note raw_note(const struct bat_binary *binary)
{
    return (struct bat_raw_note){
        .bytes = binary->owned, .size = binary->note_size, .mapped = binary->mapped};
}

void bat_binary_release_note(const struct bat_binary *binary, const uint8_t *bytes, size_t size)
{
    struct bat_raw_note raw = raw_note(binary);
    if (raw.bytes)
        bat_raw_note_release(&raw, bytes, size);
    else if (binary->elf)
        bat_elf_release(binary->elf, bytes, size);
}

/* The map has the content of decoded bytes, so the note's mapping need not stay in memory. */
static void release_consumed(const uint8_t *bytes, size_t size, void *binary)
{
    bat_binary_release_note(binary, bytes, size);
}

enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error)
{
    enum bat_code code = bat_decode_consuming(binary->note, binary->note_size, BAT_HOT_INDEX_AUTO,
                                              release_consumed, binary, &binary->map, error);
    bat_binary_release_note(binary, binary->note, binary->note_size);
    if (code != BAT_OK || !binary->map->hot_index_ambiguous)
        return code;
    code = choose_reading(binary, error);
    if (code != BAT_OK) {
        bat_map_free(binary->map);
        binary->map = NULL;
    }
    return code;
}

enum bat_code bat_binary_decode_sparse(const struct bat_binary *binary, bool wants_largest,
                                       struct bat_sparse_map *sparse, struct bat_error *error)
{
    struct bat_binary copy = *binary;
    enum bat_code code = bat_decode_sparse(binary->note, binary->note_size, wants_largest,
                                           release_consumed, &copy, sparse, error);
    bat_binary_release_note(binary, binary->note, binary->note_size);
    if (code != BAT_OK || !sparse->map->hot_index_ambiguous)
        return code;
    copy.map = sparse->map;
    code = choose_reading(&copy, error);
    if (code != BAT_OK)
        bat_sparse_free(sparse);
    return code;
}

enum bat_code bat_binary_load_tables(const struct bat_binary *binary, struct bat_sparse_map *sparse,
                                     const uint8_t *wanted, bat_sparse_run_fn *run,
                                     struct bat_error *error)
{
    enum bat_code code =
        bat_sparse_load(sparse, binary->note, binary->note_size, wanted, run, error);
    bat_binary_release_note(binary, binary->note, binary->note_size);
    return code;
}

enum bat_code bat_binary_open(const char *path, struct bat_binary *binary, struct bat_error *error)
{
    BAT_TRY(bat_binary_find_note(path, binary, error));
    enum bat_code code = bat_binary_decode(binary, error);
    if (code != BAT_OK)
        bat_binary_close(binary);
    return code;
}

void bat_binary_close(struct bat_binary *binary)
{
    bat_map_free(binary->map);
    bat_elf_close(binary->elf);
    struct bat_raw_note raw = raw_note(binary);
    bat_raw_note_free(&raw);
    *binary = (struct bat_binary){0};
}
