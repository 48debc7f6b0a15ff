/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files of sampled stacks: pprof's profiles, OpenTelemetry's and simpleperf's, packed by gzip or
 * not (spec/stacks.md). protobuf-c reads them; what they have in common is here. Internal to the
 * library.
 */
#pragma once

#include "bat_profile.h"
#include "support/arena.h"

/* So many of a file's first bytes tell whether it is one of these. */
#define STACK_PROFILE_HEAD 10u

/* True if a file with these first bytes, STACK_PROFILE_HEAD or all that it has, may be a profile.
 */
bool stack_profile_is(const void *bytes, size_t size);

/* A file in the memory of a process, at [start, end). Strings are "" if they are not known. */
struct stack_mapping {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* of start, in the file */
    const char *path;
    const char *build_id; /* hexadecimal */
    uint64_t count;       /* of the samples whose first place is in it */
    bool is_own;          /* see stack_profile_own() */
};

/* A function at a place. Strings are "" and numbers 0 if they are not known. */
struct stack_line {
    const char *function;
    const char *linkage;
    const char *file;
    uint32_t line;
    uint32_t column;
    uint32_t start_line;
};

struct stack_place {
    struct stack_mapping *mapping;  /* or NULL */
    uint64_t address;               /* in the process */
    const struct stack_line *lines; /* the innermost first */
    size_t line_count;
};

struct stack_sample {
    const struct stack_place *const *places; /* the innermost first */
    size_t depth;
    uint64_t count; /* all counts of a profile add up to less than 2^63 */
};

/* Owned by its arena. Strings have any bytes. */
struct stack_profile {
    struct bat_arena arena;
    struct stack_mapping *mappings;
    size_t mapping_count;
    struct stack_sample *samples;
    size_t sample_count;
    uint64_t sum;               /* of the samples' counts */
    struct stack_profile *next; /* for the owner's list */
    const char *type; /* of what is counted, such as "samples"; "" if the file does not say */
};

/*
 * Read a regular file from its position to its end. type is the sample type whose values count, of
 * the types of the file; NULL: the first. *profile is to be freed with stack_profile_free(); NULL
 * on failure. Memory is limited by the file's size. Fails with BAT_ERR_IO, BAT_ERR_MEMORY,
 * BAT_ERR_TRUNCATED, BAT_ERR_SYNTAX for a damaged file, BAT_ERR_RANGE for numbers that lead out of
 * it and counts that add up to 2^63, BAT_ERR_MISMATCH for a file without the type, and
 * BAT_ERR_UNSUPPORTED in a build without protobuf-c.
 */
enum bat_code stack_profile_read(int file, const char *type, struct stack_profile **profile,
                                 struct bat_error *error);

/* NULL is allowed. */
void stack_profile_free(struct stack_profile *profile);

/*
 * Set is_own of the mappings of a binary: those with its build-id, or if the mapping or the binary
 * has none, with its file's name. Returns the number of samples whose first place is in them.
 */
uint64_t stack_profile_own(struct stack_profile *profile, const char *path, const uint8_t *build_id,
                           size_t size);

/* True if a mapping has an ELF file's build-id. */
bool stack_mapping_is_build(const struct stack_mapping *mapping, const struct bat_elf *elf);

/* The place's address in the file of its own mapping; BAT_ADDRESS_EXTERNAL if it has none. */
uint64_t stack_place_own(const struct stack_place *place, const struct bat_elf *elf);
