/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The forms of files, and reading text of one form. Internal to profile/read. */
#pragma once

#include "profile/perf/perf_data.h"
#include "profile/perf/recording.h"
#include "profile/stacks/stack_profile.h"

/* Of TEXT_BLANK nothing is known: all lines of the first block are blank. */
enum text_form { TEXT_BLANK, TEXT_PREAGG, TEXT_FDATA, TEXT_SCRIPT };

/* Recognise the form of a regular file by its first block. */
enum bat_code bat_form_probe(int file, enum text_form *form, struct bat_error *error);

/* Who reads a file. */
enum profile_reader { READ_TEXT, READ_PERF_DATA, RUN_PERF, READ_STACKS };

/* A file, or a folder of perf's, of which the first bytes are known. */
struct profile_file {
    const char *path; /* for perf, which opens it again; "-": it is not known */
    int file;
    bool is_folder;
    bool is_stream; /* no regular file, or already read in part: head was read from it */
    uint64_t size;  /* of a regular file */
    uint8_t head[STACK_PROFILE_HEAD];
    size_t head_size; /* less than that only for a shorter file */
    enum profile_reader reader;
};

/* Look at a file. options: whether perf is run; NULL if it is not. Fails with BAT_ERR_IO. */
enum bat_code bat_form_find(struct profile_file *found, const char *path, int file,
                            const struct bat_read_options *options, struct bat_error *error);

/*
 * Read all of a text into an empty profile, which on failure may only be freed. The form is that of
 * a regular file, which is not perf script's, or TEXT_BLANK. One without any bytes is an error:
 * BAT_ERR_SYNTAX.
 */
enum bat_code bat_form_read_text(struct bat_profile *profile, const struct profile_file *from,
                                 enum text_form form, const struct bat_read_options *options,
                                 struct bat_error *error);

/*
 * Read a regular file of stacks (profile/stacks) into empty profiles, which all know their binary,
 * and add to counters. Fails as stack_profile_read(), and with BAT_ERR_MISMATCH if no sample is of
 * the binaries.
 */
enum bat_code bat_stacks_read(struct bat_profile *const *parts, size_t count, int file,
                              const struct bat_read_options *options,
                              struct bat_profiles_counters *counters, struct bat_error *error);

/* bat_profile_call_chains() of such a file. */
enum bat_code bat_stacks_list_chains(const struct bat_profile *profile, int file,
                                     const struct bat_read_options *options,
                                     bat_call_chain_fn *found, void *context,
                                     struct bat_error *error);

/* perf_recording_read() of such a file. */
enum bat_code bat_stacks_take_recording(int file, perf_recording_fn *take, void *context,
                                        struct bat_error *error);
