/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The pseudo probes of YAML, and its tables: spec/pseudo-probes.md 4. Internal to the library. */
#pragma once

#include "bat_probes.h"
#include "support/text_writer.h"

/* A number, and where a table of the file has it. */
struct bat_yaml_index {
    uint64_t number; /* a GUID or a hash */
    uint32_t index;
};

/* The probes of the binary, and the file's tables. Threads may share it. */
struct bat_yaml_probes {
    struct bat_probes *all;
    uint8_t *is_read; /* for each node: its top-level body is one of those that are written */
    struct bat_yaml_index *guids;  /* of the nodes that are read, ascending by number */
    struct bat_yaml_index *hashes; /* of all functions of the source, likewise */
    uint64_t *gs;                  /* the same GUIDs in the order of the file's table gs */
    uint64_t *hs;                  /* the hashes in that of hs */
    uint32_t guid_count;
    uint32_t hash_count;
};

/* Make the tables of the nodes that are read. False if there is no memory. */
bool bat_yaml_probes_make_tables(struct bat_yaml_probes *probes);

/* The index of a GUID in the table gs; 0 if it is not there. Logarithmic. */
uint32_t bat_yaml_probes_guid_index(const struct bat_yaml_probes *probes, uint64_t guid);

/* NULL is allowed. */
void bat_yaml_probes_free(struct bat_yaml_probes *probes);

/* Write the tables, the last thing in the file. */
void bat_yaml_probes_write_tables(const struct bat_yaml_probes *probes,
                                  struct bat_text_writer *text);
