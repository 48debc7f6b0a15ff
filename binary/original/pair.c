/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pairs functions of the output with functions of the input. */
#include <stdlib.h>
#include <string.h>

#include "original.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"

struct pairing {
    struct bat_original *original;
    struct bat_symbol_pairs symbols;
    uint32_t *largest; /* by hot table: the largest input offset in it and its fragments */
    uint32_t *named;   /* PLT entries and code without symbols among input functions, by name */
    uint32_t named_count;
    const struct bat_section *remains; /* .bolt.org.text, the input's code; or NULL */
    size_t last_pair;                  /* of symbols: of the last output function */
};

static bool is_fragment(const struct bat_original *original, uint32_t output)
{
    uint32_t table = original->table_of[output];
    return table != BAT_NONE && table >= original->map->hot_count;
}

/* True for code that BOLT has left at its old address; perhaps nothing jumps there any more. */
static bool is_remains(const struct bat_original *original, uint32_t output)
{
    return original->outputs[output].flags &
               ((uint32_t)BAT_FUNCTION_FDE | (uint32_t)BAT_FUNCTION_SECTION) &&
           original->table_of[output] == BAT_NONE;
}

/* --- By name -------------------------------------------------------------------------------- */

#define NAMED_FLAGS ((uint32_t)BAT_FUNCTION_PLT | (uint32_t)BAT_FUNCTION_FDE)

static int compare_named(const void *left, const void *right, void *context)
{
    const struct bat_function_symbol *inputs = context;
    uint32_t left_index = *(const uint32_t *)left;
    uint32_t right_index = *(const uint32_t *)right;
    int order = strcmp(inputs[left_index].name, inputs[right_index].name);
    return order != 0 ? order : left_index < right_index ? -1 : left_index > right_index;
}

static enum bat_code sort_named(struct pairing *pairing)
{
    const struct bat_original *original = pairing->original;
    pairing->named = malloc(((size_t)original->input_count + 1) * sizeof(*pairing->named));
    if (!pairing->named)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < original->input_count; i++)
        if (original->inputs[i].flags & NAMED_FLAGS)
            pairing->named[pairing->named_count++] = i;
    struct bat_function_symbol *inputs = (struct bat_function_symbol *)original->inputs;
    qsort_r(pairing->named, pairing->named_count, sizeof(*pairing->named), compare_named, inputs);
    return BAT_OK;
}

/*
 * The input function with the output's name. Of several the one at the same address, else the next
 * higher one, else the last. BOLT does not move the PLT, but entries of folded functions get one
 * name.
 */
static uint32_t find_named(const struct pairing *pairing, const struct bat_function_symbol *output)
{
    const struct bat_function_symbol *inputs = pairing->original->inputs;
    uint32_t here = bat_functions_at(pairing->original->input_functions, output->address);
    if (output->flags & BAT_FUNCTION_PLT && here != BAT_NONE &&
        inputs[here].flags & BAT_FUNCTION_PLT)
        return here;
    struct bat_search search = {.high = pairing->named_count};
    while (bat_search_next(&search)) {
        const struct bat_function_symbol *input = &inputs[pairing->named[search.middle]];
        int order = strcmp(input->name, output->name);
        bat_search_go(&search, order < 0 || (order == 0 && input->address < output->address));
    }
    /* The first with that name at or above the address, or behind the last. */
    const uint32_t first = (uint32_t)search.low;
    for (uint32_t i = first; i + 1 >= first && i != BAT_NONE; i--)
        if (i < pairing->named_count && strcmp(inputs[pairing->named[i]].name, output->name) == 0)
            return pairing->named[i];
    return BAT_NONE;
}

/* --- By symbols ----------------------------------------------------------------------------- */

/* The input function that starts at an address, or BAT_NONE. */
static uint32_t input_at(const struct bat_original *original, uint64_t address)
{
    return bat_functions_at(original->input_functions, address);
}

bool bat_original_is_same_code(const struct bat_original *original,
                               const struct bat_function_symbol *function)
{
    uint64_t size = 0;
    uint64_t input_size = 0;
    const uint8_t *code = bat_elf_at_address(original->binary->elf, function->address, &size);
    const uint8_t *input = bat_elf_at_address(original->elf, function->address, &input_size);
    return code && input && function->size <= size && function->size <= input_size &&
           memcmp(code, input, (size_t)function->size) == 0;
}

/*
 * BOLT leaves the input's code at its addresses, in a section that it renames. Without relocations
 * it renames none, and writes new code over the old one where that has room.
 */
static uint32_t find_remains(const struct pairing *pairing,
                             const struct bat_function_symbol *function)
{
    const struct bat_section *remains = pairing->remains;
    const bool is_there = (remains && function->address - remains->address < remains->size) ||
                          bat_original_is_same_code(pairing->original, function);
    return is_there ? input_at(pairing->original, function->address) : BAT_NONE;
}

static bool fits(const struct pairing *pairing, uint32_t table, uint32_t input)
{
    return table == BAT_NONE ||
           pairing->largest[table] < bat_function_extent(&pairing->original->inputs[input]);
}

/* The first pair of symbols at an address or above. Most addresses are asked for in their order. */
static size_t first_pair(struct pairing *pairing, uint64_t address)
{
    const struct bat_symbol_pairs *pairs = &pairing->symbols;
    size_t first = pairing->last_pair;
    if (first != 0 && pairs->all[first - 1].output >= address)
        return bat_symbol_pairs_at(pairs, address);
    while (first < pairs->count && pairs->all[first].output < address)
        first++;
    pairing->last_pair = first;
    return first;
}

/*
 * The input function of an output function that is not a fragment. Of several that BOLT folded into
 * one, the one with the name that profiles use, unless it is too small for the table. *misfit is
 * one that is too small, or BAT_NONE.
 */
static uint32_t choose_input(struct pairing *pairing, uint32_t output, uint32_t *misfit)
{
    const struct bat_original *original = pairing->original;
    const struct bat_function_symbol *function = &original->outputs[output];
    *misfit = BAT_NONE;
    const uint32_t left = is_remains(original, output) ? find_remains(pairing, function) : BAT_NONE;
    if (left != BAT_NONE)
        return left;
    if (function->flags & NAMED_FLAGS)
        return find_named(pairing, function);
    const struct bat_symbol_pairs *pairs = &pairing->symbols;
    for (size_t i = first_pair(pairing, function->address);
         i < pairs->count && pairs->all[i].output == function->address; i++) {
        uint32_t input = input_at(original, pairs->all[i].input);
        if (input == BAT_NONE)
            continue;
        if (fits(pairing, original->table_of[output], input))
            return input;
        *misfit = input;
    }
    return BAT_NONE;
}

/* --- Tables --------------------------------------------------------------------------------- */

static uint32_t largest_in(const struct bat_original *original, uint32_t table)
{
    if (original->sparse.tables)
        return original->sparse.tables[table].largest;
    const struct bat_map *map = original->map;
    const struct bat_table *function = &map->tables[table];
    uint32_t largest = 0;
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint32_t offset = map->input_offsets[function->first_entry + i] >> 1;
        largest = offset > largest ? offset : largest;
    }
    return largest;
}

static enum bat_code find_largest(struct pairing *pairing)
{
    const struct bat_map *map = pairing->original->map;
    pairing->largest = calloc((size_t)map->hot_count + 1, sizeof(*pairing->largest));
    if (!pairing->largest)
        return BAT_ERR_MEMORY;
    for (uint32_t table = 0; table < bat_map_tables(map); table++) {
        uint32_t *largest = &pairing->largest[map->tables[table].parent];
        const uint32_t own = largest_in(pairing->original, table);
        *largest = own > *largest ? own : *largest;
    }
    return BAT_OK;
}

static void count_misfit(const struct pairing *pairing, uint32_t table, uint32_t misfit,
                         struct bat_misfits *misfits)
{
    if (misfit == BAT_NONE)
        misfits->unnamed++;
    else
        misfits->too_small++;
    bool is_worse = misfit != BAT_NONE && misfits->example_size == 0;
    if (misfits->example != BAT_NONE && !is_worse)
        return;
    misfits->example = table;
    misfits->example_size =
        misfit == BAT_NONE ? 0 : bat_function_extent(&pairing->original->inputs[misfit]);
    misfits->example_offset = pairing->largest[table];
}

static void count_pair(struct bat_original *original, uint32_t output)
{
    struct bat_original_counters *counters = &original->counters;
    bool is_paired = original->input_of[output] != BAT_NONE;
    if (original->outputs[output].flags & BAT_FUNCTION_PLT) {
        counters->plt += is_paired;
    } else if (original->table_of[output] == BAT_NONE) {
        counters->functions++;
        counters->functions_paired += is_paired;
    } else {
        counters->tables_paired += is_paired;
    }
}

static void pair_outputs(struct pairing *pairing, struct bat_misfits *misfits)
{
    struct bat_original *original = pairing->original;
    const struct bat_map *map = original->map;
    original->counters.tables = map->hot_count;
    for (uint32_t output = 0; output < original->output_count; output++) {
        if (is_fragment(original, output))
            continue;
        uint32_t misfit;
        original->input_of[output] = choose_input(pairing, output, &misfit);
        count_pair(original, output);
    }
    for (uint32_t table = 0; table < map->hot_count; table++) {
        uint32_t misfit = BAT_NONE;
        uint32_t output = original->output_of[table];
        if (output != BAT_NONE && original->input_of[output] != BAT_NONE)
            continue;
        if (output != BAT_NONE)
            choose_input(pairing, output, &misfit);
        count_misfit(pairing, table, misfit, misfits);
    }
    for (uint32_t table = map->hot_count; table < bat_map_tables(map); table++)
        if (original->output_of[table] != BAT_NONE)
            original->input_of[original->output_of[table]] =
                bat_original_input_of_table(original, map->tables[table].parent);
}

/* --- From the input to the output ------------------------------------------------------------ */

/* A pair of functions as a number: pairs sort by input function, then by output function. */
static struct bat_sort_key new_home(uint32_t input, uint32_t output)
{
    return (struct bat_sort_key){.key = (uint64_t)input << 32 | output};
}

static uint32_t input_of_home(struct bat_sort_key home)
{
    return (uint32_t)(home.key >> 32);
}

static uint32_t output_of_home(struct bat_sort_key home)
{
    return (uint32_t)home.key;
}

/* Pairs of functions by their symbols, which also name functions that were folded into others. */
static size_t collect_symbol_homes(const struct pairing *pairing, struct bat_sort_key *homes)
{
    const struct bat_original *original = pairing->original;
    const struct bat_symbol_pairs *pairs = &pairing->symbols;
    size_t count = 0;
    uint32_t output = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        while (output < original->output_count &&
               original->outputs[output].address < pairs->all[i].output)
            output++;
        uint32_t input = input_at(original, pairs->all[i].input);
        if (output < original->output_count && input != BAT_NONE &&
            original->outputs[output].address == pairs->all[i].output &&
            original->input_of[output] != BAT_NONE && !is_fragment(original, output) &&
            fits(pairing, original->table_of[output], input))
            homes[count++] = new_home(input, output);
    }
    return count;
}

/*
 * All pairs of functions; homes must have space for them. is_home has a zero byte for each input
 * function.
 */
static size_t collect_homes(const struct pairing *pairing, struct bat_sort_key *homes,
                            uint8_t *is_home)
{
    const struct bat_original *original = pairing->original;
    size_t count = collect_symbol_homes(pairing, homes);
    for (uint32_t output = 0; output < original->output_count; output++)
        if (original->input_of[output] != BAT_NONE && !is_fragment(original, output) &&
            !is_remains(original, output))
            homes[count++] = new_home(original->input_of[output], output);
    for (size_t i = 0; i < count; i++)
        is_home[input_of_home(homes[i])] = 1;
    for (uint32_t output = 0; output < original->output_count; output++)
        if (original->input_of[output] != BAT_NONE && is_remains(original, output) &&
            !is_home[original->input_of[output]])
            homes[count++] = new_home(original->input_of[output], output);
    return count;
}

/* Fill first_home and homes from all pairs, sorted. */
static void fill_homes(struct bat_original *original, const struct bat_sort_key *all, size_t count)
{
    uint32_t kept = 0;
    uint32_t input = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && all[i - 1].key == all[i].key)
            continue;
        while (input <= input_of_home(all[i]))
            original->first_home[input++] = kept;
        original->homes[kept++] = output_of_home(all[i]);
        original->counters.folded +=
            original->input_of[output_of_home(all[i])] != input_of_home(all[i]);
    }
    while (input <= original->input_count)
        original->first_home[input++] = kept;
}

static enum bat_code find_homes(const struct pairing *pairing)
{
    struct bat_original *original = pairing->original;
    size_t most = (size_t)original->output_count + pairing->symbols.count;
    struct bat_sort_key *homes = malloc((most + 1) * sizeof(*homes));
    struct bat_sort_key *spare = malloc((most + 1) * sizeof(*spare));
    original->homes = malloc((most + 1) * sizeof(*original->homes));
    original->first_home = calloc((size_t)original->input_count + 1, sizeof(*original->first_home));
    uint8_t *is_home = calloc((size_t)original->input_count + 1, 1);
    if (!homes || !spare || !original->homes || !original->first_home || !is_home) {
        BAT_FREE_ALL(homes, spare, is_home);
        return BAT_ERR_MEMORY;
    }
    size_t count = collect_homes(pairing, homes, is_home);
    free(is_home);
    fill_homes(original, bat_sort_keys(homes, spare, count), count);
    BAT_FREE_ALL(homes, spare);
    return BAT_OK;
}

bool bat_original_is_home(const struct bat_original *original, uint32_t input, uint32_t output)
{
    const uint32_t end = original->first_home[input + 1];
    struct bat_search search = {.low = original->first_home[input], .high = end};
    while (bat_search_next(&search))
        bat_search_go(&search, original->homes[search.middle] < output);
    return search.low < end && original->homes[search.low] == output;
}

enum bat_code bat_original_pair_functions(struct bat_original *original,
                                          struct bat_misfits *misfits, struct bat_error *error)
{
    struct pairing pairing = {
        .original = original,
        .remains = bat_elf_section(original->binary->elf, ".bolt.org.text"),
    };
    *misfits = (struct bat_misfits){.example = BAT_NONE};
    for (uint32_t i = 0; i < original->output_count; i++)
        original->input_of[i] = BAT_NONE;
    enum bat_code code = bat_original_pair_symbols(original->map, &original->output_side,
                                                   &original->input_side, &pairing.symbols, error);
    if (code == BAT_OK && (find_largest(&pairing) != BAT_OK || sort_named(&pairing) != BAT_OK))
        code = bat_fail_memory(error, "to pair functions");
    if (code == BAT_OK) {
        pair_outputs(&pairing, misfits);
        if (!original->only_look_ups && find_homes(&pairing) != BAT_OK)
            code = bat_fail_memory(error, "to pair functions");
    }
    BAT_FREE_ALL(pairing.symbols.all, pairing.largest, pairing.named);
    return code;
}
