/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate --format=autofdo and --format=profgen: profiles for compilers. */
#ifndef BAT_TOOLS_BATTRANSLATE_COMPILER_PROFILE_H
#define BAT_TOOLS_BATTRANSLATE_COMPILER_PROFILE_H

#include <stdio.h>

#include "bat_profile.h"
#include "tools/common/tool.h"

struct compiler_profile {
    const struct bat_profile *profile;         /* in the addresses of elf */
    const struct bat_elf *elf;                 /* the program as it was compiled and linked */
    const char *whole;                         /* what to open for its DWARF: elf, or a store's */
    const char *debug_file;                    /* that has its DWARF; NULL: search for it */
    const struct bat_to_input_counters *moved; /* of the move to elf; NULL: it was not moved */
    struct bat_output *output;
    enum bat_profile_kind kind;
    bool by_addresses; /* write llvm-profgen's unsymbolized profile, not LLVM's sample profile */
    FILE *report;      /* NULL for none */
    bool json_report;  /* its object is not ended: members follow */
    unsigned threads;  /* at most so many; 0: one for each processor */
};

/* Write the profile and the report. Prints errors to standard error. */
enum tool_exit compiler_profile_write(const struct compiler_profile *wanted);

#endif
