/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Files that the library maps end at their last byte: the rest of the page is poisoned, so that the
 * address sanitizer reports one byte too far. With fuzz_poison_gaps(), bytes that belong to no
 * section, segment or header are poisoned as well.
 */
#include <elf.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

void *__real_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t size);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *address, size_t size);

static bool poisons_gaps;

void fuzz_poison_gaps(bool poison)
{
    poisons_gaps = poison;
}

static size_t round_up(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) & ~(page - 1);
}

/* --- What the headers name -------------------------------------------------------------------- */

struct used {
    uint8_t *bytes; /* 1 for each byte of the file that is named */
    size_t size;
};

static void use(struct used *used, uint64_t offset, uint64_t size)
{
    if (offset < used->size)
        memset(used->bytes + offset, 1, size < used->size - offset ? size : used->size - offset);
}

static void use_tables(struct used *used, const uint8_t *file, const Elf64_Ehdr *header)
{
    use(used, 0, sizeof(*header));
    use(used, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
    for (size_t i = 0; i < header->e_phnum; i++) {
        uint64_t at = header->e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr segment;
        if (at > used->size || used->size - at < sizeof(segment))
            break;
        memcpy(&segment, file + at, sizeof(segment));
        use(used, segment.p_offset, segment.p_filesz);
    }
    use(used, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < header->e_shnum; i++) {
        uint64_t at = header->e_shoff + i * sizeof(Elf64_Shdr);
        Elf64_Shdr section;
        if (at > used->size || used->size - at < sizeof(section))
            break;
        memcpy(&section, file + at, sizeof(section));
        if (section.sh_type != SHT_NOBITS)
            use(used, section.sh_offset, section.sh_size);
    }
}

static void poison_gaps(const uint8_t *file, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof(header))
        return;
    memcpy(&header, file, sizeof(header));
    /* More sections than the header can count: none is looked at, so nothing is known to be free.
     */
    if (header.e_shnum == 0 || header.e_phnum == PN_XNUM)
        return;
    struct used used = {calloc(size, 1), size};
    fuzz_expect(used.bytes, "there is memory for a map of a file");
    use_tables(&used, file, &header);
    for (size_t start = 0; start < size;) {
        size_t end = start + 1;
        while (end < size && used.bytes[end] == used.bytes[start])
            end++;
        if (!used.bytes[start])
            ASAN_POISON_MEMORY_REGION(file + start, end - start);
        start = end;
    }
    free(used.bytes);
}

/* --- Mapping ---------------------------------------------------------------------------------- */

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    uint8_t *mapped = __real_mmap(address, size, protection, flags, file, offset);
    if (mapped == MAP_FAILED)
        return mapped;
    ASAN_UNPOISON_MEMORY_REGION(mapped, round_up(size));
    if (file < 0)
        return mapped;
    ASAN_POISON_MEMORY_REGION(mapped + size, round_up(size) - size);
    if (poisons_gaps && offset == 0)
        poison_gaps(mapped, size);
    return mapped;
}

int __wrap_munmap(void *address, size_t size)
{
    ASAN_UNPOISON_MEMORY_REGION(address, round_up(size));
    return __real_munmap(address, size);
}

/* --- Files with gaps -------------------------------------------------------------------------- */

#define GAP 16u

/* A section whose copy gets a gap before and behind it. */
static bool is_moved(const Elf64_Shdr *section, size_t size)
{
    return section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
           section->sh_size != 0 && section->sh_offset <= size &&
           section->sh_size <= size - section->sh_offset;
}

/* The copy; to be freed. */
static uint8_t *spread_sections(const uint8_t *data, size_t size, size_t *spread_size)
{
    Elf64_Ehdr header = {.e_shnum = 0};
    if (size >= sizeof(header))
        memcpy(&header, data, sizeof(header));
    uint64_t table = header.e_shnum * sizeof(Elf64_Shdr);
    bool has_table = header.e_shoff <= size && table <= size - header.e_shoff;
    size_t total = (size + GAP) / 8 * 8;
    uint8_t *spread = calloc(1, total + 1);
    fuzz_expect(spread, "there is memory for a copy of a file");
    memcpy(spread, data, size);
    for (size_t i = 0; has_table && i < header.e_shnum; i++) {
        Elf64_Shdr section;
        uint8_t *at = spread + header.e_shoff + i * sizeof(section);
        memcpy(&section, at, sizeof(section));
        if (!is_moved(&section, size) || total + section.sh_size > 8 * size + 4096)
            continue;
        uint64_t start = section.sh_offset;
        section.sh_offset = total;
        memcpy(at, &section, sizeof(section));
        size_t end = (total + section.sh_size + GAP + 7) / 8 * 8;
        spread = realloc(spread, end);
        fuzz_expect(spread, "there is memory for a copy of a file");
        memset(spread + total, 0, end - total);
        memcpy(spread + total, data + start, section.sh_size);
        total = end;
    }
    *spread_size = has_table && header.e_shnum ? total : size;
    return spread;
}

char *fuzz_spread_file(const uint8_t *data, size_t size)
{
    char *path = fuzz_path("input");
    size_t spread_size;
    uint8_t *spread = spread_sections(data, size, &spread_size);
    fuzz_poison_gaps(true);
    fuzz_write_file(path, spread, spread_size);
    free(spread);
    return path;
}
