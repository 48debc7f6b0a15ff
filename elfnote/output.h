/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* struct bat_output. Internal to elfnote/. */
#pragma once

#include "bat_output.h"
#include "elf_file.h"
#include "replace_file.h"

struct bat_output {
    char *path;
    bool is_stream;           /* gets bytes as they are written; otherwise replacement is used */
    bat_output_take_fn *take; /* of a stream without a file; or NULL */
    void *take_context;
    bool closes_file;
    int file; /* of a stream */
    struct replacement replacement;
    uint64_t offset;              /* where bat_output_write() writes next */
    const struct bat_elf *source; /* the file that it is a changed copy of, or NULL */
};

/*
 * bat_output_begin_file(), with the attributes of source if it is not NULL; with is_stored as
 * bat_elf_begin_stored().
 */
enum bat_code output_begin_file(const char *path, const struct bat_elf *source, bool is_stored,
                                struct bat_output **output, struct bat_error *error);

/*
 * bat_output_write(), but blocks of zeros become holes of a file. The last bytes of the output must
 * not be zeros.
 */
enum bat_code output_write_sparse(struct bat_output *output, const void *bytes, size_t size,
                                  struct bat_error *error);
