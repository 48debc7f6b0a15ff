/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions without a BAT table ("uncovered" by the note) that a profile has samples in: their
 * blocks and graphs, each read at its first use. Internal to the library.
 */
#ifndef BAT_PROFILE_TRANSLATE_TABLELESS_H
#define BAT_PROFILE_TRANSLATE_TABLELESS_H

#include "binary/code/graph.h"

struct bat_uncovered {
    struct bat_code_reader *reader;
    uint32_t *functions; /* indices, ascending */
    uint32_t count;
    struct bat_code_graph *graphs; /* of functions[i], if is_read[i] */
    uint8_t *is_read;
    bool has_graphs; /* read graphs, too; if false, only their blocks are filled */
};

/*
 * Prepare for the functions whose byte in wanted (one for each of functions) is not 0. uncovered
 * must be all zero; free it with bat_uncovered_close(), also after a failure. Afterwards the caller
 * may set uncovered->has_graphs, to call bat_uncovered_graph().
 */
enum bat_code bat_uncovered_open(struct bat_uncovered *uncovered, const struct bat_elf *elf,
                                 const struct bat_elf *symbols,
                                 const struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error);
void bat_uncovered_close(struct bat_uncovered *uncovered);

/* True if the function was in wanted. */
bool bat_uncovered_has(const struct bat_uncovered *uncovered, uint32_t function);

/* The blocks of a function that was in wanted; owned by uncovered. */
enum bat_code bat_uncovered_blocks(struct bat_uncovered *uncovered, uint32_t function,
                                   const struct bat_code_blocks **blocks, struct bat_error *error);

/* The same with its graph. */
enum bat_code bat_uncovered_graph(struct bat_uncovered *uncovered, uint32_t function,
                                  const struct bat_code_graph **graph, struct bat_error *error);

#endif
