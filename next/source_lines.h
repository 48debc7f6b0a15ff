/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which lines of the source a program's code is from (spec/next.md 3, "Lines"). Internal to next/.
 */
#pragma once

#include "carry.h"
#include "unit_graph.h"

/* A place in the source. */
struct next_place_in_source {
    uint32_t function; /* hash of the name of the innermost function, as name_of of a program */
    uint32_t line;     /* from where that begins; it may be before, modulo 2^32 */
    uint32_t column;
    uint32_t caller; /* the place where it is inlined; BAT_NONE: nowhere */
};

/* Where the instructions of a unit are in the source; one block of memory. */
struct next_source {
    const struct next_place_in_source *places; /* those of callers first */
    const uint32_t *of;                        /* for each instruction its place, or BAT_NONE */
};

/* Open the debug information of a program; if there is none, or it is damaged, *program stays as it
 * is. Fails with BAT_ERR_MEMORY and BAT_ERR_IO. */
enum bat_code next_lines_open(struct next_program *program, const struct next_debug *debug,
                              struct bat_error *error);
void next_lines_close(struct next_program *program);

/*
 * Set the source of a unit that was read, once; NULL if the program has no lines. Threads may do
 * this at the same time. Linear in its instructions, and in the debug information of the units of
 * source that nothing was asked about before. Fails with BAT_ERR_MEMORY.
 */
enum bat_code next_source_get(const struct next_program *program, uint32_t unit,
                              struct bat_error *error);

/* A place of code in a graph. */
struct next_site {
    const struct next_program *program;
    const struct next_graph *graph;
    uint32_t context;
    uint32_t place; /* in the places of the context's unit; BAT_NONE: not known */
};

/* The place of an instruction of a segment. */
static inline struct next_site next_site_of(const struct next_program *program,
                                            const struct next_graph *graph,
                                            const struct next_segment *segment,
                                            uint32_t instruction)
{
    const struct next_source *source = program->units[segment->unit]->source;
    return (struct next_site){program, graph, segment->context,
                              source ? source->of[instruction] : BAT_NONE};
}

static inline const struct next_place_in_source *next_site_place(const struct next_site *site)
{
    const uint32_t unit = site->graph->contexts[site->context].unit;
    return &site->program->units[unit]->source->places[site->place];
}

/* Go on to where its function is inlined, or stands in place of its call; false if it does not. */
static inline bool next_site_caller(struct next_site *site)
{
    site->place = next_site_place(site)->caller;
    if (site->place == BAT_NONE && site->context != 0) {
        const struct next_context *context = &site->graph->contexts[site->context];
        site->place = context->place;
        site->context = context->parent;
    }
    return site->place != BAT_NONE;
}
