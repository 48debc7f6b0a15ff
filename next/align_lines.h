/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which line of the old source a line of the new one was (spec/next.md 3, "Lines"). Internal to
 * next/. */
#pragma once

#include "source_lines.h"

/* A line of a function of the source, as a key. */
static inline uint64_t next_line_key(const struct next_place_in_source *place)
{
    return (uint64_t)place->function << 32 | place->line;
}

/*
 * Compare the lines of each function of the source that both graphs have code of. *lines, an empty
 * table for keys of one word, gets for next_line_key() of each line of the new source that was one
 * of the old source that one's line, as the first counter. The graphs' units have their sources.
 * The product of a function's lines in both, which takes one byte each meanwhile, is limited:
 * larger ones have no lines. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_align_lines(const struct next_program *const programs[2],
                               const struct next_graph *const graphs[2], struct bat_counts *lines,
                               struct bat_error *error);
