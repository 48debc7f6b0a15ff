/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables of sampled stacks. */
#include "stack_tables.h"

uint64_t stack_key_number(struct bat_counts *table, const uint64_t *key, bool *no_memory)
{
    const uint64_t *item = bat_counts_find(table, key);
    if (item)
        return (uint64_t)(item - table->items) / (table->words + 2);
    if (bat_counts_add(table, key, 0, 0) == BAT_OK)
        return table->count - 1;
    *no_memory = true;
    return 0;
}

enum bat_code stack_functions(const struct bat_sampled_stacks *stacks, uint32_t stack,
                              struct bat_counts *functions)
{
    const char *places = bat_strings_get(&stacks->stacks, stack);
    uint64_t place;
    uint64_t number;
    bat_counts_clear(functions);
    while (stack_next_number(&places, &place)) {
        const char *lines = bat_strings_get(&stacks->places, (uint32_t)place);
        stack_next_number(&lines, &number); /* the address */
        while (stack_next_number(&lines, &number)) {
            const uint64_t key[2] = {functions->count,
                                     bat_counts_item(&stacks->lines, (uint32_t)number)[0]};
            if (bat_counts_add(functions, key, 0, 0) != BAT_OK)
                return BAT_ERR_MEMORY;
        }
    }
    return BAT_OK;
}
