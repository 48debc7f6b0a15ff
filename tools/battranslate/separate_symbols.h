/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The symbols of a stripped program in its separate debug file. */
#ifndef BAT_TOOLS_BATTRANSLATE_SEPARATE_SYMBOLS_H
#define BAT_TOOLS_BATTRANSLATE_SEPARATE_SYMBOLS_H

#include "bat_elf.h"

/*
 * If the program at path has no symbol table, open its debug file: debug_file or, if that is NULL,
 * the file that bat_debuginfo_open() finds. *elf, to be closed with bat_elf_close(), is NULL if the
 * program has symbols or no file is found. Fails with BAT_ERR_MEMORY or BAT_ERR_IO.
 */
enum bat_code separate_symbols_open(const char *path, const char *debug_file, struct bat_elf **elf,
                                    struct bat_error *error);

#endif
