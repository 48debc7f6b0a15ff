/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --all: the files that processes had mapped, as far as they are on this machine. */
#ifndef BAT_TOOLS_BATTRANSLATE_MAPPED_H
#define BAT_TOOLS_BATTRANSLATE_MAPPED_H

#include "request.h"
#include "tools/common/tool.h"

struct mapped {
    char **paths;
    size_t count;
    size_t capacity;
};

/*
 * Find the ELF files with symbols that the request's profiles name as mapped, at their paths, with
 * their build-ids. Prints errors. To be freed in any case.
 */
enum tool_exit mapped_find(struct mapped *mapped, const struct translate_request *request);
void mapped_free(struct mapped *mapped);

#endif
