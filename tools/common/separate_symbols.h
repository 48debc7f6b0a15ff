/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Symbols of a stripped program, which its separate debug file has. */
#ifndef BAT_SEPARATE_SYMBOLS_H
#define BAT_SEPARATE_SYMBOLS_H

#include "bat_elf.h"

/*
 * Where the program at path has no symbol table: open its debug file, debug_file or, if that is
 * NULL, where bat_debuginfo_open() finds one. NULL if the program has symbols, or nothing is found;
 * else to be closed with bat_elf_close().
 */
struct bat_elf *separate_symbols_open(const char *path, const char *debug_file);

#endif
