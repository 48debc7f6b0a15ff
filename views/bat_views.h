/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Sampled stacks of functions and lines, added up, for other people's viewers: pprof, speedscope,
 * Firefox Profiler, OpenTelemetry, and flame graphs by folded stacks. Memory grows with distinct
 * stacks, places and names.
 *
 *     stacks = bat_sampled_stacks_new()
 *     for each stack
 *         bat_sampled_stacks_begin(stacks)
 *         bat_sampled_stacks_place(stacks, address, frames, count)   for each place, outwards
 *         bat_sampled_stacks_end(stacks, samples)
 *     bat_sampled_stacks_write(stacks, BAT_VIEWER_PPROF, &subject, output, &error)
 */
#ifndef BAT_VIEWS_H
#define BAT_VIEWS_H

#include "bat_elf.h"
#include "bat_output.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owns all that is added to it. One thread may use it. */
struct bat_sampled_stacks;

enum bat_viewer_format {
    BAT_VIEWER_NONE,
    BAT_VIEWER_FOLDED,     /* a line for each stack: "outermost;...;innermost count" */
    BAT_VIEWER_PPROF,      /* profile.proto, packed by gzip */
    BAT_VIEWER_SPEEDSCOPE, /* speedscope's own JSON */
    BAT_VIEWER_FIREFOX,    /* Firefox Profiler's processed profile, JSON */
    BAT_VIEWER_OTLP,       /* OpenTelemetry's profiles (OTLP profiles/v1development, 1.11.0) */
};

/* The format of this name; BAT_VIEWER_NONE if there is none. */
BAT_API enum bat_viewer_format bat_viewer_format_named(const char *name);

/* A function at a place. Strings may have any bytes; NULL and 0 are unknown. */
struct bat_sampled_frame {
    const char *function; /* as in the source */
    const char *linkage;  /* as the linker has it */
    const char *file;     /* of line */
    uint32_t line;
    uint32_t column;
    uint32_t start_line; /* where the function is declared */
    bool is_lasting;     /* the strings stay in place as long as the stacks: each is read once */
};

/* What the stacks are of. Strings may have any bytes. */
struct bat_sampled_subject {
    const char *title;
    const char *unit;              /* of the counts: what was sampled, such as "samples" */
    const struct bat_elf *program; /* of the addresses; NULL: they are not written */
};

/* NULL if there is no memory. To be freed with bat_sampled_stacks_free(). */
BAT_API struct bat_sampled_stacks *bat_sampled_stacks_new(void);

/* NULL is allowed. */
BAT_API void bat_sampled_stacks_free(struct bat_sampled_stacks *stacks);

/*
 * Begin a stack; add its places from the innermost outwards, each with its frames, innermost first
 * and at least one; and end it with its count. A stack without places is left out. address is the
 * program's own, or 0. Missing memory is remembered until bat_sampled_stacks_write().
 */
BAT_API void bat_sampled_stacks_begin(struct bat_sampled_stacks *stacks);
BAT_API void bat_sampled_stacks_place(struct bat_sampled_stacks *stacks, uint64_t address,
                                      const struct bat_sampled_frame *frames, size_t count);
BAT_API void bat_sampled_stacks_end(struct bat_sampled_stacks *stacks, uint64_t count);

/*
 * Write all stacks. The same additions in the same order give the same bytes. Control characters in
 * names are written as "\x1b", other bytes that are not UTF-8 as U+FFFD. Fails with BAT_ERR_MEMORY,
 * BAT_ERR_RANGE for counts that add up to 2^63 and more, BAT_ERR_UNSUPPORTED for pprof and OTLP in
 * a build without protobuf-c, and as bat_output_write().
 */
BAT_API enum bat_code bat_sampled_stacks_write(struct bat_sampled_stacks *stacks,
                                               enum bat_viewer_format format,
                                               const struct bat_sampled_subject *subject,
                                               struct bat_output *output, struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
