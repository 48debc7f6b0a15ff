/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Addresses for the sections of relocatable files, which have none: kernel modules. Code is where
 * the kernel puts it, from the module's first byte on: what stays loaded, in the order of the
 * sections. All else is behind it.
 */
#include "relocatable.h"

#include <elf.h>
#include <string.h>

/* Sections may claim to be larger than any file; 0 is no alignment. */
#define END_MAX ((uint64_t)1 << 47)
#define ALIGNMENT_MAX ((uint64_t)1 << 21)
#define PAGE ((uint64_t)4096)

static bool is_loaded_code(const struct bat_section *section)
{
    return (section->flags & SHF_EXECINSTR) && strncmp(section->name, ".init", 5) != 0;
}

static uint64_t align(uint64_t address, uint64_t alignment)
{
    return alignment == 0 || alignment > ALIGNMENT_MAX
               ? address
               : (address + alignment - 1) / alignment * alignment;
}

bool elf_place_sections(struct bat_section *sections, size_t count)
{
    uint64_t end = 0;
    for (unsigned pass = 0; pass < 2; pass++, end = align(end, PAGE))
        for (size_t i = 1; i < count; i++) {
            struct bat_section *section = &sections[i];
            if (!(section->flags & SHF_ALLOC) || is_loaded_code(section) != (pass == 0))
                continue;
            section->address = align(end, section->alignment);
            if (section->size > END_MAX - section->address || section->address > END_MAX)
                return false;
            end = section->address + section->size;
        }
    return true;
}
