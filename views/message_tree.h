/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What both writers of protobuf's messages share: pprof's and OpenTelemetry's. */
#pragma once

#include "bat_views.h"
#include "stack_tables.h"
#include "support/arena.h"

/* Segments with code that are mappings. */
#define MESSAGE_MAPPINGS_MAX 128u

/* Begin with all zero but the first three. */
struct message_tree {
    const struct bat_sampled_stacks *stacks;
    const struct bat_sampled_subject *subject;
    struct bat_arena arena;
    bool no_memory;
    struct bat_strings strings; /* behind the names: types, mappings and others */
    struct bat_segment mappings[MESSAGE_MAPPINGS_MAX];
    uint32_t mapping_count;
    char build_id[129]; /* in hexadecimal; or empty */
};

/* Find the mappings and the build-id of the subject's program. */
void message_tree_begin(struct message_tree *tree);
void message_tree_free(struct message_tree *tree);

/* The number of the mapping that has the address, from 1 on; 0 if none has. */
uint32_t message_mapping_of(const struct message_tree *tree, uint64_t address);

/* Zeroed memory of count elements. NULL, and no_memory is set, without memory. */
void *message_array(struct message_tree *tree, size_t count, size_t size);

/* The addresses of count zeroed messages of size bytes. The same. */
void *message_list(struct message_tree *tree, size_t count, size_t size);

/* Strings have these numbers: 0 is "", then come the names of the stacks, then the other strings.
 */
static inline uint32_t message_name(uint64_t name)
{
    return (uint32_t)name + 1;
}
uint32_t message_string(struct message_tree *tree, const char *string);

/* All of them, message_string_count(); NULL, and no_memory is set, without memory. */
char **message_strings(struct message_tree *tree);
size_t message_string_count(const struct message_tree *tree);

/* How many numbers a text of a place or a stack has. */
size_t message_number_count(const char *text);
