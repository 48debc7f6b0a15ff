/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The flows of a program's functions: what is known while they are read. Internal to
 * output_flow*.c. */
#ifndef BAT_BINARY_CODE_OUTPUT_FLOWS_H
#define BAT_BINARY_CODE_OUTPUT_FLOWS_H

#include "output_flow.h"
#include "support/arena.h"
#include "support/parallel.h"

struct bat_output_flows {
    struct bat_program program;
    struct bat_output_flow **all; /* one for each hot table; NULL if not read */
    uint8_t *is_being_read;
    unsigned depth;
    uint64_t limited;
    bool are_independent;
    struct bat_beginnings *beginnings;
    struct bat_arena arenas[BAT_PARALLEL_MAX]; /* of bat_output_flows_read_many()'s threads */
};

/* Reads flows of functions one after the other, in the same memory. */
struct bat_flow_reader;

/* Puts flows into the arena, or each into memory of its own. NULL if there is no memory. */
struct bat_flow_reader *bat_flow_reader_new(struct bat_output_flows *flows,
                                            struct bat_arena *arena);

/* NULL is allowed. */
void bat_flow_reader_free(struct bat_flow_reader *reader);

/* bat_output_flow_read() in the reader's memory. */
struct bat_output_flow *bat_flow_reader_read(struct bat_flow_reader *reader, uint32_t table);

#endif
