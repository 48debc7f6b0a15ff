/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The output's code beside the input's, function by function. Internal to to_input*.c. */
#ifndef BAT_PROFILE_TO_INPUT_FOLLOW_H
#define BAT_PROFILE_TO_INPUT_FOLLOW_H

#include "to_input_nodes.h"
#include "to_input_path.h"

struct input_follow {
    struct input_flow flow;
    struct input_paths paths;
    struct input_nodes *functions; /* of the hot tables */
};

/* To be closed, also after a failure, which is BAT_ERR_MEMORY. */
enum bat_code input_follow_open(struct input_follow *follow, const struct bat_original *original);
void input_follow_close(struct input_follow *follow);

/*
 * The last node at or below an address of the output, in the same fragment, which belongs to table
 * and holds address; NULL if there is none. Owned by follow; paths are not filled. Reads the
 * function's code once.
 */
enum bat_code input_follow_node(struct input_follow *follow, uint32_t table, uint64_t address,
                                const struct input_node **node);

/* The node that a direct branch leads to; NULL for others, and for targets outside. */
const struct input_node *input_follow_target(const struct input_follow *follow, uint32_t table,
                                             const struct input_node *node);

/* Fill the paths of a node of table's function, once. Fails with BAT_ERR_MEMORY. */
enum bat_code input_follow_ways(struct input_follow *follow, uint32_t table,
                                const struct input_node *node);

#endif
