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
    char *temporary; /* the name that the new file has until it is placed; NULL while it has none */
    char *old;       /* the name that the replaced file has until the end; NULL if it has none */
    int file;        /* the new file, or -1; never below 3 */
    bool exists;     /* there is a file to replace */
    bool is_placed;
    struct stat existing; /* that file */
    bool has_model;       /* the new file gets attributes of another one */
    int model;            /* that one, opened; -1: the file to replace */
};

/*
 * Begin a new file at path, which stays to be owned by the caller. model is an open file, which
 * stays open to the end, whose attributes the new file gets; -1: those of the file that it
 * replaces, if any. On failure nothing is left to be undone; after success replacement_discard()
 * has to follow.
 */
enum bat_code replacement_begin(struct replacement *replacement, const char *path, int model,
                                struct bat_error *error);

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

/* Attributes, and, if a file is to be replaced, the way to the disk. */
enum bat_code replacement_prepare(struct replacement *replacement, struct bat_error *error);

/* Then a name beside the file that is to be replaced, if any. */
enum bat_code replacement_name(struct replacement *replacement, struct bat_error *error);

/*
 * Put the new file in its place. With keep_old a file that was there can be brought back by
 * replacement_undo(), and is removed by replacement_discard().
 */
enum bat_code replacement_place(struct replacement *replacement, bool keep_old,
                                struct bat_error *error);
void replacement_undo(struct replacement *replacement);

/* The end: close the file, and remove what was not placed, or what it has replaced. */
void replacement_discard(struct replacement *replacement);

/* Give the new file a temporary name in its folder; for replacement_begin() and _prepare(). */
enum bat_code replacement_make_named(struct replacement *replacement, mode_t mode,
                                     struct bat_error *error);

/* Set attributes.c's part: owner, access, extended attributes of the model. */
enum bat_code replacement_take_attributes(struct replacement *replacement, struct bat_error *error);

/* BAT_ERR_IO for the system call that just failed. */
enum bat_code replacement_fail(const struct replacement *replacement, struct bat_error *error);

#endif
