/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "elf_file.h"

#include <stdlib.h>
#include <string.h>

#include "spec/keep_bytes.h"

struct elf_strings elf_strings(const struct bat_elf *elf, const struct bat_section *section)
{
    uint64_t size = 0;
    const uint8_t *bytes = bat_elf_section_bytes(elf, section, &size);
    bat_keep_bytes(bytes, (size_t)size);
    return elf_strings_unkept(elf, section);
}

struct elf_strings elf_strings_unkept(const struct bat_elf *elf, const struct bat_section *section)
{
    uint64_t size = 0;
    const uint8_t *bytes = bat_elf_section_bytes(elf, section, &size);
    const uint8_t *last = bytes ? memrchr(bytes, '\0', (size_t)size) : NULL;
    bat_keep_bytes(last, last ? 1 : 0);
    if (!last || *last != '\0')
        return (struct elf_strings){NULL, 0};
    return (struct elf_strings){(const char *)bytes, (uint64_t)(last - bytes) + 1};
}

static enum bat_code check_extent(const struct bat_elf *elf, const struct bat_section *section,
                                  struct bat_error *error)
{
    if (section->type == SHT_NULL || section->type == SHT_NOBITS ||
        (section->offset <= elf->size && section->size <= elf->size - section->offset))
        return BAT_OK;
    return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, section->offset,
                       "truncated: section %u of 0x%lx bytes ends beyond the file's end at 0x%lx",
                       section->index, section->size, elf->size);
}

/* Read a section header, except the name. */
static enum bat_code read_section(struct bat_elf *elf, size_t index, struct bat_error *error)
{
    GElf_Shdr header;
    if (!gelf_getshdr(elf_getscn(elf->libelf, index), &header))
        return bat_fail(error, elf_libelf_code(), "section header %zu: %s", index, elf_errmsg(-1));
    /* Section 0 is not a section, whatever its header says. */
    const uint32_t type = index == 0 ? SHT_NULL : header.sh_type;
    struct bat_section *section = &elf->sections[index];
    *section = (struct bat_section){
        .name = "",
        .index = (uint32_t)index,
        .type = type,
        .flags = type == SHT_NULL ? 0 : header.sh_flags, /* what is no section is not loaded */
        .address = header.sh_addr,
        .offset = header.sh_offset,
        .size = header.sh_size,
        .link = header.sh_link,
        .info = header.sh_info,
        .alignment = header.sh_addralign,
        .entry_size = header.sh_entsize,
    };
    return check_extent(elf, section, error);
}

/* Find the section that holds the names; its index may be in section header 0. */
static enum bat_code find_names(struct bat_elf *elf, struct bat_error *error)
{
    if (elf_getshdrstrndx(elf->libelf, &elf->names_index) != 0)
        return bat_fail(error, elf_libelf_code(), "section name table: %s", elf_errmsg(-1));
    if (elf->names_index == SHN_UNDEF)
        return BAT_OK;
    if (elf->names_index >= elf->section_count)
        return bat_fail(error, BAT_ERR_ELF,
                        "section name table is section %zu, but there are %zu sections",
                        elf->names_index, elf->section_count);
    const struct bat_section *names = &elf->sections[elf->names_index];
    if (names->type != SHT_STRTAB || (names->flags & SHF_COMPRESSED) != 0)
        return bat_fail(error, BAT_ERR_ELF,
                        "section name table, section %zu, is not an uncompressed string table "
                        "(type %u, flags 0x%lx)",
                        elf->names_index, names->type, names->flags);
    return BAT_OK;
}

static enum bat_code name_sections(struct bat_elf *elf, struct bat_error *error)
{
    if (elf->names_index == SHN_UNDEF)
        return BAT_OK;
    struct elf_strings names = elf_strings(elf, &elf->sections[elf->names_index]);
    for (size_t i = 0; i < elf->section_count; i++) {
        GElf_Shdr header;
        if (!gelf_getshdr(elf_getscn(elf->libelf, i), &header))
            return bat_fail(error, elf_libelf_code(), "section header %zu: %s", i, elf_errmsg(-1));
        if (header.sh_name == 0)
            continue;
        elf->sections[i].name = header.sh_name < names.size ? names.bytes + header.sh_name : NULL;
        if (!elf->sections[i].name)
            return bat_fail(error, BAT_ERR_ELF,
                            "section %zu: name at 0x%x does not end inside the section name table "
                            "of 0x%lx bytes",
                            i, header.sh_name, elf->sections[elf->names_index].size);
    }
    return BAT_OK;
}

enum bat_code elf_read_sections(struct bat_elf *elf, struct bat_error *error)
{
    if (elf->header.e_shoff == 0)
        return BAT_OK;
    size_t count = 0;
    if (elf_getshdrnum(elf->libelf, &count) != 0)
        return bat_fail(error, elf_libelf_code(), "section headers: %s", elf_errmsg(-1));
    if (count == 0)
        return BAT_OK;
    elf->sections = calloc(count, sizeof(*elf->sections));
    BAT_TRY_MEMORY(elf->sections, error, "for %zu section headers", count);
    elf->section_count = count;
    for (size_t i = 0; i < count; i++)
        BAT_TRY(read_section(elf, i, error));
    BAT_TRY(find_names(elf, error));
    return name_sections(elf, error);
}

void elf_set_numbers(Elf64_Ehdr *header, Elf64_Shdr *first, size_t count, size_t names_index)
{
    if (count >= SHN_LORESERVE) {
        first->sh_size = count;
        header->e_shnum = 0;
    } else {
        if (header->e_shnum == 0)
            first->sh_size = 0;
        header->e_shnum = (uint16_t)count;
    }
    if (names_index >= SHN_LORESERVE) {
        first->sh_link = (uint32_t)names_index;
        header->e_shstrndx = SHN_XINDEX;
    } else {
        if (header->e_shstrndx == SHN_XINDEX)
            first->sh_link = 0;
        header->e_shstrndx = (uint16_t)names_index;
    }
}

const struct bat_section *bat_elf_sections(const struct bat_elf *elf, size_t *count)
{
    *count = elf->section_count;
    return elf->sections;
}

const struct bat_section *bat_elf_section(const struct bat_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        if (strcmp(elf->sections[i].name, name) == 0)
            return &elf->sections[i];
    }
    return NULL;
}

const uint8_t *bat_elf_section_bytes(const struct bat_elf *elf, const struct bat_section *section,
                                     uint64_t *size)
{
    if (section->type == SHT_NOBITS || section->type == SHT_NULL) {
        *size = 0;
        return NULL;
    }
    *size = section->size;
    return bat_guarded(elf->mapping.start, elf->bytes + section->offset, *size, 0);
}

bool bat_elf_has_symbols(const struct bat_elf *elf)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    for (size_t i = 0; i < count; i++)
        if (sections[i].type == SHT_SYMTAB && sections[i].size != 0)
            return true;
    return false;
}
