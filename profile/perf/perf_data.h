/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading perf.data. Internal to the library. */
#pragma once

#include "profile/profile.h"

/* How many bytes of a file perf_data_is() needs. */
#define PERF_DATA_MAGIC_SIZE 8u

/* True if a file that begins with these bytes is perf.data, of any version and byte order. */
bool perf_data_is(const uint8_t *bytes, size_t size);

/* What perf recorded. */
struct perf_source {
    const char *printed; /* perf.data that perf prints: it alone decodes trace data; or NULL */
    bool is_text;        /* the file is the text of perf script; else it is perf.data */
    bool is_stream;      /* the file is perf.data that arrives, without the bytes of head */
    const uint8_t *head;
    size_t head_size;
    int file; /* else a regular file, or a folder of perf record --threads */
};

/*
 * Read a recording once for all binaries, into a profile each, which are empty and on failure may
 * only be freed. Fails with BAT_ERR_MISMATCH if no process has any of them, or if their samples do
 * not have what is wanted; with BAT_ERR_IO and the beginning of perf's standard error if perf
 * fails. What was read is added to counters, unless that is NULL: a sample is inside a binary with
 * its address, or with an end of an entry of its stack.
 */
enum bat_code perf_read(struct bat_profile *const *parts, uint32_t count,
                        const struct perf_source *source, const struct bat_read_options *options,
                        struct bat_profiles_counters *counters, struct bat_error *error);

/*
 * Check that the counters of profiles that one recording was read into add up, and are those of
 * their tables: nothing is lost between a sample and the profile. BAT_ERR_MISMATCH if not.
 */
enum bat_code perf_check_sums(struct bat_profile *const *parts, uint32_t count,
                              struct bat_error *error);

/* List the files that processes had mapped, as bat_mapped_files() does. */
enum bat_code perf_list_files(const struct perf_source *source, bat_mapped_file_fn *found,
                              void *context, struct bat_error *error);

/* List the call chains of a binary's samples, as bat_profile_call_chains() does. */
enum bat_code perf_data_list_chains(const struct bat_profile *profile,
                                    const struct perf_source *source,
                                    const struct bat_read_options *options,
                                    bat_call_chain_fn *found, void *context,
                                    struct bat_error *error);
