/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Counts the symbols with one name, or one name and file. */
struct counter {
    uint64_t hash;
    uint32_t symbol_after; /* index of a symbol with the name, plus 1; 0: a free slot */
    uint32_t count;
};

struct counters {
    struct counter *slots; /* a hash table */
    uint64_t mask;         /* number of slots, a power of two, minus 1 */
    uint64_t *filter; /* bit h % 64 of word h / 64 % (mask + 1) is set for the hash h of each name
                         (without file) that is counted: most names are not */
    bool by_file;     /* names with their files */
    uint32_t file;    /* the last file hashed, as in a symbol; 0 at first */
    uint64_t file_hash;
};

static bool has_name(const struct draft_symbol *symbol, bool by_file)
{
    return by_file ? symbol->file != 0 : symbol->binding == STB_LOCAL && symbol->length != 0;
}

static bool same_string(const char *left, const char *right)
{
    return left == right || strcmp(left, right) == 0; /* linkers write equal names once */
}

static bool same_name(const struct counters *counters, const struct draft_symbols *symbols,
                      const struct draft_symbol *left, const struct draft_symbol *right)
{
    return same_string(left->name, right->name) &&
           (!counters->by_file ||
            same_string(draft_symbol_file(symbols, left), draft_symbol_file(symbols, right)));
}

static enum bat_code hash_name(struct counters *counters, struct draft_symbols *symbols,
                               const struct draft_symbol *symbol, uint64_t *hash,
                               struct bat_error *error)
{
    *hash = symbol->hash;
    if (!counters->by_file)
        return BAT_OK;
    if (counters->file != symbol->file) {
        const char *file = draft_symbol_file(symbols, symbol);
        size_t length = strlen(file);
        BAT_TRY(bat_budget_spend_names(&symbols->names, length + 1, error));
        counters->file = symbol->file;
        counters->file_hash = XXH3_64bits_withSeed(file, length, symbols->seed);
    }
    uint64_t both[2] = {symbol->hash, counters->file_hash};
    *hash = XXH3_64bits(both, sizeof(both));
    return BAT_OK;
}

/* The slot of a symbol's name, free or with the same name. */
static struct counter *find_slot(const struct counters *counters,
                                 const struct draft_symbols *symbols, uint32_t symbol,
                                 uint64_t hash)
{
    for (uint64_t i = hash;; i++) {
        struct counter *slot = &counters->slots[i & counters->mask];
        if (slot->symbol_after == 0)
            return slot;
        if (slot->hash == hash &&
            same_name(counters, symbols, &symbols->all[slot->symbol_after - 1],
                      &symbols->all[symbol]))
            return slot;
    }
}

static uint64_t *filter_word(const struct counters *counters, uint64_t hash)
{
    return &counters->filter[hash / 64 & counters->mask];
}

/* Add counters for the names of these symbols. */
static enum bat_code expect(struct draft_symbols *symbols, struct counters *counters,
                            const uint32_t *wanted, uint32_t wanted_count, struct bat_error *error)
{
    for (uint32_t i = 0; i < wanted_count; i++) {
        const struct draft_symbol *symbol = &symbols->all[wanted[i]];
        if (!has_name(symbol, counters->by_file))
            continue;
        uint64_t hash;
        BAT_TRY(hash_name(counters, symbols, symbol, &hash, error));
        struct counter *slot = find_slot(counters, symbols, wanted[i], hash);
        *slot = (struct counter){.hash = hash, .symbol_after = wanted[i] + 1};
        *filter_word(counters, symbol->hash) |= (uint64_t)1 << symbol->hash % 64;
    }
    return BAT_OK;
}

static enum bat_code number_expected(struct draft_symbols *symbols, struct counters *counters,
                                     struct bat_error *error)
{
    for (uint32_t i = 0; i < symbols->count; i++) {
        struct draft_symbol *symbol = &symbols->all[i];
        if (!has_name(symbol, counters->by_file) ||
            !(*filter_word(counters, symbol->hash) >> symbol->hash % 64 & 1))
            continue;
        uint64_t hash;
        BAT_TRY(hash_name(counters, symbols, symbol, &hash, error));
        struct counter *slot = find_slot(counters, symbols, i, hash);
        if (slot->symbol_after == 0)
            continue;
        slot->count++;
        *(counters->by_file ? &symbol->file_number : &symbol->number) = slot->count;
    }
    return BAT_OK;
}

enum bat_code draft_symbols_number(struct draft_symbols *symbols, bool by_file,
                                   const uint32_t *wanted, uint32_t wanted_count,
                                   struct bat_error *error)
{
    if (wanted_count == 0)
        return BAT_OK;
    struct counters counters = {.mask = 1, .by_file = by_file};
    while (counters.mask < 2 * (uint64_t)wanted_count) /* at least half of the slots stay free */
        counters.mask = 2 * counters.mask + 1;
    counters.slots = calloc(counters.mask + 1, sizeof(*counters.slots));
    counters.filter = calloc(counters.mask + 1, sizeof(*counters.filter));
    enum bat_code code = BAT_OK;
    if (!counters.slots || !counters.filter)
        code = bat_fail_memory(error, "for the numbers of local symbols");
    if (!code)
        code = expect(symbols, &counters, wanted, wanted_count, error);
    if (!code)
        code = number_expected(symbols, &counters, error);
    free(counters.slots);
    free(counters.filter);
    return code;
}

void draft_symbols_number_nameless(struct draft_symbols *symbols)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < symbols->count; i++)
        if (symbols->all[i].length == 0)
            symbols->all[i].number = ++count;
}
