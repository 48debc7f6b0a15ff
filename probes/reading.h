/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The steps of reading probes. Internal to probes/. */
#pragma once

#include "bases.h"
#include "bat_probes.h"
#include "bytes.h"

/* Probes that own their arrays. */
struct owned_probes {
    struct bat_probes public;
    const struct bat_probe_spans *wanted; /* NULL: all */
    struct bat_probe_function *functions;
    struct bat_probe_node *nodes;
    struct bat_probe *probes;
    uint32_t *bodies;
};

/* Fill nodes, probes and bodies from .pseudo_probe, but for the nodes' functions. */
enum bat_code probes_read_bodies(struct probe_bytes bytes, struct probe_bases *bases,
                                 struct owned_probes *probes);

/* Fill functions from .pseudo_probe_desc; the nodes are there, and get theirs. Of wanted spans only
 * the functions that have nodes are kept. */
enum bat_code probes_read_functions(struct probe_bytes bytes, struct owned_probes *probes);

/*
 * Sort keys, of which each has the index of an element as its value, and return the elements, of
 * size bytes, in that order. Frees elements and keys. NULL if there is no memory.
 */
void *probes_sorted(void *elements, struct bat_sort_key *keys, size_t count, size_t size);
