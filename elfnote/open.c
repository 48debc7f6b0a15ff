/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "descriptors.h"
#include "elf_file.h"
#include "file_state.h"
#include "relocatable.h"
#include "spec/array.h"
#include "spec/keep_bytes.h"
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool bat_elf_is(const void *bytes, size_t size)
{
    return size >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

static enum bat_code map_bytes(struct bat_elf *elf, uint64_t size, struct bat_error *error)
{
    if (!bat_map(&elf->mapping, elf->file, (size_t)size))
        return bat_fail(error, errno == ENOMEM ? BAT_ERR_MEMORY : BAT_ERR_IO,
                        "cannot be mapped: %m");
    elf->bytes = elf->mapping.bytes;
    elf->size = size;
    return BAT_OK;
}

static enum bat_code map_file(struct bat_elf *elf, struct bat_error *error)
{
    if (fstat(elf->file, &elf->status) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be read: %m");
    if (!S_ISREG(elf->status.st_mode)) {
        errno = S_ISDIR(elf->status.st_mode) ? EISDIR : ENXIO;
        return bat_regular_fail(error);
    }
    if (elf->status.st_size == 0)
        return bat_fail(error, BAT_ERR_NOT_ELF, "is empty: not an ELF file");
    return map_bytes(elf, (uint64_t)elf->status.st_size, error);
}

/* --- Packed modules -------------------------------------------------------------------------- */

/* Modules are far smaller; what is packed is kept in memory. */
#define PACKED_MAX ((uint64_t)256 << 20)

static enum bat_code fail_packed(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_NOT_ELF,
                    "expected an ELF file, found a packed file, of which only kernel modules are "
                    "read: unpack it first");
}

static enum bat_code check_module(const struct bat_unpacked *unpacked, enum bat_packing packing,
                                  struct bat_error *error)
{
    Elf64_Half type = ET_NONE;
    (void)packing;
    if (unpacked->size >= offsetof(Elf64_Ehdr, e_type) + sizeof(type))
        memcpy(&type, unpacked->bytes + offsetof(Elf64_Ehdr, e_type), sizeof(type));
    if (bat_elf_is(unpacked->bytes, unpacked->size) && type == ET_REL)
        return BAT_OK;
    return fail_packed(error);
}

/* Kernel modules may be packed (.ko.xz): file and bytes are then those of the unpacked one. */
static enum bat_code unpack_module(struct bat_elf *elf, struct bat_error *error)
{
    const enum bat_packing packing = bat_packing_of(elf->bytes, elf->size);
    if (packing == BAT_PACKING_NONE)
        return BAT_OK;
    if (elf->size > PACKED_MAX)
        return fail_packed(error);
    struct bat_unpacked unpacked = {0};
    int file;
    bat_keep_bytes(elf->bytes, elf->size);
    enum bat_code code = bat_unpack("", packing, elf->bytes, elf->size,
                                    bat_unpacked_most(elf->size), check_module, &unpacked, error);
    code = code ? code : bat_unpacked_file(&unpacked, &file, error);
    free(unpacked.bytes);
    if (code != BAT_OK)
        return code;
    bat_unmap(&elf->mapping);
    elf->file = file;
    return map_bytes(elf, unpacked.size, error);
}

/* --- Headers --------------------------------------------------------------------------------- */

/* Check the bytes that say how to read all others. */
static enum bat_code check_ident(const struct bat_elf *elf, struct bat_error *error)
{
    const uint8_t *ident = elf->bytes;
    if (!bat_elf_is(ident, (size_t)elf->size))
        return bat_fail_at(error, BAT_ERR_NOT_ELF, BAT_PLACE_FILE, 0,
                           "not an ELF file: it does not start with \\177ELF");
    if (elf->size <= EI_DATA)
        return bat_fail(error, BAT_ERR_ELF, "truncated: only %lu bytes of an ELF header",
                        elf->size);
    if (ident[EI_CLASS] == ELFCLASS32)
        return bat_fail(error, BAT_ERR_UNSUPPORTED, "a 32-bit ELF file: BOLT writes 64-bit ones");
    if (ident[EI_CLASS] != ELFCLASS64)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, EI_CLASS,
                           "ELF class %u is neither 32-bit (1) nor 64-bit (2)", ident[EI_CLASS]);
    if (ident[EI_DATA] == ELFDATA2MSB)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "a big-endian ELF file: BOLT writes little-endian ones");
    if (ident[EI_DATA] != ELFDATA2LSB)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, EI_DATA,
                           "ELF data encoding %u is neither little-endian (1) nor big-endian (2)",
                           ident[EI_DATA]);
    if (elf->size < sizeof(Elf64_Ehdr))
        return bat_fail(error, BAT_ERR_ELF,
                        "truncated: %lu bytes, less than the 64 of an ELF header", elf->size);
    return BAT_OK;
}

static enum bat_code check_machine(const struct bat_elf *elf, struct bat_error *error)
{
    switch (elf->header.e_machine) {
    case EM_X86_64:
    case EM_AARCH64:
    case EM_RISCV:
        return BAT_OK;
    default:
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "an ELF file for machine %u: BOLT knows x86-64 (%u), AArch64 (%u) and "
                        "RISC-V (%u)",
                        elf->header.e_machine, EM_X86_64, EM_AARCH64, EM_RISCV);
    }
}

/*
 * Check that a header table lies in the file. A table without entries may be anywhere. Called
 * before libelf opens the file, because its message does not say which table is damaged.
 */
static enum bat_code check_table(const struct bat_elf *elf, const char *what, uint64_t offset,
                                 uint64_t count, uint16_t entry_size, uint16_t expected_size,
                                 struct bat_error *error)
{
    if (count == 0)
        return BAT_OK;
    if (entry_size != expected_size)
        return bat_fail(error, BAT_ERR_ELF, "%s header size is %u, expected %u", what, entry_size,
                        expected_size);
    if (offset > elf->size || (elf->size - offset) / expected_size < count)
        return bat_fail_at(error, BAT_ERR_ELF, BAT_PLACE_FILE, offset,
                           "truncated: %lu %s headers do not fit in a file of %lu bytes", count,
                           what, elf->size);
    bat_keep_bytes(elf->bytes + offset, count * expected_size);
    return BAT_OK;
}

/*
 * Check that both header tables lie in the file. Counts beyond 16 bits are in section header 0: the
 * number of sections in sh_size, the number of segments in sh_info.
 */
static enum bat_code check_tables(const struct bat_elf *elf, struct bat_error *error)
{
    Elf64_Ehdr header;
    bat_keep_bytes(elf->bytes, sizeof(header));
    memcpy(&header, elf->bytes, sizeof(header));
    uint64_t sections = header.e_shoff ? header.e_shnum : 0;
    uint64_t segments = header.e_phoff ? header.e_phnum : 0;
    if (header.e_shoff != 0 && (header.e_shnum == 0 || header.e_phnum == PN_XNUM)) {
        BAT_TRY(check_table(elf, "section", header.e_shoff, 1, header.e_shentsize,
                            sizeof(Elf64_Shdr), error));
        Elf64_Shdr first;
        memcpy(&first, elf->bytes + header.e_shoff, sizeof(first));
        if (header.e_shnum == 0)
            sections = first.sh_size;
        if (header.e_phnum == PN_XNUM)
            segments = first.sh_info;
    }
    BAT_TRY(check_table(elf, "section", header.e_shoff, sections, header.e_shentsize,
                        sizeof(Elf64_Shdr), error));
    return check_table(elf, "program", header.e_phoff, segments, header.e_phentsize,
                       sizeof(Elf64_Phdr), error);
}

/*
 * Limits the linear search for an address among the loaded segments. Linux refuses programs whose
 * program headers take more than 64 KB, which is 1,170 of them; linkers make a dozen.
 */
#define LOADS_MAX 1170u

static enum bat_code read_loads(struct bat_elf *elf, struct bat_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < elf->segment_count; i++)
        count += elf->segments[i].p_type == PT_LOAD;
    if (count > LOADS_MAX)
        return bat_fail(error, BAT_ERR_UNSUPPORTED,
                        "%zu program headers of loaded segments: at most %u can be read", count,
                        LOADS_MAX);
    elf->loads = calloc(count + 1, sizeof(*elf->loads));
    BAT_TRY_MEMORY(elf->loads, error, "for %zu segments", count);
    for (size_t i = 0; i < elf->segment_count; i++) {
        const GElf_Phdr *header = &elf->segments[i];
        if (header->p_type == PT_LOAD)
            elf->loads[elf->load_count++] = (struct bat_segment){.offset = header->p_offset,
                                                                 .file_size = header->p_filesz,
                                                                 .address = header->p_vaddr,
                                                                 .memory_size = header->p_memsz,
                                                                 .flags = header->p_flags};
    }
    return BAT_OK;
}

static enum bat_code read_segments(struct bat_elf *elf, struct bat_error *error)
{
    /* libelf would refuse a table outside the file even if it has no entries. */
    if (elf->header.e_phoff == 0 || elf->header.e_phnum == 0)
        return BAT_OK;
    size_t count = 0;
    if (elf_getphdrnum(elf->libelf, &count) != 0)
        return bat_fail(error, elf_libelf_code(), "program headers: %s", elf_errmsg(-1));
    if (count == 0)
        return BAT_OK;
    elf->segments = calloc(count, sizeof(*elf->segments));
    BAT_TRY_MEMORY(elf->segments, error, "for %zu program headers", count);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf->libelf, (int)i, &elf->segments[i]))
            return bat_fail(error, elf_libelf_code(), "program header %zu: %s", i, elf_errmsg(-1));
    }
    elf->segment_count = count;
    return read_loads(elf, error);
}

/*
 * A relocatable file has neither segments nor addresses: each of its sections gets an address, and
 * becomes a segment, unless they are too many or too large.
 */
static enum bat_code place_relocatable(struct bat_elf *elf, struct bat_error *error)
{
    size_t count = 0;
    if (elf->header.e_type != ET_REL || elf->segment_count != 0 || elf->section_count == 0)
        return BAT_OK;
    for (size_t i = 0; i < elf->section_count; i++)
        count += (elf->sections[i].flags & SHF_ALLOC) != 0;
    if (count > LOADS_MAX || !elf_place_sections(elf->sections, elf->section_count))
        return BAT_OK;
    elf->loads = calloc(count + 1, sizeof(*elf->loads));
    BAT_TRY_MEMORY(elf->loads, error, "for %zu segments", count);
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct bat_section *section = &elf->sections[i];
        if (!(section->flags & SHF_ALLOC))
            continue;
        elf->loads[elf->load_count++] =
            (struct bat_segment){.offset = section->offset,
                                 .file_size = section->type == SHT_NOBITS ? 0 : section->size,
                                 .address = section->address,
                                 .memory_size = section->size,
                                 .flags = section->flags & SHF_EXECINSTR ? PF_R | PF_X : PF_R};
    }
    return BAT_OK;
}

/* Check and read the headers of the mapped file. */
static enum bat_code read_headers(struct bat_elf *elf, struct bat_error *error)
{
    BAT_TRY(check_ident(elf, error));
    BAT_TRY(check_tables(elf, error));

    errno = 0;
    elf_version(EV_CURRENT);
    /* Without elf_update(), libelf does not write to the memory that it gets. */
    elf->libelf = elf_memory((char *)elf->bytes, (size_t)elf->size);
    if (!elf->libelf || !gelf_getehdr(elf->libelf, &elf->header))
        return bat_fail(error, elf_libelf_code(), "ELF header: %s", elf_errmsg(-1));
    enum bat_code code = check_machine(elf, error);
    code = code ? code : read_segments(elf, error);
    code = code ? code : elf_read_sections(elf, error);
    code = code ? code : place_relocatable(elf, error);
    return code ? code : elf_read_bolt_info(elf, error);
}

enum bat_code bat_elf_open_file(int file, const char *path, struct bat_elf **elf,
                                struct bat_error *error)
{
    *elf = NULL;
    struct bat_elf *opened = calloc(1, sizeof(*opened));
    char *own_path = strdup(path);
    if (!opened || !own_path) {
        BAT_FREE_ALL(opened, own_path);
        close(file);
        return bat_fail_memory(error, "to open the file");
    }
    opened->file = file;
    opened->named = file;
    opened->path = own_path;
    pthread_mutex_init(&opened->symbols_lock, NULL);
    enum bat_code code = map_file(opened, error);
    code = code ? code : unpack_module(opened, error);
    code = code ? code : read_headers(opened, error);
    if (code != BAT_OK) {
        bat_elf_close(opened);
        return code;
    }
    *elf = opened;
    return BAT_OK;
}

enum bat_code bat_elf_open(const char *path, struct bat_elf **elf, struct bat_error *error)
{
    *elf = NULL;
    int file = bat_regular_open(AT_FDCWD, path);
    return file < 0 ? bat_regular_fail(error) : bat_elf_open_file(file, path, elf, error);
}

enum bat_code bat_elf_check_unchanged(const struct bat_elf *elf, struct bat_error *error)
{
    struct stat now;
    struct stat named;
    if (stat(elf->path, &named) != 0 || fstat(elf->named, &now) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be read any more: %m");
    if (!bat_file_is_same(&now, &elf->status) || named.st_dev != now.st_dev ||
        named.st_ino != now.st_ino)
        return bat_fail(error, BAT_ERR_IO, "was changed by another program while it was copied");
    return BAT_OK;
}

void bat_elf_close(struct bat_elf *elf)
{
    if (!elf)
        return;
    BAT_FREE_ALL(elf->symbols.symbols, elf->dynamic_symbols.symbols);
    bat_elf_close(elf->debugdata);
    BAT_FREE_ALL(elf->bolt_info, elf->segments, elf->loads, elf->sections);
    elf_end(elf->libelf);
    bat_unmap(&elf->mapping);
    if (elf->named != elf->file)
        close(elf->named);
    if (elf->file >= 0)
        close(elf->file);
    pthread_mutex_destroy(&elf->symbols_lock);
    BAT_FREE_ALL(elf->path, elf);
}

int bat_elf_descriptor(const struct bat_elf *elf)
{
    return fcntl(elf->file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

uint16_t bat_elf_machine(const struct bat_elf *elf)
{
    return elf->header.e_machine;
}

uint16_t bat_elf_type(const struct bat_elf *elf)
{
    return elf->header.e_type;
}

const char *bat_elf_path(const struct bat_elf *elf)
{
    return elf->path;
}

void bat_elf_release(const struct bat_elf *elf, const uint8_t *bytes, uint64_t size)
{
    bat_map_release(&elf->mapping, bytes, size);
}

const uint8_t *bat_elf_bytes(const struct bat_elf *elf, uint64_t *size)
{
    *size = elf->size;
    return elf->bytes;
}
