/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Progress on standard error, if that is a terminal and the work is long. */
#ifndef BAT_TOOLS_BATTRANSLATE_PROGRESS_H
#define BAT_TOOLS_BATTRANSLATE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool is_shown;
    const char *file;
    uint64_t total; /* bytes of all regular files */
    atomic_uint_fast64_t done;
    atomic_int_fast64_t next; /* time of the next print, in milliseconds */
};

void progress_begin(struct progress *progress, const char *const *files, size_t count, bool quiet);

/* Set the file that is read. */
void progress_file(struct progress *progress, const char *file);

/* Add the bytes that were read; context is the struct progress. Any thread may call this. */
void progress_update(uint64_t bytes, void *context);

/* Clear the line. */
void progress_end(struct progress *progress);

#endif
