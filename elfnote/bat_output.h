/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files that are written: each is there as before, or complete. Several that belong together
 * appear together.
 *
 *     struct bat_output *outputs[2];
 *     code = bat_output_begin("app.fdata", &outputs[0], &error);     before anything is read
 *     code = bat_output_begin("app.yaml", &outputs[1], &error);
 *     ...                                                            write both
 *     code = bat_outputs_commit(outputs, 2, &error);
 *
 * An output that is not to be committed is given up with bat_output_abandon(). One output belongs
 * to one thread at a time. No descriptor below 3 is ever written to, standard output excepted.
 */
#ifndef BAT_OUTPUT_FILE_H
#define BAT_OUTPUT_FILE_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file in the making. */
struct bat_output;

/*
 * Begin to write path: a regular file that is there or not, a device or pipe (opened here, so a
 * FIFO waits for its reader), or standard output ("-" or "/dev/stdout"). A regular file changes at
 * the commit; the others get bytes as they are written. What can be told of path now is: fails with
 * BAT_ERR_IO if there is no such folder, if path is a folder or a mount point, or if the caller may
 * not write to the file that is there.
 *
 * A file that replaces another keeps that one's mode, access control list and all other extended
 * attributes, and, where the caller may set them, owner and group. A new one has mode 0666 less
 * the umask.
 */
BAT_API enum bat_code bat_output_begin(const char *path, struct bat_output **output,
                                       struct bat_error *error);

/* The same for a regular file alone, which may be called "-". */
BAT_API enum bat_code bat_output_begin_file(const char *path, struct bat_output **output,
                                            struct bat_error *error);

/* True for standard output: what else is printed there gets between its bytes. */
BAT_API bool bat_output_is_standard(const struct bat_output *output);

/*
 * Fails with BAT_ERR_ARGUMENT if one of the outputs is the same regular file as one of the inputs
 * ("-": standard input) or as another output, be it under another name. Inputs that are not there
 * are none.
 */
BAT_API enum bat_code bat_outputs_check(struct bat_output *const *outputs, size_t count,
                                        const char *const *inputs, size_t input_count,
                                        struct bat_error *error);

/* Append bytes. */
BAT_API enum bat_code bat_output_write(struct bat_output *output, const void *bytes, size_t size,
                                       struct bat_error *error);

/*
 * Put all outputs in their places: everything that may fail is done for all of them first, then
 * they are renamed, signals being blocked in this thread. If a renaming fails, those before it are
 * taken back. What replaces a file is on the disk before that one goes; new files do not wait for
 * the disk. Fails with BAT_ERR_IO, also if an attribute of a replaced file (see above) cannot be
 * carried over: then every file is as it was. Frees the outputs in any case.
 */
BAT_API enum bat_code bat_outputs_commit(struct bat_output **outputs, size_t count,
                                         struct bat_error *error);

/* Leave path as it was, and free output, which may be NULL. */
BAT_API void bat_output_abandon(struct bat_output *output);

/* All of it for bytes that are there already; path has to be a regular file, or none yet. */
BAT_API enum bat_code bat_write_file(const char *path, const void *bytes, size_t size,
                                     struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
