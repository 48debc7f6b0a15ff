/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the data that indirect calls take their pointers from. Internal to profile/remap/. */
#pragma once

#include "binary/functions/data_symbols.h"
#include "binary/original/original.h"

/* An indirect call or jump of the input, and the data that its pointer was loaded from. */
struct pointer_site {
    uint64_t branch;
    uint64_t first; /* of the data: one pointer, or those of a table */
    uint64_t end;   /* 0 if that is not known */
};

/*
 * Fill first and end of sites, ascending by branch, in code of x86-64. The load and the call must
 * be in one basic block; the table's address may be in a register that the function writes nothing
 * else to. A table ends where the next data symbol starts. Linear in the code of the sites'
 * functions, n log n in its branches. Fails with BAT_ERR_MEMORY.
 */
enum bat_code input_pointer_sources(const struct bat_original *original,
                                    const struct bat_data_symbols *data, struct pointer_site *sites,
                                    uint32_t count);
