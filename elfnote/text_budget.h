/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What overlaps in a damaged file is far longer together than the file. So whatever may overlap is
 * read up to a limit. Internal to the library.
 */
#pragma once

#include "bat_elf.h"

/* Bytes that may still be read. */
struct bat_budget {
    uint64_t left;
};

/* Take bytes from a budget; false if too few are left. */
static inline bool bat_budget_spend(struct bat_budget *budget, uint64_t bytes)
{
    if (bytes > budget->left)
        return false;
    budget->left -= bytes;
    return true;
}

/*
 * For the names of symbols: 32 bytes for each byte of the file's symbol tables and strings, of
 * which no more count than the file has. Two or three are enough for files of compilers and
 * linkers.
 */
struct bat_budget bat_budget_of_names(const struct bat_elf *elf);

/* bat_budget_spend(), which fails with BAT_ERR_ELF if too few bytes are left. */
enum bat_code bat_budget_spend_names(struct bat_budget *budget, uint64_t bytes,
                                     struct bat_error *error);
