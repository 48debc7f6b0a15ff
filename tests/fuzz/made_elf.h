/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF files that targets make: the images of the unit tests, with gaps between what they hold. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* What images need of unit_test.h, without cmocka: an image's memory is freed with it. */
#define UNIT_TEST_H
#define assert_true(holds) fuzz_expect((holds), "an image can be made: " #holds)
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(left, right) assert_true((long long)(left) == (long long)(right))
#define keep(release, thing) ((void)(release), (void)(thing))

static inline void *kept_memory(void *old, size_t size)
{
    void *memory = realloc(old, size);
    fuzz_expect(memory != NULL, "memory for an image");
    return memory;
}

#include "../unit/elf_image.h"

/* Bytes between sections, so that reading from one into the next one is noticed. */
#define MADE_GAP 16u

/* Add a section that a segment of its own loads at address. */
static inline uint32_t made_loaded(struct image *image, const char *name, uint64_t flags,
                                   uint64_t address, const void *bytes, size_t size)
{
    image_align(image, 8);
    Elf64_Shdr *section = image_section(image, name, SHT_PROGBITS, bytes, size);
    section->sh_flags = SHF_ALLOC | flags;
    section->sh_addr = address;
    Elf64_Phdr *segment = image_segment(image, PT_LOAD, flags & SHF_EXECINSTR ? PF_R | PF_X : PF_R,
                                        section->sh_offset, size);
    segment->p_vaddr = segment->p_paddr = address;
    image_append(image, NULL, MADE_GAP);
    return (uint32_t)image->section_count - 1;
}

/* Add a section that is not loaded. */
static inline uint32_t made_section(struct image *image, const char *name, uint32_t type,
                                    const void *bytes, size_t size)
{
    image_align(image, 8);
    image_section(image, name, type, bytes, size);
    image_append(image, NULL, MADE_GAP);
    return (uint32_t)image->section_count - 1;
}

/* Add .symtab and .strtab; the first symbol of symbols is the empty one. */
static inline void made_symbols(struct image *image, const Elf64_Sym *symbols, size_t count,
                                const char *strings, size_t strings_size)
{
    made_section(image, ".symtab", SHT_SYMTAB, symbols, count * sizeof(*symbols));
    Elf64_Shdr *table = &image->sections[image->section_count - 1];
    table->sh_entsize = sizeof(*symbols);
    table->sh_link = (uint32_t)image->section_count;
    made_section(image, ".strtab", SHT_STRTAB, strings, strings_size);
}

/* Write the file for a machine and free the image; returns the path, to be removed and freed. */
static inline char *made_file(struct image *image, const char *name, uint16_t machine)
{
    image_align(image, 8);
    image_append_names(image);
    image_append(image, NULL, MADE_GAP);
    image_finish_at_end(image)->e_machine = machine;
    char *path = fuzz_path(name);
    fuzz_write_file(path, image->bytes, image->size);
    free(image->bytes);
    free(image->sections);
    return path;
}
