/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Maps the ELF files that have DWARF. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "debuginfo.h"
#include "spec/keep_bytes.h"

/* ELFCOMPRESS_ZSTD, which glibc 2.36 does not define. */
#define COMPRESSED_BY_ZSTD 2u

/*
 * A packed section may claim to unpack to at most this many times its size. This is zlib's limit,
 * which libelf checks too. Debug information packs to a fifth.
 */
#define EXPANSION_MAX 1032u

/*
 * libdw 0.188 reads a LEB128 number's first byte without asking whether it is in the unit: behind
 * the last unit so many zeros follow, one for each attribute that an entry may have.
 */
#define BEHIND_UNITS ((size_t)4096)

static size_t round_up(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) & ~(page - 1);
}

/* --- Sections that change ------------------------------------------------------------------- */

/*
 * Sections that zstd packed are unpacked behind the file, because libelf cannot unpack them. If the
 * units of a .dwo file have one section each, as gcc writes them, the sections are joined behind
 * the file, because libdw reads only one.
 */
struct changes {
    uint8_t *headers; /* of the sections, in the mapping */
    size_t count;
    size_t units; /* how many sections have units */
    size_t total; /* bytes to put behind the file */
};

/*
 * Find the section headers. False if there are none, or if they are cut off. libelf reads them
 * again: another program that changes the file must not change them any more.
 */
static bool find_headers(const struct debug_image *image, struct changes *changes)
{
    Elf64_Ehdr header;
    bat_keep_bytes(image->bytes, sizeof(header));
    memcpy(&header, image->bytes, sizeof(header));
    if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shoff > image->file_size || image->file_size - header.e_shoff < sizeof(Elf64_Shdr))
        return false;
    *changes = (struct changes){.headers = image->bytes + header.e_shoff};
    Elf64_Shdr first;
    bat_keep_bytes(changes->headers, sizeof(first));
    memcpy(&first, changes->headers, sizeof(first));
    changes->count = header.e_shnum ? header.e_shnum : first.sh_size;
    if (changes->count > (image->file_size - header.e_shoff) / sizeof(first))
        return false;
    bat_keep_bytes(changes->headers, changes->count * sizeof(first));
    return true;
}

static Elf64_Shdr section_at(const struct changes *changes, size_t i)
{
    Elf64_Shdr section;
    memcpy(&section, changes->headers + i * sizeof(section), sizeof(section));
    return section;
}

static bool is_in_file(const struct debug_image *image, const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NOBITS && section->sh_offset <= image->file_size &&
           section->sh_size <= image->file_size - section->sh_offset;
}

/* True if the section is packed by zstd; *size is set to its unpacked size. */
static bool is_packed(const struct debug_image *image, const Elf64_Shdr *section, uint64_t *size)
{
    Elf64_Chdr packed;
    if (!(section->sh_flags & SHF_COMPRESSED) || section->sh_flags & SHF_ALLOC ||
        !is_in_file(image, section) || section->sh_size < sizeof(packed))
        return false;
    memcpy(&packed, image->bytes + section->sh_offset, sizeof(packed));
    *size = packed.ch_size;
    return packed.ch_type == COMPRESSED_BY_ZSTD;
}

/* True for a section of the units of a .dwo file. */
static bool has_units(const struct debug_image *image, const struct changes *changes,
                      const Elf64_Shdr *section)
{
    static const char wanted[] = ".debug_info.dwo";
    Elf64_Ehdr header;
    memcpy(&header, image->bytes, sizeof(header));
    if (header.e_shstrndx >= changes->count || !is_in_file(image, section))
        return false;
    Elf64_Shdr names = section_at(changes, header.e_shstrndx);
    return is_in_file(image, &names) && section->sh_name < names.sh_size &&
           names.sh_size - section->sh_name >= sizeof(wanted) &&
           memcmp(image->bytes + names.sh_offset + section->sh_name, wanted, sizeof(wanted)) == 0;
}

/* Count the bytes to put behind the file. Fails if a section claims more than it can unpack to. */
static enum bat_code count_changes(const struct debug_image *image, struct changes *changes,
                                   struct bat_error *error)
{
    uint64_t plain = 0;
    for (size_t i = 0; i < changes->count; i++) {
        Elf64_Shdr section = section_at(changes, i);
        uint64_t size;
        bool is_of_units = has_units(image, changes, &section);
        changes->units += is_of_units;
        if (!is_packed(image, &section, &size)) {
            plain += is_of_units ? section.sh_size : 0;
            continue;
        }
        if (size / EXPANSION_MAX > section.sh_size)
            return bat_fail(error, BAT_ERR_ELF,
                            "expected section %zu, packed by zstd to %llu bytes, to unpack to at "
                            "most %u times as much, found %llu bytes",
                            i, (unsigned long long)section.sh_size, EXPANSION_MAX,
                            (unsigned long long)size);
        /* Sections may share bytes, and so be larger than the file in total. */
        if (__builtin_add_overflow(changes->total, size + 16, &changes->total) ||
            changes->total / EXPANSION_MAX > image->file_size)
            return bat_fail(error, BAT_ERR_ELF,
                            "expected packed sections to unpack to at most %u times the file's "
                            "size, found more",
                            EXPANSION_MAX);
    }
    if (changes->units > 1 && plain <= image->file_size)
        changes->total += plain;
    else
        changes->units = 0;
    return BAT_OK;
}

/* Put a section's content behind the file, at *used. */
static enum bat_code move_section(struct debug_image *image, Elf64_Shdr *section, size_t *used,
                                  struct bat_error *error)
{
    uint64_t size = section->sh_size;
    const uint8_t *bytes = image->bytes + section->sh_offset;
    if (is_packed(image, section, &size)) {
        Elf64_Chdr packed;
        memcpy(&packed, bytes, sizeof(packed));
        size_t got = size > image->size - *used
                         ? 0
                         : ZSTD_decompress(image->bytes + *used, size, bytes + sizeof(packed),
                                           section->sh_size - sizeof(packed));
        if (ZSTD_isError(got) || got != size)
            return bat_fail(error, BAT_ERR_ELF,
                            "expected a section to unpack to %llu bytes, found damaged zstd data",
                            (unsigned long long)size);
        section->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
        section->sh_addralign = packed.ch_addralign;
    } else if (size <= image->size - *used) {
        memcpy(image->bytes + *used, bytes, size);
    } else {
        return bat_fail(error, BAT_ERR_IO, "was changed while it was read");
    }
    section->sh_offset = *used;
    section->sh_size = size;
    *used += size;
    return BAT_OK;
}

/* Join all sections that have units into the first; the headers of the others become zero. */
static enum bat_code join_units(struct debug_image *image, struct changes *changes, size_t *used,
                                struct bat_error *error)
{
    size_t first = changes->count;
    Elf64_Shdr joined = {0};
    for (size_t i = 0; i < changes->count; i++) {
        Elf64_Shdr section = section_at(changes, i);
        if (!has_units(image, changes, &section))
            continue;
        BAT_TRY(move_section(image, &section, used, error));
        if (first == changes->count) {
            first = i;
            joined = section;
            continue;
        }
        joined.sh_size += section.sh_size;
        memset(changes->headers + i * sizeof(section), 0, sizeof(section));
    }
    if (first < changes->count)
        memcpy(changes->headers + first * sizeof(joined), &joined, sizeof(joined));
    return BAT_OK;
}

static enum bat_code apply_changes(struct debug_image *image, struct changes *changes,
                                   struct bat_error *error)
{
    size_t used = round_up(image->file_size);
    enum bat_code code = changes->units ? join_units(image, changes, &used, error) : BAT_OK;
    for (size_t i = 0; i < changes->count && code == BAT_OK; i++) {
        Elf64_Shdr section = section_at(changes, i);
        uint64_t size;
        if (!is_packed(image, &section, &size))
            continue;
        used = (used + 15) & ~(size_t)15;
        code = move_section(image, &section, &used, error);
        memcpy(changes->headers + i * sizeof(section), &section, sizeof(section));
    }
    return code;
}

/* --- Mapping --------------------------------------------------------------------------------- */

/* Map the file privately, so that headers can change, with zeros before and behind it. */
static bool map(struct debug_image *image, int file, size_t head, size_t tail)
{
    bat_unmap(&image->mapping);
    if (!bat_map_between(&image->mapping, file, head, image->file_size, tail + BEHIND_UNITS))
        return false;
    image->owner = image->mapping.start;
    image->bytes = image->mapping.bytes;
    image->size = tail ? round_up(image->file_size) + tail : image->file_size;
    return true;
}

static enum bat_code map_whole(struct debug_image *image, int file, size_t head,
                               struct bat_error *error)
{
    if (!map(image, file, head, 0))
        return bat_fail(error, BAT_ERR_IO, "cannot be mapped: %m");
    if (memcmp(image->bytes, ELFMAG, SELFMAG) != 0 || image->bytes[EI_CLASS] != ELFCLASS64 ||
        image->bytes[EI_DATA] != ELFDATA2LSB)
        return bat_fail(error, BAT_ERR_ELF, "expected a 64-bit little-endian ELF file");
    struct changes changes;
    if (!find_headers(image, &changes))
        return BAT_OK;
    enum bat_code code = count_changes(image, &changes, error);
    if (code != BAT_OK || changes.total == 0)
        return code;
    size_t units = changes.units;
    BAT_TRY_MEMORY(map(image, file, head, changes.total + 16), error, "to read debug information");
    if (!find_headers(image, &changes))
        return bat_fail(error, BAT_ERR_IO, "was changed while it was read");
    changes.units = units;
    return apply_changes(image, &changes, error);
}

enum bat_code debug_image_map(struct debug_image *image, const char *path, int file, size_t head,
                              struct bat_error *error)
{
    *image = (struct debug_image){.path = strdup(path)};
    struct stat status;
    enum bat_code code = BAT_OK;
    if (!image->path)
        code = bat_fail_memory(error, "to read debug information");
    else if (fstat(file, &status) != 0)
        code = bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
    else if (!S_ISREG(status.st_mode) || (size_t)status.st_size < sizeof(Elf64_Ehdr))
        code = bat_fail(error, BAT_ERR_ELF, "expected an ELF file");
    if (code == BAT_OK) {
        image->device = status.st_dev;
        image->inode = status.st_ino;
        image->file_size = (size_t)status.st_size;
        code = map_whole(image, file, head, error);
    }
    close(file);
    if (code != BAT_OK)
        debug_image_close(image);
    return code;
}

/* --- For libdw ------------------------------------------------------------------------------- */

/* Let all readers, libdw among them, have guarded copies of the sections, in builds for tests. */
static void guard_sections(const struct debug_image *image)
{
    size_t names;
    if (!BAT_IS_GUARDED || elf_getshdrstrndx(image->elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(image->elf, names, header.sh_name) : NULL;
        if (!name || (strncmp(name, ".debug", 6) != 0 && strncmp(name, ".zdebug", 7) != 0))
            continue;
        /* libdw would unpack them later. */
        if (header.sh_flags & SHF_COMPRESSED)
            elf_compress(section, 0, 0);
        else if (name[1] == 'z')
            elf_compress_gnu(section, 0, 0);
        /* libdw takes the first of them, the readers of this folder the second. */
        Elf_Data *const data[] = {elf_getdata(section, NULL), elf_rawdata(section, NULL)};
        for (size_t i = 0; i < 2; i++)
            if (data[i] && data[i]->d_size)
                data[i]->d_buf = (void *)bat_guarded(image->owner, data[i]->d_buf, data[i]->d_size,
                                                     BEHIND_UNITS);
    }
}

enum bat_code debug_image_begin(struct debug_image *image, bool is_split, struct bat_error *error)
{
    elf_version(EV_CURRENT);
    if (!image->elf)
        image->elf = elf_memory((char *)image->bytes, image->size);
    BAT_TRY_MEMORY(image->elf, error, "to read debug information");
    /* .dwo files are relocatable, but have nothing to relocate. */
    if (!is_split)
        BAT_TRY(debug_relocate(image, error));
    guard_sections(image);
    if (elf_kind(image->elf) == ELF_K_ELF)
        image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
    Dwarf_Off next;
    size_t header_size;
    BAT_TRY(debug_check_lengths(image, error));
    if (!image->dwarf || dwarf_next_unit(image->dwarf, 0, &next, &header_size, NULL, NULL, NULL,
                                         NULL, NULL, NULL) != 0)
        return bat_fail(error, BAT_ERR_NO_DEBUG, "expected DWARF, found none");
    debug_handle_no_memory(image->dwarf);
    image->lines = line_sections_find(image->elf, is_split);
    image->info_size =
        line_section_find(image->elf, is_split ? ".debug_info.dwo" : ".debug_info").size;
    image->abbreviations =
        line_section_find(image->elf, is_split ? ".debug_abbrev.dwo" : ".debug_abbrev");
    image->addresses = line_section_find(image->elf, ".debug_addr");
    image->string_offsets = line_section_find(image->elf, ".debug_str_offsets");
    image->ranges = line_section_find(image->elf, ".debug_ranges");
    image->rnglists =
        line_section_find(image->elf, is_split ? ".debug_rnglists.dwo" : ".debug_rnglists");
    return debug_check_abbreviations(image, error);
}

void debug_image_close(struct debug_image *image)
{
    dwarf_end(image->dwarf);
    elf_end(image->elf);
    bat_unmap(&image->mapping);
    free(image->path);
    *image = (struct debug_image){0};
}
