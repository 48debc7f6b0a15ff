/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares the tables with the functions of the binary that BOLT read. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/build_ids.h"
#include "binary/original/original.h"
#include "checking.h"
#include "spec/array.h"

/* --- Functions of the original by name -------------------------------------------------------- */

/* A name, and the size of the largest function with that name: local functions may share names. */
struct original {
    const char *name;
    uint64_t size;
};

/* A function of the original, by address. */
struct original_place {
    uint64_t address;
    struct original function;
};

struct originals {
    struct original *functions; /* by name, each once */
    size_t count;
    struct original_place *places; /* by address */
    size_t place_count;
    struct bat_symbol_pairs pairs; /* symbols of the binary and the original; may be empty */
};

static int compare_originals(const void *left_pointer, const void *right_pointer)
{
    const struct original *left = left_pointer;
    const struct original *right = right_pointer;
    return strcmp(left->name, right->name);
}

/* The end of the section that contains the symbol; the symbol's own address if none does. */
static uint64_t section_end(const struct bat_elf *elf, const struct bat_symbol *symbol)
{
    size_t count = 0;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    if (symbol->section >= count)
        return symbol->address;
    const struct bat_section *section = &sections[symbol->section];
    bool is_inside =
        symbol->address >= section->address && symbol->address - section->address < section->size;
    return is_inside ? section->address + section->size : symbol->address;
}

/* The symbols of one address together. */
struct group {
    uint64_t size;    /* the largest */
    uint64_t end;     /* of the section; the greatest if they are in several */
    bool is_function; /* not only labels */
};

static struct group join_symbols(const struct bat_elf *elf, const struct bat_names *names,
                                 size_t first, size_t behind)
{
    struct group group = {0};
    for (size_t i = first; i < behind; i++) {
        const struct bat_symbol *symbol = names->symbols[i];
        uint64_t end = section_end(elf, symbol);
        group.size = symbol->size > group.size ? symbol->size : group.size;
        group.end = end > group.end ? end : group.end;
        group.is_function = group.is_function || symbol->type != STT_NOTYPE;
    }
    return group;
}

/*
 * Fill functions[] with the name of every symbol and the size of its function: the largest size of
 * the symbols at its address, or, if none has one, the bytes up to the next function or the
 * section's end.
 */
static void measure_functions(const struct bat_elf *elf, const struct bat_names *names,
                              struct original *functions)
{
    uint64_t next = UINT64_MAX; /* where the function above starts */
    size_t first = 0;
    for (size_t behind = names->count; behind > 0; behind = first) {
        uint64_t address = names->symbols[behind - 1]->address;
        for (first = behind - 1; first > 0; first--)
            if (names->symbols[first - 1]->address != address)
                break;
        struct group group = join_symbols(elf, names, first, behind);
        uint64_t end = group.end < next ? group.end : next;
        uint64_t size = group.size ? group.size : end - address;
        for (size_t i = first; i < behind; i++)
            functions[i] = (struct original){names->symbols[i]->name, size};
        next = group.is_function ? address : next;
    }
}

/* Sort by name, and keep the largest of several functions with one name. */
static void merge_names(struct originals *originals)
{
    struct original *functions = originals->functions;
    qsort(functions, originals->count, sizeof(*functions), compare_originals);
    size_t kept = 0;
    for (size_t i = 0; i < originals->count; i++) {
        if (kept == 0 || strcmp(functions[kept - 1].name, functions[i].name) != 0)
            functions[kept++] = functions[i];
        else if (functions[i].size > functions[kept - 1].size)
            functions[kept - 1].size = functions[i].size;
    }
    originals->count = kept;
}

/* Local functions may share names, so pair them by their order. Without symbols there are no
 * pairs. */
static enum bat_code pair_symbols(struct bat_checking *checking, struct originals *originals)
{
    struct bat_symbol_side sides[] = {{.elf = checking->binary->elf},
                                      {.elf = checking->options->original}};
    if (!checking->binary->elf)
        return BAT_OK;
    bat_symbol_sides_read(sides, 0);
    enum bat_code code = bat_original_pair_symbols(checking->map, &sides[0], &sides[1],
                                                   &originals->pairs, checking->error);
    bat_symbol_side_free(&sides[0]);
    bat_symbol_side_free(&sides[1]);
    return code == BAT_ERR_MISMATCH ? BAT_OK : code;
}

static enum bat_code collect_originals(struct bat_checking *checking, struct originals *originals)
{
    *originals = (struct originals){0};
    struct bat_elf *elf = checking->options->original;
    const struct bat_binary binary = {.elf = elf};
    struct bat_names names;
    BAT_TRY(bat_names_collect(&binary, &names, checking->error));
    enum bat_code code = BAT_OK;
    originals->count = names.count;
    originals->functions = malloc((names.count + 1) * sizeof(*originals->functions));
    originals->places = malloc((names.count + 1) * sizeof(*originals->places));
    if (originals->functions && originals->places) {
        measure_functions(elf, &names, originals->functions);
        /* Copy the functions, still in the order of names->symbols, to the array by address. */
        for (size_t i = 0; i < names.count; i++)
            originals->places[i] =
                (struct original_place){names.symbols[i]->address, originals->functions[i]};
        originals->place_count = names.count;
        merge_names(originals);
        code = pair_symbols(checking, originals);
    } else {
        code = bat_fail_memory(checking->error, "for %zu symbols", names.count);
    }
    bat_names_free(&names);
    return code;
}

static void free_originals(struct originals *originals)
{
    BAT_FREE_ALL(originals->functions, originals->places, originals->pairs.all);
}

/* --- One function --------------------------------------------------------------------------- */

/* The largest input offset among all entries of a function, and its entry. */
struct largest {
    uint32_t offset;
    uint32_t table;
    uint32_t entry; /* BAT_NONE if the function has no entries */
};

static void find_largest(const struct bat_map *map, uint32_t table, struct largest *largest)
{
    const struct bat_table *function = &map->tables[table];
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t entry = function->first_entry + i;
        uint32_t offset = map->input_offsets[entry] >> 1;
        if (largest->entry == BAT_NONE || offset > largest->offset)
            *largest = (struct largest){offset, table, entry};
    }
}

static void check_offsets(struct bat_checking *checking, uint32_t hot,
                          const struct original *original)
{
    const struct bat_map *map = checking->map;
    struct largest largest = {.entry = BAT_NONE};
    find_largest(map, hot, &largest);
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        find_largest(map, map->fragments[i], &largest);
    if (largest.entry != BAT_NONE && largest.offset >= original->size)
        bat_checking_find(checking, CHECK_ORIGINAL_OFFSET, largest.table, largest.entry,
                          "table at 0x%lx: expected input offsets below 0x%lx (size of \"%.100s\" "
                          "in the original), found 0x%x",
                          map->tables[largest.table].address, original->size, original->name,
                          largest.offset);
}

static void check_secondary(struct bat_checking *checking, uint32_t hot,
                            const struct original *original)
{
    const struct bat_map *map = checking->map;
    const struct bat_table *function = &map->tables[hot];
    struct bat_fault fault = bat_fault_none(CHECK_ORIGINAL_SECONDARY);
    for (uint32_t i = 0; i < function->secondary_count; i++) {
        uint32_t offset = map->secondary_entries[function->first_secondary + i];
        if (offset >= original->size)
            bat_fault_add(&fault, hot, BAT_NONE,
                          "table at 0x%lx: expected secondary entry points below 0x%lx (size of "
                          "\"%.100s\" in the original), found 0x%x",
                          function->address, original->size, original->name, offset);
    }
    bat_fault_report(checking, &fault, "entry points");
}

static int compare_places(const void *left_pointer, const void *right_pointer)
{
    const struct original_place *left = left_pointer;
    const struct original_place *right = right_pointer;
    return left->address < right->address ? -1 : left->address > right->address;
}

/* The largest original function that a symbol of the table is paired with, or NULL. */
static const struct original *find_paired(const struct originals *originals, uint64_t address)
{
    const struct original *found = NULL;
    for (size_t i = bat_symbol_pairs_at(&originals->pairs, address);
         i < originals->pairs.count && originals->pairs.all[i].output == address; i++) {
        struct original_place wanted = {.address = originals->pairs.all[i].input};
        const struct original_place *place = bsearch(
            &wanted, originals->places, originals->place_count, sizeof(wanted), compare_places);
        if (place && (!found || place->function.size > found->size))
            found = &place->function;
    }
    return found;
}

/*
 * The largest original function with the name of one of the table's symbols: identical code folding
 * gives a table many names. NULL if there is none.
 */
static const struct original *find_original(const struct bat_names *names,
                                            const struct originals *originals, size_t first,
                                            size_t count)
{
    const struct original *found = NULL;
    for (size_t i = first; i < first + count; i++) {
        struct original wanted = {names->symbols[i]->name, 0};
        const struct original *original = bsearch(&wanted, originals->functions, originals->count,
                                                  sizeof(wanted), compare_originals);
        if (original && (!found || original->size > found->size))
            found = original;
    }
    return found;
}

/* A table without symbols cannot be found in the original, and is not checked. */
static void check_function(struct bat_checking *checking, uint32_t hot,
                           const struct originals *originals)
{
    const struct bat_names *names = &checking->names;
    uint64_t address = checking->map->tables[hot].address;
    size_t first = 0;
    size_t count = bat_names_at(names, address, &first);
    if (count == 0)
        return;
    const struct original *original = find_paired(originals, address);
    if (!original)
        original = find_original(names, originals, first, count);
    if (!original) {
        bat_checking_find(
            checking, CHECK_ORIGINAL_FUNCTION, hot, BAT_NONE,
            "table at 0x%lx: expected a function \"%.200s\" in the original, found none", address,
            bat_names_best(names, address)->name);
        return;
    }
    check_offsets(checking, hot, original);
    check_secondary(checking, hot, original);
}

/* --- All ------------------------------------------------------------------------------------ */

static void check_build(struct bat_checking *checking)
{
    size_t size = 0;
    size_t original_size = 0;
    const uint8_t *id = bat_elf_build_id(checking->binary->elf, &size);
    const uint8_t *original = bat_elf_build_id(checking->options->original, &original_size);
    if (!id || !original || size == 0)
        return;
    if (!build_id_is_of_input(id, size, original, original_size))
        bat_checking_find(checking, CHECK_ORIGINAL_BUILD, BAT_NONE, BAT_NONE,
                          "expected the original's build-id to be the binary's except for the bits "
                          "that BOLT flips, found another: \"%.200s\" is not the file that BOLT "
                          "read",
                          bat_elf_path(checking->options->original));
}

enum bat_code bat_check_original(struct bat_checking *checking)
{
    if (!checking->options->original)
        return BAT_OK;
    if (checking->binary->elf)
        check_build(checking);
    struct originals originals;
    enum bat_code code = collect_originals(checking, &originals);
    if (code != BAT_OK) {
        free_originals(&originals);
        return code;
    }
    bool is_nameless = checking->names.count == 0;
    if (is_nameless || originals.count == 0) {
        bat_checking_find(checking, CHECK_ORIGINAL_NAMES, BAT_NONE, BAT_NONE,
                          "expected function symbols in both files to compare functions by name, "
                          "found none in the %s",
                          is_nameless ? "BOLTed file" : "original");
    } else {
        for (uint32_t hot = 0; hot < checking->map->hot_count; hot++)
            check_function(checking, hot, &originals);
    }
    free_originals(&originals);
    return BAT_OK;
}
