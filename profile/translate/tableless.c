/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks and graphs of functions without a BAT table, read at their first use (tableless.h). */
#include "tableless.h"

#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"
#include "support/parallel.h"

enum bat_code bat_tableless_open(struct bat_tableless *tableless, const struct bat_elf *elf,
                                 const struct bat_elf *symbols,
                                 const struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error)
{
    uint32_t total;
    bat_functions_all(functions, &total);
    uint32_t count = 0;
    for (uint32_t i = 0; i < total; i++)
        count += wanted[i] != 0;
    tableless->functions = malloc(((size_t)count + 1) * sizeof(*tableless->functions));
    tableless->graphs = calloc((size_t)count + 1, sizeof(*tableless->graphs));
    tableless->is_read = calloc((size_t)count + 1, 1);
    if (!tableless->functions || !tableless->graphs || !tableless->is_read)
        return bat_fail_memory(error, "for functions without a table");
    for (uint32_t i = 0; i < total; i++)
        if (wanted[i])
            tableless->functions[tableless->count++] = i;
    return bat_code_open(elf, symbols, functions, tableless->functions, tableless->count,
                         tableless->threads, &tableless->reader, error);
}

void bat_tableless_close(struct bat_tableless *tableless)
{
    for (uint32_t i = 0; i < tableless->count; i++)
        bat_code_graph_free(&tableless->graphs[i]);
    bat_code_close(tableless->reader);
    BAT_FREE_ALL(tableless->functions, tableless->graphs, tableless->is_read);
    *tableless = (struct bat_tableless){0};
}

/* The index of a function in the list; BAT_NONE if it is not there. */
static uint32_t find(const struct bat_tableless *tableless, uint32_t function)
{
    const uint32_t *found = tableless->count == 0
                                ? NULL
                                : bsearch(&function, tableless->functions, tableless->count,
                                          sizeof(function), bat_compare_u32);
    return found ? (uint32_t)(found - tableless->functions) : BAT_NONE;
}

bool bat_tableless_has(const struct bat_tableless *tableless, uint32_t function)
{
    return find(tableless, function) != BAT_NONE;
}

static enum bat_code read_function(struct bat_tableless *tableless, uint32_t i,
                                   struct bat_error *error)
{
    if (tableless->is_read[i])
        return BAT_OK;
    tableless->is_read[i] = 1;
    uint32_t function = tableless->functions[i];
    struct bat_code_graph *graph = &tableless->graphs[i];
    if (tableless->has_graphs)
        return bat_code_graph(tableless->reader, function, graph, error);
    return bat_code_blocks(tableless->reader, function, &graph->blocks, error);
}

/* A thread's part of bat_tableless_read_all(). */
struct reading {
    struct bat_tableless *tableless;
    enum bat_code code;
    struct bat_error error;
};

static void read_functions(void *context, size_t first, size_t end, unsigned thread)
{
    struct reading *reading = (struct reading *)context + thread;
    for (size_t i = first; i < end && reading->code == BAT_OK; i++)
        reading->code = read_function(reading->tableless, (uint32_t)i, &reading->error);
}

/* Functions that a thread reads at a time. */
#define STRETCH 64u

/* The fewest stretches for which a thread is worth its start. */
#define STRETCHES_MIN 8u

enum bat_code bat_tableless_read_all(struct bat_tableless *tableless, struct bat_error *error)
{
    struct reading readings[BAT_PARALLEL_MAX];
    unsigned threads =
        bat_parallel_threads(tableless->threads, tableless->count / STRETCH / STRETCHES_MIN);
    for (unsigned i = 0; i < threads; i++)
        readings[i] = (struct reading){.tableless = tableless};
    bat_parallel_run(tableless->count, STRETCH, threads, read_functions, readings);
    for (unsigned i = 0; i < threads; i++) {
        if (readings[i].code == BAT_OK)
            continue;
        if (error)
            *error = readings[i].error;
        return readings[i].code;
    }
    return BAT_OK;
}

enum bat_code bat_tableless_graph(struct bat_tableless *tableless, uint32_t function,
                                  const struct bat_code_graph **graph, struct bat_error *error)
{
    uint32_t i = find(tableless, function);
    if (i == BAT_NONE)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a function that bat_tableless_open() got");
    *graph = &tableless->graphs[i];
    return read_function(tableless, i, error);
}

enum bat_code bat_tableless_blocks(struct bat_tableless *tableless, uint32_t function,
                                   const struct bat_code_blocks **blocks, struct bat_error *error)
{
    const struct bat_code_graph *graph = NULL;
    enum bat_code code = bat_tableless_graph(tableless, function, &graph, error);
    *blocks = graph ? &graph->blocks : NULL;
    return code;
}
