/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text_budget.h"

#include <elf.h>

#define NAMES_FACTOR 32u

struct bat_budget bat_budget_of_names(const struct bat_elf *elf)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    uint64_t most;
    bat_elf_bytes(elf, &most);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count && bytes < most; i++)
        if (sections[i].type == SHT_SYMTAB || sections[i].type == SHT_DYNSYM ||
            sections[i].type == SHT_STRTAB)
            bytes += sections[i].size;
    return (struct bat_budget){NAMES_FACTOR * (bytes < most ? bytes : most)};
}

enum bat_code bat_budget_spend_names(struct bat_budget *budget, uint64_t bytes,
                                     struct bat_error *error)
{
    if (bat_budget_spend(budget, bytes))
        return BAT_OK;
    return bat_fail(error, BAT_ERR_ELF,
                    "the names of the symbols overlap: together they are more than %u times as "
                    "long as the symbol tables and their strings",
                    NAMES_FACTOR);
}
