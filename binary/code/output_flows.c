/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The flows of a program's functions (output_flow.h), each read at its first use. */
#include <stdlib.h>

#include "output_flow.h"

#define MOST_DEEP 16u /* nested inlined calls */

struct bat_output_flows {
    struct bat_program program;
    struct bat_output_flow **all; /* one for each hot table; NULL if not read */
    uint8_t *is_being_read;
    unsigned depth;
    struct bat_beginnings *beginnings;
};

struct bat_output_flows *bat_output_flows_new(const struct bat_program *program)
{
    size_t count = (size_t)program->map->hot_count + 1;
    struct bat_output_flows *flows = calloc(1, sizeof(*flows));
    if (!flows)
        return NULL;
    flows->program = *program;
    flows->all = calloc(count, sizeof(*flows->all));
    flows->is_being_read = calloc(count, 1);
    if (flows->all && flows->is_being_read)
        return flows;
    bat_output_flows_free(flows);
    return NULL;
}

void bat_output_flows_free(struct bat_output_flows *flows)
{
    if (!flows)
        return;
    for (uint32_t i = 0; flows->all && i < flows->program.map->hot_count; i++)
        bat_output_flow_free(flows->all[i]);
    bat_beginnings_free(flows->beginnings);
    free(flows->all);
    free(flows->is_being_read);
    free(flows);
}

const struct bat_program *bat_output_flows_program(const struct bat_output_flows *flows)
{
    return &flows->program;
}

enum bat_code bat_output_flows_inlined(struct bat_output_flows *flows,
                                       const struct bat_caller *caller, struct bat_inlined *inlined)
{
    return bat_inlined_find(&flows->program, &flows->beginnings, caller, inlined);
}

enum bat_code bat_output_flows_callee(struct bat_output_flows *flows, uint32_t table,
                                      const struct bat_output_flow **flow)
{
    *flow = flows->all[table];
    if (*flow || flows->is_being_read[table] || flows->depth == MOST_DEEP)
        return BAT_OK;
    flows->is_being_read[table] = 1;
    flows->depth++;
    flows->all[table] = bat_output_flow_read(flows, table);
    flows->depth--;
    flows->is_being_read[table] = 0;
    *flow = flows->all[table];
    return *flow ? BAT_OK : BAT_ERR_MEMORY;
}

enum bat_code bat_output_flows_get(struct bat_output_flows *flows, uint32_t table,
                                   const struct bat_output_flow **flow, struct bat_error *error)
{
    enum bat_code code = bat_output_flows_callee(flows, table, flow);
    return code == BAT_OK ? BAT_OK
                          : bat_fail(error, code, "not enough memory for the code of a function");
}
