/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The input binaries in a folder, found by their build-ids. */
#ifndef BAT_TOOLS_BATTRANSLATE_ORIGINALS_H
#define BAT_TOOLS_BATTRANSLATE_ORIGINALS_H

#include "bat_elf.h"
#include "tools/common/tool.h"

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
