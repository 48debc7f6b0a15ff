/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The input binaries of a folder, by their build-ids. Internal to the library and the tools. */
#pragma once

#include "bat_elf.h"

struct originals;

/*
 * List the ELF files with build-ids in a folder and those below it; files that BOLT wrote, files
 * without code and what this user may not read are left out. *originals is to be freed in any case.
 * Fails with BAT_ERR_IO and BAT_ERR_MEMORY; originals_failed() is the path that the error is of.
 */
enum bat_code originals_open(const char *folder, struct originals **originals,
                             struct bat_error *error);
const char *originals_failed(const struct originals *originals);
void originals_free(struct originals *originals);

/*
 * The file from which llvm-bolt made a binary, by its build-id; of several, one with symbols. NULL
 * if there is none.
 */
const char *originals_find(const struct originals *originals, const struct bat_elf *elf);
