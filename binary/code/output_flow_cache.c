/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The flows of a program's functions (output_flow.h), each read at its first use. */
#include <elf.h>
#include <stdlib.h>

#include "output_flow.h"
#include "spec/array.h"
#include "support/parallel.h"

struct bat_output_flows *bat_output_flows_new(const struct bat_program *program)
{
    size_t count = (size_t)program->map->hot_count + 1;
    struct bat_output_flows *flows = calloc(1, sizeof(*flows));
    if (!flows)
        return NULL;
    flows->program = *program;
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        flows->arenas[i] = (struct bat_arena){.limit = SIZE_MAX, .is_raw = true};
    flows->are_independent = !bat_output_may_have_option(program->elf, "inline");
    flows->may_have_pairs = bat_elf_machine(program->elf) == EM_X86_64 &&
                            bat_output_may_have_option(program->elf, "three-way-branch");
    flows->all = calloc(count, sizeof(*flows->all));
    flows->is_being_read = calloc(count, 1);
    if (flows->all && flows->is_being_read)
        return flows;
    bat_output_flows_free(flows);
    return NULL;
}

/* How many tables ahead the prefetch is. */
#define FETCH_AHEAD 64u

void bat_output_flows_free(struct bat_output_flows *flows)
{
    if (!flows)
        return;
    /* If not even one can have memory of its own, the arenas have all of it. */
    const bool owns = flows->has_single || flows->may_have_pairs || !flows->are_independent;
    const uint32_t count = flows->all && owns ? flows->program.map->hot_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        /* Most functions have none. */
        bat_output_flow_fetch(i + FETCH_AHEAD < count ? flows->all[i + FETCH_AHEAD] : NULL, 2);
        bat_output_flow_free(flows->all[i]);
    }
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        bat_arena_free(&flows->arenas[i]);
    bat_beginnings_free(flows->beginnings);
    BAT_FREE_ALL(flows->all, flows->is_being_read, flows);
}

bool bat_output_flows_are_independent(const struct bat_output_flows *flows)
{
    return flows->are_independent;
}

const struct bat_output_flow *bat_output_flows_known(const struct bat_output_flows *flows,
                                                     uint32_t table)
{
    return flows->all[table];
}

/* What bat_output_flows_read_many() reads. */
struct reading {
    struct bat_output_flows *flows;
    const uint8_t *wanted;
    struct bat_flow_reader *readers[BAT_PARALLEL_MAX]; /* of the threads */
};

static void read_flows(void *context, size_t first, size_t end, unsigned thread)
{
    struct reading *reading = context;
    struct bat_output_flows *flows = reading->flows;
    if (!reading->readers[thread])
        reading->readers[thread] = bat_flow_reader_new(flows, &flows->arenas[thread]);
    for (size_t i = first; i < end && reading->readers[thread]; i++)
        if (reading->wanted[i] && !flows->all[i])
            flows->all[i] = bat_flow_reader_read(reading->readers[thread], (uint32_t)i);
}

/* Tables that a thread goes through at a time. */
#define STRETCH 1024u

enum bat_code bat_output_flows_read_many(struct bat_output_flows *flows, const uint8_t *wanted,
                                         unsigned threads, struct bat_error *error)
{
    uint32_t count = flows->program.map->hot_count;
    if (!flows->are_independent)
        return BAT_OK;
    struct reading reading = {.flows = flows, .wanted = wanted};
    bat_parallel_run(count, STRETCH, bat_parallel_threads(threads, count / STRETCH), read_flows,
                     &reading);
    for (unsigned i = 0; i < BAT_PARALLEL_MAX; i++)
        bat_flow_reader_free(reading.readers[i]);
    for (uint32_t i = 0; i < count; i++)
        if (wanted[i] && !flows->all[i])
            return bat_fail_memory(error, "for the code of a function");
    return BAT_OK;
}

uint64_t bat_output_flows_limited(const struct bat_output_flows *flows)
{
    return flows ? flows->limited : 0;
}

enum bat_code bat_output_flows_get(struct bat_output_flows *flows, uint32_t table,
                                   const struct bat_output_flow **flow, struct bat_error *error)
{
    enum bat_code code = bat_output_flows_callee(flows, table, flow);
    return code == BAT_OK ? BAT_OK
                          : bat_fail(error, code, "not enough memory for the code of a function");
}
