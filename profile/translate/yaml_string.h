/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* YAML strings of any bytes. Internal to the library. */
#pragma once

#include <stdint.h>

#include "support/text_writer.h"

/*
 * Write a C string as LLVM's YAML writer does: without quotes where it reads back as the same
 * string, in single quotes, or in double quotes if it has characters that need escapes or are not
 * ASCII. A byte that is not UTF-8, for which YAML has no form, is written as four characters such
 * as \x9b.
 */
void bat_yaml_string(struct bat_text_writer *text, const char *string);

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
