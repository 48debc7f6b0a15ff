/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The binaries of one pass, and where the profile of each goes. */
#ifndef BAT_TOOLS_BATTRANSLATE_TARGETS_H
#define BAT_TOOLS_BATTRANSLATE_TARGETS_H

#include "bat_elf.h"
#include "request.h"
#include "support/string_table.h"
#include "tools/common/tool.h"
#include "translate_work.h"

/* A binary, its outputs, and the work of translating its profile. */
struct target {
    char *binary;
    char *output; /* NULL if there is one output for all */
    char *yaml;   /* NULL if it is not wanted */
    char *original;
    struct translate_request request; /* for this binary alone */
    struct work work;
    uint64_t inside; /* samples that lie in the binary */
    bool is_idle;    /* of --all, without samples: left out */
    char *report;
    size_t report_size;
    enum tool_exit status;
};

struct targets {
    struct target *items;
    size_t count;
    char *made_folder; /* --output-dir, if it was made for these outputs; or NULL */
};

/*
 * Make the targets of a request for several binaries: of its arguments (BINARY or BINARY=OUT), or
 * for --all of the files that its profiles name. Prints errors. To be freed in any case.
 */
enum tool_exit targets_make(struct targets *targets, const struct translate_request *request);

/*
 * Fail for binaries that are not told apart: the same file twice, one build-id, or one name without
 * build-ids. Their files are open.
 */
enum tool_exit targets_check(const struct targets *targets);

/* Remove the folder that was made, if the outputs are not in it. */
void targets_remove_folder(struct targets *targets);
void targets_free(struct targets *targets);

/* Bytes of a build-id that are remembered; longer ones are not looked up in a store. */
#define MAPPED_ID_MAX 64u

struct mapped_item {
    char *path;
    struct bat_stored stored; /* its bytes, if it is not on this machine but in a store */
};

struct mapped {
    struct mapped_item *items;
    size_t count;
    size_t capacity;
    struct bat_strings paths;  /* of the items */
    struct bat_strings files;  /* devices and inodes of those that are on this machine */
    struct bat_strings builds; /* build-ids, as the profiles have them */
    const struct bat_stores *stores;
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

struct originals;

/*
 * List the ELF files with build-ids in a folder and those below it; files that BOLT wrote, files
 * without code and what this user may not read are left out. NULL with a message on failure.
 */
struct originals *originals_open(const char *folder);
void originals_free(struct originals *originals);

/*
 * The file from which llvm-bolt made a binary, by its build-id; of several, one with symbols. NULL
 * if there is none.
 */
const char *originals_find(const struct originals *originals, const struct bat_elf *elf);

#endif
