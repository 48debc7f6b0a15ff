/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What struct bat_output is. Internal to elfnote/. */
#ifndef BAT_ELF_OUTPUT_H
#define BAT_ELF_OUTPUT_H

#include "bat_output.h"
#include "elf_file.h"
#include "replacement.h"

struct bat_output {
    char *path;
    bool is_stream; /* gets bytes as they come; else a replacement */
    bool closes_file;
    int file; /* of a stream */
    struct replacement replacement;
    uint64_t offset;              /* where bat_output_write() goes on */
    const struct bat_elf *source; /* what it is a copy of, or NULL */
};

/* As bat_output_begin(), but for a regular file alone, with the attributes of source, if any. */
enum bat_code output_begin_file(const char *path, const struct bat_elf *source,
                                struct bat_output **output, struct bat_error *error);

#endif
