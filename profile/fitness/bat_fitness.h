/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How well a profile fits the binary that was sampled, and itself: which share of its branches are
 * branches in the code, and whether as many samples leave a place as come to it. spec/fitness.md
 * describes the measures.
 */
#ifndef BAT_FITNESS_H
#define BAT_FITNESS_H

#include "bat_profile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is measured. Later versions of the library may add measures at the end. */
enum bat_fitness_measure {
    BAT_FITNESS_BRANCHES,   /* branches whose instruction is no branch, call or return */
    BAT_FITNESS_TARGETS,    /* branches to a place where their instruction does not go */
    BAT_FITNESS_FLOW,       /* samples that come to a place and do not leave it, or the reverse */
    BAT_FITNESS_ENTRIES,    /* the same for the starts of functions */
    BAT_FITNESS_CALLS,      /* calls without returns, and returns without calls */
    BAT_FITNESS_CONTINUITY, /* runs to which samples came from no sampled place, and what follows */
    BAT_FITNESS_NEW_CODE,   /* samples in code of which the last build had no profile */
    BAT_FITNESS_OLD_CODE,   /* samples in the code that BOLT read, of functions that it moved */
    BAT_FITNESS_INSTRUCTIONS, /* basic samples inside of an instruction, not at its start */
    BAT_FITNESS_MEASURES,     /* how many there are */
};

/* Numbers of samples. */
struct bat_fitness_share {
    uint64_t part;  /* that are as the measure says */
    uint64_t whole; /* that were examined; 0: the measure says nothing */
};

/* A function of the sampled binary. */
struct bat_fitness_function {
    const char *name; /* as profiles name it; belongs to the fitness */
    uint64_t address;
    uint64_t samples; /* runs that begin in it, or basic samples */
    struct bat_fitness_share shares[BAT_FITNESS_MEASURES];
};

/* The measures of a profile. Threads may share one. */
struct bat_fitness;

/*
 * Measure a profile of binary. symbols is an unstripped copy of the binary, or NULL for its own
 * symbols. records are those that the profile was translated to, from which the binary's note is
 * known if it was not decoded; or NULL. Without a note nothing is said of new and old code. fdata
 * records of the profile are not measured, and basic samples only for these two and their
 * instructions.
 *
 * *fitness is to be freed with bat_fitness_free() before binary and symbols are closed; it is NULL
 * on failure: BAT_ERR_MEMORY, BAT_ERR_ARGUMENT for a raw note, or as bat_elf_symbols(). Time is
 * n log n in the distinct traces, and linear in the symbols.
 */
BAT_API enum bat_code bat_profile_measure(const struct bat_profile *profile,
                                          const struct bat_binary *binary, struct bat_elf *symbols,
                                          const struct bat_records *records,
                                          struct bat_fitness **fitness, struct bat_error *error);

/* NULL is allowed. */
BAT_API void bat_fitness_free(struct bat_fitness *fitness);

/*
 * Number i, counted from 0, of the functions with samples: that with the most samples first, equal
 * ones by address. NULL behind the last. Belongs to the fitness.
 */
BAT_API const struct bat_fitness_function *bat_fitness_get(const struct bat_fitness *fitness,
                                                           uint64_t i);

#ifdef __cplusplus
}
#endif

#endif
