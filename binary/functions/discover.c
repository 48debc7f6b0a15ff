/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"

#include "plt.h"

/* Most binaries have fewer entries in their PLT sections. */
#define PLT_ENTRIES_USUAL 4096u

/*
 * Decides which symbols are functions, by perf2bolt's rules in perf2bolt's order: a profile's
 * offsets are relative to what perf2bolt takes for a function.
 */

/* --- One symbol --------------------------------------------------------------------------- */

bool draft_tolerates(const struct draft *draft, uint32_t function,
                     const struct draft_symbol *symbol)
{
    if (!section_holds(draft_section(draft, &draft->functions.namings[function]), symbol->address))
        return false;
    if (symbol->size == 0 && draft_contains(&draft->functions.all[function], symbol->address))
        return true;
    return symbol->type == STT_NOTYPE && symbol->binding == STB_LOCAL;
}

/* True if the symbol is not a function but belongs to the last one. */
static bool belongs_to_last(const struct draft *draft, struct draft_symbol *symbol)
{
    if (draft->functions.count == 0)
        return false;
    const uint32_t index = draft->functions.count - 1;
    const struct bat_function_symbol *last = &draft->functions.all[index];
    bool is_inside = draft_contains(last, symbol->address);
    if (!draft_is_function(symbol) &&
        (is_inside || (last->size == 0 && draft_tolerates(draft, index, symbol))))
        return true;
    if (!is_inside || symbol->address == last->address)
        return false;
    symbol->is_entry_point = !draft_tolerates(draft, index, symbol);
    return true;
}

/*
 * Give the function the symbol's name if it has none (is_first), or if this is the first of its
 * names with two slashes.
 */
static void offer_name(const struct draft_symbols *symbols, struct draft_naming *naming,
                       uint32_t index, bool is_first)
{
    const struct draft_symbol *symbol = &symbols->all[index];
    if (naming->has_final_name)
        return;
    bool is_local = symbol->binding == STB_LOCAL;
    bool is_final = symbol->slashes + is_local >= 2;
    if (!is_first && !is_final && !symbol->file)
        return;
    naming->symbol = index;
    naming->has_final_name = is_final || symbol->file;
    if (symbol->is_nameless)
        naming->name = DRAFT_NAME_ANONYMOUS;
    else if (!is_final && symbol->file)
        naming->name = DRAFT_NAME_FILE;
    else
        naming->name = is_local ? DRAFT_NAME_LOCAL : DRAFT_NAME_PLAIN;
}

/* --- All symbols -------------------------------------------------------------------------- */

/*
 * The size of the symbol and of the FDE at its address, whichever is larger; *conflict if it lies
 * inside another FDE's code. *next_fde is the first FDE at or above its address.
 */
static void ask_fdes(const struct draft *draft, size_t *next_fde, const struct draft_symbol *symbol,
                     uint64_t *size, bool *conflict)
{
    while (*next_fde < draft->fde_count && draft->fdes[*next_fde].address < symbol->address)
        ++*next_fde;
    *size = symbol->size;
    *conflict = false;
    if (*next_fde == draft->fde_count)
        return;
    const struct draft_fde *fde = &draft->fdes[*next_fde];
    if (fde->address == symbol->address) {
        if (fde->size > *size)
            *size = fde->size;
    } else if (*next_fde > 0) {
        *conflict = symbol->address - fde[-1].address < fde[-1].size;
    }
}

/* Add a symbol that is a function: to the last function if that is at its address, else as new. */
static enum bat_code add_symbol(struct draft *draft, uint32_t index, size_t *next_fde,
                                struct bat_error *error)
{
    const struct draft_symbol *symbol = &draft->symbols.all[index];
    struct draft_functions *functions = &draft->functions;
    uint64_t size;
    bool conflict;
    ask_fdes(draft, next_fde, symbol, &size, &conflict);

    bool is_first =
        functions->count == 0 || functions->all[functions->count - 1].address != symbol->address;
    if (is_first) {
        const struct bat_section *in = draft_section_at(draft, symbol->address);
        if (!in || in->size == 0)
            return BAT_OK;
        struct draft_function function = {
            .code = {.address = symbol->address, .flags = conflict ? BAT_FUNCTION_CONFLICT : 0},
            .naming = {.in = DRAFT_IN(in), .first = index},
        };
        BAT_TRY(draft_append(functions, &function, error));
        if (symbol->type == STT_SECTION) /* it comes after all others of its address */
            functions->all[functions->count - 1].flags |= BAT_FUNCTION_SECTION;
    }
    struct bat_function_symbol *function = &functions->all[functions->count - 1];
    if (size > function->size)
        function->size = size;
    if (symbol->is_fragment)
        function->flags |= BAT_FUNCTION_FRAGMENT;
    if (symbol->is_patched)
        function->flags |= BAT_FUNCTION_PATCHED;
    offer_name(&draft->symbols, &functions->namings[functions->count - 1], index, is_first);
    return BAT_OK;
}

/* True for symbols of PLT sections: the function there is the PLT entry or the section's start. */
static bool is_plt_symbol(struct draft *draft, const struct draft_symbol *symbol)
{
    if (symbol->type != STT_SECTION)
        return false;
    const struct bat_section *in = draft_section_at(draft, symbol->address);
    return in && bat_plt_is_section(draft->elf, in);
}

/* How many addresses symbols of code or FDEs have. */
static uint64_t count_addresses(const struct draft *draft)
{
    const struct draft_symbols *symbols = &draft->symbols;
    uint64_t count = draft->fde_count;
    uint64_t last = 0; /* no symbol is there */
    size_t fde = 0;
    for (uint32_t i = 0; i < symbols->count; i++) {
        const uint64_t address = symbols->all[i].address;
        if (address == last || !symbols->all[i].is_in_code)
            continue;
        while (fde < draft->fde_count && draft->fdes[fde].address < address)
            fde++;
        count += fde == draft->fde_count || draft->fdes[fde].address != address;
        last = address;
    }
    return count;
}

enum bat_code draft_discover(struct draft *draft, struct bat_error *error)
{
    size_t next_fde = 0;
    /* FDEs and PLT entries are added later: without growing, if there is room for them now. */
    BAT_TRY(draft_reserve(&draft->functions, count_addresses(draft) + PLT_ENTRIES_USUAL, error));
    for (uint32_t i = 0; i < draft->symbols.count; i++) {
        struct draft_symbol *symbol = &draft->symbols.all[i];
        if (!symbol->is_in_code || is_plt_symbol(draft, symbol))
            continue;
        if (belongs_to_last(draft, symbol))
            continue;
        BAT_TRY(add_symbol(draft, i, &next_fde, error));
    }
    return BAT_OK;
}
