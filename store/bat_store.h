/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Stores: folders with whole binaries by build-id, for tools that get the shipped ones
 * (spec/store.md). Messages of errors name the file that they are of.
 *
 *     struct bat_stores stores = {0};
 *     bat_stores_add(&stores, folder, &error)
 *     bat_stores_find_whole(&stores, shipped, &stored, &error)
 *     bat_binary_open(bat_stored_or(&stored, shipped), &binary, &error)
 *     bat_stored_close(&stored)
 *     bat_stores_free(&stores)
 */
#ifndef BAT_STORE_H
#define BAT_STORE_H

#include "bat_elf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most stores that are searched. */
#define BAT_STORES_MAX 16u

/* Stores in the order in which they are searched. {0} is none. */
struct bat_stores {
    const char *folders[BAT_STORES_MAX];
    size_t count;
    char *environment; /* owns the names from BATKIT_STORE */
};

/*
 * Add a folder, which must exist; its name must outlive the stores. BAT_ERR_IO if it does not, and
 * BAT_ERR_ARGUMENT if there are too many.
 */
BAT_API enum bat_code bat_stores_add(struct bat_stores *stores, const char *folder,
                                     struct bat_error *error);

/* Add the folders that BATKIT_STORE names, with colons between them. Fails as above,
 * BAT_ERR_MEMORY. */
BAT_API enum bat_code bat_stores_add_environment(struct bat_stores *stores,
                                                 struct bat_error *error);

/* Free what the stores hold; there are none then. */
BAT_API void bat_stores_free(struct bat_stores *stores);

/* A binary in a store. */
struct bat_stored {
    int file;            /* its bytes, open for reading; -1: none was found */
    char path[64];       /* by which this process can open it while file is open */
    bool is_system_full; /* an entry could not be read for lack of memory, files or disk */
};

/* Nothing found. */
static inline struct bat_stored bat_stored_nothing(void)
{
    struct bat_stored nothing = {-1, "", false};
    return nothing;
}

/* Close what was found; nothing is allowed. */
BAT_API void bat_stored_close(struct bat_stored *stored);

/* What to open: the stored binary if there is one, else the file itself. */
static inline const char *bat_stored_or(const struct bat_stored *stored, const char *path)
{
    return stored->file >= 0 ? stored->path : path;
}

/*
 * Find the binary with this build-id. If there is none, stored->file is -1. If the shipped file is
 * known (else NULL), the binary must load the same bytes, because BOLT gives all its outputs of one
 * input the same build-id. Fails if an entry is damaged, or is not the binary of that build-id, and
 * with BAT_ERR_MISMATCH if there are entries, and all of them load other bytes. *stored is to be
 * closed in any case.
 */
BAT_API enum bat_code bat_stores_find(const struct bat_stores *stores, const uint8_t *build_id,
                                      size_t size, const struct bat_elf *shipped,
                                      struct bat_stored *stored, struct bat_error *error);

/* True if the file has neither a BAT note nor symbols. */
BAT_API bool bat_store_is_shipped(const struct bat_elf *elf);

/*
 * bat_stores_find() for a file that is shipped. Any other path, also one that is no ELF file, needs
 * no store: stored->file is -1.
 */
BAT_API enum bat_code bat_stores_find_whole(const struct bat_stores *stores, const char *path,
                                            struct bat_stored *stored, struct bat_error *error);

/*
 * Put the whole file into a store, unless it is there: then *was_there is true. If another file of
 * the build-id is there, it is replaced with `force`, else that is an error. The entry is on the
 * disk when this returns, and any number of processes may put entries, also the same one, at once.
 */
BAT_API enum bat_code bat_store_put(const char *folder, const struct bat_elf *elf, bool force,
                                    bool *was_there, struct bat_error *error);

/* True if the store has an entry for this build-id, whatever it holds. */
BAT_API bool bat_store_has(const char *folder, const uint8_t *build_id, size_t size);

#ifdef __cplusplus
}
#endif

#endif
