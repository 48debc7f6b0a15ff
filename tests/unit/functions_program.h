/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Programs for the tests of the table of functions: a few sections at fixed addresses, with the
 * symbols, PLT entries and FDEs that a test adds.
 */
#pragma once

#include "elf_image.h"
#include "unit_test.h"

#define TEXT 0x401000u /* .text, TEXT_SIZE bytes of code that is no padding */
#define TEXT_SIZE 0x400u
#define PLT 0x402000u        /* .plt */
#define SECOND_PLT 0x403000u /* .plt.sec */
#define EH_FRAME 0x404000u
#define DATA 0x405000u /* .data, not code */
#define DATA_SIZE 0x100u
#define OTHER 0x406000u /* .other, code, OTHER_SIZE bytes */
#define OTHER_SIZE 0x20u
#define TABLES 0x407000u /* what dynamic linking needs */

/* Indices of the sections of symbols. */
enum { IN_TEXT = 1, IN_PLT, IN_SECOND_PLT, IN_EH_FRAME, IN_DATA, IN_OTHER };

#define SYMBOLS_MAX 64u
#define STRINGS_MAX 4096u

struct symbols {
    Elf64_Sym all[SYMBOLS_MAX];
    size_t count; /* with symbol 0 */
    char strings[STRINGS_MAX];
    size_t size;
};

struct bytes {
    uint8_t all[0x1000];
    size_t size;
};

struct program {
    uint16_t machine;
    uint8_t text[TEXT_SIZE];
    struct bytes plt;
    struct bytes second_plt;
    struct bytes eh_frame;
    struct bytes note; /* BAT's; none if it is empty */
    struct symbols symbols;
    struct symbols dynamic;
    uint32_t indices[SYMBOLS_MAX]; /* SHT_SYMTAB_SHNDX */
    Elf64_Rela relocations[SYMBOLS_MAX];
    size_t relocation_count;
    bool is_stripped;
    uint32_t strings_link; /* of .symtab; 0: the right one */
    uint64_t entry_size;   /* the same */
    bool strings_open;     /* leave out .strtab's last zero byte */
};

static inline void add_bytes(struct bytes *to, const void *bytes, size_t size)
{
    assert_true(to->size + size <= sizeof(to->all));
    memcpy(to->all + to->size, bytes, size);
    to->size += size;
}

static inline uint32_t add_string(struct symbols *to, const char *string)
{
    size_t size = strlen(string) + 1;
    assert_true(to->size + size <= sizeof(to->strings));
    memcpy(to->strings + to->size, string, size);
    to->size += size;
    return (uint32_t)(to->size - size);
}

static inline struct program *new_program(uint16_t machine)
{
    struct program *program = kept_memory(NULL, sizeof(*program));
    memset(program, 0, sizeof(*program));
    program->machine = machine;
    memset(program->text, 0xc3, sizeof(program->text)); /* RET; on AArch64 no NOP either */
    program->symbols.count = program->symbols.size = 1;
    program->dynamic.count = program->dynamic.size = 1;
    return program;
}

/* --- Symbols ------------------------------------------------------------------------------ */

static inline size_t add_symbol(struct symbols *to, const char *name, unsigned type,
                                unsigned binding, unsigned section, uint64_t address, uint64_t size)
{
    assert_true(to->count < SYMBOLS_MAX);
    to->all[to->count] = (Elf64_Sym){
        .st_name = *name ? add_string(to, name) : 0,
        .st_info = (unsigned char)ELF64_ST_INFO(binding, type),
        .st_shndx = (uint16_t)section,
        .st_value = address,
        .st_size = size,
    };
    return to->count++;
}

static inline void add_file(struct program *program, const char *name)
{
    add_symbol(&program->symbols, name, STT_FILE, STB_LOCAL, SHN_ABS, 0, 0);
}

/* Functions in .text. */
static inline void add_local(struct program *program, const char *name, uint64_t address,
                             uint64_t size)
{
    add_symbol(&program->symbols, name, STT_FUNC, STB_LOCAL, IN_TEXT, address, size);
}

static inline void add_global(struct program *program, const char *name, uint64_t address,
                              uint64_t size)
{
    add_symbol(&program->symbols, name, STT_FUNC, STB_GLOBAL, IN_TEXT, address, size);
}

/* Symbols without type in .text. */
static inline void add_untyped(struct program *program, const char *name, unsigned binding,
                               uint64_t address, uint64_t size)
{
    add_symbol(&program->symbols, name, STT_NOTYPE, binding, IN_TEXT, address, size);
}

static inline void add_relocation(struct program *program, uint64_t slot, uint64_t symbol,
                                  uint32_t type, int64_t addend)
{
    assert_true(program->relocation_count < SYMBOLS_MAX);
    program->relocations[program->relocation_count++] =
        (Elf64_Rela){.r_offset = slot, .r_info = ELF64_R_INFO(symbol, type), .r_addend = addend};
}

/* --- FDEs --------------------------------------------------------------------------------- */

/* A CIE of augmentation "zR", addresses as 32 bits relative to their own place. */
/* clang-format off */
static const uint8_t plain_cie[] = {
    0x10, 0, 0, 0,               /* length */
    0, 0, 0, 0,                  /* this is a CIE */
    1, 'z', 'R', 0, 1, 0x78, 16, /* version, augmentation, alignments, return address */
    1, 0x1b,                     /* augmentation data */
    0, 0, 0,                     /* padding: DW_CFA_nop */
};
/* clang-format on */

/* Append an FDE of plain_cie, which comes before the first. */
static inline void add_fde(struct program *program, uint64_t address, uint32_t size)
{
    struct bytes *to = &program->eh_frame;
    if (to->size == 0)
        add_bytes(to, plain_cie, sizeof(plain_cie));
    uint32_t words[] = {16, (uint32_t)to->size + 4, (uint32_t)(address - (EH_FRAME + to->size + 8)),
                        size, 0};
    add_bytes(to, words, sizeof(words));
}

/* --- The file ----------------------------------------------------------------------------- */

static inline void put_section(struct image *image, const char *name, uint32_t type, uint64_t flags,
                               uint64_t address, const void *bytes, size_t size)
{
    while (address && image->size < address - 0x400000)
        image_append(image, NULL, 1);
    Elf64_Shdr *section = image_section(image, name, type, bytes, size);
    section->sh_flags = flags;
    section->sh_addr = address;
}

/* Append a symbol table and its strings. */
static inline void put_symbols(struct image *image, const struct symbols *symbols, uint32_t type,
                               uint64_t flags, uint64_t address, uint32_t link, bool open)
{
    bool is_dynamic = type == SHT_DYNSYM;
    size_t size = symbols->count * sizeof(Elf64_Sym);
    uint32_t index = (uint32_t)image->section_count;
    put_section(image, is_dynamic ? ".dynsym" : ".symtab", type, flags, address, symbols->all,
                size);
    image->sections[index].sh_link = link ? link : index + 1;
    image->sections[index].sh_entsize = sizeof(Elf64_Sym);
    image->sections[index].sh_info = 1;
    put_section(image, is_dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, flags,
                address ? address + size : 0, symbols->strings, symbols->size - open);
}

static inline void put_dynamic_linking(struct image *image, const struct program *program)
{
    put_symbols(image, &program->dynamic, SHT_DYNSYM, SHF_ALLOC, TABLES, 0, false);
    uint64_t relocations = TABLES + 0x800;
    uint64_t size = program->relocation_count * sizeof(Elf64_Rela);
    put_section(image, ".rela.plt", SHT_RELA, SHF_ALLOC, relocations, program->relocations, size);
    Elf64_Dyn dynamic[] = {
        {.d_tag = DT_PLTRELSZ, .d_un.d_val = size},
        {.d_tag = DT_JMPREL, .d_un.d_ptr = relocations},
        {.d_tag = DT_NULL},
    };
    put_section(image, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, TABLES + 0xf00, dynamic,
                sizeof(dynamic));
}

/* Write the program to path. */
static inline void save_program(const struct program *program, const char *path)
{
    struct image image = image_new();
    uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
    uint8_t zeros[DATA_SIZE] = {0};
    put_section(&image, ".text", SHT_PROGBITS, code, TEXT, program->text, TEXT_SIZE);
    put_section(&image, ".plt", SHT_PROGBITS, code, PLT, program->plt.all, program->plt.size);
    put_section(&image, ".plt.sec", SHT_PROGBITS, code, SECOND_PLT, program->second_plt.all,
                program->second_plt.size);
    put_section(&image, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, EH_FRAME, program->eh_frame.all,
                program->eh_frame.size);
    put_section(&image, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, zeros, DATA_SIZE);
    put_section(&image, ".other", SHT_PROGBITS, code, OTHER, zeros, OTHER_SIZE);
    if (program->relocation_count)
        put_dynamic_linking(&image, program);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    if (program->note.size)
        put_section(&image, ".note.bolt_bat", SHT_NOTE, 0, 0, program->note.all,
                    program->note.size);
    if (!program->is_stripped) {
        uint32_t symtab = (uint32_t)image.section_count;
        put_symbols(&image, &program->symbols, SHT_SYMTAB, 0, 0, program->strings_link,
                    program->strings_open);
        if (program->entry_size)
            image.sections[symtab].sh_entsize = program->entry_size;
        put_section(&image, ".symtab_shndx", SHT_SYMTAB_SHNDX, 0, 0, program->indices,
                    program->symbols.count * sizeof(uint32_t));
        image.sections[symtab + 2].sh_link = symtab;
    }
    Elf64_Ehdr *header = image_end(&image);
    header->e_machine = program->machine;
    save(path, image.bytes, image.size);
}
