/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "shipped.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "output.h"

/* The section header table is put at a multiple of this. */
#define TABLE_ALIGNMENT 8u

/* Bytes of the file: [start, end). */
struct extent {
    uint64_t start;
    uint64_t end;
};

struct shipping {
    const struct bat_elf *elf;
    struct bat_output *output;
    struct bat_error *error;
    uint64_t written;
    uint64_t loaded; /* all that is mapped ends here */
    uint32_t dropped_note;
    uint32_t count; /* of section headers */
    Elf64_Shdr *headers;
    char *names;
    size_t names_size;
    struct extent *holes; /* bytes of dropped sections, before `loaded` */
    size_t hole_count;
};

/* --- What stays ----------------------------------------------------------------------------- */

static bool is_kept(const struct shipping *shipping, const struct bat_section *section)
{
    const struct bat_elf *elf = shipping->elf;
    if (section->flags & SHF_ALLOC)
        return true;
    if (section->index == shipping->dropped_note || strcmp(section->name, BAT_SECTION_NAME) == 0)
        return false;
    return section->index == elf->names_index || section->type == SHT_NOTE ||
           strcmp(section->name, ".comment") == 0 || strcmp(section->name, ".gnu_debuglink") == 0;
}

static bool has_bytes(const struct bat_section *section)
{
    return section->type != SHT_NOBITS && section->type != SHT_NULL && section->size != 0;
}

/* Move the end of what is mapped behind an extent. */
static void reach(struct shipping *shipping, uint64_t offset, uint64_t size)
{
    const uint64_t file_size = shipping->elf->size;
    if (offset > file_size || size > file_size - offset)
        size = offset > file_size ? 0 : file_size - offset;
    if (size != 0 && offset + size > shipping->loaded)
        shipping->loaded = offset + size;
}

static void find_loaded(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    reach(shipping, 0, sizeof(Elf64_Ehdr));
    reach(shipping, elf->header.e_phoff, elf->segment_count * sizeof(Elf64_Phdr));
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].p_type != PT_NULL)
            reach(shipping, elf->segments[i].p_offset, elf->segments[i].p_filesz);
    for (size_t i = 0; i < elf->section_count; i++)
        if ((elf->sections[i].flags & SHF_ALLOC) && has_bytes(&elf->sections[i]))
            reach(shipping, elf->sections[i].offset, elf->sections[i].size);
}

/* --- Holes ---------------------------------------------------------------------------------- */

static int compare_extents(const void *left, const void *right)
{
    const struct extent *one = left;
    const struct extent *other = right;
    return (one->start > other->start) - (one->start < other->start);
}

/* All that must stay, sorted by its start. To be freed; NULL if there is no memory. */
static struct extent *list_protected(const struct shipping *shipping, size_t *count)
{
    const struct bat_elf *elf = shipping->elf;
    struct extent *all = calloc(elf->segment_count + elf->section_count + 2, sizeof(*all));
    *count = 0;
    if (!all)
        return NULL;
    all[(*count)++] = (struct extent){0, sizeof(Elf64_Ehdr)};
    all[(*count)++] = (struct extent){
        elf->header.e_phoff, elf->header.e_phoff + elf->segment_count * sizeof(Elf64_Phdr)};
    for (size_t i = 0; i < elf->segment_count; i++) {
        const GElf_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_NULL && segment->p_filesz <= UINT64_MAX - segment->p_offset)
            all[(*count)++] =
                (struct extent){segment->p_offset, segment->p_offset + segment->p_filesz};
    }
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct bat_section *section = &elf->sections[i];
        if (has_bytes(section) && (section->flags & SHF_ALLOC))
            all[(*count)++] = (struct extent){section->offset, section->offset + section->size};
    }
    qsort(all, *count, sizeof(*all), compare_extents);
    return all;
}

static enum bat_code add_hole(struct shipping *shipping, uint64_t start, uint64_t end)
{
    if (end > shipping->loaded)
        end = shipping->loaded;
    if (start >= end)
        return BAT_OK;
    struct extent *holes =
        realloc(shipping->holes, (shipping->hole_count + 1) * sizeof(*shipping->holes));
    if (!holes)
        return bat_fail(shipping->error, BAT_ERR_MEMORY, "not enough memory to write the file");
    shipping->holes = holes;
    holes[shipping->hole_count++] = (struct extent){start, end};
    return BAT_OK;
}

/* Add the bytes of [start, end) that are not protected. */
static enum bat_code add_unprotected(struct shipping *shipping, const struct extent *all,
                                     size_t count, uint64_t start, uint64_t end)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < count && start < end && code == BAT_OK; i++) {
        if (all[i].end <= start || all[i].start >= all[i].end)
            continue;
        if (all[i].start >= end)
            break;
        code = add_hole(shipping, start, all[i].start);
        start = all[i].end;
    }
    return code == BAT_OK && start < end ? add_hole(shipping, start, end) : code;
}

/* Sections that are left out, or written again behind everything, must not stay between others. */
static enum bat_code find_holes(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    size_t count;
    struct extent *all = list_protected(shipping, &count);
    if (!all)
        return bat_fail(shipping->error, BAT_ERR_MEMORY, "not enough memory to write the file");
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < elf->section_count && code == BAT_OK; i++) {
        const struct bat_section *section = &elf->sections[i];
        if (has_bytes(section) && !(section->flags & SHF_ALLOC))
            code = add_unprotected(shipping, all, count, section->offset,
                                   section->offset + section->size);
    }
    if (code == BAT_OK)
        code = add_unprotected(shipping, all, count, elf->header.e_shoff,
                               elf->header.e_shoff + elf->section_count * sizeof(Elf64_Shdr));
    free(all);
    if (shipping->hole_count > 1)
        qsort(shipping->holes, shipping->hole_count, sizeof(*shipping->holes), compare_extents);
    return code;
}

/* --- Writing -------------------------------------------------------------------------------- */

static enum bat_code write_bytes(struct shipping *shipping, const void *bytes, uint64_t size)
{
    if (size == 0)
        return BAT_OK;
    shipping->written += size;
    return output_write_sparse(shipping->output, bytes, (size_t)size, shipping->error);
}

static enum bat_code write_zeros(struct shipping *shipping, uint64_t size)
{
    static const uint8_t zeros[4096];
    enum bat_code code = BAT_OK;
    while (size != 0 && code == BAT_OK) {
        uint64_t part = size < sizeof(zeros) ? size : sizeof(zeros);
        code = write_bytes(shipping, zeros, part);
        size -= part;
    }
    return code;
}

/* Write the file's bytes up to `end`. */
static enum bat_code write_up_to(struct shipping *shipping, uint64_t end)
{
    if (end <= shipping->written)
        return BAT_OK;
    return write_bytes(shipping, shipping->elf->bytes + shipping->written, end - shipping->written);
}

/* The mapped part, behind the ELF header. */
static enum bat_code write_loaded(struct shipping *shipping)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < shipping->hole_count && code == BAT_OK; i++) {
        const struct extent *hole = &shipping->holes[i];
        code = write_up_to(shipping, hole->start);
        if (code == BAT_OK && hole->end > shipping->written)
            code = write_zeros(shipping, hole->end - shipping->written);
    }
    return code == BAT_OK ? write_up_to(shipping, shipping->loaded) : code;
}

/* --- Sections ------------------------------------------------------------------------------- */

/* Put a name into the new names; returns its offset. There is room for all names. */
static uint32_t put_name(struct shipping *shipping, const char *name)
{
    if (!*name)
        return 0;
    size_t size = strlen(name) + 1;
    uint32_t offset = (uint32_t)shipping->names_size;
    memcpy(shipping->names + offset, name, size);
    shipping->names_size += size;
    return offset;
}

static enum bat_code begin_headers(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    size_t names = 1;
    for (size_t i = 0; i < elf->section_count; i++) {
        if (!is_kept(shipping, &elf->sections[i]))
            continue;
        shipping->count = (uint32_t)i + 1;
        names += strlen(elf->sections[i].name) + 1;
    }
    shipping->headers = calloc(shipping->count + (size_t)1, sizeof(*shipping->headers));
    shipping->names = calloc(names, 1);
    shipping->names_size = 1;
    return shipping->headers && shipping->names
               ? BAT_OK
               : bat_fail(shipping->error, BAT_ERR_MEMORY, "not enough memory to write the file");
}

/* Where the kept sections are: those that are not loaded follow in their order. */
static void place_sections(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    const uint8_t *table = elf->bytes + elf->header.e_shoff;
    uint64_t end = shipping->loaded;
    for (uint32_t i = 1; i < shipping->count; i++) {
        const struct bat_section *section = &elf->sections[i];
        Elf64_Shdr *header = &shipping->headers[i];
        if (!is_kept(shipping, section))
            continue;
        memcpy(header, table + (size_t)i * sizeof(*header), sizeof(*header));
        header->sh_name = put_name(shipping, section->name);
        if (header->sh_link >= elf->section_count ||
            !is_kept(shipping, &elf->sections[header->sh_link]))
            header->sh_link = 0;
        if ((section->flags & SHF_ALLOC) || i == elf->names_index || !has_bytes(section))
            continue;
        uint64_t alignment =
            section->alignment > 1 && section->alignment <= 64 ? section->alignment : 1;
        header->sh_offset = (end + alignment - 1) / alignment * alignment;
        end = header->sh_offset + section->size;
    }
    Elf64_Shdr *names = &shipping->headers[elf->names_index];
    names->sh_offset = end;
    names->sh_size = shipping->names_size;
}

static enum bat_code write_sections(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 1; i < shipping->count && code == BAT_OK; i++) {
        const struct bat_section *section = &elf->sections[i];
        const Elf64_Shdr *header = &shipping->headers[i];
        if (header->sh_type == SHT_NULL || (section->flags & SHF_ALLOC) || i == elf->names_index ||
            !has_bytes(section))
            continue;
        code = write_zeros(shipping, header->sh_offset - shipping->written);
        if (code == BAT_OK)
            code = write_bytes(shipping, elf->bytes + section->offset, section->size);
    }
    if (code == BAT_OK)
        code = write_bytes(shipping, shipping->names, shipping->names_size);
    if (code == BAT_OK)
        code = write_zeros(shipping, -shipping->written & (TABLE_ALIGNMENT - 1));
    /* They end with zeros, which would be missing as a hole at the file's end. */
    return code == BAT_OK
               ? bat_output_write(shipping->output, shipping->headers,
                                  shipping->count * sizeof(*shipping->headers), shipping->error)
               : code;
}

/* The ELF header, which is written first: the table comes where write_sections() will put it. */
static enum bat_code write_header(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    uint64_t end = shipping->headers[elf->names_index].sh_offset + shipping->names_size;
    Elf64_Ehdr header;
    memcpy(&header, elf->bytes, sizeof(header));
    header.e_shoff = (end + TABLE_ALIGNMENT - 1) & -(uint64_t)TABLE_ALIGNMENT;
    header.e_shnum = (uint16_t)shipping->count;
    return write_bytes(shipping, &header, sizeof(header));
}

enum bat_code bat_elf_write_shipped(const struct bat_elf *elf, struct bat_output *output,
                                    struct bat_error *error)
{
    if (elf->section_count == 0 || elf->names_index == SHN_UNDEF)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected section headers with names, found a file without");
    if (elf->section_count >= SHN_LORESERVE)
        return bat_fail(error, BAT_ERR_UNSUPPORTED, "expected fewer than %u sections, found %zu",
                        (unsigned)SHN_LORESERVE, elf->section_count);
    struct shipping shipping = {.elf = elf, .output = output, .error = error};
    struct elf_note_place note = elf_find_note(elf);
    shipping.dropped_note = note.section ? note.section->index : BAT_NONE;
    find_loaded(&shipping);
    enum bat_code code = begin_headers(&shipping);
    if (code == BAT_OK)
        code = find_holes(&shipping);
    if (code == BAT_OK) {
        place_sections(&shipping);
        code = write_header(&shipping);
    }
    if (code == BAT_OK)
        code = write_loaded(&shipping);
    if (code == BAT_OK)
        code = write_sections(&shipping);
    if (code == BAT_OK)
        code = bat_elf_check_unchanged(elf, error);
    free(shipping.headers);
    free(shipping.names);
    free(shipping.holes);
    return code;
}

enum bat_code bat_elf_rename(struct bat_elf *elf, const char *path, struct bat_error *error)
{
    char *copy = strdup(path);
    if (!copy)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory to open the file");
    free(elf->path);
    elf->path = copy;
    return BAT_OK;
}
