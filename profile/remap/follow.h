/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Follows the output's code beside the input's, function by function, and caches what it finds: for
 * each node of the output, where the input is and how it goes on. Internal to profile/remap/.
 */
#pragma once

#include "nodes.h"

struct input_follow {
    struct input_flow flow;
    struct input_nodes *functions; /* one for each hot table */
};

/* Close it also after a failure, which is BAT_ERR_MEMORY. */
enum bat_code input_follow_open(struct input_follow *follow, const struct bat_original *original);
void input_follow_close(struct input_follow *follow);

/*
 * The last node at or below an output address in the fragment of table, which must hold address;
 * NULL if there is none. Owned by follow; its paths may not be filled yet. The function's code is
 * read once.
 */
enum bat_code input_follow_node(struct input_follow *follow, uint32_t table, uint64_t address,
                                const struct input_node **node);

/* The target node of a direct branch; NULL for other nodes and for targets in other functions. */
const struct input_node *input_follow_target(const struct input_follow *follow, uint32_t table,
                                             const struct input_node *node);

/* Fill the paths of a node of the function of table, once. Fails with BAT_ERR_MEMORY. */
enum bat_code input_follow_ways(struct input_follow *follow, uint32_t table,
                                const struct input_node *node);

/*
 * Move *node on to the first node that is not plain, at most to last, which is in the same
 * fragment: at a plain node, output and input only fall through. It is remembered where plain nodes
 * end, so that long runs through the same code do not cost the product of their number and length.
 */
enum bat_code input_follow_plain(struct input_follow *follow, uint32_t table,
                                 const struct input_node **node, const struct input_node *last);
