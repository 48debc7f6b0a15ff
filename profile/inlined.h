/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions that BOLT has inlined, found in the output alone. Their code in the caller has no
 * entries, but the function itself is in the output too, with a table of its own. A stretch without
 * entries in which control goes the same ways over the same instructions, from the function's start
 * to its returns, is a copy of it. Internal to the library.
 *
 * What is not surely found is not found: all of the function has to be there, with a conditional
 * branch at least, and where two functions fit equally well neither is taken.
 */
#ifndef BAT_PROFILE_INLINED_H
#define BAT_PROFILE_INLINED_H

#include "bat_decoder.h"
#include "bat_elf.h"
#include "functions.h"

/* What is read: a BOLTed program. */
struct bat_program {
    const struct bat_map *map;
    const struct bat_elf *elf;
    const struct bat_functions *functions;
};

/* How the functions of a program begin, to find those that may be inlined at a place. */
struct bat_beginnings;

/* NULL is allowed. */
void bat_beginnings_free(struct bat_beginnings *beginnings);

/* A piece of a function's code, in the output. */
struct bat_code_range {
    uint64_t start;
    uint64_t end;
};

/* A function with all that the note says of it. */
struct bat_caller {
    uint32_t table;                      /* hot */
    const struct bat_code_range *ranges; /* ascending */
    size_t range_count;
    const uint64_t *entries; /* addresses that have entries, ascending */
    size_t entry_count;
};

/* A run of instructions that is a copy of another one. */
struct bat_copied_run {
    uint64_t start; /* addresses in the output */
    uint64_t end;
    uint64_t origin;     /* what start is a copy of; for jumps, what control comes from */
    uint64_t origin_end; /* behind the last instruction: branches have different lengths */
    bool is_jump;        /* a jump that the function itself does not have */
};

/* An inlined call. */
struct bat_inlined_call {
    uint32_t table;     /* hot table of the function */
    uint32_t first_run; /* runs[first_run .. first_run + run_count), ascending */
    uint32_t run_count;
};

struct bat_inlined {
    struct bat_inlined_call *calls; /* no two of them share code */
    uint32_t call_count;
    struct bat_copied_run *runs;
    uint32_t run_count;
};

/*
 * Find what is inlined in a caller; *inlined is to be freed with bat_inlined_free(). Where calls
 * are inlined inside of an inlined function only the outermost one is found. *beginnings is NULL at
 * first; it is made when it is needed, and to be freed with bat_beginnings_free().
 *
 * Fails with BAT_ERR_MEMORY. Work is bounded by a multiple of the caller's instructions; what would
 * take more is not found. *beginnings takes time n log n in the functions.
 */
enum bat_code bat_inlined_find(const struct bat_program *program,
                               struct bat_beginnings **beginnings, const struct bat_caller *caller,
                               struct bat_inlined *inlined);
void bat_inlined_free(struct bat_inlined *inlined);

#endif
