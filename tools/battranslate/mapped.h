/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --all: the files that processes had mapped, as far as they are on this machine. */
#ifndef BAT_TOOLS_BATTRANSLATE_MAPPED_H
#define BAT_TOOLS_BATTRANSLATE_MAPPED_H

#include "request.h"
#include "support/string_table.h"
#include "tools/common/tool.h"

/* Bytes of a build-id that are remembered; longer ones are not looked up in a store. */
#define MAPPED_ID_MAX 64u

struct mapped_item {
    char *path;
    struct stored stored; /* its bytes, if it is not on this machine but in a store */
};

struct mapped {
    struct mapped_item *items;
    size_t count;
    size_t capacity;
    struct bat_strings paths;  /* of the items */
    struct bat_strings files;  /* devices and inodes of those that are on this machine */
    struct bat_strings builds; /* build-ids, as the profiles have them */
    const struct stores *stores;
    bool has_failed;  /* a file or a store's entry cannot be read; that was printed */
    bool has_stopped; /* that would happen to all others, too: memory, files or the disk are full */
};

/*
 * Find the ELF files with symbols that the request's profiles name as mapped: at their paths, with
 * their build-ids, or else in the request's stores, by their build-ids alone. Prints errors. To be
 * freed in any case.
 */
enum tool_exit mapped_find(struct mapped *mapped, const struct translate_request *request);
void mapped_free(struct mapped *mapped);

#endif
