/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* battranslate --format=folded, pprof, speedscope and firefox: profiles for other people's viewers.
 */
#ifndef BAT_TOOLS_BATTRANSLATE_VIEWER_PROFILE_H
#define BAT_TOOLS_BATTRANSLATE_VIEWER_PROFILE_H

#include <stdio.h>

#include "bat_profile.h"
#include "tools/common/sampled_stacks.h"
#include "tools/common/tool.h"

struct viewer_profile {
    const struct bat_profile *profile; /* in the addresses of elf */
    const struct bat_elf *elf;
    /* The binary with a note, elf's own, if the input binary is not at hand: it names functions.
     * NULL: elf has the names, and lines if it has debug information. */
    const struct bat_binary *bolted;
    const char *whole;      /* what to open for names: elf's file, or a store's */
    const char *debug_file; /* that has its DWARF; NULL: search for it */
    enum bat_profile_kind kind;
    enum viewer_format format;
    struct bat_output *output;
    FILE *report;     /* NULL for none */
    bool json_report; /* its object is not ended: members follow */
};

/*
 * Write the profile and the report: samples at their addresses, or taken branches at the branches'.
 * Prints errors to standard error.
 */
enum tool_exit viewer_profile_write(const struct viewer_profile *wanted);

#endif
