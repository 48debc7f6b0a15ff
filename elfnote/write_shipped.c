/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "shipped.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "output.h"
#include "spec/array.h"
#include "spec/order.h"

/* The section header table is put at a multiple of this. */
#define TABLE_ALIGNMENT 8u

/* Bytes of the file or of its section names, and where the new one has them. */
struct extent {
    uint64_t start;
    uint64_t end;
    uint64_t alignment; /* of both places: a power of 2 */
    uint64_t to;
};

/* Sorted, and without a byte in two of them, once join() was called. */
struct extents {
    struct extent *all;
    size_t count;
};

struct shipping {
    const struct bat_elf *elf;
    const char *text; /* the sections' names; extents of names begin at offsets in it */
    struct bat_output *output;
    struct bat_error *error;
    uint64_t written;
    uint64_t loaded; /* all that is mapped ends here */
    uint32_t dropped_note;
    uint32_t count; /* of section headers */
    Elf64_Shdr *headers;
    struct extents mapped;  /* stay as they are */
    struct extents dropped; /* become zeros where they are not mapped */
    struct extents moved;   /* sections that are kept, behind what is mapped */
    struct extents names;   /* of the kept sections */
};

/* The section of the BAT note; BAT_NONE if there is none, or if it holds the build-id as well. */
static uint32_t note_to_drop(const struct bat_elf *elf)
{
    struct elf_note_place note = elf_find_note(elf);
    size_t id_size;
    const uint8_t *id = bat_elf_build_id(elf, &id_size);
    uint64_t size = 0;
    const uint8_t *bytes = note.section ? bat_elf_section_bytes(elf, note.section, &size) : NULL;
    bool holds_id = id && bytes && id >= bytes && id < bytes + size;
    return note.section && !holds_id ? note.section->index : BAT_NONE;
}

/* --- Extents -------------------------------------------------------------------------------- */

/* Add bytes of the file, cut at its end. There is room for all extents. */
static void add(struct extents *extents, const struct bat_elf *elf, uint64_t offset, uint64_t size,
                uint64_t alignment)
{
    if (offset >= elf->size || size == 0)
        return;
    uint64_t most = elf->size - offset;
    extents->all[extents->count++] =
        (struct extent){offset, offset + (size < most ? size : most), alignment, 0};
}

/* Sort extents, and make one of those that overlap or touch: each byte is copied once. */
static void join(struct extents *extents)
{
    struct extent *last = extents->all;
    BAT_SORT_BY(extents->all, extents->count, start);
    for (size_t i = 1; i < extents->count; i++) {
        const struct extent *next = &extents->all[i];
        if (next->start > last->end) {
            *++last = *next;
            continue;
        }
        last->end = next->end > last->end ? next->end : last->end;
        last->alignment = next->alignment > last->alignment ? next->alignment : last->alignment;
    }
    if (extents->count != 0)
        extents->count = (size_t)(last - extents->all) + 1;
}

/* Give sorted extents their new places, from `end` on. Returns the end of the last one. */
static uint64_t place(struct extents *extents, uint64_t end)
{
    for (size_t i = 0; i < extents->count; i++) {
        struct extent *extent = &extents->all[i];
        extent->to = end + ((extent->start - end) & (extent->alignment - 1));
        end = extent->to + (extent->end - extent->start);
    }
    return end;
}

/* The new place of a byte that is in one of the extents. */
static uint64_t new_place(const struct extents *extents, uint64_t old)
{
    const struct extent *in =
        &extents->all[BAT_COUNT_UP_TO(extents->all, extents->count, start, old) - 1];
    return in->to + (old - in->start);
}

/* --- What stays ----------------------------------------------------------------------------- */

static bool is_kept(const struct shipping *shipping, const struct bat_section *section)
{
    const struct bat_elf *elf = shipping->elf;
    if (section->flags & SHF_ALLOC || section->index == elf->names_index)
        return true;
    if (section->index == shipping->dropped_note || strcmp(section->name, BAT_SECTION_NAME) == 0)
        return false;
    return section->type == SHT_NOTE || strcmp(section->name, ".comment") == 0 ||
           strcmp(section->name, ".gnu_debuglink") == 0;
}

static bool has_bytes(const struct bat_section *section)
{
    return section->type != SHT_NOBITS && section->type != SHT_NULL && section->size != 0;
}

/* True for a kept section whose bytes move. */
static bool is_moved(const struct shipping *shipping, const struct bat_section *section)
{
    return has_bytes(section) && !(section->flags & SHF_ALLOC) &&
           section->index != shipping->elf->names_index && is_kept(shipping, section);
}

static uint32_t name_of(const struct shipping *shipping, const struct bat_section *section)
{
    return *section->name ? (uint32_t)(section->name - shipping->text) : 0;
}

static void collect_section(struct shipping *shipping, const struct bat_section *section)
{
    const struct bat_elf *elf = shipping->elf;
    const uint64_t alignment = section->alignment;
    const bool is_usual = alignment <= 64 && (alignment & (alignment - 1)) == 0;
    if (has_bytes(section))
        add(section->flags & SHF_ALLOC ? &shipping->mapped : &shipping->dropped, elf,
            section->offset, section->size, 1);
    if (is_moved(shipping, section))
        add(&shipping->moved, elf, section->offset, section->size,
            is_usual && alignment ? alignment : 1);
    if (!is_kept(shipping, section))
        return;
    shipping->count = section->index + 1;
    if (*section->name)
        shipping->names.all[shipping->names.count++] =
            (struct extent){.start = name_of(shipping, section), .alignment = 1};
}

/* A name may be the end of another one, or that of many sections. */
static void join_names(struct shipping *shipping)
{
    struct extents *names = &shipping->names;
    size_t joined = 0;
    uint64_t end = 0;
    BAT_SORT_BY(names->all, names->count, start);
    for (size_t i = 0; i < names->count; i++) {
        const uint64_t start = names->all[i].start;
        if (start < end)
            continue;
        end = start + strlen(shipping->text + start) + 1;
        names->all[joined++] = (struct extent){start, end, 1, 0};
    }
    names->count = joined;
}

static enum bat_code collect(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    struct extents *const all[] = {&shipping->mapped, &shipping->dropped, &shipping->moved,
                                   &shipping->names};
    const size_t most = elf->section_count + elf->segment_count + 2;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        all[i]->all = calloc(most, sizeof(*all[i]->all));
        BAT_TRY_MEMORY(all[i]->all, shipping->error, "to write the file");
    }
    add(&shipping->mapped, elf, 0, sizeof(Elf64_Ehdr), 1);
    add(&shipping->mapped, elf, elf->header.e_phoff, elf->segment_count * sizeof(Elf64_Phdr), 1);
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].p_type != PT_NULL)
            add(&shipping->mapped, elf, elf->segments[i].p_offset, elf->segments[i].p_filesz, 1);
    add(&shipping->dropped, elf, elf->header.e_shoff, elf->section_count * sizeof(Elf64_Shdr), 1);
    for (size_t i = 1; i < elf->section_count; i++)
        collect_section(shipping, &elf->sections[i]);
    join(&shipping->mapped);
    join(&shipping->dropped);
    join(&shipping->moved);
    join_names(shipping);
    shipping->loaded = shipping->mapped.all[shipping->mapped.count - 1].end;
    return BAT_OK;
}

/* --- Section headers ------------------------------------------------------------------------ */

static enum bat_code make_headers(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    const uint8_t *table = elf->bytes + elf->header.e_shoff;
    shipping->headers = calloc(shipping->count, sizeof(*shipping->headers));
    BAT_TRY_MEMORY(shipping->headers, shipping->error, "to write the file");
    const uint64_t end = place(&shipping->moved, shipping->loaded);
    const uint64_t names_size = place(&shipping->names, 1);
    for (uint32_t i = 0; i < shipping->count; i++) {
        const struct bat_section *section = &elf->sections[i];
        Elf64_Shdr *header = &shipping->headers[i];
        if (i != 0 && !is_kept(shipping, section))
            continue;
        memcpy(header, table + (size_t)i * sizeof(*header), sizeof(*header));
        header->sh_name = i != 0 && *section->name
                              ? (uint32_t)new_place(&shipping->names, name_of(shipping, section))
                              : 0;
        if (i == 0)
            continue;
        if (header->sh_link >= elf->section_count ||
            !is_kept(shipping, &elf->sections[header->sh_link]))
            header->sh_link = 0;
        if (is_moved(shipping, section))
            header->sh_offset = new_place(&shipping->moved, section->offset);
        else if (section->size == 0 && section->type != SHT_NOBITS && header->sh_offset > end)
            header->sh_offset = end; /* no bytes, but readers expect its place inside of the file */
    }
    Elf64_Shdr *names = &shipping->headers[elf->names_index];
    /* A copy, which is not loaded. */
    names->sh_flags &= ~(Elf64_Xword)SHF_ALLOC;
    names->sh_offset = end;
    names->sh_size = names_size;
    return BAT_OK;
}

/* --- Writing -------------------------------------------------------------------------------- */

static enum bat_code write_bytes(struct shipping *shipping, const void *bytes, uint64_t size)
{
    if (size == 0)
        return BAT_OK;
    shipping->written += size;
    return output_write_sparse(shipping->output, bytes, (size_t)size, shipping->error);
}

static enum bat_code write_zeros_up_to(struct shipping *shipping, uint64_t end)
{
    static const uint8_t zeros[4096];
    enum bat_code code = BAT_OK;
    while (shipping->written < end && code == BAT_OK) {
        uint64_t left = end - shipping->written;
        code = write_bytes(shipping, zeros, left < sizeof(zeros) ? left : sizeof(zeros));
    }
    return code;
}

/* Write the file's bytes up to `end`, at the places that they have in it. */
static enum bat_code write_up_to(struct shipping *shipping, uint64_t end)
{
    if (end <= shipping->written)
        return BAT_OK;
    return write_bytes(shipping, shipping->elf->bytes + shipping->written, end - shipping->written);
}

/*
 * The mapped part, behind the ELF header. Sections that are left out, or written again behind
 * everything, must not stay between others.
 */
static enum bat_code write_loaded(struct shipping *shipping)
{
    const struct extents *mapped = &shipping->mapped;
    enum bat_code code = BAT_OK;
    size_t next = 0; /* the first mapped extent that ends behind what is written */
    for (size_t i = 0; i < shipping->dropped.count && code == BAT_OK; i++) {
        const struct extent *dropped = &shipping->dropped.all[i];
        if (dropped->start >= shipping->loaded)
            break;
        code = write_up_to(shipping, dropped->start);
        for (; code == BAT_OK && next < mapped->count && mapped->all[next].start < dropped->end;
             next++) {
            if (mapped->all[next].end <= shipping->written)
                continue;
            code = write_zeros_up_to(shipping, mapped->all[next].start);
            code = code ? code : write_up_to(shipping, mapped->all[next].end);
        }
        if (code == BAT_OK && next < mapped->count)
            code = write_zeros_up_to(shipping, dropped->end);
    }
    return code ? code : write_up_to(shipping, shipping->loaded);
}

/* Write extents of `bytes` to their new places, which are counted from start. */
static enum bat_code write_extents(struct shipping *shipping, const struct extents *extents,
                                   const uint8_t *bytes, uint64_t start)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < extents->count && code == BAT_OK; i++) {
        const struct extent *extent = &extents->all[i];
        code = write_zeros_up_to(shipping, start + extent->to);
        code =
            code ? code : write_bytes(shipping, bytes + extent->start, extent->end - extent->start);
    }
    return code;
}

/* All behind the ELF header, which says where the table of section headers will be. */
static enum bat_code write_parts(struct shipping *shipping, const Elf64_Ehdr *header)
{
    const struct bat_elf *elf = shipping->elf;
    const Elf64_Shdr *names = &shipping->headers[elf->names_index];
    enum bat_code code = write_loaded(shipping);
    code = code ? code : write_extents(shipping, &shipping->moved, elf->bytes, 0);
    if (code == BAT_OK)
        code = write_extents(shipping, &shipping->names,
                             elf->bytes + elf->sections[elf->names_index].offset, names->sh_offset);
    code = code ? code : write_zeros_up_to(shipping, header->e_shoff);
    /* They end with zeros, which would be missing as a hole at the file's end. */
    return code == BAT_OK
               ? bat_output_write(shipping->output, shipping->headers,
                                  shipping->count * sizeof(*shipping->headers), shipping->error)
               : code;
}

static enum bat_code write_file(struct shipping *shipping)
{
    const struct bat_elf *elf = shipping->elf;
    const Elf64_Shdr *names = &shipping->headers[elf->names_index];
    Elf64_Ehdr header;
    memcpy(&header, elf->bytes, sizeof(header));
    header.e_shoff =
        (names->sh_offset + names->sh_size + TABLE_ALIGNMENT - 1) & -(uint64_t)TABLE_ALIGNMENT;
    elf_set_numbers(&header, shipping->headers, shipping->count, elf->names_index);
    BAT_TRY(write_bytes(shipping, &header, sizeof(header)));
    return write_parts(shipping, &header);
}

enum bat_code bat_elf_check_shippable(const struct bat_elf *elf, struct bat_error *error)
{
    if (elf->header.e_type == ET_REL)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected a program or a shared library, found a relocatable file, which "
                        "needs its symbols to be loaded");
    if (elf->section_count == 0 || elf->names_index == SHN_UNDEF)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected section headers with names, found a file without");
    /* The ELF header changes; program headers that share its bytes would, too. */
    Elf64_Ehdr header;
    memcpy(&header, elf->bytes, sizeof(header));
    if (elf->segment_count != 0 && header.e_phoff < sizeof(header))
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "expected program headers behind the ELF header, found them at 0x%lx",
                        (uint64_t)header.e_phoff);
    /*
     * What a segment claims beyond the file's end would be other bytes in the shipped file. Without
     * any bytes it may begin there: that of .bss in a shipped file.
     */
    for (size_t i = 0; i < elf->load_count; i++) {
        const struct bat_segment *segment = &elf->loads[i];
        if (segment->file_size != 0 &&
            (segment->offset > elf->size || segment->file_size > elf->size - segment->offset))
            return bat_fail(error, BAT_ERR_ELF,
                            "expected loaded segments inside the file of %lu bytes, found one of "
                            "%lu bytes at 0x%lx",
                            elf->size, segment->file_size, segment->offset);
    }
    return BAT_OK;
}

enum bat_code bat_elf_write_shipped(const struct bat_elf *elf, struct bat_output *output,
                                    struct bat_error *error)
{
    BAT_TRY(bat_elf_check_shippable(elf, error));
    struct shipping shipping = {.elf = elf,
                                .text = elf_strings(elf, &elf->sections[elf->names_index]).bytes,
                                .output = output,
                                .error = error};
    shipping.dropped_note = note_to_drop(elf);
    enum bat_code code = collect(&shipping);
    code = code ? code : make_headers(&shipping);
    code = code ? code : write_file(&shipping);
    code = code ? code : bat_elf_check_unchanged(elf, error);
    BAT_FREE_ALL(shipping.headers, shipping.mapped.all, shipping.dropped.all, shipping.moved.all,
                 shipping.names.all);
    return code;
}

enum bat_code bat_elf_begin_stored(const struct bat_elf *elf, const char *path,
                                   struct bat_output **output, struct bat_error *error)
{
    return output_begin_file(path, elf, true, output, error);
}

enum bat_code bat_elf_rename(struct bat_elf *elf, const char *path, struct bat_error *error)
{
    char *copy = strdup(path);
    BAT_TRY_MEMORY(copy, error, "to open the file");
    free(elf->path);
    elf->path = copy;
    return BAT_OK;
}
