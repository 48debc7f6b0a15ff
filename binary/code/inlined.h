/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds calls that BOLT has inlined, in the output alone. Internal to the library.
 *
 * The inlined code has no entries in the caller's table, but the called function is in the output
 * too, with its own table. Code of the caller without entries is a copy of that function if control
 * takes the same paths over the same instructions, from the function's start to its returns.
 *
 * A call is reported only if it is certain: the whole function must be there, with at least three
 * instructions. Where two functions fit equally well, neither is reported.
 */
#pragma once

#include "bat_decoder.h"
#include "bat_elf.h"
#include "binary/functions/functions.h"

/* A BOLTed program. */
struct bat_program {
    const struct bat_map *map;
    const struct bat_elf *elf;
    const struct bat_functions *functions;
};

/* The beginnings of a program's functions, to find those that may be inlined at an address. */
struct bat_beginnings;

/* NULL is allowed. */
void bat_beginnings_free(struct bat_beginnings *beginnings);

/* The code of a function or fragment, in the output. */
struct bat_code_range {
    uint64_t start;
    uint64_t end;
};

/* A function whose code is searched for inlined calls. */
struct bat_caller {
    uint32_t table;                      /* its hot table */
    const struct bat_code_range *ranges; /* its code, ascending */
    size_t range_count;
    const uint64_t *entries; /* addresses with an entry in the note, ascending */
    size_t entry_count;
};

/* Instructions of the caller that are a copy of instructions of the inlined function. */
struct bat_copied_run {
    uint64_t start; /* addresses in the output */
    uint64_t end;
    uint64_t origin;     /* the original of start; for a jump, the instruction before it */
    uint64_t origin_end; /* behind the original: branches may differ in length */
    bool is_jump;        /* a jump (or a call for one) that the original does not have */
};

/* An inlined call. */
struct bat_inlined_call {
    uint32_t table;     /* hot table of the inlined function */
    uint32_t first_run; /* runs[first_run .. first_run + run_count), ascending */
    uint32_t run_count;
};

struct bat_inlined {
    struct bat_inlined_call *calls; /* no two of them share code */
    uint32_t call_count;
    struct bat_copied_run *runs;
    uint32_t run_count;
    bool is_limited; /* the search ended at its limit */
};

/*
 * Find the calls that are inlined in a caller. The caller frees *inlined with bat_inlined_free().
 * Of nested inlined calls only the outermost one is found. *beginnings must be NULL at first; it is
 * made at its first use, and freed with bat_beginnings_free().
 *
 * Fails with BAT_ERR_MEMORY. Time is limited to a multiple of the caller's instructions; calls
 * beyond the limit are not found. Making *beginnings takes time n log n in the functions.
 */
enum bat_code bat_inlined_find(const struct bat_program *program,
                               struct bat_beginnings **beginnings, const struct bat_caller *caller,
                               struct bat_inlined *inlined);
void bat_inlined_free(struct bat_inlined *inlined);
