/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the readers of all forms share. Internal to profile/stacks. */
#pragma once

#include "stack_profile.h"

#define SIMPLEPERF_MAGIC "SIMPLEPERF"

/* What is read, and where errors go. */
struct stack_reading {
    struct stack_profile *profile;
    const char *wanted_type;
    size_t type_count; /* asked about, without a wanted one */
    char types[256];   /* those that the file has, for an error */
    struct bat_error *error;
};

/*
 * Read all of a profile's bytes into profile->mappings and samples. BAT_ERR_SYNTAX if they have
 * another form.
 */
enum bat_code stack_read_pprof(struct stack_reading *reading, const uint8_t *bytes, size_t size);
enum bat_code stack_read_otlp(struct stack_reading *reading, const uint8_t *bytes, size_t size);
/* The same of bytes that begin with SIMPLEPERF_MAGIC. Also BAT_ERR_TRUNCATED. */
enum bat_code stack_read_simpleperf(struct stack_reading *reading, const uint8_t *bytes,
                                    size_t size);

/* protobuf-c's allocator, of an arena, which keeps what is freed until its end. */
void *stack_allocate(void *arena, size_t size);
void stack_keep(void *arena, void *bytes);

/* Zeroed memory for count elements in the profile's arena; NULL if it is full. */
void *stack_array(const struct stack_reading *reading, size_t count, size_t size);

/* Why there was no memory, or protobuf-c gave nothing: it may also be that it has another form. */
enum bat_code stack_fail(const struct stack_reading *reading);

/* The wanted type, or without one the first. All types of a file are asked about. */
bool stack_is_type(struct stack_reading *reading, const char *type);
enum bat_code stack_fail_type(const struct stack_reading *reading);

/* Fail with BAT_ERR_RANGE unless number is below count. what: "strings", ... */
enum bat_code stack_check_number(const struct stack_reading *reading, uint64_t number, size_t count,
                                 const char *what);

/* Add a sample, for which there is room. Those that count nothing, or nowhere, are left out. */
enum bat_code stack_add_sample(const struct stack_reading *reading,
                               const struct stack_place *const *places, size_t depth,
                               int64_t count);

/* A number of the source, 0 for one that is none. */
static inline uint32_t stack_source_number(int64_t number)
{
    return number < 0 || number > UINT32_MAX ? 0 : (uint32_t)number;
}
