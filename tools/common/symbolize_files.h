/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The binaries that addresses are of: the one that is given, and others that a text names. */
#ifndef BAT_SYMBOLIZE_FILES_H
#define BAT_SYMBOLIZE_FILES_H

#include "bat_symbolizer.h"

struct symbolize_files_options {
    const char *path; /* the binary that addresses without a file are of; or NULL */
    struct bat_symbolizer_options binary;
};

struct symbolize_files;

/*
 * Open options->path, if it is given; options and its strings must stay. NULL, with a message on
 * standard error, if it or its original cannot be opened.
 */
struct symbolize_files *symbolize_files_open(const struct symbolize_files_options *options);
void symbolize_files_close(struct symbolize_files *files);

/* The given binary; NULL if none is. */
struct bat_symbolizer *symbolize_files_given(const struct symbolize_files *files);

/*
 * The binary that a text names: the given one if it can be that, else the file of that path, which
 * is opened and kept. The original is of the given binary, or of all if none is given and they are
 * what BOLT made of it. NULL, with the sentence in *error, if it cannot be opened.
 */
struct bat_symbolizer *symbolize_files_find(struct symbolize_files *files, struct bat_slice module,
                                            struct bat_error *error);

/*
 * The opened binaries one after the other, from number 0: their paths, and the binaries in
 * *symbolizer, NULL for those that could not be opened. NULL behind the last.
 */
const char *symbolize_files_at(const struct symbolize_files *files, size_t i,
                               const struct bat_symbolizer **symbolizer);

#endif
