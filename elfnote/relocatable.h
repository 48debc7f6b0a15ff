/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocatable files. Internal to the library. */
#pragma once

#include "bat_elf.h"

/*
 * Give the allocated sections of a relocatable file addresses that do not overlap; the others keep
 * theirs. False if they are too large together: then some have none.
 */
bool elf_place_sections(struct bat_section *sections, size_t count);
