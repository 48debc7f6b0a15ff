/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sampled stacks of functions and lines, added up, for other people's viewers: pprof, speedscope,
 * and flame graphs by folded stacks. Memory grows with distinct stacks, places and names.
 */
#ifndef BAT_SAMPLED_STACKS_H
#define BAT_SAMPLED_STACKS_H

#include "bat_elf.h"
#include "bat_output.h"

struct sampled_stacks;

enum viewer_format {
    VIEWER_NONE,
    VIEWER_FOLDED,     /* a line for each stack: "outermost;...;innermost count" */
    VIEWER_PPROF,      /* profile.proto, packed by gzip */
    VIEWER_SPEEDSCOPE, /* speedscope's own JSON */
    VIEWER_FIREFOX,    /* Firefox Profiler's processed profile, JSON */
};

/* The format of this name; VIEWER_NONE if there is none. */
enum viewer_format viewer_format_named(const char *name);

/* A function at a place. Strings may have any bytes; NULL and 0 are unknown. */
struct sampled_frame {
    const char *function; /* as in the source */
    const char *linkage;  /* as the linker has it */
    const char *file;     /* of line */
    uint32_t line;
    uint32_t column;
    uint32_t start_line; /* where the function is declared */
    bool is_lasting;     /* the strings stay in place as long as the stacks: each is read once */
};

/* What the stacks are of. Strings may have any bytes. */
struct sampled_subject {
    const char *title;
    const char *unit;              /* of the counts: what was sampled, such as "samples" */
    const struct bat_elf *program; /* of the addresses; NULL: they are not written */
};

/* NULL if there is no memory. */
struct sampled_stacks *sampled_stacks_new(void);
void sampled_stacks_free(struct sampled_stacks *stacks);

/*
 * Begin a stack; add its places from the innermost outwards, each with its frames, innermost first
 * and at least one; and end it with its count. A stack without places is left out. address is the
 * program's own, or 0. Missing memory is remembered until sampled_stacks_write().
 */
void sampled_stacks_begin(struct sampled_stacks *stacks);
void sampled_stacks_place(struct sampled_stacks *stacks, uint64_t address,
                          const struct sampled_frame *frames, size_t count);
void sampled_stacks_end(struct sampled_stacks *stacks, uint64_t count);

/*
 * Write all stacks. The same additions in the same order give the same bytes. Control characters in
 * names are written as "\x1b", other bytes that are not UTF-8 as U+FFFD. Fails with BAT_ERR_MEMORY,
 * BAT_ERR_RANGE for counts that add up to 2^63 and more, and as bat_output_write().
 */
enum bat_code sampled_stacks_write(struct sampled_stacks *stacks, enum viewer_format format,
                                   const struct sampled_subject *subject, struct bat_output *output,
                                   struct bat_error *error);

#endif
