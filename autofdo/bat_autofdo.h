/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles for compilers, from a profile in a program's own (input) addresses and its DWARF:
 * LLVM's sample profile for clang -fprofile-sample-use, and the profile by addresses that
 * llvm-profgen makes one from. How counts come about is told in spec/autofdo.md.
 */
#ifndef BAT_AUTOFDO_H
#define BAT_AUTOFDO_H

#include "bat_debuginfo.h"
#include "bat_elf.h"
#include "bat_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a profile, for reports. */
struct bat_autofdo_counters {
    uint64_t samples;       /* traces, or basic samples, in all */
    uint64_t ranges;        /* distinct runs of instructions */
    uint64_t branches;      /* distinct branches with a target in the program */
    uint64_t invalid;       /* samples whose range is no run of code that could be executed so */
    uint64_t outside;       /* samples that are not in the program's code */
    uint64_t without_debug; /* samples in functions that have no debug information */
    uint64_t functions;     /* functions in the sample profile, inlined ones not counted */
    uint64_t instructions;  /* instructions that have a place in the sample profile */
    uint64_t units;         /* of DWARF that have code */
    uint64_t units_read;    /* of these, that were read */
    uint64_t units_missing; /* of these, split units that are in no package or .dwo file */
};

/*
 * Write LLVM's sample profile, as text, of a profile in the addresses of elf, the program that was
 * compiled; debuginfo is the program's. kind chooses what is counted: traces, or basic samples,
 * never both. output is begun and committed by the caller (bat_output.h). counters may be NULL.
 * Fails with BAT_ERR_NO_DEBUG if no sample is in a function that DWARF tells of.
 */
BAT_API enum bat_code bat_autofdo_write(const struct bat_profile *profile,
                                        const struct bat_elf *elf, struct bat_debuginfo *debuginfo,
                                        enum bat_profile_kind kind, struct bat_output *output,
                                        struct bat_autofdo_counters *counters,
                                        struct bat_error *error);

/*
 * Write llvm-profgen's unsymbolized profile: how often each range of addresses and each branch was
 * executed, as offsets from the page of the first executable segment. No DWARF is needed. Fails
 * with BAT_ERR_MISMATCH if no range or branch is in the program's code.
 */
BAT_API enum bat_code bat_profgen_write(const struct bat_profile *profile,
                                        const struct bat_elf *elf, struct bat_output *output,
                                        struct bat_autofdo_counters *counters,
                                        struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
