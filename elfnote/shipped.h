/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A binary without what no host needs that runs it. Internal to the library and the tools. */
#pragma once

#include "bat_elf.h"

/*
 * Check that elf can be shipped. Fails with BAT_ERR_UNSUPPORTED for a relocatable file (a kernel
 * module: what links it reads symbols), without section headers or names, or with program headers
 * in its ELF header, and with BAT_ERR_ELF where a loaded segment ends beyond the file.
 */
enum bat_code bat_elf_check_shippable(const struct bat_elf *elf, struct bat_error *error);

/*
 * Write a copy of elf without its BAT note, its symbols, debug information, and all other sections
 * that are not loaded, except small ones that tell where it comes from: .comment, .gnu_debuglink
 * and other notes. What program headers map stays as it is, byte for byte and at its offset, apart
 * from the ELF header's fields for the section header table; sections keep their indices, and the
 * headers of those that are left out before others become SHT_NULL. The output was begun for elf
 * (bat_elf_begin_output()). Fails as bat_elf_check_shippable() does, and with BAT_ERR_IO and
 * BAT_ERR_MEMORY.
 */
enum bat_code bat_elf_write_shipped(const struct bat_elf *elf, struct bat_output *output,
                                    struct bat_error *error);

/*
 * Begin the entry of a store for elf: those may read it who may read elf, and nobody else, whatever
 * the umask and a replaced entry's permissions are.
 */
enum bat_code bat_elf_begin_stored(const struct bat_elf *elf, const char *path,
                                   struct bat_output **output, struct bat_error *error);

/* Name an open file by another path than the one that it was opened with. */
enum bat_code bat_elf_rename(struct bat_elf *elf, const char *path, struct bat_error *error);
