/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The files that a text's addresses are in. */
#pragma once

#include "bat_symbolize.h"

struct symbolize_files;

/*
 * Open options->path, if it is given, with the options of the binary. All of them, and their
 * strings, must outlive *files. Fails as bat_symbolizer_open().
 */
enum bat_code symbolize_files_open(const struct bat_symbolize_options *options,
                                   const struct bat_symbolizer_options *binary,
                                   struct symbolize_files **files, struct bat_error *error);
void symbolize_files_close(struct symbolize_files *files); /* NULL is allowed */

/* The given binary, or NULL. */
struct bat_symbolizer *symbolize_files_given(const struct symbolize_files *files);

/*
 * The binary that a text names: the given one if the name can be its, else the file at that path,
 * which is opened and kept. The original is the given binary's; if no binary is given, it is that
 * of every file that BOLT made from it. NULL, with *error, if the file cannot be opened.
 */
struct bat_symbolizer *symbolize_files_find(struct symbolize_files *files, struct bat_slice module,
                                            struct bat_error *error);

/* bat_symbolize_file() */
const char *symbolize_files_at(const struct symbolize_files *files, size_t i,
                               const struct bat_symbolizer **symbolizer, struct bat_error *error);
