/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Replaces a file in one step: the new content is written to a file without a name or with a
 * temporary one, which is then renamed. Internal to elfnote/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "bat.h"

struct replacement {
    const char *path; /* as the caller gave it, for messages */
    char *target;     /* path with symbolic links followed */
    char *folder;     /* of target */
    char *temporary;  /* name of the new file until it is placed; NULL while it has none */
    char *old;        /* name of the replaced file until the end; NULL if it has none */
    int file;         /* the new file, or -1; never below 3 */
    bool exists;      /* target exists and will be replaced */
    bool is_placed;
    int existing_file;    /* the existing file, open by O_PATH, or -1 */
    struct stat existing; /* its status at the beginning */
    struct stat made;     /* status of the new file, from replacement_prepare() on */
    bool has_model;       /* the new file gets the attributes of a model */
    bool is_stored;       /* it gets only the right to read it, as an entry of a store */
    int model;            /* the model, open; -1: the model is target */
};

/*
 * Begin a new file at path, which must stay valid until replacement_discard(). The new file gets
 * the attributes of model, an open file that must stay open until then; with -1 those of the file
 * that it replaces, if any. With is_stored, those may read the new file who may read the model, and
 * nobody else, and the file that it replaces need not be writable. After success, and only then,
 * the caller must call replacement_discard().
 */
enum bat_code replacement_begin(struct replacement *replacement, const char *path, int model,
                                bool is_stored, struct bat_error *error);

enum bat_code replacement_write(struct replacement *replacement, const void *bytes, uint64_t size,
                                uint64_t offset, struct bat_error *error);

/*
 * Copy size bytes at offset `from` of the file source to offset `to`, by the kernel if it can.
 * Holes in the source become holes.
 */
enum bat_code replacement_copy(struct replacement *replacement, int source, uint64_t from,
                               uint64_t size, uint64_t to, struct bat_error *error);

/* Cut or extend the file to size bytes. */
enum bat_code replacement_resize(struct replacement *replacement, uint64_t size,
                                 struct bat_error *error);

/* Write all to the disk; fails if something is lost, which some file systems report only then. */
enum bat_code replacement_check_written(const struct replacement *replacement,
                                        struct bat_error *error);

/* First step of a commit: set attributes, and write all to the disk. */
enum bat_code replacement_prepare(struct replacement *replacement, struct bat_error *error);

/* Second step: if a file is replaced, give the new one a temporary name in its folder. */
enum bat_code replacement_name(struct replacement *replacement, struct bat_error *error);

/*
 * Third step: put the new file in its place. The file that is replaced is the one that was there at
 * the beginning: fails if another program has made or replaced it since.
 */
enum bat_code replacement_place(struct replacement *replacement, struct bat_error *error);

/* Last steps: close the new file; write the names in its folder to the disk. */
enum bat_code replacement_close(struct replacement *replacement, struct bat_error *error);
enum bat_code replacement_write_folder(struct replacement *replacement, struct bat_error *error);

/*
 * Write the names in the folder of path to the disk. 0, or -1 with errno. A folder that the caller
 * may not read stays unwritten for now.
 */
int bat_write_folder_of(const char *path);

/*
 * After a failure in any of the steps: restore what was there before. If that fails, the existing
 * file keeps its temporary name, which is added to the message in error.
 */
void replacement_undo(struct replacement *replacement, struct bat_error *error);

/* Close the file, remove it if it was not placed, remove the old file, and free all memory. */
void replacement_discard(struct replacement *replacement);

/*
 * Give the new file a temporary name in its folder, or make it with mode under such a name if it is
 * not open.
 */
enum bat_code replacement_make_named(struct replacement *replacement, mode_t mode,
                                     struct bat_error *error);

/* Give the new file the model's owner, mode and extended attributes (attributes.c). */
enum bat_code replacement_take_attributes(struct replacement *replacement, struct bat_error *error);

/* The room for a path in /proc/self/fd. */
#define REPLACEMENT_OPEN_PATH 32

/* A path of the existing file: in /proc, through existing_file, or, without /proc, target. */
const char *replacement_existing_path(const struct replacement *replacement,
                                      char path[REPLACEMENT_OPEN_PATH]);

/* Fails with BAT_ERR_IO: what is at path is not what was there at the beginning. */
enum bat_code replacement_fail_changed(const struct replacement *replacement,
                                       struct bat_error *error);

/* Fails with BAT_ERR_IO and the reason in errno. */
enum bat_code replacement_fail(const struct replacement *replacement, struct bat_error *error);

/* Static analysis does not see what these functions return. */
#ifdef __clang_analyzer__
#define replacement_fail(...) (replacement_fail(__VA_ARGS__), BAT_ERR_IO)
#define replacement_fail_changed(...) (replacement_fail_changed(__VA_ARGS__), BAT_ERR_IO)
#endif

/* Bytes at the same offsets that file systems keep, or leave out, together. */
#define BAT_HOLE_BLOCK 4096u

/* True if all bytes are 0; there is at least one. */
static inline bool bat_is_zeros(const void *bytes, size_t size)
{
    const unsigned char *first = bytes;
    return *first == 0 && memcmp(first, first + 1, size - 1) == 0;
}
