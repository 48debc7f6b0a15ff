/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The first of several profiles, whose first bytes tell how all are read. */
#pragma once

#include "bat.h"

struct first_file {
    const char *path; /* by which it is read: its own, or that of the copy */
    bool is_yaml;
    int copy; /* of a pipe, which can be read only once: a temporary file; or -1 */
    char copy_path[32];
};

/* Look at a file, or at standard input ("-"). Fails with BAT_ERR_IO, BAT_ERR_MEMORY. */
enum bat_code first_file_open(const char *path, struct first_file *first, struct bat_error *error);
void first_file_close(struct first_file *first);
