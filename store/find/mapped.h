/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The files that profiles say were mapped. Internal to the library and the tools. */
#pragma once

#include "bat_store.h"
#include "support/string_table.h"

/* Bytes of a build-id that are remembered; longer ones are not looked up in a store. */
#define MAPPED_ID_MAX 64u

struct mapped_item {
    char *path;
    struct bat_stored stored; /* its bytes, if it is not on this machine but in a store */
};

/* What is asked for. */
struct mapped_request {
    const char *const *profiles;
    size_t profile_count;
    const struct bat_stores *stores;
    bool keep_going; /* a profile that cannot be read is left out: reading it tells why */
    /* Receives each error with the path that it is of, or NULL. */
    void (*report)(const char *path, const struct bat_error *error);
};

struct mapped {
    const struct mapped_request *request;
    struct mapped_item *items;
    size_t count;
    size_t capacity;
    struct bat_strings paths;  /* of the items */
    struct bat_strings files;  /* devices and inodes of those that are on this machine */
    struct bat_strings builds; /* build-ids, as the profiles have them */
    bool has_failed;           /* a file or a store's entry cannot be read; that was reported */
    bool has_stopped; /* that would happen to all others, too: memory, files or the disk are full */
};

/*
 * Find the ELF files with symbols that the profiles name as mapped: at their paths, with their
 * build-ids, or else in the stores, by their build-ids alone. False after an error, which was
 * reported. To be freed in any case.
 */
bool mapped_find(struct mapped *mapped, const struct mapped_request *request);
void mapped_free(struct mapped *mapped);
