/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Temporary files without a name, for streams that are read twice. Internal to the library. */
#pragma once

#include "bat.h"

/*
 * Open a temporary file in the folder TMPDIR, or else /tmp. The caller closes it with close(). Of
 * this and the functions below that open one: *file is -1 after a failure.
 */
enum bat_code bat_temporary_open(int *file, struct bat_error *error);

/*
 * The same, with the bytes that were already read from a stream and then the rest of the stream, to
 * be read from its start.
 */
enum bat_code bat_temporary_copy(int stream, const void *bytes, size_t size, int *file,
                                 struct bat_error *error);

/* Is told how many bytes were appended. */
typedef void bat_appended_fn(size_t size, void *context);

/* Append the rest of a stream to a temporary file. Calls appended after each piece, unless it is
 * NULL. */
enum bat_code bat_temporary_append(int file, int stream, bat_appended_fn *appended, void *context,
                                   struct bat_error *error);

/*
 * Open one in memory, where the system has that, with these bytes, to be read from its start. The
 * caller closes it.
 */
enum bat_code bat_temporary_of_bytes(const void *bytes, size_t size, int *file,
                                     struct bat_error *error);

enum bat_code bat_temporary_write(int file, const void *bytes, size_t size,
                                  struct bat_error *error);
