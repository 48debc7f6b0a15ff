/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The flows of a program's functions: what is known while they are read. Internal to
 * output_flow*.c. */
#pragma once

#include "output_flow.h"
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
