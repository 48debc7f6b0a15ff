/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading perf.data. Internal to the library. */
#ifndef BAT_PROFILE_PERF_PERF_DATA_H
#define BAT_PROFILE_PERF_PERF_DATA_H

#include "profile/profile.h"

/* How many bytes of a file perf_data_is() needs. */
#define PERF_DATA_MAGIC_SIZE 8u

/* True if a file that begins with these bytes is perf.data, of any version and byte order. */
bool perf_data_is(const uint8_t *bytes, size_t size);

/* Read a regular file into the profile, by several threads. */
enum bat_code perf_data_read(struct bat_profile *profile, int file,
                             const struct bat_read_options *options, struct bat_error *error);

/* Read a stream whose first size bytes were already read into bytes. */
enum bat_code perf_data_read_stream(struct bat_profile *profile, int stream, const uint8_t *bytes,
                                    size_t size, const struct bat_read_options *options,
                                    struct bat_error *error);

#endif
