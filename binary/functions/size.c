/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"
#include "spec/array.h"

/* Finds the functions' sizes and secondary entry points. */

static enum bat_code add_entry(struct draft_entries *entries, uint32_t function, uint64_t address,
                               struct bat_error *error)
{
    if (entries->count && entries->all[entries->count - 1].address == address)
        return BAT_OK;
    if (!BAT_APPEND(entries->all, entries->count, entries->capacity,
                    (struct draft_entry){.address = address, .function = function}))
        return bat_fail_memory(error, "for %u entry points", entries->count);
    return BAT_OK;
}

/*
 * Go through the symbols from *at on that lie after a function's start and before limit. Symbols
 * that it tolerates are entry points too, up to the first one that it does not tolerate: that is
 * *boundary, where the function ends at the latest.
 */
static enum bat_code pass_symbols(struct draft *draft, uint32_t function, uint64_t limit,
                                  uint32_t *at, uint64_t *boundary, struct bat_error *error)
{
    bool is_open = true;
    for (; *at < draft->symbols.count; ++*at) {
        const struct draft_symbol *symbol = &draft->symbols.all[*at];
        if (symbol->address >= limit)
            break;
        bool is_entry = symbol->is_entry_point;
        if (!is_entry && is_open) {
            is_open = draft_tolerates(draft, function, symbol);
            if (!is_open)
                *boundary = symbol->address;
            is_entry = is_open && !symbol->is_private;
        }
        if (is_entry)
            BAT_TRY(add_entry(&draft->entries, function, symbol->address, error));
    }
    return BAT_OK;
}

/* A function without size, or in conflict with an FDE, gets all bytes up to the boundary. */
static void set_size(struct bat_function_symbol *function, const struct bat_section *in,
                     uint64_t boundary)
{
    uint64_t section_end = in->address + in->size;
    uint64_t end = boundary < section_end ? boundary : section_end;
    /* An FDE may claim more addresses than there are. */
    if (function->size > UINT64_MAX - function->address)
        function->size = UINT64_MAX - function->address;
    const uint64_t extent = end > function->address ? end - function->address : 0;
    if (function->size > extent) {
        function->flags |= BAT_FUNCTION_CONFLICT;
        return;
    }
    if (function->size == 0 || (function->flags & BAT_FUNCTION_CONFLICT)) {
        function->size = extent;
        function->flags |= BAT_FUNCTION_UNSIZED;
    }
    const uint64_t padding = extent - function->size;
    function->padding = padding < UINT32_MAX ? (uint32_t)padding : UINT32_MAX;
}

enum bat_code draft_set_sizes(struct draft *draft, struct bat_error *error)
{
    struct draft_functions *functions = &draft->functions;
    uint32_t at = 0;
    for (uint32_t i = 0; i < functions->count; i++) {
        struct bat_function_symbol *function = &functions->all[i];
        uint64_t limit = i + 1 < functions->count ? functions->all[i + 1].address : UINT64_MAX;
        while (at < draft->symbols.count && draft->symbols.all[at].address <= function->address)
            at++;
        uint64_t boundary = limit;
        BAT_TRY(pass_symbols(draft, i, limit, &at, &boundary, error));
        set_size(function, draft_section(draft, &functions->namings[i]), boundary);
    }
    return BAT_OK;
}
