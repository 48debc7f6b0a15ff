/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups of virtual addresses in the PT_LOAD segments. */
#include "elf_file.h"

uint64_t bat_elf_base_address(const struct bat_elf *elf)
{
    return elf->load_count ? elf->loads[0].address : 0;
}

bool bat_elf_segment(const struct bat_elf *elf, size_t i, struct bat_segment *segment)
{
    if (i >= elf->load_count)
        return false;
    *segment = elf->loads[i];
    return true;
}

const uint8_t *bat_elf_at_address(const struct bat_elf *elf, uint64_t address, uint64_t *available)
{
    for (size_t i = 0; i < elf->load_count; i++) {
        const struct bat_segment *segment = &elf->loads[i];
        uint64_t distance = address - segment->address;
        if (address < segment->address || distance >= segment->file_size)
            continue;
        /* A segment may claim more bytes than the file has. */
        if (segment->offset >= elf->size || distance >= elf->size - segment->offset)
            continue;
        uint64_t in_segment = segment->file_size - distance;
        uint64_t in_file = elf->size - segment->offset - distance;
        *available = in_segment < in_file ? in_segment : in_file;
        return bat_guarded(elf->mapping.start, elf->bytes + segment->offset, distance + *available,
                           0) +
               distance;
    }
    *available = 0;
    return NULL;
}

bool bat_elf_is_executable(const struct bat_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->load_count; i++) {
        const struct bat_segment *segment = &elf->loads[i];
        if ((segment->flags & PF_X) != 0 && address >= segment->address &&
            address - segment->address < segment->memory_size)
            return true;
    }
    return false;
}
