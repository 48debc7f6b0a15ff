/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mutations of ELF files: fields of headers get numbers at limits. */
#include <elf.h>
#include <string.h>

#include "mutator.h"

static uint64_t load(const uint8_t *data, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, data, size);
    return value;
}

/* A place with fields of a header: the ELF header, or an element of a table that it names. */
static size_t choose_header(const uint8_t *data, size_t size, uint64_t *random, size_t *length)
{
    Elf64_Ehdr header;
    memcpy(&header, data, sizeof(header));
    uint64_t start = 0;
    uint64_t count = 1;
    *length = sizeof(Elf64_Ehdr);
    uint32_t choice = mutator_draw(random) % 4;
    if (choice >= 2) {
        start = header.e_shoff;
        count = header.e_shnum;
        *length = sizeof(Elf64_Shdr);
    } else if (choice == 1) {
        start = header.e_phoff;
        count = header.e_phnum;
        *length = sizeof(Elf64_Phdr);
    }
    if (count != 0 && start < size)
        start += mutator_draw(random) % count * *length;
    if (start > size || size - start < *length) {
        *length = sizeof(Elf64_Ehdr);
        return 0;
    }
    return (size_t)start;
}

static uint64_t new_value(uint64_t old, size_t size, uint64_t *random)
{
    switch (mutator_draw(random) % 5) {
    case 0:
        return old + mutator_draw(random) % 9 - 4;
    case 1:
        return size + mutator_draw(random) % 5 - 2;
    case 2:
        return mutator_draw(random) % size;
    default:
        return mutator_number(random);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = seed;
    if (size < sizeof(Elf64_Ehdr) || mutator_draw(&random) % 4 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    size_t length;
    size_t start = choose_header(data, size, &random, &length);
    static const size_t widths[] = {2, 4, 8, 8};
    size_t width = widths[mutator_draw(&random) % 4];
    size_t at = start + mutator_draw(&random) % (length / width) * width;
    uint64_t value = new_value(load(data + at, width), size, &random);
    memcpy(data + at, &value, width);
    return size;
}
