/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Questions about virtual addresses, answered by the PT_LOAD segments. */
#include "elf_file.h"

uint64_t bat_elf_base_address(const struct bat_elf *elf)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (elf->segments[i].p_type == PT_LOAD)
            return elf->segments[i].p_vaddr;
    }
    return 0;
}

bool bat_elf_segment(const struct bat_elf *elf, size_t i, struct bat_segment *segment)
{
    for (size_t j = 0; j < elf->segment_count; j++) {
        const GElf_Phdr *header = &elf->segments[j];
        if (header->p_type != PT_LOAD || i-- != 0)
            continue;
        *segment = (struct bat_segment){.offset = header->p_offset,
                                        .file_size = header->p_filesz,
                                        .address = header->p_vaddr,
                                        .memory_size = header->p_memsz,
                                        .flags = header->p_flags};
        return true;
    }
    return false;
}

const uint8_t *bat_elf_at_address(const struct bat_elf *elf, uint64_t address, uint64_t *available)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const GElf_Phdr *segment = &elf->segments[i];
        uint64_t distance = address - segment->p_vaddr;
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            distance >= segment->p_filesz)
            continue;
        /* A segment may claim more than the file has: only what is there is given out. */
        if (segment->p_offset >= elf->size || distance >= elf->size - segment->p_offset)
            continue;
        uint64_t in_segment = segment->p_filesz - distance;
        uint64_t in_file = elf->size - segment->p_offset - distance;
        *available = in_segment < in_file ? in_segment : in_file;
        return elf->bytes + segment->p_offset + distance;
    }
    *available = 0;
    return NULL;
}

bool bat_elf_is_executable(const struct bat_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const GElf_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
            address >= segment->p_vaddr && address - segment->p_vaddr < segment->p_memsz)
            return true;
    }
    return false;
}
