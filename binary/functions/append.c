/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"

#include <stdlib.h>
#include <string.h>

#include "eh_frame.h"
#include "plt.h"
#include "spec/array.h"
#include "spec/large_memory.h"
#include "spec/order.h"

/* Adds functions that have no symbol: PLT entries, and code that only .eh_frame describes. */

enum bat_code draft_reserve(struct draft_functions *functions, uint64_t capacity,
                            struct bat_error *error)
{
    if (capacity <= functions->capacity)
        return BAT_OK;
    struct bat_function_symbol *all = NULL;
    struct draft_naming *namings = NULL;
    if (capacity < BAT_NONE)
        all = bat_large_grow(functions->all, functions->count * sizeof(*all),
                             capacity * sizeof(*all));
    if (all) {
        functions->all = all;
        namings = bat_large_grow(functions->namings, functions->count * sizeof(*namings),
                                 capacity * sizeof(*namings));
    }
    BAT_TRY_MEMORY(namings, error, "for %lu functions", capacity);
    functions->namings = namings;
    functions->capacity = (uint32_t)capacity;
    return BAT_OK;
}

static void put(struct draft_functions *functions, uint32_t index,
                const struct draft_function *function)
{
    functions->all[index] = function->code;
    functions->namings[index] = function->naming;
}

static void move(struct draft_functions *functions, uint32_t to, uint32_t from)
{
    functions->all[to] = functions->all[from];
    functions->namings[to] = functions->namings[from];
}

enum bat_code draft_append(struct draft_functions *functions, const struct draft_function *function,
                           struct bat_error *error)
{
    if (functions->count == functions->capacity)
        BAT_TRY(draft_reserve(functions, 2 * (uint64_t)functions->count + 64, error));
    put(functions, functions->count++, function);
    return BAT_OK;
}

/* --- PLT ---------------------------------------------------------------------------------- */

/* Functions of PLT sections, in no order. */
struct plt_functions {
    struct draft_function *all;
    size_t count;
    size_t capacity;
};

static enum bat_code add_plt_function(struct plt_functions *functions,
                                      const struct draft_function *function,
                                      struct bat_error *error)
{
    return BAT_APPEND(functions->all, functions->count, functions->capacity, *function)
               ? BAT_OK
               : bat_fail_memory(error, "for %zu PLT entries", functions->count + 1);
}

/* The function that starts at address, or BAT_NONE. */
static uint32_t function_at(const struct draft_functions *functions, uint64_t address)
{
    uint32_t found = BAT_COUNT_BELOW(functions->all, functions->count, address, address);
    return found < functions->count && functions->all[found].address == address ? found : BAT_NONE;
}

/*
 * If this file's symbol table has the entry's function, with its name and address: the first symbol
 * at that address; else BAT_NONE.
 */
static enum bat_code find_own_symbol(struct draft *draft, const struct bat_plt_entry *entry,
                                     uint32_t *first, struct bat_error *error)
{
    struct draft_symbols *symbols = &draft->symbols;
    uint64_t length = strlen(entry->symbol);
    uint32_t start = draft_symbols_from(symbols, entry->target);
    *first = BAT_NONE;
    for (uint32_t i = start; i < symbols->count && symbols->all[i].address == entry->target; i++) {
        BAT_TRY(bat_budget_spend_names(&symbols->names, length + 1, error));
        if (symbols->all[i].binding == STB_LOCAL ||
            strcmp(draft_symbol_name(symbols, &symbols->all[i]), entry->symbol) != 0)
            continue;
        *first = start;
        return BAT_OK;
    }
    return BAT_OK;
}

/*
 * Set a PLT entry's name: the symbol of its slot; for a function of this file, the function's first
 * name; for an IFUNC without a symbol, its resolver's. *known is false if the resolver is not a
 * function with a symbol.
 */
static enum bat_code name_plt_entry(struct draft *draft, const struct bat_plt_entry *entry,
                                    struct draft_naming *naming, bool *known,
                                    struct bat_error *error)
{
    uint32_t first = BAT_NONE;
    *known = true;
    if (!entry->symbol) {
        const uint32_t resolver = function_at(&draft->functions, entry->target);
        first = resolver != BAT_NONE ? draft->functions.namings[resolver].first : BAT_NONE;
        *known = first != BAT_NONE;
    } else if (entry->target) {
        BAT_TRY(find_own_symbol(draft, entry, &first, error));
    }
    naming->name = first == BAT_NONE ? DRAFT_NAME_PLT_TEXT : DRAFT_NAME_PLT;
    naming->symbol = first;
    if (first == BAT_NONE && *known) {
        naming->symbol = draft->text_count;
        draft->texts[draft->text_count++] = entry->symbol;
    }
    return BAT_OK;
}

static enum bat_code collect_plt_entries(struct draft *draft, struct plt_functions *found,
                                         struct bat_error *error)
{
    struct bat_plt_entry *entries;
    size_t count;
    enum bat_code code = bat_plt_entries(draft->elf, &entries, &count, error);
    if (!code && !(draft->texts = malloc((count + 1) * sizeof(*draft->texts))))
        code = bat_fail_memory(error, "for %zu PLT entries", count);
    for (size_t i = 0; i < count && !code; i++) {
        const uint32_t known_function = function_at(&draft->functions, entries[i].address);
        if (known_function != BAT_NONE) {
            draft->functions.all[known_function].flags |= BAT_FUNCTION_PLT;
            continue;
        }
        struct draft_function function = {
            .code = {.address = entries[i].address, .flags = BAT_FUNCTION_PLT | BAT_FUNCTION_LATE},
            .naming = {.in = DRAFT_IN(entries[i].in), .first = BAT_NONE},
        };
        if (entries[i].address == entries[i].in->address)
            function.code.flags |= BAT_FUNCTION_PLT_START;
        bool known;
        code = name_plt_entry(draft, &entries[i], &function.naming, &known, error);
        if (!code && known)
            code = add_plt_function(found, &function, error);
    }
    free(entries);
    return code;
}

/* The start of each PLT section is a function, even if no entry is there. */
static enum bat_code collect_plt_starts(struct draft *draft, struct plt_functions *found,
                                        struct bat_error *error)
{
    for (size_t i = 0; i < draft->sections.count; i++) {
        const struct bat_section *section = draft->sections.all[i];
        if (!bat_plt_is_section(draft->elf, section) || section->size == 0)
            continue;
        const uint32_t known_function = function_at(&draft->functions, section->address);
        if (known_function != BAT_NONE) {
            draft->functions.all[known_function].flags |= BAT_FUNCTION_PLT;
            continue;
        }
        struct draft_function start = {
            .code = {.address = section->address,
                     .flags = BAT_FUNCTION_PLT | BAT_FUNCTION_LATE | BAT_FUNCTION_PLT_START |
                              BAT_FUNCTION_PLT_HEADER},
            .naming = {.in = DRAFT_IN(section), .first = BAT_NONE, .name = DRAFT_NAME_PSEUDO},
        };
        BAT_TRY(add_plt_function(found, &start, error));
    }
    return BAT_OK;
}

/* Entries come before a section's start at the same address. */
static int by_address(const void *left, const void *right)
{
    const struct draft_function *a = left;
    const struct draft_function *b = right;
    if (a->code.address != b->code.address)
        return a->code.address < b->code.address ? -1 : 1;
    return (a->naming.name > b->naming.name) - (a->naming.name < b->naming.name);
}

/*
 * Merge more, which is sorted, into functions: from the end, so that no second array is needed. All
 * addresses differ.
 */
static enum bat_code merge(struct draft_functions *functions, const struct plt_functions *more,
                           struct bat_error *error)
{
    BAT_TRY(draft_reserve(functions, (uint64_t)functions->count + more->count, error));
    uint32_t i = functions->count;
    size_t j = more->count;
    functions->count += (uint32_t)more->count;
    for (uint32_t to = functions->count; j > 0; to--) {
        bool is_old = i > 0 && functions->all[i - 1].address > more->all[j - 1].code.address;
        if (is_old)
            move(functions, to - 1, --i);
        else
            put(functions, to - 1, &more->all[--j]);
    }
    return BAT_OK;
}

enum bat_code draft_add_plt(struct draft *draft, struct bat_error *error)
{
    struct plt_functions found = {0};
    enum bat_code code = collect_plt_entries(draft, &found, error);
    code = code ? code : collect_plt_starts(draft, &found, error);
    if (!code && found.count) {
        qsort(found.all, found.count, sizeof(*found.all), by_address);
        /* Keep the first of several at the same address. */
        size_t kept = 0;
        for (size_t i = 0; i < found.count; i++)
            if (kept == 0 || found.all[kept - 1].code.address != found.all[i].code.address)
                found.all[kept++] = found.all[i];
        found.count = kept;
        code = merge(&draft->functions, &found, error);
    }
    free(found.all);
    return code;
}

/* --- FDEs --------------------------------------------------------------------------------- */

/* Bytes of a short FDE. */
#define FDE_USUAL 24u

/* The code of all FDEs in the section's order: key is its address, value its size. */
static enum bat_code collect_fdes(const struct bat_elf *elf, struct bat_sort_key **keys,
                                  size_t *count, struct bat_error *error)
{
    struct bat_fde_walk walk;
    *count = 0;
    bat_fde_begin(&walk, elf);
    /* Most FDEs are longer, so that the keys seldom need more room. */
    size_t capacity = (size_t)(walk.end - walk.start) / FDE_USUAL + 1;
    *keys = bat_large_array(capacity, sizeof(**keys));
    BAT_TRY_MEMORY(*keys, error, "for %zu FDEs", capacity);
    for (;;) {
        struct bat_fde fde;
        bool found;
        enum bat_code code = bat_fde_next(&walk, &fde, &found, error);
        if (code || !found)
            return code;
        if (*count == capacity) {
            capacity *= 2;
            struct bat_sort_key *grown =
                bat_large_grow(*keys, *count * sizeof(*grown), capacity * sizeof(*grown));
            BAT_TRY_MEMORY(grown, error, "for %zu FDEs", *count);
            *keys = grown;
        }
        (*keys)[(*count)++] = (struct bat_sort_key){.key = fde.address, .value = fde.size};
    }
}

/* Write FDEs over their sorted keys. Of several FDEs at one address the first with a size counts,
 * else the first. */
static void take_fdes(struct draft *draft, struct bat_sort_key *sorted, size_t count)
{
    _Static_assert(sizeof(struct draft_fde) == sizeof(*sorted), "an FDE takes its key's place");
    draft->fdes = (struct draft_fde *)sorted;
    draft->fde_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct bat_sort_key key = sorted[i];
        struct draft_fde *last = draft->fde_count ? &draft->fdes[draft->fde_count - 1] : NULL;
        if (!last || last->address != key.key)
            draft->fdes[draft->fde_count++] =
                (struct draft_fde){.address = key.key, .size = key.value};
        else if (last->size == 0)
            last->size = key.value;
    }
}

/* Takes keys, also after a failure. */
static enum bat_code sort_fdes(struct draft *draft, struct bat_sort_key *keys, size_t count,
                               struct bat_error *error)
{
    struct bat_sort_key *spare = bat_large_array(count + 1, sizeof(*spare));
    if (!spare) {
        free(keys);
        return bat_fail_memory(error, "for %zu FDEs", count);
    }
    struct bat_sort_key *sorted = bat_sort_keys(keys, spare, count);
    free(sorted == keys ? spare : keys);
    take_fdes(draft, sorted, count);
    return BAT_OK;
}

enum bat_code draft_read_fdes(struct draft *draft, struct bat_error *error)
{
    struct bat_sort_key *keys;
    size_t count;
    enum bat_code code = collect_fdes(draft->elf, &keys, &count, error);
    const struct bat_section *frames = bat_elf_section(draft->elf, ".eh_frame");
    if (frames)
        bat_elf_release(draft->elf, bat_elf_section_bytes(draft->elf, frames, &(uint64_t){0}),
                        frames->size);
    if (!code)
        return sort_fdes(draft, keys, count, error);
    free(keys);
    return code;
}

/* True if code of size bytes starts at the FDE's address or contains it. */
static bool covers(uint64_t address, uint64_t size, const struct draft_fde *fde)
{
    return address == fde->address || fde->address - address < size;
}

/*
 * Find the FDEs that become functions: they start in a section, and in no function, also none found
 * here. found has room for all FDEs. Returns how many there are.
 */
static size_t find_new(struct draft *draft, uint32_t *found)
{
    const struct draft_functions *functions = &draft->functions;
    const struct draft_fde *last = NULL; /* that was found */
    size_t count = 0;
    uint32_t next = 0; /* the first function above the FDE's start */
    for (size_t i = 0; i < draft->fde_count; i++) {
        const struct draft_fde *fde = &draft->fdes[i];
        while (next < functions->count && functions->all[next].address <= fde->address)
            next++;
        const struct bat_function_symbol *before = next ? &functions->all[next - 1] : NULL;
        bool is_known = last && (!before || last->address > before->address)
                            ? covers(last->address, last->size, fde)
                            : before && covers(before->address, before->size, fde);
        if (is_known || !draft_section_at(draft, fde->address))
            continue;
        found[count++] = (uint32_t)i;
        last = fde;
    }
    return count;
}

static struct draft_function function_of(struct draft *draft, const struct draft_fde *fde)
{
    return (struct draft_function){
        .code = {.address = fde->address,
                 .size = fde->size,
                 .flags = BAT_FUNCTION_FDE | BAT_FUNCTION_LATE},
        .naming = {.in = DRAFT_IN(draft_section_at(draft, fde->address)),
                   .first = BAT_NONE,
                   .name = DRAFT_NAME_FDE},
    };
}

/* Merge them into the functions, as merge() does. A BOLTed binary has one for each input function.
 */
static enum bat_code merge_new(struct draft *draft, const uint32_t *found, size_t count,
                               struct bat_error *error)
{
    struct draft_functions *functions = &draft->functions;
    BAT_TRY(draft_reserve(functions, (uint64_t)functions->count + count, error));
    uint32_t i = functions->count;
    functions->count += (uint32_t)count;
    for (uint32_t to = functions->count; count > 0; to--) {
        const struct draft_fde *fde = &draft->fdes[found[count - 1]];
        bool is_old = i > 0 && functions->all[i - 1].address > fde->address;
        if (is_old) {
            move(functions, to - 1, --i);
        } else {
            const struct draft_function function = function_of(draft, fde);
            put(functions, to - 1, &function);
            count--;
        }
    }
    return BAT_OK;
}

enum bat_code draft_add_fdes(struct draft *draft, struct bat_error *error)
{
    uint32_t *found = draft->fde_count < UINT32_MAX
                          ? bat_large_array(draft->fde_count + 1, sizeof(*found))
                          : NULL;
    BAT_TRY_MEMORY(found, error, "for %zu FDEs", draft->fde_count);
    enum bat_code code = merge_new(draft, found, find_new(draft, found), error);
    BAT_FREE_ALL(found, draft->fdes);
    draft->fdes = NULL;
    draft->fde_count = 0;
    return code;
}
