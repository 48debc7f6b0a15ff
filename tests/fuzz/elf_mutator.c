/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Mutations of ELF files: fields of headers, and fields of what sections hold (units of DWARF and
 * of .eh_frame, records of symbols and relocations, LEB128 numbers) get numbers at limits; or the
 * content of a section changes, and what follows it moves.
 */
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "field_mutator.h"
#include "mutator.h"

/* --- Headers ---------------------------------------------------------------------------------- */

static Elf64_Ehdr header_of(const struct mutated *file)
{
    Elf64_Ehdr header;
    memcpy(&header, file->bytes, sizeof(header));
    return header;
}

/* An element of one of the tables that the ELF header names, or the ELF header. */
static void change_header(struct mutated *file)
{
    Elf64_Ehdr header = header_of(file);
    uint64_t start = 0;
    uint64_t count = 1;
    size_t length = sizeof(header);
    uint32_t choice = mutated_draw(file, 4);
    if (choice >= 2) {
        start = header.e_shoff;
        count = header.e_shnum;
        length = sizeof(Elf64_Shdr);
    } else if (choice == 1) {
        start = header.e_phoff;
        count = header.e_phnum;
        length = sizeof(Elf64_Phdr);
    }
    start += (uint64_t)mutated_draw(file, count) * length;
    if (start > file->size || file->size - start < length) {
        start = 0;
        length = sizeof(header);
    }
    static const size_t widths[] = {2, 4, 8, 8};
    size_t width = widths[mutated_draw(file, 4)];
    size_t at = (size_t)start + mutated_draw(file, length / width) * width;
    mutate_field(file, (struct mutated_part){0, file->size}, at, width);
}

/* A section with bytes in the file. */
static bool choose_section(struct mutated *file, Elf64_Shdr *section, size_t *header_at)
{
    Elf64_Ehdr header = header_of(file);
    if (header.e_shnum == 0)
        return false;
    for (int tries = 0; tries < 4; tries++) {
        uint64_t at =
            header.e_shoff + (uint64_t)mutated_draw(file, header.e_shnum) * sizeof(*section);
        if (at > file->size || file->size - at < sizeof(*section))
            continue;
        memcpy(section, file->bytes + at, sizeof(*section));
        *header_at = (size_t)at;
        if (section->sh_type != SHT_NOBITS && section->sh_size != 0 &&
            section->sh_offset <= file->size && section->sh_size <= file->size - section->sh_offset)
            return true;
    }
    return false;
}

/* --- Contents of sections ------------------------------------------------------------------- */

static void change_record(struct mutated *file, struct mutated_part part, size_t record)
{
    size_t at = part.start + mutated_draw(file, part.size / record) * record;
    static const size_t widths[] = {1, 2, 4, 8, 8};
    size_t width = widths[mutated_draw(file, 5)];
    at += mutated_draw(file, record / width) * width;
    if (at - part.start <= part.size - width)
        mutate_field(file, part, at, width);
}

static bool has_units(const struct mutated *file, const Elf64_Shdr *section)
{
    /* The first unit fits: so it is probably a length. */
    uint64_t length = section->sh_size < 8 ? 0 : mutated_load(file->bytes + section->sh_offset, 4);
    return length >= 4 && length <= section->sh_size - 4;
}

static void change_content(struct mutated *file, const Elf64_Shdr *section)
{
    struct mutated_part part = {(size_t)section->sh_offset, (size_t)section->sh_size};
    size_t record = section->sh_type == SHT_DYNAMIC ? 16 : 24;
    bool has_records = section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM ||
                       section->sh_type == SHT_RELA || section->sh_type == SHT_DYNAMIC;
    if (has_records && part.size >= record)
        change_record(file, part, record);
    else if (has_units(file, section) && mutated_draw(file, 4))
        mutate_unit(file, part);
    else if (mutated_draw(file, 2))
        mutate_number(file, part);
    else
        mutate_somewhere(file, part, part.size, part.start);
}

/* Add difference to an offset that is at or behind the place where bytes were added or removed. */
static void move_field(struct mutated *file, size_t field, uint64_t place, uint64_t difference)
{
    if (field > file->size || file->size - field < sizeof(uint64_t))
        return;
    uint64_t offset = mutated_load(file->bytes + field, sizeof(offset));
    if (offset < place)
        return;
    offset += difference;
    memcpy(file->bytes + field, &offset, sizeof(offset));
}

static void move_offsets(struct mutated *file, uint64_t place, uint64_t difference)
{
    move_field(file, offsetof(Elf64_Ehdr, e_phoff), place, difference);
    move_field(file, offsetof(Elf64_Ehdr, e_shoff), place, difference);
    Elf64_Ehdr header = header_of(file);
    for (size_t i = 0; i < header.e_phnum && i < 64; i++)
        move_field(file, header.e_phoff + i * sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_offset),
                   place, difference);
    for (size_t i = 0; i < header.e_shnum && i < 256; i++)
        move_field(file, header.e_shoff + i * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset),
                   place, difference);
}

/* Mutate a section's content as libFuzzer does; the bytes behind it move if its size changes. */
static void resize_content(struct mutated *file, size_t max_size, const Elf64_Shdr *section,
                           size_t header_at)
{
    size_t old = (size_t)section->sh_size;
    size_t room = max_size - file->size < 64 ? max_size - file->size : 64;
    uint8_t *content = malloc(old + room);
    uint8_t *tail = malloc(file->size);
    if (content && tail) {
        size_t start = (size_t)section->sh_offset;
        size_t tail_size = file->size - start - old;
        memcpy(content, file->bytes + start, old);
        memcpy(tail, file->bytes + start + old, tail_size);
        size_t size = LLVMFuzzerMutate(content, old, old + room);
        memcpy(file->bytes + start, content, size);
        memcpy(file->bytes + start + size, tail, tail_size);
        file->size = start + size + tail_size;
        uint64_t new_size = size;
        if (header_at >= start + old)
            header_at += size - old;
        if (size != old)
            move_offsets(file, start + old, (uint64_t)size - old);
        if (header_at <= file->size && file->size - header_at >= sizeof(Elf64_Shdr))
            memcpy(file->bytes + header_at + offsetof(Elf64_Shdr, sh_size), &new_size,
                   sizeof(new_size));
    }
    free(content);
    free(tail);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct mutated file = {data, size, seed};
    uint32_t kind = mutated_draw(&file, 10);
    Elf64_Shdr section;
    size_t header_at;
    if (size < sizeof(Elf64_Ehdr) || size > max_size || kind == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (kind < 4 || !choose_section(&file, &section, &header_at)) {
        change_header(&file);
        return size;
    }
    if (kind < 6) {
        resize_content(&file, max_size, &section, header_at);
        return file.size;
    }
    for (uint32_t changes = 1 + mutated_draw(&file, 3); changes > 0; changes--)
        change_content(&file, &section);
    return size;
}
