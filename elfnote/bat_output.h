/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Output files. At any time each is either as it was before or complete; files that belong together
 * appear together.
 *
 *     struct bat_output *outputs[2];
 *     code = bat_output_begin("app.fdata", &outputs[0], &error);     before anything is read
 *     code = bat_output_begin("app.yaml", &outputs[1], &error);
 *     ...                                                            write both
 *     code = bat_outputs_commit(outputs, 2, &error);
 *
 * bat_output_abandon() ends an output without committing it. Only one thread at a time may use an
 * output. Of the descriptors 0 to 2 only standard output is ever written to.
 */
#ifndef BAT_OUTPUT_FILE_H
#define BAT_OUTPUT_FILE_H

#include "bat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file that is being written. */
struct bat_output;

/*
 * Begin to write path: a regular file, existing or new, a device or pipe (opened here, so a FIFO
 * waits for its reader), or standard output ("-" or "/dev/stdout"). A regular file changes at the
 * commit; the others get bytes as they are written. Fails with BAT_ERR_IO if the folder does not
 * exist, if path is a folder or a mount point, or if the caller may not write to an existing file.
 *
 * A file that replaces another gets that file's mode, access control list and all other extended
 * attributes, and, if the caller may set them, owner and group. A new one has mode 0666 less the
 * umask.
 */
BAT_API enum bat_code bat_output_begin(const char *path, struct bat_output **output,
                                       struct bat_error *error);

/* The same for a regular file only, which may be called "-". */
BAT_API enum bat_code bat_output_begin_file(const char *path, struct bat_output **output,
                                            struct bat_error *error);

/*
 * Receives bytes in the order in which they are written, size of them, more than 0, on the thread
 * that writes. Returning false ends the writing with BAT_ERR_IO; nothing more comes then.
 */
typedef bool bat_output_take_fn(const void *bytes, size_t size, void *context);

/*
 * Begin an output without a file: take() receives what is written, piece by piece, with context.
 * Commit or abandon it like any other; what take() received is not taken back by either. Fails with
 * BAT_ERR_MEMORY.
 */
BAT_API enum bat_code bat_output_begin_callback(bat_output_take_fn *take, void *context,
                                                struct bat_output **output,
                                                struct bat_error *error);

/* True for standard output: other text printed there would mix with the output's bytes. */
BAT_API bool bat_output_is_standard(const struct bat_output *output);

/*
 * Fails with BAT_ERR_ARGUMENT if one of the outputs is the same regular file as one of the inputs
 * ("-": standard input) or as another output, even under another name, or if two outputs are
 * standard output. Inputs that are NULL or do not exist are ignored. Time n log n in all files;
 * fails with BAT_ERR_MEMORY, too.
 */
BAT_API enum bat_code bat_outputs_check(struct bat_output *const *outputs, size_t count,
                                        const char *const *inputs, size_t input_count,
                                        struct bat_error *error);

/* Append bytes. */
BAT_API enum bat_code bat_output_write(struct bat_output *output, const void *bytes, size_t size,
                                       struct bat_error *error);

/*
 * Put all outputs in place: everything that is likely to fail is done for all of them first, then
 * they are renamed with signals blocked in this thread. If a rename fails, the renames before it
 * are undone. Every file is on the disk before it gets its name, and the name is before this
 * returns. A stream is closed; of standard output, a copy is. Fails with BAT_ERR_IO, also if an
 * attribute of a replaced file (see above) cannot be carried over, or if another program has made
 * or replaced a file since the output was begun; every file is then as it was. Should that be
 * impossible, the message names the place of the old file. Frees the outputs in any case.
 */
BAT_API enum bat_code bat_outputs_commit(struct bat_output **outputs, size_t count,
                                         struct bat_error *error);

/* Free output, which may be NULL. A regular file at its path stays as it was. */
BAT_API void bat_output_abandon(struct bat_output *output);

/* Write a file in one call: begin, write, commit. path must be a regular file or not exist. */
BAT_API enum bat_code bat_write_file(const char *path, const void *bytes, size_t size,
                                     struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
