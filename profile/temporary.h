/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files without a name, for what has to be read twice. Internal to the library. */
#ifndef BAT_PROFILE_TEMPORARY_H
#define BAT_PROFILE_TEMPORARY_H

#include "bat.h"

/* Open one in the folder TMPDIR, else /tmp, to be closed with close(). */
enum bat_code bat_temporary_open(int *file, struct bat_error *error);

/* Open one with all that a stream still has, behind bytes that were read from it already. */
enum bat_code bat_temporary_copy(int stream, const void *bytes, size_t size, int *file,
                                 struct bat_error *error);

/* Append bytes to it. */
enum bat_code bat_temporary_write(int file, const void *bytes, size_t size,
                                  struct bat_error *error);

#endif
