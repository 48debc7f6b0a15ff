/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mini debug information (.gnu_debugdata). Internal to elfnote/. */
#pragma once

#include "bat_elf.h"

/*
 * Open the file that .gnu_debugdata has; *opened is NULL if there is none, and in a minimal build.
 * To be closed. Fails as bat_unpack(), bat_unpacked_file() and bat_elf_open().
 */
enum bat_code elf_debugdata_open(const struct bat_elf *elf, struct bat_elf **opened,
                                 struct bat_error *error);
