/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "synthetic_elf.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ADDRESS UINT64_C(0x10000000)
#define TEXT_OFFSET UINT64_C(0x1000)
#define NAME_MAX_SIZE 48u

enum { SECTION_NULL, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_NOTE, SECTION_NAMES };
#define SECTION_COUNT 6

static const char section_names[] = "\0.text\0.symtab\0.strtab\0" BAT_SECTION_NAME "\0.shstrtab";

/* Offset of a name in section_names. */
static Elf64_Word name_offset(const char *name)
{
    const char *at = section_names + 1;
    while (strcmp(at, name) != 0)
        at += strlen(at) + 1;
    return (Elf64_Word)(at - section_names);
}

/* Symbols and their names. */
struct symbols {
    Elf64_Sym *table;
    size_t count;
    char *strings;
    size_t strings_size;
};

/* A table's symbol reaches to the next table. */
static uint64_t table_size(const struct bat_map *map, uint32_t rank, uint64_t text_size)
{
    uint64_t start = map->tables[map->by_address[rank]].address;
    uint64_t end = TEXT_ADDRESS + text_size;
    if (rank + 1 < bat_map_tables(map))
        end = map->tables[map->by_address[rank + 1]].address;
    return end - start;
}

static bool make_symbols(const struct bat_map *map, uint64_t text_size, struct symbols *symbols)
{
    size_t tables = bat_map_tables(map);
    symbols->table = calloc(tables + 1, sizeof(*symbols->table));
    symbols->strings = calloc(tables + 1, NAME_MAX_SIZE);
    if (!symbols->table || !symbols->strings)
        return false;
    symbols->count = tables + 1;
    symbols->strings_size = 1;
    for (uint32_t rank = 0; rank < tables; rank++) {
        uint32_t table = map->by_address[rank];
        const struct bat_table *function = &map->tables[table];
        symbols->table[rank + 1] = (Elf64_Sym){
            .st_name = (Elf64_Word)symbols->strings_size,
            .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
            .st_shndx = SECTION_TEXT,
            .st_value = function->address,
            .st_size = table_size(map, rank, text_size),
        };
        int length = snprintf(symbols->strings + symbols->strings_size, NAME_MAX_SIZE,
                              "function_%" PRIu32 "%s", function->parent,
                              function->parent == table ? "" : ".cold.0");
        symbols->strings_size += (size_t)length + 1;
    }
    return true;
}

/* Bytes that are neither a hole nor easily compressed. */
static bool write_text(FILE *file, uint64_t size)
{
    static uint64_t words[8192];
    uint64_t state = 1;
    while (size != 0) {
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            words[i] = state = state * 6364136223846793005u + 1442695040888963407u;
        size_t part = size < sizeof(words) ? (size_t)size : sizeof(words);
        if (fwrite(words, 1, part, file) != part)
            return false;
        size -= part;
    }
    return true;
}

static bool write_at(FILE *file, uint64_t offset, const void *bytes, size_t size)
{
    return fseek(file, (long)offset, SEEK_SET) == 0 && fwrite(bytes, 1, size, file) == size;
}

static Elf64_Ehdr file_header(uint64_t sections_offset)
{
    return (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_entry = TEXT_ADDRESS,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_shoff = sections_offset,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTION_COUNT,
        .e_shstrndx = SECTION_NAMES,
    };
}

/* All sections in a row; sections[] gets their headers. */
static void lay_out_sections(Elf64_Shdr sections[SECTION_COUNT], const struct symbols *symbols,
                             uint64_t text_size, size_t note_size)
{
    const Elf64_Shdr headers[SECTION_COUNT] = {
        [SECTION_TEXT] = {.sh_name = name_offset(".text"),
                          .sh_type = SHT_PROGBITS,
                          .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                          .sh_addr = TEXT_ADDRESS,
                          .sh_size = text_size,
                          .sh_addralign = 16},
        [SECTION_SYMBOLS] = {.sh_name = name_offset(".symtab"),
                             .sh_type = SHT_SYMTAB,
                             .sh_size = symbols->count * sizeof(Elf64_Sym),
                             .sh_link = SECTION_STRINGS,
                             .sh_info = 1,
                             .sh_addralign = 8,
                             .sh_entsize = sizeof(Elf64_Sym)},
        [SECTION_STRINGS] = {.sh_name = name_offset(".strtab"),
                             .sh_type = SHT_STRTAB,
                             .sh_size = symbols->strings_size,
                             .sh_addralign = 1},
        [SECTION_NOTE] = {.sh_name = name_offset(BAT_SECTION_NAME),
                          .sh_type = SHT_NOTE,
                          .sh_size = note_size,
                          .sh_addralign = 1},
        [SECTION_NAMES] = {.sh_name = name_offset(".shstrtab"),
                           .sh_type = SHT_STRTAB,
                           .sh_size = sizeof(section_names),
                           .sh_addralign = 1},
    };
    uint64_t offset = TEXT_OFFSET;
    for (int i = 0; i < SECTION_COUNT; i++) {
        sections[i] = headers[i];
        if (i == SECTION_NULL)
            continue;
        offset = (offset + sections[i].sh_addralign - 1) & ~(sections[i].sh_addralign - 1);
        sections[i].sh_offset = offset;
        offset += sections[i].sh_size;
    }
}

static bool write_file(FILE *file, const struct symbols *symbols, const uint8_t *note,
                       size_t note_size, uint64_t text_size)
{
    Elf64_Shdr sections[SECTION_COUNT];
    lay_out_sections(sections, symbols, text_size, note_size);
    const Elf64_Shdr *names = &sections[SECTION_NAMES];
    uint64_t sections_offset = (names->sh_offset + names->sh_size + 7) & ~UINT64_C(7);
    Elf64_Ehdr header = file_header(sections_offset);
    Elf64_Phdr segment = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_offset = TEXT_OFFSET,
                          .p_vaddr = TEXT_ADDRESS,
                          .p_paddr = TEXT_ADDRESS,
                          .p_filesz = text_size,
                          .p_memsz = text_size,
                          .p_align = 0x1000};
    return write_at(file, 0, &header, sizeof(header)) &&
           write_at(file, sizeof(header), &segment, sizeof(segment)) &&
           fseek(file, (long)TEXT_OFFSET, SEEK_SET) == 0 && write_text(file, text_size) &&
           write_at(file, sections[SECTION_SYMBOLS].sh_offset, symbols->table,
                    symbols->count * sizeof(Elf64_Sym)) &&
           write_at(file, sections[SECTION_STRINGS].sh_offset, symbols->strings,
                    symbols->strings_size) &&
           write_at(file, sections[SECTION_NOTE].sh_offset, note, note_size) &&
           write_at(file, names->sh_offset, section_names, sizeof(section_names)) &&
           write_at(file, sections_offset, sections, sizeof(sections));
}

bool synthetic_elf_write(const char *path, const struct bat_map *map, const uint8_t *note,
                         size_t note_size, uint64_t text_size)
{
    struct symbols symbols = {0};
    FILE *file = fopen(path, "wb");
    bool is_written = file && make_symbols(map, text_size, &symbols) &&
                      write_file(file, &symbols, note, note_size, text_size);
    if (file && fclose(file) != 0)
        is_written = false;
    free(symbols.table);
    free(symbols.strings);
    return is_written;
}
