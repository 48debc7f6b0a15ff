/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the functions that compilers have split: the fragments (f.cold), and the functions that
 * they come from. A fragment f.cold comes from the only symbol f. Where there are several, a global
 * fragment comes from the global f, and a local one from the f below the same FILE symbol; else
 * from the global f.
 */
#include <stdlib.h>

#include "binary/functions/name_parts.h"
#include "elfnote/text_budget.h"
#include "reader.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/string_table.h"

/* A function name that has fragments. */
struct parent {
    uint64_t global; /* address of the global symbol of that name, if has_global */
    uint64_t local;  /* address of the last local one */
    uint32_t locals; /* number of local symbols */
    bool has_global;
};

/* A local symbol of such a name. */
struct candidate {
    uint32_t parent; /* number of the name */
    uint64_t order;  /* index in the symbol table */
    uint64_t address;
};

/* A fragment's symbol. */
struct fragment {
    uint64_t address;
    uint64_t file_start; /* indices in the symbol table: from one FILE symbol ... */
    uint64_t file_end;   /* ... to the next */
    uint32_t parent;
    bool is_global;
};

struct split {
    struct bat_strings names;
    struct parent *parents; /* one for each name */
    struct fragment *fragments;
    uint32_t fragment_count;
    struct candidate *candidates; /* ascending by parent, then by order */
    uint32_t candidate_count;
    size_t candidate_capacity;
};

/* --- Symbols ------------------------------------------------------------------------------ */

static bool is_fragment(const struct symbol_table *table, const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           fragment_name_any_stem(symbol_table_name(table, symbol)) > 0;
}

static bool is_file(const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_FILE;
}

/* Allocate the fragments, and room for a parent of each. */
static enum bat_code allocate(struct split *split, const struct symbol_table *table,
                              struct bat_error *error)
{
    uint64_t count = 0;
    struct bat_budget names = bat_budget_of_names(table->elf);
    for (uint32_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_table_at(table, i);
        BAT_TRY(
            bat_budget_spend_names(&names, strlen(symbol_table_name(table, &symbol)) + 1, error));
        count += is_fragment(table, &symbol);
    }
    if (count >= UINT32_MAX / 4)
        return bat_fail(error, BAT_ERR_ELF, "too many fragments in the symbol table: %lu", count);
    split->fragments = calloc((size_t)count + 1, sizeof(*split->fragments));
    split->parents = calloc((size_t)count + 1, sizeof(*split->parents));
    BAT_TRY_MEMORY(split->fragments && split->parents, error, "for %lu fragments", count);
    return BAT_OK;
}

/* Set file_end of the fragments from first on. */
static void end_file(struct split *split, uint32_t first, uint64_t end)
{
    for (uint32_t i = first; i < split->fragment_count; i++)
        split->fragments[i].file_end = end;
}

static enum bat_code read_fragments(struct split *split, const struct symbol_table *table,
                                    struct bat_error *error)
{
    uint64_t file_start = 0;
    uint32_t first_in_file = 0;
    for (uint32_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_table_at(table, i);
        if (is_file(&symbol)) {
            end_file(split, first_in_file, i);
            first_in_file = split->fragment_count;
            file_start = i;
        }
        if (!is_fragment(table, &symbol))
            continue;
        const char *name = symbol_table_name(table, &symbol);
        uint32_t parent;
        if (bat_strings_add(&split->names, name, fragment_name_any_stem(name), &parent) != BAT_OK)
            return bat_fail_memory(error, "for %u fragments", split->fragment_count);
        split->fragments[split->fragment_count++] = (struct fragment){
            .address = symbol.st_value,
            .file_start = file_start,
            .parent = parent,
            .is_global = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL,
        };
    }
    end_file(split, first_in_file, table->count);
    return BAT_OK;
}

/* Add a symbol that fragments may come from. */
static enum bat_code add_candidate(struct split *split, uint32_t number, const Elf64_Sym *symbol,
                                   uint64_t order, struct bat_error *error)
{
    struct parent *parent = &split->parents[number];
    if (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL) {
        parent->has_global = true;
        parent->global = symbol->st_value;
        return BAT_OK;
    }
    parent->local = symbol->st_value;
    parent->locals++;
    return BAT_APPEND(
               split->candidates, split->candidate_count, split->candidate_capacity,
               (struct candidate){.parent = number, .order = order, .address = symbol->st_value})
               ? BAT_OK
               : bat_fail_memory(error, "for %u symbols", split->candidate_count);
}

static enum bat_code read_candidates(struct split *split, const struct symbol_table *table,
                                     struct bat_error *error)
{
    for (uint32_t i = 1; i < table->count; i++) {
        Elf64_Sym symbol = symbol_table_at(table, i);
        unsigned type = ELF64_ST_TYPE(symbol.st_info);
        if (type == STT_FILE || type == STT_SECTION || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *name = symbol_table_name(table, &symbol);
        uint32_t number = bat_strings_find(&split->names, name, strlen(name));
        if (number != BAT_NONE)
            BAT_TRY(add_candidate(split, number, &symbol, i, error));
    }
    BAT_SORT_BY_TWO(split->candidates, split->candidate_count, parent, order);
    return BAT_OK;
}

/* --- Parents ------------------------------------------------------------------------------ */

/* The address of the local symbol with the parent's name in the fragment's file; 0 if none. */
static uint64_t parent_in_file(const struct split *split, const struct fragment *fragment)
{
    struct bat_search search = {.high = split->candidate_count};
    while (bat_search_next(&search)) {
        const struct candidate *candidate = &split->candidates[search.middle];
        bat_search_go(&search, candidate->parent < fragment->parent ||
                                   (candidate->parent == fragment->parent &&
                                    candidate->order < fragment->file_start));
    }
    if (search.low == split->candidate_count)
        return 0;
    const struct candidate *found = &split->candidates[search.low];
    bool is_inside = found->parent == fragment->parent && found->order < fragment->file_end;
    return is_inside ? found->address : 0;
}

/* The address of the function that a fragment comes from; 0 if there is none. */
static uint64_t find_parent(const struct split *split, const struct fragment *fragment)
{
    const struct parent *parent = &split->parents[fragment->parent];
    if (!parent->has_global && parent->locals == 1)
        return parent->local;
    if (parent->has_global && (parent->locals == 0 || fragment->is_global))
        return parent->global;
    uint64_t address = parent_in_file(split, fragment);
    return address || !parent->has_global ? address : parent->global;
}

static void mark_split(struct bat_code_reader *reader, uint64_t address)
{
    struct code_wanted *wanted = code_find_wanted_at(reader, address);
    if (wanted)
        wanted->is_split = true;
}

/* --- Parts of one function ---------------------------------------------------------------- */

/* The function that stands for all that are known to be parts of the same. */
static uint32_t whole_of(uint32_t *parents, uint32_t function)
{
    while (parents[function] != function)
        function = parents[function] = parents[parents[function]];
    return function;
}

static uint32_t function_at(const struct bat_code_reader *reader, uint64_t address)
{
    uint32_t function = bat_functions_find(reader->functions, address);
    return function != BAT_NONE && reader->all[function].address == address ? function : BAT_NONE;
}

/* Make both functions parts of one. */
static void unite(struct bat_code_reader *reader, uint64_t fragment, uint64_t parent)
{
    const uint32_t both[] = {function_at(reader, fragment), function_at(reader, parent)};
    if (both[0] == BAT_NONE || both[1] == BAT_NONE)
        return;
    for (unsigned i = 0; i < 2; i++)
        if (reader->whole_of[both[i]] == BAT_NONE)
            reader->whole_of[both[i]] = both[i];
    reader->whole_of[whole_of(reader->whole_of, both[0])] = whole_of(reader->whole_of, both[1]);
}

static enum bat_code unite_all(struct bat_code_reader *reader, const struct split *split,
                               struct bat_error *error)
{
    reader->whole_of = malloc(((size_t)reader->function_count + 1) * sizeof(*reader->whole_of));
    BAT_TRY_MEMORY(reader->whole_of, error, "for %u functions", reader->function_count);
    for (uint32_t i = 0; i < reader->function_count; i++)
        reader->whole_of[i] = BAT_NONE;
    for (uint32_t i = 0; i < split->fragment_count; i++)
        unite(reader, split->fragments[i].address, find_parent(split, &split->fragments[i]));
    for (uint32_t i = 0; i < reader->function_count; i++)
        if (reader->whole_of[i] != BAT_NONE)
            reader->whole_of[i] = whole_of(reader->whole_of, i);
    return BAT_OK;
}

enum bat_code code_find_split(struct bat_code_reader *reader, const struct symbol_table *table,
                              struct bat_error *error)
{
    struct split split = {0};
    enum bat_code code = allocate(&split, table, error);
    code = code ? code : read_fragments(&split, table, error);
    if (!code && split.fragment_count > 0)
        code = read_candidates(&split, table, error);
    /* From relocations BOLT knows how fragments refer to each other; without, it skips them. */
    const bool has_relocations = reader->has_relocations;
    for (uint32_t i = 0; i < split.fragment_count && !code && !has_relocations; i++) {
        mark_split(reader, split.fragments[i].address);
        mark_split(reader, find_parent(&split, &split.fragments[i]));
    }
    if (!code && has_relocations && split.fragment_count > 0 && reader->machine == EM_X86_64)
        code = unite_all(reader, &split, error);
    bat_strings_free(&split.names);
    BAT_FREE_ALL(split.parents, split.fragments, split.candidates);
    return code;
}
