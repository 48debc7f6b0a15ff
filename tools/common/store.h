/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Stores: folders with whole binaries by build-id, for tools that get the shipped ones
 * (spec/store.md).
 */
#ifndef BAT_TOOLS_COMMON_STORE_H
#define BAT_TOOLS_COMMON_STORE_H

#include "bat_elf.h"
#include "tool.h"

/* Most stores that are searched. */
#define STORES_MAX 16u

/* The stores of a command line, in the order in which they are searched. */
struct stores {
    const char *folders[STORES_MAX];
    size_t count;
    char *environment; /* owns the names from BATKIT_STORE */
};

/*
 * Add a folder, which must exist. False, with a message, if it does not, or if there are too many.
 */
bool stores_add(struct stores *stores, const char *folder);

/* Add the folders that BATKIT_STORE names, with colons between them. False, with a message. */
bool stores_add_environment(struct stores *stores);
void stores_free(struct stores *stores);

/* A binary in a store. */
struct stored {
    int file;            /* its bytes, open for reading; -1: none was found */
    char path[64];       /* by which this process can open it while file is open */
    bool is_system_full; /* an entry could not be read for lack of memory, files or disk */
};

/* Nothing found. */
static inline struct stored stored_nothing(void)
{
    return (struct stored){.file = -1};
}

void stored_close(struct stored *stored);

/* What to open: the stored binary if there is one, else the file itself. */
static inline const char *stored_or(const struct stored *stored, const char *path)
{
    return stored->file >= 0 ? stored->path : path;
}

/*
 * Find the binary with this build-id. If there is none, stored->file is -1. If the shipped file is
 * known (else NULL), the binary must load the same bytes, because BOLT gives all its outputs of one
 * input the same build-id. Prints an error and returns false if an entry is damaged, or is not the
 * binary of that build-id, or if there are entries, and all of them load other bytes.
 */
bool stores_find(const struct stores *stores, const uint8_t *build_id, size_t size,
                 const struct bat_elf *shipped, struct stored *stored);

/* True if the file has symbols other than dynamic ones. */
bool has_symbols(const struct bat_elf *elf);

/* True if the file has neither a BAT note nor symbols. */
bool store_is_shipped(const struct bat_elf *elf);

/*
 * The same for a file that is shipped. Any other path, also one that is no ELF file, needs no
 * store: stored->file is -1.
 */
bool stores_find_whole(const struct stores *stores, const char *path, struct stored *stored);

/* What store_put() did. */
enum store_result {
    STORE_PUT,
    STORE_WAS_THERE,
    STORE_FAILED,
};

/*
 * Put the whole file into a store, unless it is there. If another file of the build-id is there, it
 * is replaced with `force`, else that is an error. The entry is on the disk when this returns, and
 * any number of processes may put entries, also the same one, at once. Prints errors.
 */
enum store_result store_put(const char *folder, const struct bat_elf *elf, bool force);

/* True if the store has an entry for this build-id, whatever it holds. */
bool store_has(const char *folder, const uint8_t *build_id, size_t size);

#endif
