/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Profiles for other people's programs: compilers (--format=autofdo, profgen) and viewers. */
#pragma once

#include <stdio.h>

#include "bat_profile.h"
#include "bat_views.h"
#include "tools/common/tool.h"

struct work;

struct foreign_profile {
    const struct bat_profile *profile; /* in the addresses of elf */
    struct bat_elf *elf; /* for compilers as it was compiled and linked, or with its probes */
    /* The binary with a note, elf's own, if the input binary is not at hand: it names functions to
     * viewers. NULL: elf has the names, and lines if it has debug information. */
    const struct bat_binary *bolted;
    const char *whole;      /* what to open for names and DWARF: elf's file, or a store's */
    const char *debug_file; /* that has its DWARF; NULL: search for it */
    const struct bat_to_input_counters *moved; /* of the move to elf; NULL: it was not moved */
    struct bat_output *output;
    enum bat_profile_kind kind;
    struct work *work; /* write contexts, or by_addresses the samples, of its recordings; or NULL */
    bool by_lines;     /* write LLVM's sample profile by lines, also if there are probes */
    bool by_addresses; /* write llvm-profgen's unsymbolized profile, not LLVM's sample profile */
    enum bat_viewer_format format; /* BAT_VIEWER_NONE: for compilers */
    FILE *report;                  /* NULL for none */
    bool json_report;              /* its object is not ended: members follow */
    unsigned threads;              /* at most so many; 0: one for each processor */
};

/* Write the profile and the report. Prints errors to standard error. */
enum tool_exit compiler_profile_write(const struct foreign_profile *wanted);

/* The same: samples at their addresses, or taken branches at the branches'. */
enum tool_exit viewer_profile_write(const struct foreign_profile *wanted);
