/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files that may be of use: those of a folder, or of a profile's mappings. */
#pragma once

#include "bat_elf.h"

/*
 * True if an error of the C library says that there is no such file, or none for this user. After
 * others, which the next try may not have, a file cannot be left out.
 */
bool optional_is_missing(int error);

/*
 * Open path if it is an ELF file that bat_elf_open() knows; *elf, to be closed with
 * bat_elf_close(), is NULL if it is something else or missing. Fails with BAT_ERR_MEMORY or
 * BAT_ERR_IO.
 */
enum bat_code optional_elf_open(const char *path, struct bat_elf **elf, struct bat_error *error);

/* True if the file has that build-id, or one of them is not known (size 0). If the size of the
 * other one is not known, it is padded with zeros. */
bool optional_elf_is(const struct bat_elf *elf, const uint8_t *build_id, size_t size);

/*
 * If the program at path has no symbol table, open its debug file: debug_file or, if that is NULL,
 * the file that bat_debuginfo_open() finds. *elf, to be closed with bat_elf_close(), is NULL if the
 * program has symbols or no file is found. Fails with BAT_ERR_MEMORY or BAT_ERR_IO.
 */
enum bat_code separate_symbols_open(const char *path, const char *debug_file, struct bat_elf **elf,
                                    struct bat_error *error);
