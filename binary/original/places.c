/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Translates single addresses, from the output to the input and back. */
#include <stdlib.h>
#include <string.h>

#include "original.h"
#include "spec/array.h"
#include "spec/order.h"

uint32_t bat_original_entry(const struct bat_map *map, uint32_t table, uint64_t output_offset)
{
    const struct bat_table *function = &map->tables[table];
    const uint32_t first = function->first_entry;
    struct bat_search search = {.low = first, .high = (size_t)first + function->entry_count};
    while (bat_search_next(&search))
        bat_search_go(&search, map->output_offsets[search.middle] <= output_offset);
    return search.low == first ? BAT_NONE : (uint32_t)search.low - 1;
}

/*
 * The entries of a table of a sparse map. Two threads may decode them at the same time; the first
 * to be ready has them kept.
 */
static struct bat_sparse_entries *sparse_entries(const struct bat_original *original,
                                                 uint32_t table)
{
    struct bat_sparse_entries *_Atomic *place = &original->entries[table];
    struct bat_sparse_entries *known = atomic_load_explicit(place, memory_order_acquire);
    if (known)
        return known;
    struct bat_sparse_entries *made = bat_sparse_entries_of(
        &original->sparse, original->binary->note, original->binary->note_size, table);
    if (!made)
        return NULL;
    if (atomic_compare_exchange_strong(place, &known, made))
        return made;
    free(made);
    return known;
}

/* Returns the entries of a table. False if there is no memory. */
static bool entries_of(const struct bat_original *original, uint32_t table,
                       struct bat_original_entries *entries)
{
    if (!original->entries) {
        const struct bat_map *map = original->map;
        const struct bat_table *function = &map->tables[table];
        *entries = (struct bat_original_entries){map->output_offsets + function->first_entry,
                                                 map->input_offsets + function->first_entry,
                                                 function->entry_count};
        return true;
    }
    const struct bat_sparse_entries *sparse = sparse_entries(original, table);
    if (!sparse) {
        ((struct bat_original *)original)->no_memory = true;
        return false;
    }
    *entries = (struct bat_original_entries){sparse->offsets, sparse->offsets + sparse->count,
                                             sparse->count};
    return true;
}

/* No instruction is longer (x86-64). */
#define INSTRUCTION_MAX 15u

bool bat_original_is_in_branch(const struct bat_original *original, uint32_t table,
                               uint64_t output_address)
{
    uint64_t offset = output_address - original->map->tables[table].address;
    struct bat_original_entries entries;
    if (!entries_of(original, table, &entries))
        return false;
    uint32_t up_to = BAT_NUMBERS_UP_TO(entries.outputs, entries.count, offset);
    return up_to != 0 && offset - entries.outputs[up_to - 1] < INSTRUCTION_MAX &&
           entries.inputs[up_to - 1] & BAT_BRANCH_ENTRY;
}

/* The run from an entry of the output function's table to the next entry. */
static struct bat_original_run run_of(const struct bat_original *original, uint32_t output,
                                      uint32_t input, const struct bat_original_entries *entries,
                                      uint32_t entry)
{
    const struct bat_function_symbol *symbol = &original->outputs[output];
    const struct bat_function_symbol *from = &original->inputs[input];
    bool is_last = entry + 1 == entries->count;
    uint64_t end = is_last ? symbol->size : entries->outputs[entry + 1];
    return (struct bat_original_run){
        .output = symbol->address + entries->outputs[entry],
        .output_end = symbol->address +
                      (end < bat_function_extent(symbol) ? end : bat_function_extent(symbol)),
        .input = from->address + (entries->inputs[entry] >> 1),
        .input_end = from->address + bat_function_extent(from),
    };
}

/*
 * True if BOLT has written a function without a table anew (-strict, -use-old-text): all its code
 * is then one run. *run is filled.
 */
static bool is_rewritten(const struct bat_original *original, uint32_t output, uint32_t input,
                         struct bat_original_run *run)
{
    const struct bat_function_symbol *symbol = &original->outputs[output];
    const struct bat_function_symbol *from = &original->inputs[input];
    *run = (struct bat_original_run){
        .output = symbol->address,
        .output_end = symbol->address + bat_function_extent(symbol),
        .input = from->address,
        .input_end = from->address + bat_function_extent(from),
    };
    return original->table_of[output] == BAT_NONE && !(symbol->flags & BAT_FUNCTION_PLT) &&
           (symbol->address != from->address || symbol->size != from->size);
}

/* --- To the input --------------------------------------------------------------------------- */

/* False if there is no memory for the table's entries. */
static bool find_by_table(const struct bat_original *original, struct bat_original_walks *walks,
                          uint32_t output, uint32_t input, bool is_branch_source, uint64_t *address)
{
    const uint64_t offset = *address - original->outputs[output].address;
    struct bat_original_entries entries;
    if (!entries_of(original, original->table_of[output], &entries))
        return false;
    const uint32_t up_to = BAT_NUMBERS_UP_TO(entries.outputs, entries.count, offset);
    if (up_to == 0) {
        *address = original->inputs[input].address + offset;
        return true;
    }
    struct bat_original_run run = run_of(original, output, input, &entries, up_to - 1);
    *address = is_branch_source ? run.input : bat_original_align(original, &run, *address, walks);
    return true;
}

bool bat_original_input_of_again(const struct bat_original *original,
                                 struct bat_original_walks *walks, uint64_t output_address,
                                 bool is_branch_source, struct bat_original_place *place)
{
    uint32_t output = bat_functions_find(original->output_functions, output_address);
    uint32_t input = output == BAT_NONE ? BAT_NONE : original->input_of[output];
    if (input == BAT_NONE)
        return false;
    const struct bat_function_symbol *from = &original->inputs[input];
    const struct bat_function_symbol *symbol = &original->outputs[output];
    *place = (struct bat_original_place){
        .address = from->address + (output_address - symbol->address),
        .function_address = from->address,
        .function_size = from->size,
        .name = from->name,
        .kind = symbol->flags & BAT_FUNCTION_PLT ? BAT_ORIGINAL_PLT : BAT_ORIGINAL_WHOLE,
        .table = original->table_of[output],
    };
    if (place->table != BAT_NONE) {
        place->kind = BAT_ORIGINAL_TABLE;
        place->address = output_address;
        if (!find_by_table(original, walks, output, input, is_branch_source, &place->address))
            return false;
    }
    struct bat_original_run run;
    if (is_rewritten(original, output, input, &run))
        place->address = bat_original_align(original, &run, output_address, walks);
    return place->address - from->address < bat_function_extent(from);
}

bool bat_original_input_of(const struct bat_original *original, uint64_t output_address,
                           bool is_branch_source, struct bat_original_place *place)
{
    return bat_original_input_of_again(original, NULL, output_address, is_branch_source, place);
}

bool bat_original_input_address_of_again(const struct bat_original *original,
                                         struct bat_original_walks *walks, uint64_t output_address,
                                         uint64_t *input_address)
{
    struct bat_original_place place;
    if (!bat_original_input_of_again(original, walks, output_address, false, &place))
        return false;
    *input_address = place.address;
    return true;
}

bool bat_original_input_address_of(const struct bat_original *original, uint64_t output_address,
                                   bool is_branch_source, uint64_t *input_address)
{
    struct bat_original_place place;
    if (!bat_original_input_of(original, output_address, is_branch_source, &place))
        return false;
    *input_address = place.address;
    return true;
}

/*
 * The end of an output function's code up to which all of it is from the input function, by offset
 * in the output function.
 */
static uint64_t common_size(const struct bat_original *original, uint32_t output, uint32_t input)
{
    const uint32_t table = original->table_of[output];
    const uint64_t size = original->outputs[output].size;
    const uint64_t input_size = original->inputs[input].size;
    if (size <= input_size)
        return size;
    /* Code before the first entry, and code without a table, has equal offsets on both sides. */
    struct bat_original_entries entries;
    const bool has_first = table != BAT_NONE && entries_of(original, table, &entries) &&
                           entries.count != 0 && entries.outputs[0] == 0;
    return has_first ? size : input_size;
}

bool bat_original_functions_at(const struct bat_original *original, uint64_t output_address,
                               struct bat_original_functions *functions)
{
    uint32_t output = bat_functions_find(original->output_functions, output_address);
    uint32_t input = output == BAT_NONE ? BAT_NONE : original->input_of[output];
    if (input == BAT_NONE)
        return false;
    const struct bat_function_symbol *symbol = &original->outputs[output];
    const struct bat_function_symbol *from = &original->inputs[input];
    uint64_t size = common_size(original, output, input);
    /* In a damaged file a function can reach into the next one. */
    if (output + 1 < original->output_count && symbol[1].address - symbol->address < size)
        size = symbol[1].address - symbol->address;
    *functions = (struct bat_original_functions){.output = symbol->address,
                                                 .output_end = symbol->address + size,
                                                 .input = from->address,
                                                 .input_end = from->address + from->size};
    return output_address - symbol->address < size;
}

/* --- To the output -------------------------------------------------------------------------- */

struct found {
    uint64_t *all;
    size_t count;
    size_t capacity;
};

static enum bat_code add_found(struct found *found, uint64_t address)
{
    return BAT_APPEND(found->all, found->count, found->capacity, address) ? BAT_OK : BAT_ERR_MEMORY;
}

/* The tables of a function: number 0 is the hot one, then its fragments; BAT_NONE beyond them. */
static uint32_t table_number(const struct bat_map *map, uint32_t hot, uint32_t number)
{
    if (number == 0)
        return hot;
    uint32_t place = map->fragment_start[hot] + number - 1;
    return place < map->fragment_start[hot + 1] ? map->fragments[place] : BAT_NONE;
}

/* The largest input offset of an entry that is not above offset; BAT_NONE if there is none. */
static uint32_t last_entry_offset(const struct bat_map *map, uint32_t hot, uint64_t offset)
{
    uint32_t largest = BAT_NONE;
    uint32_t table;
    for (uint32_t number = 0; (table = table_number(map, hot, number)) != BAT_NONE; number++) {
        const struct bat_table *function = &map->tables[table];
        for (uint32_t i = 0; i < function->entry_count; i++) {
            uint32_t input = map->input_offsets[function->first_entry + i] >> 1;
            if (input <= offset && (largest == BAT_NONE || input > largest))
                largest = input;
        }
    }
    return largest;
}

/* Find the copies of an instruction in one table: in the run of each entry with input offset
 * nearest. */
static enum bat_code search_table(const struct bat_original *original, uint32_t output,
                                  uint32_t input, uint32_t nearest, uint64_t address,
                                  struct found *found)
{
    struct bat_original_entries entries;
    if (!entries_of(original, original->table_of[output], &entries))
        return BAT_ERR_MEMORY;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < entries.count && code == BAT_OK; i++) {
        if (entries.inputs[i] >> 1 != nearest)
            continue;
        struct bat_original_run run = run_of(original, output, input, &entries, i);
        uint64_t result;
        if (bat_original_align_back(original, &run, address, &result))
            code = add_found(found, result);
    }
    return code;
}

static enum bat_code search_tables(const struct bat_original *original, uint32_t output,
                                   uint32_t input, uint64_t address, struct found *found)
{
    const struct bat_map *map = original->map;
    uint32_t hot = original->table_of[output];
    uint32_t nearest = last_entry_offset(map, hot, address - original->inputs[input].address);
    if (nearest == BAT_NONE)
        return BAT_OK;
    enum bat_code code = BAT_OK;
    uint32_t table;
    for (uint32_t number = 0;
         code == BAT_OK && (table = table_number(map, hot, number)) != BAT_NONE; number++)
        if (original->output_of[table] != BAT_NONE)
            code =
                search_table(original, original->output_of[table], input, nearest, address, found);
    return code;
}

static void sort_found(struct found *found)
{
    if (found->count == 0)
        return;
    qsort(found->all, found->count, sizeof(*found->all), bat_compare_u64);
    size_t kept = 1;
    for (size_t i = 1; i < found->count; i++)
        if (found->all[i] != found->all[kept - 1])
            found->all[kept++] = found->all[i];
    found->count = kept;
}

enum bat_code bat_original_outputs_of(const struct bat_original *original, uint64_t input_address,
                                      uint64_t **output_addresses, size_t *count,
                                      struct bat_error *error)
{
    struct found found = {0};
    enum bat_code code = BAT_OK;
    uint32_t input = bat_functions_find(original->input_functions, input_address);
    uint32_t first = input == BAT_NONE ? 0 : original->first_home[input];
    uint32_t end = input == BAT_NONE ? 0 : original->first_home[input + 1];
    for (uint32_t i = first; i < end && code == BAT_OK; i++) {
        uint32_t output = original->homes[i];
        uint64_t offset = input_address - original->inputs[input].address;
        struct bat_original_run run;
        uint64_t result;
        if (original->table_of[output] != BAT_NONE)
            code = search_tables(original, output, input, input_address, &found);
        else if (is_rewritten(original, output, input, &run))
            code = bat_original_align_back(original, &run, input_address, &result)
                       ? add_found(&found, result)
                       : BAT_OK;
        else if (offset < bat_function_extent(&original->outputs[output]))
            code = add_found(&found, original->outputs[output].address + offset);
    }
    if (code != BAT_OK) {
        free(found.all);
        return bat_fail_memory(error, "for the addresses of an instruction");
    }
    sort_found(&found);
    *output_addresses = found.all;
    *count = found.count;
    return BAT_OK;
}

bool bat_original_input_function_at(const struct bat_original *original, uint64_t input_address,
                                    struct bat_original_place *place)
{
    uint32_t input = bat_functions_find(original->input_functions, input_address);
    if (input == BAT_NONE)
        return false;
    const struct bat_function_symbol *symbol = &original->inputs[input];
    *place = (struct bat_original_place){
        .address = input_address,
        .function_address = symbol->address,
        .function_size = symbol->size,
        .name = symbol->name,
        .kind = BAT_ORIGINAL_GONE,
        .table = BAT_NONE,
    };
    if (original->first_home[input] == original->first_home[input + 1])
        return true;
    uint32_t output = original->homes[original->first_home[input]];
    place->table = original->table_of[output];
    place->kind = place->table != BAT_NONE           ? BAT_ORIGINAL_TABLE
                  : symbol->flags & BAT_FUNCTION_PLT ? BAT_ORIGINAL_PLT
                                                     : BAT_ORIGINAL_WHOLE;
    return true;
}

/* --- Names ---------------------------------------------------------------------------------- */

const char *bat_original_name(const struct bat_original *original, uint64_t output_address)
{
    uint32_t output = bat_functions_find(original->output_functions, output_address);
    if (output == BAT_NONE || original->outputs[output].address != output_address ||
        original->input_of[output] == BAT_NONE)
        return NULL;
    return original->inputs[original->input_of[output]].name;
}

/* Count a function that was found by name. Several symbols at one address count once. */
static size_t count_function(uint64_t *address, uint64_t *last, size_t count, uint64_t found)
{
    if (count == 0 || found < *address)
        *address = found;
    size_t more = count == 0 || found != *last;
    *last = found;
    return count + more;
}

size_t bat_original_input_function_named(const struct bat_original *original, const char *name,
                                         uint64_t *address)
{
    size_t count = 0;
    uint64_t last = 0;
    for (uint32_t i = 0; i < original->input_count; i++)
        if (strcmp(original->inputs[i].name, name) == 0)
            count = count_function(address, &last, count, original->inputs[i].address);
    const struct bat_symbol *symbols;
    size_t symbol_count;
    if (count != 0 ||
        bat_elf_symbols(original->input_symbols, false, &symbols, &symbol_count, NULL) != BAT_OK)
        return count;
    for (size_t i = 0; i < symbol_count; i++) {
        uint32_t input = bat_functions_find(original->input_functions, symbols[i].address);
        if (input != BAT_NONE && strcmp(symbols[i].name, name) == 0 &&
            original->inputs[input].address == symbols[i].address)
            count = count_function(address, &last, count, symbols[i].address);
    }
    return count;
}
