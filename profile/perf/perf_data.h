/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading perf.data. Internal to the library. */
#ifndef BAT_PROFILE_PERF_PERF_DATA_H
#define BAT_PROFILE_PERF_PERF_DATA_H

#include "profile/profile.h"

/* How many bytes of a file perf_data_is() needs. */
#define PERF_DATA_MAGIC_SIZE 8u

/* True if a file that begins with these bytes is perf.data, of any version and byte order. */
bool perf_data_is(const uint8_t *bytes, size_t size);

/* Which samples lie in a binary: with the sampled address, or an end of an entry of their stack. */
struct perf_shares {
    uint64_t samples;
    uint64_t none;    /* samples that lie in none of the binaries */
    uint64_t *inside; /* samples in each binary */
};

/* What perf recorded. */
struct perf_source {
    const char
        *printed; /* perf.data that perf prints, for it alone can decode trace data; or NULL */
    bool is_text; /* the file is the text of perf script; else it is perf.data */
    int file;     /* a regular file, or a folder of perf record --threads */
};

/*
 * Read a recording once for several binaries, into a profile each, which are empty and on failure
 * may only be freed. Fails with BAT_ERR_MISMATCH if no process has any of them, or if their samples
 * do not have what is wanted; with BAT_ERR_IO and the beginning of perf's standard error if perf
 * fails. What was read is added to shares, unless that is NULL.
 */
enum bat_code perf_read_several(struct bat_profile *const *parts, uint32_t count,
                                const struct perf_source *source,
                                const struct bat_read_options *options, struct perf_shares *shares,
                                struct bat_error *error);

/* Add a recording to a profile, which is as before on failure. */
enum bat_code perf_read(struct bat_profile *profile, const struct perf_source *source,
                        const struct bat_read_options *options, struct bat_error *error);

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
enum bat_code perf_data_list_chains(const struct bat_profile *profile, int file,
                                    const struct bat_read_options *options,
                                    bat_call_chain_fn *found, void *context,
                                    struct bat_error *error);

/* Read a stream whose first size bytes were already read into bytes. */
enum bat_code perf_data_read_stream(struct bat_profile *profile, int stream, const uint8_t *bytes,
                                    size_t size, const struct bat_read_options *options,
                                    struct bat_error *error);

#endif
