/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks and graphs of functions without a BAT table, read at their first use (uncovered.h). */
#include "tableless.h"

#include <stdlib.h>

static enum bat_code fail_memory(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for functions without a table");
}

enum bat_code bat_uncovered_open(struct bat_uncovered *uncovered, const struct bat_elf *elf,
                                 const struct bat_elf *symbols,
                                 const struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error)
{
    uint32_t total;
    bat_functions_all(functions, &total);
    uint32_t count = 0;
    for (uint32_t i = 0; i < total; i++)
        count += wanted[i] != 0;
    uncovered->functions = malloc(((size_t)count + 1) * sizeof(*uncovered->functions));
    uncovered->graphs = calloc((size_t)count + 1, sizeof(*uncovered->graphs));
    uncovered->is_read = calloc((size_t)count + 1, 1);
    if (!uncovered->functions || !uncovered->graphs || !uncovered->is_read)
        return fail_memory(error);
    for (uint32_t i = 0; i < total; i++)
        if (wanted[i])
            uncovered->functions[uncovered->count++] = i;
    return bat_code_open(elf, symbols, functions, uncovered->functions, uncovered->count,
                         &uncovered->reader, error);
}

void bat_uncovered_close(struct bat_uncovered *uncovered)
{
    for (uint32_t i = 0; i < uncovered->count; i++)
        bat_code_graph_free(&uncovered->graphs[i]);
    bat_code_close(uncovered->reader);
    free(uncovered->functions);
    free(uncovered->graphs);
    free(uncovered->is_read);
    *uncovered = (struct bat_uncovered){0};
}

static int compare_numbers(const void *left_pointer, const void *right_pointer)
{
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    return left < right ? -1 : left > right;
}

/* The index of a function in the list; BAT_NONE if it is not there. */
static uint32_t find(const struct bat_uncovered *uncovered, uint32_t function)
{
    const uint32_t *found = uncovered->count == 0
                                ? NULL
                                : bsearch(&function, uncovered->functions, uncovered->count,
                                          sizeof(function), compare_numbers);
    return found ? (uint32_t)(found - uncovered->functions) : BAT_NONE;
}

bool bat_uncovered_has(const struct bat_uncovered *uncovered, uint32_t function)
{
    return find(uncovered, function) != BAT_NONE;
}

static enum bat_code read_function(struct bat_uncovered *uncovered, uint32_t i,
                                   struct bat_error *error)
{
    if (uncovered->is_read[i])
        return BAT_OK;
    uncovered->is_read[i] = 1;
    uint32_t function = uncovered->functions[i];
    struct bat_code_graph *graph = &uncovered->graphs[i];
    if (uncovered->has_graphs)
        return bat_code_graph(uncovered->reader, function, graph, error);
    return bat_code_blocks(uncovered->reader, function, &graph->blocks, error);
}

enum bat_code bat_uncovered_graph(struct bat_uncovered *uncovered, uint32_t function,
                                  const struct bat_code_graph **graph, struct bat_error *error)
{
    uint32_t i = find(uncovered, function);
    if (i == BAT_NONE)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a function that bat_uncovered_open() got");
    *graph = &uncovered->graphs[i];
    return read_function(uncovered, i, error);
}

enum bat_code bat_uncovered_blocks(struct bat_uncovered *uncovered, uint32_t function,
                                   const struct bat_code_blocks **blocks, struct bat_error *error)
{
    const struct bat_code_graph *graph = NULL;
    enum bat_code code = bat_uncovered_graph(uncovered, function, &graph, error);
    *blocks = graph ? &graph->blocks : NULL;
    return code;
}
