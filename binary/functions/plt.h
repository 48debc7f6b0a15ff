/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the entries of a file's procedure linkage tables: where each starts and which function it
 * jumps to, from its instructions and the relocation of the GOT slot that they load. For x86-64 and
 * AArch64, entries of any linker; none are found for other machines.
 */
#pragma once

#include "bat_elf.h"

struct bat_plt_entry {
    uint64_t address;             /* of its first instruction, or padding before it */
    const struct bat_section *in; /* the PLT section */
    const char *symbol;           /* the dynamic symbol's name, in elf; NULL for an IFUNC's */
    uint64_t target;              /* the symbol's address if this file defines it; the resolver's
                                     address for an IFUNC without symbol; else 0 */
};

/* True for a section of PLT entries: .plt, .plt.got, .iplt and, on x86-64, .plt.sec. */
bool bat_plt_is_section(const struct bat_elf *elf, const struct bat_section *section);

/*
 * All entries whose jump target is known, by ascending address. The caller frees *entries with
 * free(); it may be NULL if *count is 0. Instructions and relocations that are not understood are
 * skipped. Fails with BAT_ERR_MEMORY only. Time n log n in the entries, linear in the dynamic
 * relocations.
 */
enum bat_code bat_plt_entries(const struct bat_elf *elf, struct bat_plt_entry **entries,
                              size_t *count, struct bat_error *error);
