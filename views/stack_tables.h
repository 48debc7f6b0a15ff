/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The tables of sampled stacks, for those that write them. Internal to the library. */
#pragma once

#include "bat_output.h"
#include "support/counts.h"
#include "support/string_table.h"
#include "support/text_writer.h"

struct bat_sampled_subject;

/* Text that grows. */
struct stack_text {
    char *bytes;
    size_t size;
    size_t capacity;
};

/* Numbers count from 0 in the order in which things were added. */
struct bat_sampled_stacks {
    struct bat_strings names;    /* clean: valid UTF-8 without control characters */
    struct bat_counts known;     /* key: the address of a lasting string; its name's number */
    struct bat_counts functions; /* key: function, linkage, file, start line */
    struct bat_counts lines;     /* key: function, line, column */
    struct bat_strings places;   /* "address line line ...", innermost line first */
    struct bat_strings stacks;   /* "place place ...", innermost place first */
    struct bat_counts counts;    /* key: stack */
    struct stack_text place;     /* that is being made */
    struct stack_text stack;
    struct stack_text name;
    bool no_memory;
    bool is_too_large;
};

/* The next number of a place's or a stack's text, which is moved behind it. False at its end. */
static inline bool stack_next_number(const char **text, uint64_t *number)
{
    *number = 0;
    if (!**text)
        return false;
    for (; **text && **text != ' '; (*text)++)
        *number = *number * 10 + (uint64_t)(**text - '0');
    *text += **text == ' ';
    return true;
}

/* The number of a key, which is added to the table if it is new. 0, and *no_memory is set, without
 * memory. */
uint64_t stack_key_number(struct bat_counts *table, const uint64_t *key, bool *no_memory);

/*
 * The functions of a stack from the innermost outwards: item i of *functions has the key i,
 * function. BAT_ERR_MEMORY without memory.
 */
enum bat_code stack_functions(const struct bat_sampled_stacks *stacks, uint32_t stack,
                              struct bat_counts *functions);

/* Each writes all stacks in a format. */
enum bat_code write_pprof(const struct bat_sampled_stacks *stacks,
                          const struct bat_sampled_subject *subject, struct bat_output *output,
                          struct bat_error *error);
enum bat_code write_otlp(const struct bat_sampled_stacks *stacks,
                         const struct bat_sampled_subject *subject, struct bat_output *output,
                         struct bat_error *error);
enum bat_code write_speedscope(const struct bat_sampled_stacks *stacks,
                               const struct bat_sampled_subject *subject, struct bat_output *output,
                               struct bat_error *error);
enum bat_code write_firefox(const struct bat_sampled_stacks *stacks,
                            const struct bat_sampled_subject *subject, struct bat_output *output,
                            struct bat_error *error);
enum bat_code write_folded(const struct bat_sampled_stacks *stacks, struct bat_output *output,
                           struct bat_error *error);
