/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"
#include "spec/array.h"

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
    return by_file ? symbol->file != 0 : symbol->binding == STB_LOCAL && !symbol->is_nameless;
}

/* What is counted together. */
struct counted {
    const char *name;
    uint32_t file; /* as in struct draft_symbol */
    uint32_t hash; /* of the name */
};

static struct counted counted_symbol(const struct draft_symbols *symbols,
                                     const struct draft_symbol *symbol)
{
    return (struct counted){draft_symbol_name(symbols, symbol), symbol->file, symbol->hash};
}

static bool same_string(const char *left, const char *right)
{
    return left == right || strcmp(left, right) == 0; /* linkers write equal names once */
}

static bool same_name(const struct counters *counters, const struct draft_symbols *symbols,
                      const struct draft_symbol *left, const struct counted *right)
{
    return same_string(draft_symbol_name(symbols, left), right->name) &&
           (!counters->by_file ||
            same_string(draft_file(symbols, left->file), draft_file(symbols, right->file)));
}

static enum bat_code hash_name(struct counters *counters, struct draft_symbols *symbols,
                               const struct counted *symbol, uint64_t *hash,
                               struct bat_error *error)
{
    *hash = symbol->hash;
    if (!counters->by_file)
        return BAT_OK;
    if (counters->file != symbol->file) {
        const char *file = draft_file(symbols, symbol->file);
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
                                 const struct draft_symbols *symbols, const struct counted *symbol,
                                 uint64_t hash)
{
    for (uint64_t i = hash;; i++) {
        struct counter *slot = &counters->slots[i & counters->mask];
        if (slot->symbol_after == 0)
            return slot;
        if (slot->hash == hash &&
            same_name(counters, symbols, &symbols->all[slot->symbol_after - 1], symbol))
            return slot;
    }
}

static uint64_t *filter_word(const struct counters *counters, uint64_t hash)
{
    return &counters->filter[hash / 64 & counters->mask];
}

/* False for most names that are not counted. */
static bool may_count(const struct counters *counters, uint32_t hash)
{
    return *filter_word(counters, hash) >> hash % 64 & 1;
}

/* Add counters for the names of these symbols. */
static enum bat_code expect(struct draft_symbols *symbols, struct counters *counters,
                            const uint32_t *wanted, uint32_t wanted_count, struct bat_error *error)
{
    for (uint32_t i = 0; i < wanted_count; i++) {
        const struct draft_symbol *symbol = &symbols->all[wanted[i]];
        if (!has_name(symbol, counters->by_file))
            continue;
        const struct counted counted = counted_symbol(symbols, symbol);
        uint64_t hash;
        BAT_TRY(hash_name(counters, symbols, &counted, &hash, error));
        struct counter *slot = find_slot(counters, symbols, &counted, hash);
        *slot = (struct counter){.hash = hash, .symbol_after = wanted[i] + 1};
        *filter_word(counters, symbol->hash) |= (uint64_t)1 << symbol->hash % 64;
    }
    return BAT_OK;
}

/* Set *slot to the counter of a name, counted up; to NULL if the name is not counted. */
static enum bat_code count_name(struct draft_symbols *symbols, struct counters *counters,
                                const struct counted *counted, struct counter **slot,
                                struct bat_error *error)
{
    uint64_t hash;
    BAT_TRY(hash_name(counters, symbols, counted, &hash, error));
    *slot = find_slot(counters, symbols, counted, hash);
    if ((*slot)->symbol_after == 0)
        *slot = NULL;
    else
        (*slot)->count++;
    return BAT_OK;
}

/* --- Symbols of data ------------------------------------------------------------------------ */

/* Some of draft_symbols' others, by address; values are their positions. */
struct picked {
    struct bat_sort_key *memory;
    const struct bat_sort_key *all;
    size_t count;
    size_t next; /* the first that is not counted yet */
};

/* True if another counts: counters is NULL for the symbols without a name. */
static bool is_picked(const struct draft_symbols *symbols, const struct draft_other *other,
                      const struct counters *counters)
{
    if (counters)
        return (!counters->by_file || other->file != 0) && may_count(counters, other->hash);
    const Elf64_Sym symbol = symbol_table_at(&symbols->table, other->index);
    return !*draft_table_name(&symbols->table, other->index, &symbol);
}

static enum bat_code pick_others(const struct draft_symbols *symbols,
                                 const struct counters *counters, struct picked *picked,
                                 struct bat_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < symbols->other_count; i++)
        count += is_picked(symbols, &symbols->others[i], counters);
    *picked = (struct picked){.memory = malloc((2 * count + 1) * sizeof(*picked->memory))};
    BAT_TRY_MEMORY(picked->memory, error, "for the numbers of local symbols");
    for (size_t i = 0; i < symbols->other_count && picked->count < count; i++) {
        const struct draft_other *other = &symbols->others[i];
        if (is_picked(symbols, other, counters))
            picked->memory[picked->count++] = (struct bat_sort_key){
                .key = symbol_table_at(&symbols->table, other->index).st_value, .value = i};
    }
    picked->all = bat_sort_keys(picked->memory, picked->memory + count, picked->count);
    return BAT_OK;
}

/* The next picked one below an address, or NULL. */
static const struct draft_other *next_below(const struct draft_symbols *symbols,
                                            struct picked *picked, uint64_t address)
{
    if (picked->next == picked->count || picked->all[picked->next].key >= address)
        return NULL;
    return &symbols->others[picked->all[picked->next++].value];
}

/* --- Numbers -------------------------------------------------------------------------------- */

static enum bat_code count_others(struct draft_symbols *symbols, struct counters *counters,
                                  struct picked *picked, uint64_t address, struct bat_error *error)
{
    const struct draft_other *other;
    while ((other = next_below(symbols, picked, address)) != NULL) {
        const Elf64_Sym symbol = symbol_table_at(&symbols->table, other->index);
        const struct counted counted = {draft_table_name(&symbols->table, other->index, &symbol),
                                        other->file, other->hash};
        struct counter *slot;
        BAT_TRY(count_name(symbols, counters, &counted, &slot, error));
    }
    return BAT_OK;
}

static enum bat_code number_expected(struct draft_symbols *symbols, struct counters *counters,
                                     struct picked *picked, struct bat_error *error)
{
    uint32_t *numbers = counters->by_file ? symbols->file_numbers : symbols->numbers;
    for (uint32_t i = 0; i < symbols->count; i++) {
        const struct draft_symbol *symbol = &symbols->all[i];
        if (!has_name(symbol, counters->by_file) || !may_count(counters, symbol->hash))
            continue;
        BAT_TRY(count_others(symbols, counters, picked, symbol->address, error));
        const struct counted counted = counted_symbol(symbols, symbol);
        struct counter *slot;
        BAT_TRY(count_name(symbols, counters, &counted, &slot, error));
        if (slot)
            numbers[i] = slot->count;
    }
    return BAT_OK;
}

/* Only the pages of symbols that are numbered are touched. */
static enum bat_code make_numbers(const struct draft_symbols *symbols, uint32_t **numbers,
                                  struct bat_error *error)
{
    if (!*numbers)
        *numbers = calloc((size_t)symbols->count + 1, sizeof(**numbers));
    BAT_TRY_MEMORY(*numbers, error, "for the numbers of local symbols");
    return BAT_OK;
}

enum bat_code draft_symbols_number(struct draft_symbols *symbols, bool by_file,
                                   const uint32_t *wanted, uint32_t wanted_count,
                                   struct bat_error *error)
{
    if (wanted_count == 0)
        return BAT_OK;
    BAT_TRY(make_numbers(symbols, by_file ? &symbols->file_numbers : &symbols->numbers, error));
    struct counters counters = {.mask = 1, .by_file = by_file};
    while (counters.mask < 2 * (uint64_t)wanted_count) /* at least half of the slots stay free */
        counters.mask = 2 * counters.mask + 1;
    counters.slots = calloc(counters.mask + 1, sizeof(*counters.slots));
    counters.filter = calloc(counters.mask + 1, sizeof(*counters.filter));
    enum bat_code code = BAT_OK;
    if (!counters.slots || !counters.filter)
        code = bat_fail_memory(error, "for the numbers of local symbols");
    code = code ? code : expect(symbols, &counters, wanted, wanted_count, error);
    struct picked picked = {0};
    code = code ? code : pick_others(symbols, &counters, &picked, error);
    code = code ? code : number_expected(symbols, &counters, &picked, error);
    BAT_FREE_ALL(picked.memory, counters.slots, counters.filter);
    return code;
}

enum bat_code draft_symbols_number_nameless(struct draft_symbols *symbols, struct bat_error *error)
{
    struct picked picked;
    BAT_TRY(make_numbers(symbols, &symbols->numbers, error));
    BAT_TRY(pick_others(symbols, NULL, &picked, error));
    uint32_t count = 0;
    for (uint32_t i = 0; i < symbols->count; i++) {
        if (!symbols->all[i].is_nameless)
            continue;
        while (next_below(symbols, &picked, symbols->all[i].address))
            count++;
        symbols->numbers[i] = ++count;
    }
    free(picked.memory);
    return BAT_OK;
}
