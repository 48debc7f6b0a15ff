/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What comparisons ask of the caller's code, and of other functions. */
#include "inlined_parts.h"
#include "spec/order.h"

bool bat_program_is_in(const struct bat_program *program, uint32_t table, uint64_t address,
                       struct bat_known_code *known)
{
    if (address >= known->range.start && address < known->range.end)
        return known->table == table;
    uint32_t function = bat_functions_find(program->functions, address);
    if (function == BAT_NONE)
        return false;
    uint32_t count;
    const struct bat_function_symbol *symbol =
        &bat_functions_all(program->functions, &count)[function];
    uint32_t found = bat_map_table_at(program->map, symbol->address);
    if (address - symbol->address >= symbol->size || found == BAT_NONE)
        return false;
    *known = (struct bat_known_code){{symbol->address, symbol->address + symbol->size},
                                     bat_map_parent(program->map, found)};
    return known->table == table;
}

size_t bat_spots_from(const struct bat_spots *spots, uint64_t address)
{
    return BAT_COUNT_BELOW(spots->all, spots->count, address, address);
}

const struct bat_spot *bat_spots_at(const struct bat_spots *spots, uint64_t address, size_t *hint)
{
    for (unsigned i = 0; i < 2; i++)
        if (*hint + i < spots->count && spots->all[*hint + i].address == address)
            return &spots->all[*hint += i];
    size_t found = bat_spots_from(spots, address);
    if (found == spots->count || spots->all[found].address != address)
        return NULL;
    *hint = found;
    return &spots->all[found];
}
