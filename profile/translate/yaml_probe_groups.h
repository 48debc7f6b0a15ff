/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The entries of a block's probes in YAML: spec/pseudo-probes.md 4. Internal to the library. */
#pragma once

#include <stdint.h>

/* The probes of one node in a block. A probe is a word: node << 32 | id. */
struct bat_yaml_group {
    uint32_t first; /* index of its first probe */
    uint32_t end;   /* behind its last one */
    uint32_t entry; /* `first` of the first group with the same ids */
};

/*
 * Divide sorted probes into groups, of which there is room for count. Groups with the same ids,
 * which share an entry, stand together. Returns the number of groups. n log n.
 */
uint32_t bat_yaml_probe_groups(const uint64_t *probes, uint32_t count,
                               struct bat_yaml_group *groups);
