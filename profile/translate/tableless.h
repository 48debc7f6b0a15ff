/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions without a BAT table ("tableless" by the note) that a profile has samples in: their
 * blocks and graphs, each read at its first use. Internal to the library.
 */
#pragma once

#include "binary/code/graph.h"

struct bat_tableless {
    struct bat_code_reader *reader;
    uint32_t *functions; /* indices, ascending */
    uint32_t count;
    struct bat_code_graph *graphs; /* of functions[i], if is_read[i] */
    uint8_t *is_read;
    bool has_graphs;  /* read graphs, too; if false, only their blocks are filled */
    unsigned threads; /* that read functions at the same time; 0: one for each processor */
};

/*
 * Prepare for the functions whose byte in wanted (one for each of functions) is not 0. tableless
 * must be all zero, but for threads; free it with bat_tableless_close(), also after a failure.
 * Afterwards the caller may set tableless->has_graphs, to call bat_tableless_graph().
 */
enum bat_code bat_tableless_open(struct bat_tableless *tableless, const struct bat_elf *elf,
                                 const struct bat_elf *symbols,
                                 const struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error);
void bat_tableless_close(struct bat_tableless *tableless);

/*
 * Read all functions now, by several threads if there are many. To be called after has_graphs is
 * set. The other functions below give the same without it.
 */
enum bat_code bat_tableless_read_all(struct bat_tableless *tableless, struct bat_error *error);

/* True if the function was in wanted. */
bool bat_tableless_has(const struct bat_tableless *tableless, uint32_t function);

/* The blocks of a function that was in wanted; owned by tableless. */
enum bat_code bat_tableless_blocks(struct bat_tableless *tableless, uint32_t function,
                                   const struct bat_code_blocks **blocks, struct bat_error *error);

/* The same with its graph. */
enum bat_code bat_tableless_graph(struct bat_tableless *tableless, uint32_t function,
                                  const struct bat_code_graph **graph, struct bat_error *error);
