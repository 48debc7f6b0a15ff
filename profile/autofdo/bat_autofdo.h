/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Profiles for compilers, from a profile in a program's own (input) addresses and its DWARF:
 * LLVM's sample profile for clang -fprofile-sample-use, and the unsymbolized profile from which
 * llvm-profgen makes one. spec/autofdo.md describes how samples are counted.
 */
#ifndef BAT_AUTOFDO_H
#define BAT_AUTOFDO_H

#include "bat_debuginfo.h"
#include "bat_elf.h"
#include "bat_original.h"
#include "bat_probes.h"
#include "bat_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts of a conversion, for reports. */
struct bat_autofdo_counters {
    uint64_t samples;        /* all traces, or all basic samples */
    uint64_t ranges;         /* distinct ranges of instructions */
    uint64_t branches;       /* distinct branches with a target in the program */
    uint64_t invalid;        /* samples whose range cannot be executed from start to end */
    uint64_t outside;        /* samples outside of the program's code */
    uint64_t without_debug;  /* samples in functions without debug information */
    uint64_t functions;      /* functions in the sample profile, inlined ones not counted */
    uint64_t instructions;   /* instructions that have a place in the sample profile */
    uint64_t units;          /* DWARF units that can have code */
    uint64_t units_read;     /* those of them that were read */
    uint64_t units_missing;  /* of the units read, split units in no package or .dwo file */
    uint64_t without_probes; /* by probes: samples whose range has none */
    uint64_t probes;         /* by probes: those in functions with samples; copies count singly */
};

/*
 * Write LLVM's sample profile as text. The addresses of profile are those of elf, the program that
 * the compiler made; debuginfo is the program's. kind selects what is counted: traces or basic
 * samples, never both. The caller begins and commits output (bat_output.h). counters may be NULL.
 * Fails with BAT_ERR_NO_DEBUG if no sample is in a function that DWARF describes.
 */
BAT_API enum bat_code bat_autofdo_write(const struct bat_profile *profile,
                                        const struct bat_elf *elf, struct bat_debuginfo *debuginfo,
                                        enum bat_profile_kind kind, struct bat_output *output,
                                        struct bat_autofdo_counters *counters,
                                        struct bat_error *error);

/*
 * Write LLVM's sample profile by pseudo probes (spec/pseudo-probes.md 5), for a program that was
 * compiled with -fpseudo-probe-for-profiling, also after BOLT: the addresses of profile and probes
 * are those of elf. symbols is elf, or its file with symbols: functions are known by them; probes
 * is the one of the two, or of its other copies, that has probes. Traces are counted; basic samples
 * are not. At most so many threads, 0: one for each processor; output and counters as above. Fails
 * with BAT_ERR_NO_DEBUG if no sample is at a probe, or no symbol tells where the probes are, and as
 * bat_probes_read().
 */
BAT_API enum bat_code bat_autofdo_write_probes(const struct bat_profile *profile,
                                               const struct bat_elf *elf, struct bat_elf *symbols,
                                               struct bat_elf *probes, unsigned threads,
                                               struct bat_output *output,
                                               struct bat_autofdo_counters *counters,
                                               struct bat_error *error);

/*
 * A profile of contexts (CSSPGO, spec/pseudo-probes.md 6): the counts of a function by the calls
 * that lead to it. It is made of samples with a branch stack and a call stack, which are at the
 * addresses of elf and probes. Belongs to one thread at a time.
 */
struct bat_contexts;

/*
 * symbols is elf, or its file with symbols. All three must outlive *contexts, which is to be freed
 * with bat_contexts_free(). Fails with BAT_ERR_UNSUPPORTED (neither x86-64 nor AArch64),
 * BAT_ERR_MEMORY, and as bat_elf_symbols().
 */
BAT_API enum bat_code bat_contexts_new(const struct bat_elf *elf, struct bat_elf *symbols,
                                       const struct bat_probes *probes,
                                       struct bat_contexts **contexts, struct bat_error *error);

/* Add a sample. Fails with BAT_ERR_MEMORY or BAT_ERR_RANGE. Linear in its stacks. */
BAT_API enum bat_code bat_contexts_add(struct bat_contexts *contexts,
                                       const struct bat_call_chain *sample);

/*
 * Write LLVM's sample profile with contexts as text: "[main:3 @ f]:total:head" and its counts. At
 * most so many threads, 0: one for each processor. Nothing can be added afterwards. counters may be
 * NULL. Fails with BAT_ERR_NO_DEBUG if no sample is at a probe.
 */
BAT_API enum bat_code bat_contexts_write(struct bat_contexts *contexts, unsigned threads,
                                         struct bat_output *output,
                                         struct bat_autofdo_counters *counters,
                                         struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_contexts_free(struct bat_contexts *contexts);

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
