/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pairs symbols of the output with symbols of the input. */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bat_decoder.h"
#include "original.h"
#include "spec/binary_search.h"
#include "support/key_sort.h"
#include "support/parallel.h"

/*
 * Names in a damaged table can overlap, so that together they are far longer than the file. At most
 * this many times the file's size is read of them.
 */
#define TEXT_FACTOR 8u

struct side {
    struct bat_elf *elf;
    const struct bat_map *fragments_of; /* whose fragments are left out, or NULL */
    const struct bat_symbol *symbols;
    /* key: hash of the name and, for a local symbol, its file; value: index in symbols. Sorted by
     * hash, then by index. */
    struct bat_sort_key *keyed;
    size_t count;
    enum bat_code code;
    struct bat_error error;
};

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

/* The hash of a symbol's key; false if the names exceed *text_left. */
static bool hash_symbol(const struct bat_symbol *symbol, uint64_t *text_left, uint64_t *hash)
{
    size_t length = strlen(symbol->name);
    size_t file_length = 0;
    *hash = XXH3_64bits(symbol->name, length);
    if (symbol->binding == STB_LOCAL) {
        file_length = symbol->file ? strlen(symbol->file) : 0;
        *hash = XXH3_64bits_withSeed(symbol->file ? symbol->file : "", file_length, *hash);
    }
    if (length + file_length + 1 > *text_left)
        return false;
    *text_left -= length + file_length + 1;
    return true;
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

/* Fragments are not paired by name, because BOLT made their names, but by their tables. */
static bool is_fragment(const struct bat_map *map, uint64_t address)
{
    uint32_t table = bat_map_table_at(map, address);
    return table != BAT_NONE && table >= map->hot_count;
}

static enum bat_code read_side(struct side *side, struct bat_error *error)
{
    size_t count;
    struct bat_elf *elf = side->elf;
    enum bat_code code = bat_elf_symbols(elf, false, &side->symbols, &count, error);
    if (code != BAT_OK)
        return code;
    side->keyed = malloc((count + 1) * sizeof(*side->keyed));
    if (!side->keyed)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %zu symbols", count);
    uint64_t file_size;
    bat_elf_bytes(elf, &file_size);
    uint64_t text_left = file_size * TEXT_FACTOR;
    for (size_t i = 0; i < count && i < UINT32_MAX; i++) {
        const struct bat_symbol *symbol = &side->symbols[i];
        if (!can_name_function(elf, symbol) ||
            (side->fragments_of && is_fragment(side->fragments_of, symbol->address)))
            continue;
        struct bat_sort_key *keyed = &side->keyed[side->count++];
        keyed->value = i;
        if (!hash_symbol(symbol, &text_left, &keyed->key))
            return bat_fail(error, BAT_ERR_ELF,
                            "expected symbol names of together at most %" PRIu32
                            " times the file's size, found longer ones in \"%.200s\"",
                            TEXT_FACTOR, bat_elf_path(elf));
    }
    if (!sort_keys(&side->keyed, side->count))
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %zu symbols", count);
    if (side->count == 0)
        return bat_fail(error, BAT_ERR_MISMATCH,
                        "expected function symbols, found a stripped file: \"%.200s\"",
                        bat_elf_path(elf));
    return BAT_OK;
}

static void read_sides(void *context, size_t first, size_t end, unsigned thread)
{
    (void)thread;
    struct side *sides = context;
    for (size_t i = first; i < end; i++)
        sides[i].code = read_side(&sides[i], &sides[i].error);
}

static size_t end_of_group(const struct side *side, size_t first)
{
    size_t end = first;
    while (end < side->count && side->keyed[end].key == side->keyed[first].key)
        end++;
    return end;
}

static bool same_key(const struct bat_symbol *left, const struct bat_symbol *right)
{
    if (strcmp(left->name, right->name) != 0 ||
        (left->binding == STB_LOCAL) != (right->binding == STB_LOCAL))
        return false;
    return left->binding != STB_LOCAL ||
           strcmp(left->file ? left->file : "", right->file ? right->file : "") == 0;
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

/* Sort by output address, then by rank. The sort is stable, so the second criterion goes first. */
static bool sort_pairs(struct bat_symbol_pairs *pairs)
{
    struct bat_sort_key *keys = malloc((pairs->count + 1) * sizeof(*keys));
    struct bat_symbol_pair *sorted = malloc((pairs->count + 1) * sizeof(*sorted));
    for (size_t i = 0; keys && i < pairs->count; i++)
        keys[i] = (struct bat_sort_key){pairs->all[i].rank, i};
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

/* Pair the symbols with one key in their order, if both sides have equally many. */
static void pair_group(const struct side *output, size_t first, size_t count,
                       const struct side *input, size_t input_first, size_t input_count,
                       struct bat_symbol_pairs *pairs)
{
    if (count != input_count)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct bat_symbol *to = &output->symbols[output->keyed[first + i].value];
        const struct bat_symbol *from = &input->symbols[input->keyed[input_first + i].value];
        if (same_key(to, from))
            pairs->all[pairs->count++] =
                (struct bat_symbol_pair){to->address, from->address, rank_of(to)};
    }
}

static enum bat_code pair_sides(const struct side *output, const struct side *input,
                                struct bat_symbol_pairs *pairs, struct bat_error *error)
{
    pairs->all = malloc((output->count + 1) * sizeof(*pairs->all));
    if (!pairs->all)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %zu symbols", output->count);
    size_t first = 0;
    size_t input_first = 0;
    while (first < output->count && input_first < input->count) {
        uint64_t hash = output->keyed[first].key;
        uint64_t input_hash = input->keyed[input_first].key;
        size_t end = hash <= input_hash ? end_of_group(output, first) : first;
        size_t input_end = input_hash <= hash ? end_of_group(input, input_first) : input_first;
        pair_group(output, first, end - first, input, input_first, input_end - input_first, pairs);
        first = end;
        input_first = input_end;
    }
    if (!sort_pairs(pairs))
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for %zu symbols", output->count);
    return BAT_OK;
}

size_t bat_symbol_pairs_at(const struct bat_symbol_pairs *pairs, uint64_t output)
{
    return BAT_COUNT_BELOW(pairs->all, pairs->count, output, output);
}

enum bat_code bat_original_pair_symbols(const struct bat_original *original,
                                        struct bat_symbol_pairs *pairs, struct bat_error *error)
{
    *pairs = (struct bat_symbol_pairs){0};
    enum { OUTPUT, INPUT, SIDES };
    struct side sides[SIDES] = {
        [OUTPUT] = {.elf = original->output_symbols, .fragments_of = original->map},
        [INPUT] = {.elf = original->input_symbols},
    };
    bat_parallel_run(SIDES, 1, bat_parallel_threads(original->threads, SIDES), read_sides, sides);
    const struct side *failed = NULL;
    for (unsigned i = SIDES; i-- > 0;)
        failed = sides[i].code != BAT_OK ? &sides[i] : failed;
    enum bat_code code =
        failed ? failed->code : pair_sides(&sides[OUTPUT], &sides[INPUT], pairs, error);
    if (failed && error)
        *error = failed->error;
    free(sides[OUTPUT].keyed);
    free(sides[INPUT].keyed);
    return code;
}
