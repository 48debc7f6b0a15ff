/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The entries of a file's procedure linkage tables: where each starts and which function it
 * jumps to, found from its instructions and the relocation of the GOT slot that they load.
 * x86-64 and AArch64, any linker's entries; none are found for other machines.
 */
#ifndef BAT_FUNCTIONS_PLT_H
#define BAT_FUNCTIONS_PLT_H

#include "bat_elf.h"

struct bat_plt_entry {
    uint64_t address;             /* of its first instruction, or padding before it */
    const struct bat_section *in; /* the PLT section */
    const char *symbol;           /* the dynamic symbol's name, in elf; NULL for an IFUNC's */
    uint64_t target;              /* the symbol's address where this file defines it, the
                                     resolver's for an IFUNC without symbol; else 0 */
};

/* True for a section of PLT entries: .plt, .plt.got, .iplt and, on x86-64, .plt.sec. */
bool bat_plt_is_section(const struct bat_elf *elf, const struct bat_section *section);

/*
 * All entries whose jump target is known, by ascending address. *entries is to be freed with
 * free(); NULL, *count 0, if there is none. Instructions and relocations that make no sense are
 * passed over. Fails with BAT_ERR_MEMORY alone. Time n log n in the entries, linear in the
 * dynamic relocations.
 */
enum bat_code bat_plt_entries(const struct bat_elf *elf, struct bat_plt_entry **entries,
                              size_t *count, struct bat_error *error);

#endif
