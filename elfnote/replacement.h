/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files that are there either as before or complete: written under no name or a temporary one,
 * then renamed. Internal to elfnote/.
 */
#ifndef BAT_ELF_REPLACEMENT_H
#define BAT_ELF_REPLACEMENT_H

#include "bat.h"

#include <sys/stat.h>
#include <sys/types.h>

struct replacement {
    const char *path; /* as the caller called it, for messages */
    char *target;     /* the file to replace, symbolic links followed */
    char *folder;     /* where it is */
    char *temporary;  /* the name that the new file has until then; NULL while it has none */
    int file;         /* the new file, or -1 */
    bool is_durable;  /* synchronise before the old file goes: set where there is one. What can be
                         made again need not wait for the disk */
    bool has_model;
    struct stat model; /* whose mode and owner the new file gets */
};

/*
 * Begin a new file at path, which stays to be owned by the caller. model (may be NULL) is the
 * file whose mode and owner it gets: without one that is the file that it replaces, if any. On
 * failure nothing is left to be undone; after success either replacement_finish() or
 * replacement_discard() has to follow.
 */
enum bat_code replacement_begin(struct replacement *replacement, const char *path,
                                const struct stat *model, struct bat_error *error);

/* Write size bytes at offset. */
enum bat_code replacement_write(struct replacement *replacement, const void *bytes, uint64_t size,
                                uint64_t offset, struct bat_error *error);

/*
 * Copy size bytes at offset `from` of the file source to offset `to`, inside the kernel where it
 * can. Holes in the source become holes.
 */
enum bat_code replacement_copy(struct replacement *replacement, int source, uint64_t from,
                               uint64_t size, uint64_t to, struct bat_error *error);

/* Cut or extend the file to size bytes. */
enum bat_code replacement_resize(struct replacement *replacement, uint64_t size,
                                 struct bat_error *error);

/*
 * Put the new file in the old one's place, on the disk before if is_durable. Ends replacement in
 * any case.
 */
enum bat_code replacement_finish(struct replacement *replacement, struct bat_error *error);

/* Remove what was written. */
void replacement_discard(struct replacement *replacement);

#endif
