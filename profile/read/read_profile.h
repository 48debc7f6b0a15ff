/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The forms of files, and reading text of one form. Internal to profile/read. */
#ifndef BAT_PROFILE_READ_READ_PROFILE_H
#define BAT_PROFILE_READ_READ_PROFILE_H

#include "profile/perf/perf_data.h"

typedef enum bat_code reader_fn(struct bat_profile *profile, struct bat_lines *lines);

/*
 * Recognise the format of a regular file by its first block: set *is_script, or else *reader unless
 * the block is blank.
 */
enum bat_code bat_form_probe(int file, reader_fn **reader, bool *is_script,
                             struct bat_error *error);

/*
 * Read the first bytes of a file, by which perf.data is recognised. *size is less than
 * PERF_DATA_MAGIC_SIZE only for a shorter file.
 */
enum bat_code bat_form_read_head(int file, bool is_stream, uint8_t *head, size_t *size,
                                 struct bat_error *error);

/* Read all of a regular file of text. */
enum bat_code bat_form_read_text(struct bat_profile *profile, int file, uint64_t size,
                                 const struct bat_read_options *options, struct bat_error *error);

#endif
