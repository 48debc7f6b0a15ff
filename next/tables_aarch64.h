/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Jump tables of AArch64, as GCC and Clang make them. BOLT does not read them, so the code that
 * they lead to may begin in the middle of one of its blocks. Internal to next/.
 */
#pragma once

#include "binary/code/sweep.h"
#include "program.h"

/* A jump table: where each of its entries leads. */
struct next_read_table {
    uint32_t jump;     /* offset of the jump in the part */
    uint32_t *targets; /* offsets in the part, in the table's order; BAT_NONE: another part's */
    uint32_t count;    /* 0: it is not known where the jump leads */
};

struct next_read_tables {
    struct next_read_table *all; /* ascending by jump */
    uint32_t count;
    size_t capacity;
};

/*
 * Find where the indirect jumps of a function lead, which was decoded. *tables is empty
 * at first; the caller frees it with next_read_tables_free(), also after a failure. False without
 * memory. Linear in the code and the tables.
 */
bool next_read_tables_aarch64(const struct next_program *program, uint32_t function,
                              const struct code_sweep *sweep, struct next_read_tables *tables);
void next_read_tables_free(struct next_read_tables *tables);
