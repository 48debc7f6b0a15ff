/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pairs symbols of the output with symbols of the input. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bat_decoder.h"
#include "elfnote/text_budget.h"
#include "original.h"
#include "spec/order.h"
#include "support/parallel.h"

static bool is_code(const struct bat_elf *elf, const struct bat_symbol *symbol)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    return symbol->section != BAT_SECTION_UNDEFINED && symbol->section < count &&
           (sections[symbol->section].flags & SHF_EXECINSTR) != 0;
}

static bool is_function_type(const struct bat_symbol *symbol)
{
    return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
}

/* Mapping symbols ("$x") do not count: BOLT adds and removes them. */
static bool can_name_function(const struct bat_elf *elf, const struct bat_symbol *symbol)
{
    return (is_function_type(symbol) || (symbol->type == STT_NOTYPE && symbol->name[0] != '$')) &&
           is_code(elf, symbol);
}

/* The hash of a symbol's key. */
static enum bat_code hash_symbol(const struct bat_symbol *symbol, struct bat_budget *names,
                                 uint64_t *hash, struct bat_error *error)
{
    size_t length = symbol->name_length;
    size_t file_length = 0;
    *hash = XXH3_64bits(symbol->name, length);
    if (symbol->binding == STB_LOCAL) {
        file_length = symbol->file ? strlen(symbol->file) : 0;
        *hash = XXH3_64bits_withSeed(symbol->file ? symbol->file : "", file_length, *hash);
    }
    return bat_budget_spend_names(names, length + file_length + 1, error);
}

/* Sort *keys, which may be replaced by a new array; the caller frees it. False if out of memory. */
static bool sort_keys(struct bat_sort_key **keys, size_t count)
{
    struct bat_sort_key *spare = malloc((count + 1) * sizeof(*spare));
    if (!spare)
        return false;
    struct bat_sort_key *sorted = bat_sort_keys(*keys, spare, count);
    free(sorted == spare ? *keys : spare);
    *keys = sorted;
    return true;
}

static enum bat_code read_side(struct bat_symbol_side *side, struct bat_error *error)
{
    size_t count;
    struct bat_elf *elf = side->elf;
    BAT_TRY(bat_elf_symbols(elf, false, &side->symbols, &count, error));
    side->symbol_count = count;
    side->keyed = malloc((count + 1) * sizeof(*side->keyed));
    BAT_TRY_MEMORY(side->keyed, error, "for %zu symbols", count);
    struct bat_budget names = bat_budget_of_names(elf);
    for (size_t i = 0; i < count && i < UINT32_MAX; i++) {
        const struct bat_symbol *symbol = &side->symbols[i];
        if (!can_name_function(elf, symbol))
            continue;
        struct bat_sort_key *keyed = &side->keyed[side->count++];
        keyed->value = i;
        BAT_TRY(hash_symbol(symbol, &names, &keyed->key, error));
    }
    BAT_TRY_MEMORY(sort_keys(&side->keyed, side->count), error, "for %zu symbols", count);
    return BAT_OK;
}

void bat_symbol_side_read(struct bat_symbol_side *side)
{
    side->code = read_side(side, &side->error);
}

static void read_sides(void *context, size_t first, size_t end, unsigned thread)
{
    (void)thread;
    struct bat_symbol_side *sides = context;
    for (size_t i = first; i < end; i++)
        bat_symbol_side_read(&sides[i]);
}

void bat_symbol_sides_read(struct bat_symbol_side sides[2], unsigned threads)
{
    bat_parallel_run(2, 1, bat_parallel_threads(threads, 2), read_sides, sides);
}

void bat_symbol_side_free(struct bat_symbol_side *side)
{
    free(side->keyed);
    side->keyed = NULL;
    side->count = 0;
}

/* True for the address of a fragment. No two tables have one address. */
static bool is_fragment(const struct bat_map *map, uint64_t address)
{
    const struct bat_table *cold = map->tables + map->hot_count;
    uint32_t found = BAT_COUNT_BELOW(cold, map->cold_count, address, address);
    return found < map->cold_count && cold[found].address == address &&
           !bat_map_is_unemitted(map, map->hot_count + found);
}

/* Set a bit of marked for each symbol of the file at the start of a fragment. */
static void mark_fragments(const struct bat_symbol_side *side, const struct bat_map *map,
                           uint8_t *marked)
{
    const struct bat_table *cold = map->tables + map->hot_count;
    const uint64_t first = map->cold_count ? cold[0].address : UINT64_MAX;
    const uint64_t last = map->cold_count ? cold[map->cold_count - 1].address : 0;
    for (size_t i = 0; i < side->symbol_count; i++) {
        const uint64_t address = side->symbols[i].address;
        if (address >= first && address <= last && is_fragment(map, address))
            marked[i / 8] |= (uint8_t)(1u << i % 8);
    }
}

/*
 * Fragments are not paired by name, because BOLT made their names, but by their tables. They are
 * sought in the file's order: in the order of hashes, symbols are anywhere in memory.
 */
static bool leave_out_fragments(struct bat_symbol_side *side, const struct bat_map *map)
{
    uint8_t *marked = calloc(side->symbol_count / 8 + 1, 1);
    if (!marked)
        return false;
    mark_fragments(side, map, marked);
    size_t kept = 0;
    for (size_t i = 0; i < side->count; i++) {
        const uint64_t at = side->keyed[i].value;
        if (!(marked[at / 8] >> at % 8 & 1))
            side->keyed[kept++] = side->keyed[i];
    }
    side->count = kept;
    free(marked);
    return true;
}

static size_t end_of_group(const struct bat_symbol_side *side, size_t first)
{
    size_t end = first;
    while (end < side->count && side->keyed[end].key == side->keyed[first].key)
        end++;
    return end;
}

/*
 * Function symbols come first, and among them those after a FILE symbol: their names in profiles
 * have two slashes, which BOLT prefers.
 */
static uint64_t rank_of(const struct bat_symbol *symbol)
{
    uint64_t class = !is_function_type(symbol)                              ? 2
                     : symbol->binding == STB_LOCAL && symbol->file != NULL ? 0
                                                                            : 1;
    return class << 32 | symbol->order;
}

/*
 * Sort by output address, then by rank. The sort is stable, so the second criterion goes first. Of
 * the rank this is the class: the pairs are in the order of the symbol table.
 */
static bool sort_pairs(struct bat_symbol_pairs *pairs)
{
    struct bat_sort_key *keys = malloc((pairs->count + 1) * sizeof(*keys));
    struct bat_symbol_pair *sorted = malloc((pairs->count + 1) * sizeof(*sorted));
    for (size_t i = 0; keys && i < pairs->count; i++)
        keys[i] = (struct bat_sort_key){pairs->all[i].rank >> 32, i};
    bool is_sorted = keys && sorted && sort_keys(&keys, pairs->count);
    for (size_t i = 0; is_sorted && i < pairs->count; i++)
        keys[i].key = pairs->all[keys[i].value].output;
    is_sorted = is_sorted && sort_keys(&keys, pairs->count);
    for (size_t i = 0; is_sorted && i < pairs->count; i++)
        sorted[i] = pairs->all[keys[i].value];
    free(keys);
    free(is_sorted ? pairs->all : sorted);
    pairs->all = is_sorted ? sorted : pairs->all;
    return is_sorted;
}

/* Make the symbols with one hash partners, in their order, if both sides have equally many. */
static void pair_group(const struct bat_sort_key *output, size_t count,
                       const struct bat_sort_key *input, size_t input_count, uint32_t *partners)
{
    for (size_t i = 0; i < count && count == input_count; i++)
        partners[output[i].value] = (uint32_t)input[i].value;
}

/* Set the partner of each of the output's symbols that has one: the number of an input symbol. */
static void find_partners(const struct bat_symbol_side *output, const struct bat_symbol_side *input,
                          uint32_t *partners)
{
    size_t first = 0;
    size_t input_first = 0;
    while (first < output->count && input_first < input->count) {
        const uint64_t hash = output->keyed[first].key;
        const uint64_t input_hash = input->keyed[input_first].key;
        const size_t end = hash <= input_hash ? end_of_group(output, first) : first;
        const size_t input_end =
            input_hash <= hash ? end_of_group(input, input_first) : input_first;
        pair_group(output->keyed + first, end - first, input->keyed + input_first,
                   input_end - input_first, partners);
        first = end;
        input_first = input_end;
    }
}

/* Set a bit for each of a side's local symbols that can be paired; *marked is to be freed. */
static bool mark_locals(const struct bat_symbol_side *side, uint8_t **marked)
{
    *marked = calloc(side->symbol_count / 8 + 1, 1);
    for (size_t i = 0; *marked && i < side->count; i++) {
        const uint64_t at = side->keyed[i].value;
        if (side->symbols[at].binding == STB_LOCAL)
            (*marked)[at / 8] |= (uint8_t)(1u << at % 8);
    }
    return *marked != NULL;
}

/* The marked symbols of a side, sorted by the hash of their names alone, then by index. */
static bool sort_marked(const struct bat_symbol_side *side, const uint8_t *marked,
                        struct bat_symbol_side *locals)
{
    locals->keyed = malloc((side->count + 1) * sizeof(*locals->keyed));
    for (size_t i = 0; locals->keyed && i < side->symbol_count; i++) {
        const struct bat_symbol *symbol = &side->symbols[i];
        if (marked[i / 8] >> i % 8 & 1)
            locals->keyed[locals->count++] =
                (struct bat_sort_key){XXH3_64bits(symbol->name, symbol->name_length), i};
    }
    return locals->keyed && sort_keys(&locals->keyed, locals->count);
}

/*
 * Find partners for local symbols that have none by name and file: one of the files may have lost
 * its FILE symbols, or some of them, so that those after them seem to be of another file.
 */
static bool find_local_partners(const struct bat_symbol_side *output,
                                const struct bat_symbol_side *input, uint32_t *partners)
{
    uint8_t *marked[2] = {NULL, NULL};
    struct bat_symbol_side locals[2] = {{0}};
    bool has_memory = mark_locals(output, &marked[0]) && mark_locals(input, &marked[1]);
    for (size_t i = 0; has_memory && i < output->symbol_count; i++) {
        const uint32_t partner = partners[i];
        if (partner == BAT_NONE)
            continue;
        marked[0][i / 8] &= (uint8_t) ~(1u << i % 8);
        marked[1][partner / 8] &= (uint8_t) ~(1u << partner % 8);
    }
    has_memory = has_memory && sort_marked(output, marked[0], &locals[0]) &&
                 sort_marked(input, marked[1], &locals[1]);
    if (has_memory)
        find_partners(&locals[0], &locals[1], partners);
    for (int i = 0; i < 2; i++) {
        free(marked[i]);
        bat_symbol_side_free(&locals[i]);
    }
    return has_memory;
}

/*
 * Add the pairs whose names are the same, not only their hashes. In the file's order names are read
 * one after the other; in the order of hashes each would be anywhere in memory.
 */
static void add_pairs(const struct bat_symbol_side *output, const struct bat_symbol_side *input,
                      const uint32_t *partners, struct bat_symbol_pairs *pairs)
{
    for (size_t i = 0; i < output->symbol_count; i++) {
        if (partners[i] == BAT_NONE)
            continue;
        const struct bat_symbol *to = &output->symbols[i];
        const struct bat_symbol *from = &input->symbols[partners[i]];
        if (strcmp(to->name, from->name) == 0 &&
            (to->binding == STB_LOCAL) == (from->binding == STB_LOCAL))
            pairs->all[pairs->count++] =
                (struct bat_symbol_pair){to->address, from->address, rank_of(from)};
    }
}

static enum bat_code pair_sides(const struct bat_symbol_side *output,
                                const struct bat_symbol_side *input, struct bat_symbol_pairs *pairs,
                                struct bat_error *error)
{
    pairs->all = malloc((output->count + 1) * sizeof(*pairs->all));
    uint32_t *partners = malloc((output->symbol_count + 1) * sizeof(*partners));
    bool has_memory = pairs->all && partners;
    if (has_memory) {
        memset(partners, 0xff, output->symbol_count * sizeof(*partners));
        find_partners(output, input, partners);
        has_memory = find_local_partners(output, input, partners);
    }
    if (has_memory) {
        add_pairs(output, input, partners, pairs);
        has_memory = sort_pairs(pairs);
    }
    free(partners);
    return has_memory ? BAT_OK : bat_fail_memory(error, "for %zu symbols", output->count);
}

size_t bat_symbol_pairs_at(const struct bat_symbol_pairs *pairs, uint64_t output)
{
    return BAT_COUNT_BELOW(pairs->all, pairs->count, output, output);
}

/* The failure of a side that was read, also if no symbol is left. */
static enum bat_code check_side(const struct bat_symbol_side *side, struct bat_error *error)
{
    if (side->code != BAT_OK) {
        if (error)
            *error = side->error;
        return side->code;
    }
    if (side->count == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected function symbols, found a stripped file: \"%.200s\"",
                        bat_elf_path(side->elf));
    return BAT_OK;
}

enum bat_code bat_original_pair_symbols(const struct bat_map *map, struct bat_symbol_side *output,
                                        const struct bat_symbol_side *input,
                                        struct bat_symbol_pairs *pairs, struct bat_error *error)
{
    *pairs = (struct bat_symbol_pairs){0};
    if (output->code == BAT_OK && !leave_out_fragments(output, map))
        return bat_fail_memory(error, "for %zu symbols", output->symbol_count);
    enum bat_code code = check_side(output, error);
    code = code ? code : check_side(input, error);
    return code ? code : pair_sides(output, input, pairs, error);
}
