/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The pseudo probes of a function in YAML: spec/pseudo-probes.md 4. Internal to the library. */
#pragma once

#include "bat_decoder.h"
#include "records.h"
#include "yaml_probes.h"

/* A probe in one of the function's blocks. */
struct bat_yaml_probe {
    uint32_t block; /* index in the function's blocks */
    uint32_t order; /* in which it was found: by part of the function, then by address */
    uint32_t node;  /* number in the inline tree */
    uint32_t id;
    uint32_t offset; /* from the block's start in the input, for calls */
    uint8_t type;    /* enum bat_probe_type */
    bool is_written; /* with a counted call */
};

/* What is written of a function. Each thread has its own, all zero at first. */
struct bat_yaml_function_probes {
    uint32_t root;   /* node of the inline tree's root, or BAT_NONE: the function has no probes */
    uint32_t *queue; /* the tree's nodes as they are written: breadth first */
    struct bat_yaml_node *nodes; /* the same, as they are written */
    uint32_t *numbers;           /* for each node from root on its place there */
    uint32_t tree_size;          /* nodes in the tree; 0 if there is none */
    size_t tree_capacity;

    struct bat_yaml_probe *found; /* ascending by block, then by order */
    size_t found_count;
    size_t found_capacity;

    /* Of the blocks that bat_yaml_probes_choose() was called for. */
    struct bat_yaml_probe *calls; /* one for each offset, ascending */
    uint64_t *blocks;             /* node << 32 | id, ascending */
    uint32_t call_count;
    uint32_t block_count;
    size_t chosen_capacity;
};

/*
 * Find a function's tree and its probes; blocks are those that YAML has of it. Fails with
 * BAT_ERR_MEMORY. Linear in the tree, n log n in the probes.
 */
enum bat_code bat_yaml_probes_find(const struct bat_records *records, uint32_t function,
                                   const struct bat_block *blocks, uint32_t block_count,
                                   struct bat_yaml_function_probes *found, struct bat_error *error);

/* Forget what was chosen; then choose the probes of blocks, block by block; then sort them. */
void bat_yaml_probes_begin_place(struct bat_yaml_function_probes *found);
void bat_yaml_probes_choose(struct bat_yaml_function_probes *found, uint32_t block);
void bat_yaml_probes_sort_place(struct bat_yaml_function_probes *found);

/* Give a call the chosen probe at its place, if there is one. */
void bat_yaml_probes_place(struct bat_yaml_function_probes *found, struct bat_yaml_edge *call);

/* Append the other chosen probes of calls, as calls without counts; there is room for them. */
void bat_yaml_probes_add_uncounted(struct bat_yaml_function_probes *found,
                                   struct bat_yaml_edges *calls);

void bat_yaml_function_probes_free(struct bat_yaml_function_probes *found);
