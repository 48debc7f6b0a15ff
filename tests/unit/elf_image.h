/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * ELF files for the tests of elfnote/: built piece by piece in memory, saved, loaded again.
 * Independent of elfnote/, so that it can check it.
 */
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

#define IMAGE_SEGMENTS 8u

struct image {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    Elf64_Phdr segments[IMAGE_SEGMENTS];
    uint16_t segment_count;
    Elf64_Shdr *sections;
    size_t section_count;
    size_t section_capacity;
    char names[1024];
    size_t names_size;
    size_t names_index;
};

/* Append bytes (zeros for NULL) to the file; returns their offset. */
static inline uint64_t image_append(struct image *image, const void *bytes, size_t size)
{
    uint64_t offset = image->size;
    if (image->size + size > image->capacity) {
        image->capacity = (image->size + size) * 2;
        image->bytes = kept_memory(image->bytes, image->capacity);
    }
    if (bytes && size > 0)
        memcpy(image->bytes + offset, bytes, size);
    else
        memset(image->bytes + offset, 0, size);
    image->size += size;
    return offset;
}

static inline void image_align(struct image *image, size_t alignment)
{
    while (image->size % alignment != 0)
        image_append(image, NULL, 1);
}

/* The offset of a name among the section names; the name is added if it is missing. */
static inline uint32_t image_name(struct image *image, const char *name)
{
    size_t size = strlen(name) + 1;
    for (size_t i = 0; i + size <= image->names_size; i++) {
        if (memcmp(image->names + i, name, size) == 0)
            return (uint32_t)i;
    }
    assert_true(image->names_size + size <= sizeof(image->names));
    memcpy(image->names + image->names_size, name, size);
    image->names_size += size;
    return (uint32_t)(image->names_size - size);
}

/* Add the header of a section whose bytes are in the file already. */
static inline Elf64_Shdr *image_header(struct image *image, const char *name, uint32_t type,
                                       uint64_t offset, uint64_t size)
{
    if (image->section_count == image->section_capacity) {
        image->section_capacity = image->section_capacity * 2 + 16;
        image->sections =
            kept_memory(image->sections, image->section_capacity * sizeof(*image->sections));
    }
    Elf64_Shdr *section = &image->sections[image->section_count++];
    *section = (Elf64_Shdr){.sh_name = image_name(image, name),
                            .sh_type = type,
                            .sh_offset = offset,
                            .sh_size = size,
                            .sh_addralign = 1};
    return section;
}

/* Append a section; the header is valid until the next one is added. */
static inline Elf64_Shdr *image_section(struct image *image, const char *name, uint32_t type,
                                        const void *bytes, size_t size)
{
    uint64_t offset = image_append(image, bytes, size);
    return image_header(image, name, type, offset, size);
}

/* An image with an ELF header, room for program headers, and section 0. */
static inline struct image image_new(void)
{
    struct image image = {.names_size = 1};
    image_append(&image, NULL, sizeof(Elf64_Ehdr) + sizeof(image.segments));
    image_header(&image, "", SHT_NULL, 0, 0);
    image.sections[0].sh_addralign = 0;
    return image;
}

static inline Elf64_Phdr *image_segment(struct image *image, uint32_t type, uint32_t flags,
                                        uint64_t offset, uint64_t size)
{
    assert_true(image->segment_count < IMAGE_SEGMENTS);
    Elf64_Phdr *segment = &image->segments[image->segment_count++];
    *segment = (Elf64_Phdr){.p_type = type,
                            .p_flags = flags,
                            .p_offset = offset,
                            .p_vaddr = 0x400000 + offset,
                            .p_paddr = 0x400000 + offset,
                            .p_filesz = size,
                            .p_memsz = size,
                            .p_align = 1};
    return segment;
}

/* Append the section names. Names of later sections must be added with image_name() before. */
static inline Elf64_Shdr *image_append_names(struct image *image)
{
    image_name(image, ".shstrtab");
    image->names_index = image->section_count;
    return image_section(image, ".shstrtab", SHT_STRTAB, image->names, image->names_size);
}

/* Write the section headers to offset, which is inside the file, and the ELF header. */
static inline Elf64_Ehdr *image_finish(struct image *image, uint64_t table)
{
    size_t count = image->section_count;
    if (count >= SHN_LORESERVE)
        image->sections[0].sh_size = count;
    if (image->names_index >= SHN_LORESERVE)
        image->sections[0].sh_link = (uint32_t)image->names_index;
    assert_true(table + count * sizeof(Elf64_Shdr) <= image->size);
    if (count > 0)
        memcpy(image->bytes + table, image->sections, count * sizeof(Elf64_Shdr));
    memcpy(image->bytes + sizeof(Elf64_Ehdr), image->segments, sizeof(image->segments));
    Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = image->segment_count ? sizeof(Elf64_Ehdr) : 0,
        .e_shoff = count ? table : 0,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = image->segment_count,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (uint16_t)(count >= SHN_LORESERVE ? 0 : count),
        .e_shstrndx =
            (uint16_t)(image->names_index >= SHN_LORESERVE ? SHN_XINDEX : image->names_index),
    };
    memcpy(image->bytes, &header, sizeof(header));
    return (Elf64_Ehdr *)(void *)image->bytes;
}

/* Append the section headers, aligned to 8, and write the ELF header. */
static inline Elf64_Ehdr *image_finish_at_end(struct image *image)
{
    image_align(image, 8);
    uint64_t table = image_append(image, NULL, image->section_count * sizeof(Elf64_Shdr));
    return image_finish(image, table);
}

/* Append the section names, too. */
static inline Elf64_Ehdr *image_end(struct image *image)
{
    image_append_names(image);
    return image_finish_at_end(image);
}

/* --- Files -------------------------------------------------------------------------------- */

static inline void remove_folder(void *folder)
{
    char command[256];
    snprintf(command, sizeof(command), "rm -rf '%s'", (char *)folder);
    assert_int_equal(system(command), 0);
    free(folder);
}

/* A folder for one test's files: in memory where there is such a file system, since every file that
 * is written is synchronised. */
static inline char *make_folder(void)
{
    bool in_memory = access("/dev/shm", W_OK) == 0;
    char *folder = strdup(in_memory ? "/dev/shm/test_elfnote.XXXXXX" : "/tmp/test_elfnote.XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    keep(remove_folder, folder);
    return folder;
}

/* folder/name. */
static inline char *path_in(const char *folder, const char *name)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    keep(free, path);
    return path;
}

/* Write a new file. One that is there is removed first: some file systems wait for the disk when a
 * file is overwritten. */
static inline void save(const char *path, const void *bytes, size_t size)
{
    unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    assert_int_equal(close(file), 0);
}

/* A file's bytes. */
struct loaded {
    uint8_t *bytes;
    size_t size;
};

static inline struct loaded load(const char *path)
{
    struct loaded loaded = {NULL, 0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    struct stat status;
    assert_int_equal(fstat(file, &status), 0);
    loaded.size = (size_t)status.st_size;
    loaded.bytes = kept_memory(NULL, loaded.size + 1);
    assert_int_equal(read(file, loaded.bytes, loaded.size), loaded.size);
    close(file);
    return loaded;
}
