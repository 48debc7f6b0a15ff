/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "note_text.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "binary/functions/name_parts.h"
#include "spec/order.h"

/* --- Names ---------------------------------------------------------------------------------- */

/* The length of a name without the "/<digits>" that BOLT appends to names of local symbols. */
static size_t base_length(const char *name, size_t length)
{
    return name_without_number(name, length, '/');
}

size_t bat_name_stem(const char *name)
{
    size_t stem = fragment_name_stem(name, base_length(name, strlen(name)));
    return base_length(name, stem);
}

/* The same of a symbol. */
static size_t symbol_base(const struct bat_symbol *symbol)
{
    return base_length(symbol->name, symbol->name_length);
}

bool bat_name_is_fragment_of(const char *fragment, const char *function)
{
    size_t stem = bat_name_stem(fragment);
    return stem != 0 && stem == base_length(function, strlen(function)) &&
           memcmp(fragment, function, stem) == 0;
}

static int compare_bases(const char *left, size_t left_length, const char *right,
                         size_t right_length)
{
    size_t common = left_length < right_length ? left_length : right_length;
    int order = memcmp(left, right, common);
    if (order != 0)
        return order;
    return (left_length > right_length) - (left_length < right_length);
}

/* --- Collecting ----------------------------------------------------------------------------- */

static bool names_a_function(const struct bat_symbol *symbol)
{
    if (symbol->section == BAT_SECTION_UNDEFINED || symbol->section >= BAT_SECTION_RESERVED)
        return false;
    if (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC)
        return true;
    /* AArch64 and RISC-V mark code and data by local symbols called "$x", "$d" and the like. */
    return symbol->type == STT_NOTYPE && symbol->name[0] != '$';
}

static int compare_symbols(const void *left_pointer, const void *right_pointer)
{
    const struct bat_symbol *left = *(const struct bat_symbol *const *)left_pointer;
    const struct bat_symbol *right = *(const struct bat_symbol *const *)right_pointer;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    int order = compare_bases(left->name, symbol_base(left), right->name, symbol_base(right));
    if (order != 0)
        return order;
    return (left->order > right->order) - (left->order < right->order);
}

/* --- Groups --------------------------------------------------------------------------------- */

/* The symbols of one address. Numbers are positions in symbols, which are fewer than 2^31. */
struct bat_name_group {
    uint64_t address;
    uint32_t first;
    uint32_t best;     /* the symbol that names a table */
    uint32_t largest;  /* a symbol with the greatest size */
    uint32_t function; /* the last group up to this one with a function symbol, plus 1; or 0 */
};

/* How well a symbol names a table: lower is better. */
static unsigned rank(const struct bat_symbol *symbol)
{
    bool sized_function = symbol->type != STT_NOTYPE && symbol->size != 0;
    unsigned kind = sized_function ? 0 : symbol->type != STT_NOTYPE ? 1 : 2;
    unsigned binding = symbol->binding == STB_LOCAL ? 2 : symbol->binding == STB_WEAK ? 1 : 0;
    return kind * 3 + binding;
}

static bool names_better(const struct bat_symbol *symbol, const struct bat_symbol *best)
{
    return rank(symbol) < rank(best) || (rank(symbol) == rank(best) && symbol->order < best->order);
}

static size_t count_groups(const struct bat_names *names)
{
    size_t groups = 0;
    for (size_t i = 0; i < names->count; i++)
        groups += i == 0 || names->symbols[i - 1]->address != names->symbols[i]->address;
    return groups;
}

static bool make_groups(struct bat_names *names)
{
    const struct bat_symbol **symbols = names->symbols;
    names->groups = malloc((count_groups(names) + 1) * sizeof(*names->groups));
    if (!names->groups)
        return false;
    uint32_t function = 0;
    for (uint32_t first = 0; first < names->count;) {
        struct bat_name_group *group = &names->groups[names->group_count++];
        uint64_t address = symbols[first]->address;
        *group = (struct bat_name_group){
            .address = address, .first = first, .best = first, .largest = first};
        for (; first < names->count && symbols[first]->address == address; first++) {
            if (names_better(symbols[first], symbols[group->best]))
                group->best = first;
            if (symbols[first]->size > symbols[group->largest]->size)
                group->largest = first;
        }
        /* If a label is the best, there are only labels. */
        if (symbols[group->best]->type != STT_NOTYPE)
            function = (uint32_t)names->group_count;
        group->function = function;
    }
    return true;
}

enum bat_code bat_names_collect(const struct bat_binary *binary, struct bat_names *names,
                                struct bat_error *error)
{
    *names = (struct bat_names){0};
    if (!binary->elf)
        return BAT_OK;
    const struct bat_symbol *symbols = NULL;
    size_t count = 0;
    enum bat_code code = bat_elf_symbols(binary->elf, false, &symbols, &count, error);
    if (code == BAT_OK && count == 0)
        code = bat_elf_symbols(binary->elf, true, &symbols, &count, error);
    if (code != BAT_OK || count == 0)
        return code;

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers is meant. */
    names->symbols = malloc(count * sizeof(*names->symbols));
    for (size_t i = 0; names->symbols && i < count; i++)
        if (names_a_function(&symbols[i]))
            names->symbols[names->count++] = &symbols[i];
    if (names->symbols) {
        /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
        qsort(names->symbols, names->count, sizeof(*names->symbols), compare_symbols);
    }
    if (names->symbols && make_groups(names))
        return BAT_OK;
    bat_names_free(names);
    return bat_fail_memory(error, "for %zu symbols", count);
}

void bat_names_free(struct bat_names *names)
{
    free(names->symbols);
    free(names->groups);
    *names = (struct bat_names){0};
}

/* --- Looking up ----------------------------------------------------------------------------- */

/* The last group at or below the address, or NULL. */
static const struct bat_name_group *group_up_to(const struct bat_names *names, uint64_t address)
{
    if (!names->groups)
        return NULL;
    size_t up_to = BAT_COUNT_UP_TO(names->groups, names->group_count, address, address);
    return up_to ? &names->groups[up_to - 1] : NULL;
}

static const struct bat_name_group *group_at(const struct bat_names *names, uint64_t address)
{
    const struct bat_name_group *group = group_up_to(names, address);
    return group && group->address == address ? group : NULL;
}

size_t bat_names_at(const struct bat_names *names, uint64_t address, size_t *first)
{
    const struct bat_name_group *group = group_at(names, address);
    *first = 0;
    if (!group)
        return 0;
    *first = group->first;
    bool is_last = group + 1 == names->groups + names->group_count;
    return (is_last ? names->count : group[1].first) - group->first;
}

/*
 * True if a symbol at the address has the name, which has length bytes; a number that BOLT appended
 * to the symbol's name does not count.
 */
static bool has_name(const struct bat_names *names, uint64_t address, const char *name,
                     size_t length)
{
    size_t first;
    size_t count = bat_names_at(names, address, &first);
    struct bat_search search = {.low = first, .high = first + count};
    while (bat_search_next(&search)) {
        const struct bat_symbol *other = names->symbols[search.middle];
        int order = compare_bases(other->name, symbol_base(other), name, length);
        if (order == 0)
            return true;
        bat_search_go(&search, order < 0);
    }
    return false;
}

const struct bat_symbol *bat_names_best(const struct bat_names *names, uint64_t address)
{
    const struct bat_name_group *group = group_at(names, address);
    return group ? names->symbols[group->best] : NULL;
}

uint64_t bat_names_size(const struct bat_names *names, uint64_t address)
{
    const struct bat_name_group *group = group_at(names, address);
    return group ? names->symbols[group->largest]->size : 0;
}

/* The last group at or below this address that has more than labels (NOTYPE), or NULL. */
static const struct bat_name_group *nearest_function(const struct bat_names *names,
                                                     uint64_t address)
{
    const struct bat_name_group *group = group_up_to(names, address);
    return group && group->function ? &names->groups[group->function - 1] : NULL;
}

const struct bat_symbol *bat_names_containing(const struct bat_names *names, uint64_t address)
{
    const struct bat_name_group *group = nearest_function(names, address);
    if (!group)
        return NULL;
    uint64_t size = names->symbols[group->largest]->size;
    return size == 0 || address - group->address < size ? names->symbols[group->best] : NULL;
}

uint32_t bat_binary_table_containing(const struct bat_binary *binary, const struct bat_names *names,
                                     uint64_t address)
{
    uint32_t table = bat_map_table_containing(binary->map, address);
    if (table == BAT_NONE)
        return BAT_NONE;
    uint64_t start = binary->map->tables[table].address;
    uint64_t size = bat_names_size(names, start);
    if (size != 0)
        return address - start < size ? table : BAT_NONE;
    const struct bat_name_group *nearest = nearest_function(names, address);
    return nearest && nearest->address > start ? BAT_NONE : table;
}

bool bat_binary_input_of(const struct bat_binary *binary, const struct bat_names *names,
                         uint64_t output_address, bool is_branch_source,
                         struct bat_binary_place *place)
{
    *place = (struct bat_binary_place){.table = BAT_NONE, .function = BAT_NONE};
    const struct bat_map *map = binary->map;
    uint32_t table = bat_binary_table_containing(binary, names, output_address);
    if (table == BAT_NONE) {
        place->symbol = bat_names_containing(names, output_address);
        if (!place->symbol)
            return false;
        place->offset = output_address - place->symbol->address;
        return true;
    }
    place->table = table;
    place->function = bat_map_parent(map, table);
    place->symbol = bat_names_best(names, map->tables[place->function].address);
    place->offset = bat_map_translate(map, table, output_address - map->tables[table].address,
                                      is_branch_source);
    return true;
}

enum bat_code bat_binary_table_names(struct bat_binary *binary, const char ***names,
                                     struct bat_error *error)
{
    *names = NULL;
    uint32_t tables = bat_map_tables(binary->map);
    struct bat_names symbols;
    BAT_TRY(bat_names_collect(binary, &symbols, error));
    enum bat_code code = BAT_OK;
    *names = calloc((size_t)tables + 1, sizeof(**names));
    if (!*names)
        code = bat_fail_memory(error, "for %u names", tables);
    for (uint32_t i = 0; *names && i < tables; i++) {
        const struct bat_symbol *symbol = bat_names_best(&symbols, binary->map->tables[i].address);
        (*names)[i] = symbol ? symbol->name : NULL;
    }
    bat_names_free(&symbols);
    return code;
}

bool bat_names_after_parent(const struct bat_names *names, size_t first, size_t count,
                            uint64_t parent)
{
    for (size_t i = first; i < first + count; i++) {
        const char *name = names->symbols[i]->name;
        size_t stem = bat_name_stem(name);
        if (stem != 0 && has_name(names, parent, name, stem))
            return true;
    }
    return false;
}
