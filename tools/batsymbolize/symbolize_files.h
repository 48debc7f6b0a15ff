/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The binaries that addresses belong to: the given one, and others that a text names. */
#ifndef BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_FILES_H
#define BAT_TOOLS_BATSYMBOLIZE_SYMBOLIZE_FILES_H

#include "bat_symbolizer.h"
#include "tools/common/store.h"

struct symbolize_files_options {
    const char *path;                     /* the binary of addresses without a file name; or NULL */
    struct bat_symbolizer_options binary; /* with its size */
    struct stores stores;                 /* with the whole of shipped files */
};

struct symbolize_files;

/*
 * Open options->path, if it is given. options and its strings must outlive the result. NULL, with a
 * message on standard error, if it or its original cannot be opened.
 */
struct symbolize_files *symbolize_files_open(const struct symbolize_files_options *options);
void symbolize_files_close(struct symbolize_files *files);

/* The given binary, or NULL. */
struct bat_symbolizer *symbolize_files_given(const struct symbolize_files *files);

/*
 * The binary that a text names: the given one if the name can be its, else the file at that path,
 * which is opened and kept. The original is the given binary's; if no binary is given, it is that
 * of every file that BOLT made from it. NULL, with *error, if the file cannot be opened.
 */
struct bat_symbolizer *symbolize_files_find(struct symbolize_files *files, struct bat_slice module,
                                            struct bat_error *error);

/*
 * The path of opened binary number i, from 0, or NULL behind the last. *symbolizer is set to the
 * binary, or to NULL if it could not be opened.
 */
const char *symbolize_files_at(const struct symbolize_files *files, size_t i,
                               const struct bat_symbolizer **symbolizer);

#endif
