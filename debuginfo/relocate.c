/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Relocations in the DWARF of relocatable files (kernel modules): its addresses, and its offsets in
 * other sections of DWARF, stand in them. libdw does not read them.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "debuginfo.h"
#include "elfnote/relocatable.h"

/* What is done with the number at a relocation's place. */
enum action { ACTION_SET, ACTION_ADD, ACTION_SUBTRACT };

static const struct {
    uint16_t machine;
    uint8_t size;
    uint8_t action;
    uint32_t type;
} kinds[] = {
    {EM_X86_64, 8, ACTION_SET, R_X86_64_64},       {EM_X86_64, 4, ACTION_SET, R_X86_64_32},
    {EM_X86_64, 4, ACTION_SET, R_X86_64_32S},      {EM_AARCH64, 8, ACTION_SET, R_AARCH64_ABS64},
    {EM_AARCH64, 4, ACTION_SET, R_AARCH64_ABS32},  {EM_RISCV, 4, ACTION_SET, R_RISCV_32},
    {EM_RISCV, 8, ACTION_SET, R_RISCV_64},         {EM_RISCV, 1, ACTION_ADD, R_RISCV_ADD8},
    {EM_RISCV, 2, ACTION_ADD, R_RISCV_ADD16},      {EM_RISCV, 4, ACTION_ADD, R_RISCV_ADD32},
    {EM_RISCV, 8, ACTION_ADD, R_RISCV_ADD64},      {EM_RISCV, 1, ACTION_SUBTRACT, R_RISCV_SUB8},
    {EM_RISCV, 2, ACTION_SUBTRACT, R_RISCV_SUB16}, {EM_RISCV, 4, ACTION_SUBTRACT, R_RISCV_SUB32},
    {EM_RISCV, 8, ACTION_SUBTRACT, R_RISCV_SUB64},
};

struct relocating {
    Elf *elf;
    uint16_t machine;
    struct bat_section *sections; /* with the addresses that bat_elf_open() gives them */
    size_t count;
    uint64_t left; /* so many relocations may follow: sections may share bytes */
};

/* Sections with the names, flags, sizes and alignments that decide about addresses. */
static bool read_sections(struct relocating *relocating)
{
    size_t names;
    if (elf_getshdrnum(relocating->elf, &relocating->count) != 0 ||
        elf_getshdrstrndx(relocating->elf, &names) != 0)
        return false;
    relocating->sections = calloc(relocating->count + 1, sizeof(*relocating->sections));
    for (size_t i = 0; relocating->sections && i < relocating->count; i++) {
        GElf_Shdr header;
        if (!gelf_getshdr(elf_getscn(relocating->elf, i), &header))
            return false;
        const char *name = elf_strptr(relocating->elf, names, header.sh_name);
        relocating->sections[i] = (struct bat_section){.name = name ? name : "",
                                                       .type = header.sh_type,
                                                       .flags = header.sh_flags,
                                                       .size = header.sh_size,
                                                       .link = header.sh_link,
                                                       .info = header.sh_info,
                                                       .alignment = header.sh_addralign};
    }
    return relocating->sections && elf_place_sections(relocating->sections, relocating->count);
}

/* Write a relocation's value into the target's bytes. */
static void apply(const struct relocating *relocating, const Elf_Data *target,
                  const GElf_Rela *relocation, uint64_t value)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t size = kinds[i].size;
        if (kinds[i].machine != relocating->machine ||
            kinds[i].type != GELF_R_TYPE(relocation->r_info))
            continue;
        if (relocation->r_offset > target->d_size || target->d_size - relocation->r_offset < size)
            return;
        uint8_t *at = (uint8_t *)target->d_buf + relocation->r_offset;
        uint64_t before = 0;
        memcpy(&before, at, size);
        if (kinds[i].action != ACTION_SET)
            value = kinds[i].action == ACTION_ADD ? before + value : before - value;
        memcpy(at, &value, size);
        return;
    }
}

/* Apply a section of relocations. False if there are too many of them. */
static bool apply_all(struct relocating *relocating, const struct bat_section *section,
                      size_t number)
{
    Elf_Scn *target_section = elf_getscn(relocating->elf, section->info);
    if (relocating->sections[section->info].flags & SHF_COMPRESSED)
        elf_compress(target_section, 0, 0);
    const Elf_Data *target = elf_getdata(target_section, NULL);
    Elf_Data *relocations = elf_getdata(elf_getscn(relocating->elf, number), NULL);
    Elf_Data *symbols = elf_getdata(elf_getscn(relocating->elf, section->link), NULL);
    if (!target || !target->d_buf || !relocations || !symbols)
        return true;
    const uint64_t count = relocations->d_size / sizeof(Elf64_Rela);
    if (count > relocating->left || count > INT32_MAX)
        return false;
    relocating->left -= count;
    for (int i = 0; i < (int)count; i++) {
        GElf_Rela relocation;
        GElf_Sym symbol;
        if (!gelf_getrela(relocations, i, &relocation) ||
            !gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
            continue;
        const uint64_t address =
            symbol.st_shndx < relocating->count ? relocating->sections[symbol.st_shndx].address : 0;
        apply(relocating, target, &relocation,
              address + symbol.st_value + (uint64_t)relocation.r_addend);
    }
    return true;
}

static bool is_of_dwarf(const struct relocating *relocating, const struct bat_section *section)
{
    return section->type == SHT_RELA && section->info < relocating->count &&
           section->link < relocating->count &&
           relocating->sections[section->link].type == SHT_SYMTAB &&
           strncmp(relocating->sections[section->info].name, ".debug", 6) == 0;
}

enum bat_code debug_relocate(const struct debug_image *image, struct bat_error *error)
{
    GElf_Ehdr header;
    if (!gelf_getehdr(image->elf, &header) || header.e_type != ET_REL)
        return BAT_OK;
    struct relocating relocating = {
        .elf = image->elf, .machine = header.e_machine, .left = image->file_size};
    bool is_fine = read_sections(&relocating);
    BAT_TRY_MEMORY(relocating.sections, error, "to read debug information");
    for (size_t i = 1; is_fine && i < relocating.count; i++)
        if (is_of_dwarf(&relocating, &relocating.sections[i]))
            is_fine = apply_all(&relocating, &relocating.sections[i], i);
    free(relocating.sections);
    return is_fine ? BAT_OK
                   : bat_fail(error, BAT_ERR_ELF,
                              "expected a relocatable file with whole sections and fewer "
                              "relocations than bytes, found another");
}
