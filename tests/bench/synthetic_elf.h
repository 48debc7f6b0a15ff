/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A large ELF file around a large note. */
#pragma once

#include <stdbool.h>

#include "bat.h"

/*
 * Write an x86-64 executable to path: one segment of text_size bytes without holes, a function
 * symbol for each table of map, and the note. The text begins where repeated notes do. False, with
 * errno set, if it cannot be written.
 */
bool synthetic_elf_write(const char *path, const struct bat_map *map, const uint8_t *note,
                         size_t note_size, uint64_t text_size);
