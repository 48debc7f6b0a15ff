/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* elfnote/: opening sound and damaged ELF files, and the getters. */
#include <inttypes.h>

#include "bat_elf.h"
#include "elf_image.h"
#include "kept.h"
#include "unit_test.h"

/* --- Notes -------------------------------------------------------------------------------- */

/* An ELF note of *size bytes, in memory that the caller frees. */
static uint8_t *make_note(const char *owner, uint32_t type, const void *description,
                          size_t description_size, size_t *size)
{
    size_t owner_size = strlen(owner) + 1;
    size_t padded_owner = (owner_size + 3) / 4 * 4;
    size_t padded = (description_size + 3) / 4 * 4;
    *size = 12 + padded_owner + padded;
    uint8_t *note = kept_memory(NULL, *size);
    memset(note, 0, *size);
    uint32_t words[3] = {(uint32_t)owner_size, (uint32_t)description_size, type};
    memcpy(note, words, sizeof(words));
    memcpy(note + 12, owner, owner_size);
    memcpy(note + 12 + padded_owner, description, description_size);
    return note;
}

static Elf64_Shdr *note_section(struct image *image, const char *name, const char *owner,
                                uint32_t type, const void *description, size_t description_size)
{
    size_t size = 0;
    uint8_t *note = make_note(owner, type, description, description_size, &size);
    return image_section(image, name, SHT_NOTE, note, size);
}

static const uint8_t build_id[] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3};
static const char bolt_info[] = "BOLT revision: 1, command line: x";
static const char bat_description[] = "0123456789";

/* --- A sound file --------------------------------------------------------------------------- */

enum { TEXT = 1, BUILD_ID, INFO, NOTE, BSS, SYMTAB, STRTAB, NAMES, SECTIONS };

static const char strings[] = "\0a.c\0f\0g\0b.c\0h\0main";

enum { NAME_A_C = 1, NAME_F = 5, NAME_G = 7, NAME_B_C = 9, NAME_H = 13, NAME_MAIN = 15 };

static Elf64_Sym symbol(uint32_t name, unsigned binding, unsigned type, uint16_t section,
                        uint64_t address)
{
    return (Elf64_Sym){.st_name = name,
                       .st_info = (uint8_t)ELF64_ST_INFO(binding, type),
                       .st_shndx = section,
                       .st_value = address,
                       .st_size = 4};
}

/* All kinds of sections and two segments: bytes 0 to 0x400 at 0x400000, of which the text is
 * executable in a segment of its own. */
static struct image sound_image(void)
{
    struct image image = image_new();
    image_section(&image, ".text", SHT_PROGBITS, "0123456789abcdef", 16);
    uint64_t text = image.sections[TEXT].sh_offset;
    note_section(&image, ".note.gnu.build-id", "GNU", 3, build_id, sizeof(build_id));
    note_section(&image, ".note.bolt_info", "GNU", 4, bolt_info, strlen(bolt_info));
    note_section(&image, ".note.bolt_bat", "BOLT", 1, bat_description, sizeof(bat_description));
    image_header(&image, ".bss", SHT_NOBITS, 0xfffffff0, 0x1000);
    const Elf64_Sym symbols[] = {
        symbol(0, STB_LOCAL, STT_NOTYPE, 0, 0),
        symbol(NAME_A_C, STB_LOCAL, STT_FILE, SHN_ABS, 0),
        symbol(NAME_F, STB_LOCAL, STT_FUNC, TEXT, 0x400100),
        symbol(0, STB_LOCAL, STT_SECTION, TEXT, 0x400000),
        symbol(NAME_B_C, STB_LOCAL, STT_FILE, SHN_ABS, 0),
        symbol(NAME_G, STB_LOCAL, STT_OBJECT, SHN_ABS, 0x400104),
        symbol(0, STB_LOCAL, STT_FILE, SHN_ABS, 0),
        symbol(NAME_H, STB_LOCAL, STT_FUNC, TEXT, 0x400108),
        symbol(NAME_A_C, STB_LOCAL, STT_FILE, SHN_ABS, 0),
        symbol(NAME_MAIN, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0),
    };
    image_align(&image, 8);
    image_section(&image, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
    image.sections[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
    image.sections[SYMTAB].sh_link = STRTAB;
    image_section(&image, ".strtab", SHT_STRTAB, strings, sizeof(strings));
    image_append_names(&image);
    Elf64_Phdr *load = image_segment(&image, PT_LOAD, PF_R, 0, text);
    load->p_vaddr = 0x400000;
    load = image_segment(&image, PT_LOAD, PF_R | PF_X, text, 16);
    load->p_vaddr = 0x500000;
    load->p_memsz = 32;
    image_finish_at_end(&image);
    return image;
}

/* Save the image and open it. */
static enum bat_code open_image(const struct image *image, struct bat_elf **elf,
                                struct bat_error *error)
{
    char *path = path_in(make_folder(), "a.out");
    save(path, image->bytes, image->size);
    return bat_elf_open(path, elf, error);
}

static struct bat_elf *open_good(const struct image *image)
{
    struct bat_elf *elf = NULL;
    struct bat_error error = {.message = ""};
    if (open_image(image, &elf, &error) != BAT_OK)
        fail_msg("%s", error.message);
    return kept_elf(elf);
}

static Elf64_Ehdr *header_of(const struct image *image)
{
    return (Elf64_Ehdr *)(void *)image->bytes;
}

static struct bat_elf *open_sound(void)
{
    struct image image = sound_image();
    return open_good(&image);
}

/* Check that opening a damaged image fails like this. */
__attribute__((format(printf, 3, 4))) static void
assert_bad(struct image *image, enum bat_code code, const char *format, ...)
{
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    struct bat_elf *elf = (struct bat_elf *)(uintptr_t)1;
    struct bat_error error = {.message = ""};
    assert_int_equal(open_image(image, &elf, &error), code);
    assert_null(elf);
    assert_int_equal(error.code, code);
    assert_string_equal(error.message, message);
}

/* Write the headers of an image that was changed. */
static Elf64_Ehdr *finish_again(struct image *image)
{
    return image_finish(image, image->size - SECTIONS * sizeof(Elf64_Shdr));
}

/* A macro, because a statement is its argument: the sound image, changed by it, is refused. */
#define ASSERT_DAMAGED(change, code, ...)                                                          \
    do {                                                                                           \
        struct image image = sound_image();                                                        \
        change;                                                                                    \
        finish_again(&image);                                                                      \
        assert_bad(&image, code, __VA_ARGS__);                                                     \
    } while (0)

/* --- Opening -------------------------------------------------------------------------------- */

TEST(test_is)
{
    assert_true(bat_elf_is("\177ELF", 4));
    assert_false(bat_elf_is("\177ELF", 3));
    assert_false(bat_elf_is("", 0));
    assert_false(bat_elf_is("BOLT", 4));
}

TEST(test_getters)
{
    struct image image = sound_image();
    struct bat_elf *elf = open_good(&image);
    uint64_t size = 0;
    assert_int_equal(bat_elf_machine(elf), EM_X86_64);
    assert_int_equal(bat_elf_type(elf), ET_EXEC);
    const uint8_t *bytes = bat_elf_bytes(elf, &size);
    assert_int_equal(size, image.size);
    assert_memory_equal(bytes, image.bytes, image.size);

    size_t count = 0;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    assert_int_equal(count, SECTIONS);
    assert_string_equal(sections[0].name, "");
    assert_string_equal(sections[TEXT].name, ".text");
    assert_int_equal(sections[SYMTAB].index, SYMTAB);
    assert_int_equal(sections[SYMTAB].type, SHT_SYMTAB);
    assert_int_equal(sections[SYMTAB].link, STRTAB);
    assert_int_equal(sections[SYMTAB].entry_size, 24);
    assert_ptr_equal(bat_elf_section(elf, ".symtab"), &sections[SYMTAB]);
    assert_null(bat_elf_section(elf, ".symta"));

    assert_memory_equal(bat_elf_section_bytes(elf, &sections[TEXT], &size), "0123456789abcdef", 16);
    assert_int_equal(size, 16);
    assert_null(bat_elf_section_bytes(elf, &sections[BSS], &size));
    assert_int_equal(size, 0);
}

/* Released bytes have the same content when they are read again; any range is allowed. */
TEST(test_release)
{
    struct image image = sound_image();
    image_append(&image, NULL, 1 << 20);
    struct bat_elf *elf = open_good(&image);
    uint64_t size = 0;
    const uint8_t *bytes = bat_elf_bytes(elf, &size);
    bat_elf_release(elf, bytes, size);
    bat_elf_release(elf, bytes + 5000, UINT64_MAX);
    bat_elf_release(elf, bytes + size, 1);
    bat_elf_release(elf, (const uint8_t *)"elsewhere", 4096);
    bat_elf_release(elf, NULL, 4096);
    assert_memory_equal(bytes, image.bytes, image.size);
    assert_string_equal(bat_elf_sections(elf, &size)[TEXT].name, ".text");
}

TEST(test_segments)
{
    struct bat_elf *elf = open_sound();
    uint64_t available = 0;
    assert_int_equal(bat_elf_base_address(elf), 0x400000);
    const uint8_t *bytes = bat_elf_at_address(elf, 0x500004, &available);
    assert_memory_equal(bytes, "456789abcdef", 12);
    assert_int_equal(available, 12);
    assert_null(bat_elf_at_address(elf, 0x500010, &available));
    assert_int_equal(available, 0);
    assert_null(bat_elf_at_address(elf, 0x3fffff, &available));
    assert_true(bat_elf_is_executable(elf, 0x500000));
    assert_true(bat_elf_is_executable(elf, 0x50001f));
    assert_false(bat_elf_is_executable(elf, 0x500020));
    assert_false(bat_elf_is_executable(elf, 0x400000));
}

/* Of a segment that claims bytes beyond the file's end, the bytes in the file can be read. */
TEST(test_segment_beyond_file)
{
    struct image image = sound_image();
    image.segments[1].p_filesz = UINT64_MAX - 0x500000;
    image.segments[1].p_memsz = UINT64_MAX - 0x500000;
    memcpy(image.bytes + sizeof(Elf64_Ehdr), image.segments, sizeof(image.segments));
    struct bat_elf *elf = open_good(&image);
    uint64_t available = 0;
    uint64_t offset = image.segments[1].p_offset;
    assert_non_null(bat_elf_at_address(elf, 0x500000 + image.size - offset - 1, &available));
    assert_int_equal(available, 1);
    assert_null(bat_elf_at_address(elf, 0x500000 + image.size - offset, &available));
}

TEST(test_not_elf)
{
    struct image image = {.bytes = NULL};
    assert_bad(&image, BAT_ERR_NOT_ELF, "is empty: not an ELF file");
    image_append(&image, "\177ELG and more", 13);
    assert_bad(&image, BAT_ERR_NOT_ELF, "not an ELF file: it does not start with \\177ELF");
    image.size = 0;
    image_append(&image, "\177ELF", 4);
    assert_bad(&image, BAT_ERR_ELF, "truncated: only 4 bytes of an ELF header");
    image_append(&image, "\2\1\1", 3);
    assert_bad(&image, BAT_ERR_ELF, "truncated: 7 bytes, less than the 64 of an ELF header");
}

TEST(test_unsupported)
{
    static const struct {
        size_t at;
        uint8_t value;
        enum bat_code code;
        const char *message;
    } cases[] = {
        {EI_CLASS, ELFCLASS32, BAT_ERR_UNSUPPORTED, "a 32-bit ELF file: BOLT writes 64-bit ones"},
        {EI_CLASS, 7, BAT_ERR_ELF, "ELF class 7 is neither 32-bit (1) nor 64-bit (2)"},
        {EI_DATA, ELFDATA2MSB, BAT_ERR_UNSUPPORTED,
         "a big-endian ELF file: BOLT writes little-endian ones"},
        {EI_DATA, 0, BAT_ERR_ELF,
         "ELF data encoding 0 is neither little-endian (1) nor big-endian (2)"},
        {offsetof(Elf64_Ehdr, e_machine), EM_S390, BAT_ERR_UNSUPPORTED,
         "an ELF file for machine 22: BOLT knows x86-64 (62), AArch64 (183) and RISC-V (243)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct image image = sound_image();
        image.bytes[cases[i].at] = cases[i].value;
        assert_bad(&image, cases[i].code, "%s", cases[i].message);
    }
}

TEST(test_tables_outside)
{
    struct image image = sound_image();
    image.size -= 1;
    assert_bad(&image, BAT_ERR_ELF,
               "truncated: 9 section headers do not fit in a file of %zu bytes", image.size);

    image = sound_image();
    header_of(&image)->e_shoff = UINT64_MAX - 63;
    assert_bad(&image, BAT_ERR_ELF,
               "truncated: 9 section headers do not fit in a file of %zu bytes", image.size);

    image = sound_image();
    header_of(&image)->e_shentsize = 40;
    assert_bad(&image, BAT_ERR_ELF, "section header size is 40, expected 64");

    image = sound_image();
    header_of(&image)->e_phoff = image.size - 100;
    assert_bad(&image, BAT_ERR_ELF,
               "truncated: 2 program headers do not fit in a file of %zu bytes", image.size);

    /* A number of sections that only section header 0 can hold. */
    image = sound_image();
    image.sections[0].sh_size = (uint64_t)1 << 60;
    finish_again(&image)->e_shnum = 0;
    assert_bad(&image, BAT_ERR_ELF,
               "truncated: 1152921504606846976 section headers do not fit in a file of %zu bytes",
               image.size);
}

TEST(test_sections_outside)
{
    ASSERT_DAMAGED(
        image.sections[TEXT].sh_size = UINT64_MAX - 100, BAT_ERR_ELF,
        "truncated: section 1 of 0xffffffffffffff9b bytes ends beyond the file's end at 0x%zx",
        image.size);
    ASSERT_DAMAGED(image.sections[TEXT].sh_offset = image.size - 15, BAT_ERR_ELF,
                   "truncated: section 1 of 0x10 bytes ends beyond the file's end at 0x%zx",
                   image.size);
}

TEST(test_section_names)
{
    ASSERT_DAMAGED(
        image.sections[TEXT].sh_name = (uint32_t)image.names_size, BAT_ERR_ELF,
        "section 1: name at 0x%zx does not end inside the section name table of 0x%zx bytes",
        image.names_size, image.names_size);
    /* The last name has no terminator: it would continue into the bytes after the table. */
    ASSERT_DAMAGED(image.sections[NAMES].sh_size -= 1, BAT_ERR_ELF,
                   "section 8: name at 0x%" PRIx32
                   " does not end inside the section name table of 0x%zx bytes",
                   image.sections[NAMES].sh_name, image.names_size - 1);
    ASSERT_DAMAGED(image.names_index = SECTIONS, BAT_ERR_ELF,
                   "section name table is section 9, but there are 9 sections");
    ASSERT_DAMAGED(image.names_index = TEXT, BAT_ERR_ELF,
                   "section name table, section 1, is not an uncompressed string table (type 1, "
                   "flags 0x0)");
}

TEST(test_no_sections)
{
    struct image image = sound_image();
    Elf64_Ehdr *header = header_of(&image);
    header->e_shoff = 0;
    header->e_shnum = 0;
    header->e_shstrndx = 0;
    struct bat_elf *elf = open_good(&image);
    size_t count = 1;
    bat_elf_sections(elf, &count);
    assert_int_equal(count, 0);
    symbols_of(elf, false, &count);
    assert_int_equal(count, 0);
    const uint8_t *note = NULL;
    struct bat_error error;
    assert_int_equal(bat_elf_note(elf, &note, &count, NULL, &error), BAT_ERR_NO_NOTE);
    assert_string_equal(error.message, "no section headers, so no .note.bolt_bat section can be "
                                       "found: they were stripped from this file");
    assert_int_equal(bat_elf_base_address(elf), 0x400000);
}

TEST(test_not_a_file)
{
    struct bat_elf *elf = NULL;
    struct bat_error error;
    char *folder = make_folder();
    char *fifo = path_in(folder, "fifo");
    char *nothing = path_in(folder, "nothing");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(bat_elf_open(fifo, &elf, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "is a pipe or a device, not a regular file");
    assert_int_equal(bat_elf_open(folder, &elf, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "is a directory, not a regular file");
    assert_int_equal(bat_elf_open(nothing, &elf, &error), BAT_ERR_IO);
    assert_string_equal(error.message, "cannot be opened: No such file or directory");
    assert_null(elf);
}

/* --- Notes ---------------------------------------------------------------------------------- */

TEST(test_build_id_and_info)
{
    struct image image = sound_image();
    struct bat_elf *elf = open_good(&image);
    size_t size = 0;
    assert_memory_equal(bat_elf_build_id(elf, &size), build_id, sizeof(build_id));
    assert_int_equal(size, sizeof(build_id));
    assert_string_equal(bat_elf_bolt_info(elf), bolt_info);

    image = image_new();
    image_end(&image);
    elf = open_good(&image);
    size = 1;
    assert_null(bat_elf_build_id(elf, &size));
    assert_int_equal(size, 0);
    assert_null(bat_elf_bolt_info(elf));
}

/* Without section headers the build-id is still in a segment. */
TEST(test_build_id_by_segment)
{
    struct image image = sound_image();
    const Elf64_Shdr *section = &image.sections[BUILD_ID];
    image_segment(&image, PT_NOTE, PF_R, section->sh_offset, section->sh_size)->p_align = 4;
    image.section_count = 0;
    image.names_index = 0;
    image_finish(&image, 0);
    struct bat_elf *elf = open_good(&image);
    size_t size = 0;
    assert_memory_equal(bat_elf_build_id(elf, &size), build_id, sizeof(build_id));
    assert_int_equal(size, sizeof(build_id));
}

TEST(test_note_by_name)
{
    struct image image = sound_image();
    struct bat_elf *elf = open_good(&image);
    const uint8_t *note = NULL;
    size_t size = 0;
    const struct bat_section *section = NULL;
    assert_ok(bat_elf_note(elf, &note, &size, &section, NULL));
    assert_int_equal(section->index, NOTE);
    assert_int_equal(size, image.sections[NOTE].sh_size);
    assert_memory_equal(note, image.bytes + image.sections[NOTE].sh_offset, size);
}

/* An image with two notes of owner BOLT in ".notes", of which the second is the BAT note. */
static struct image image_with_two_notes(size_t *offset, size_t *size)
{
    struct image image = image_new();
    size_t first_size = 0;
    uint8_t *first = make_note("BOLT", 2, "other", 5, &first_size);
    uint8_t *second = make_note("BOLT", 1, bat_description, sizeof(bat_description), size);
    uint64_t start = image_append(&image, first, first_size);
    *offset = image_append(&image, second, *size);
    image_header(&image, ".notes", SHT_NOTE, start, image.size - start);
    image_end(&image);
    return image;
}

TEST(test_note_by_owner_and_type)
{
    size_t offset = 0;
    size_t expected_size = 0;
    struct image image = image_with_two_notes(&offset, &expected_size);
    struct bat_elf *elf = open_good(&image);
    const uint8_t *note = NULL;
    size_t size = 0;
    assert_ok(bat_elf_note(elf, &note, &size, NULL, NULL));
    assert_int_equal(size, expected_size);
    assert_memory_equal(note, image.bytes + offset, size);
}

static void assert_no_note(struct image *image, enum bat_code code, const char *message)
{
    struct bat_elf *elf = open_good(image);
    const uint8_t *note = (const uint8_t *)"";
    size_t size = 1;
    struct bat_error error;
    assert_int_equal(bat_elf_note(elf, &note, &size, NULL, &error), code);
    assert_null(note);
    assert_int_equal(size, 0);
    assert_string_equal(error.message, message);
}

TEST(test_note_that_cannot_be_read)
{
    struct image image = sound_image();
    image.sections[NOTE].sh_flags = SHF_COMPRESSED;
    finish_again(&image);
    assert_no_note(&image, BAT_ERR_UNSUPPORTED,
                   "section .note.bolt_bat is compressed: BOLT reads and writes it uncompressed "
                   "only");

    image = sound_image();
    image.sections[NOTE].sh_type = SHT_NOBITS;
    finish_again(&image);
    assert_no_note(&image, BAT_ERR_ELF,
                   "section .note.bolt_bat has no bytes in this file (type 8): the note is in "
                   "another file, perhaps split off by objcopy");
}

TEST(test_no_note)
{
    struct image image = image_new();
    note_section(&image, ".note.bolt_info", "GNU", 4, bolt_info, strlen(bolt_info));
    image_end(&image);
    assert_no_note(
        &image, BAT_ERR_NO_NOTE,
        "no .note.bolt_bat section, but BOLT has written this file: it was made without "
        "--enable-bat, or the note was taken out (--store=DIR has it, if it was put there)");

    image = image_new();
    /* The right type of another owner, the right owner with another type. */
    note_section(&image, ".note.a", "BOLTX", 1, "x", 1);
    note_section(&image, ".note.b", "BOLT", 3, "x", 1);
    /* An owner with more bytes after its terminator, and one without terminator. */
    image_section(&image, ".note.c", SHT_NOTE, "\6\0\0\0\0\0\0\0\1\0\0\0BOLT\0x\0\0", 20);
    image_section(&image, ".note.d", SHT_NOTE, "\4\0\0\0\0\0\0\0\1\0\0\0BOLT", 16);
    image_end(&image);
    assert_no_note(&image, BAT_ERR_NO_NOTE,
                   "no BOLT note, neither .note.bolt_bat nor .note.bolt_info: not a BOLTed binary "
                   "(llvm-bolt --enable-bat writes the note)");
}

/* --- Symbols -------------------------------------------------------------------------------- */

static void assert_symbol(const struct bat_symbol *found, const char *name, const char *file,
                          uint64_t address, uint32_t section, uint32_t order)
{
    assert_string_equal(found->name, name);
    if (file)
        assert_string_equal(found->file, file);
    else
        assert_null(found->file);
    assert_int_equal(found->address, address);
    assert_int_equal(found->section, section);
    assert_int_equal(found->order, order);
}

TEST(test_symbols)
{
    struct bat_elf *elf = open_sound();
    size_t count = 0;
    const struct bat_symbol *symbols = symbols_of(elf, false, &count);
    assert_int_equal(count, 4);
    assert_symbol(&symbols[0], "f", "a.c", 0x400100, TEXT, 2);
    assert_symbol(&symbols[1], "g", "b.c", 0x400104, BAT_SECTION_ABSOLUTE, 5);
    assert_symbol(&symbols[2], "h", NULL, 0x400108, TEXT, 7);
    assert_symbol(&symbols[3], "main", NULL, 0, BAT_SECTION_UNDEFINED, 9);
    assert_int_equal(symbols[1].type, STT_OBJECT);
    assert_int_equal(symbols[3].binding, STB_GLOBAL);
    assert_int_equal(symbols[3].size, 4);

    const struct bat_symbol *again = symbols_of(elf, false, &count);
    assert_ptr_equal(again, symbols);
    assert_ok(bat_elf_symbols(elf, true, &again, &count, NULL));
    assert_int_equal(count, 0);
}

/* A symbol of .dynsym whose section index is in an SHT_SYMTAB_SHNDX section. */
static struct image image_with_index_table(uint32_t index, bool with_table)
{
    struct image image = image_new();
    const Elf64_Sym symbols[] = {symbol(0, 0, 0, 0, 0),
                                 symbol(1, STB_GLOBAL, STT_FUNC, SHN_XINDEX, 0x1000)};
    const uint32_t indices[] = {0, index};
    image_section(&image, ".dynsym", SHT_DYNSYM, symbols, sizeof(symbols));
    image.sections[1].sh_entsize = sizeof(Elf64_Sym);
    image.sections[1].sh_link = 2;
    image_section(&image, ".dynstr", SHT_STRTAB, "\0f", 3);
    /* A table that belongs to another symbol table, and would give a wrong index. */
    image_align(&image, 4);
    image_section(&image, ".other", SHT_SYMTAB_SHNDX, "\1\0\0\0\1\0\0", 8)->sh_link = 2;
    if (with_table) {
        image_align(&image, 4);
        image_section(&image, ".shndx", SHT_SYMTAB_SHNDX, indices, sizeof(indices))->sh_link = 1;
    }
    image_end(&image);
    return image;
}

static void assert_bad_symbols(struct image *image, bool dynamic, const char *message)
{
    struct bat_elf *elf = open_good(image);
    const struct bat_symbol *symbols = (const struct bat_symbol *)(uintptr_t)8;
    size_t count = 1;
    struct bat_error error;
    assert_int_equal(bat_elf_symbols(elf, dynamic, &symbols, &count, &error), BAT_ERR_ELF);
    assert_null(symbols);
    assert_int_equal(count, 0);
    assert_string_equal(error.message, message);
}

TEST(test_symbols_with_index_table)
{
    struct image image = image_with_index_table(2, true);
    struct bat_elf *elf = open_good(&image);
    size_t count = 0;
    const struct bat_symbol *symbols = symbols_of(elf, true, &count);
    assert_int_equal(count, 1);
    assert_symbol(&symbols[0], "f", NULL, 0x1000, 2, 1);

    image = image_with_index_table(6, true);
    assert_bad_symbols(&image, true,
                       "dynamic symbol table: symbol 1 is in section 6, but there are 6 sections");
    image = image_with_index_table(0, false);
    assert_bad_symbols(&image, true,
                       "dynamic symbol table: symbol 1 has its section index in a missing table");
    image = image_with_index_table(2, true);
    image.sections[4].sh_size = 4;
    image_finish_at_end(&image);
    assert_bad_symbols(&image, true,
                       "dynamic symbol table of 2 symbols has section indices in 4 bytes");
}

/* A symbol table without named symbols needs no strings. */
TEST(test_symbols_without_names)
{
    struct image image = image_new();
    const Elf64_Sym symbols[] = {symbol(0, 0, 0, 0, 0), symbol(0, STB_LOCAL, STT_FUNC, 1, 4)};
    image_section(&image, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
    image.sections[1].sh_entsize = sizeof(Elf64_Sym);
    image.sections[1].sh_link = 2;
    image_section(&image, ".strtab", SHT_STRTAB, NULL, 0);
    image_end(&image);
    struct bat_elf *elf = open_good(&image);
    size_t count = 0;
    symbols_of(elf, false, &count);
    assert_int_equal(count, 0);
}

/* The sound image, changed by a statement, has symbols that are refused. */
#define ASSERT_DAMAGED_SYMBOLS(change, message)                                                    \
    do {                                                                                           \
        struct image image = sound_image();                                                        \
        Elf64_Sym *symbols = (void *)(image.bytes + image.sections[SYMTAB].sh_offset);             \
        (void)symbols;                                                                             \
        change;                                                                                    \
        finish_again(&image);                                                                      \
        assert_bad_symbols(&image, false, message);                                                \
    } while (0)

TEST(test_damaged_symbols)
{
    ASSERT_DAMAGED_SYMBOLS(symbols[2].st_name = sizeof(strings),
                           "symbol table: name of symbol 2, at 0x14, does not end inside the "
                           "string table");
    ASSERT_DAMAGED_SYMBOLS(symbols[7].st_shndx = SECTIONS,
                           "symbol table: symbol 7 is in section 9, but there are 9 sections");
    ASSERT_DAMAGED_SYMBOLS(image.sections[SYMTAB].sh_size -= 1,
                           "symbol table of 239 bytes with entries of 24: expected entries of 24 "
                           "bytes, and a multiple of that");
    ASSERT_DAMAGED_SYMBOLS(image.sections[STRTAB].sh_size -= 1,
                           "symbol table has its names in section 7, which does not end in a zero "
                           "byte");
    ASSERT_DAMAGED_SYMBOLS(image.sections[SYMTAB].sh_link = TEXT,
                           "symbol table has its names in section 1, which is not a string table");
    ASSERT_DAMAGED_SYMBOLS(image.sections[SYMTAB].sh_link = SECTIONS,
                           "symbol table has its names in section 9, which is not a string table");
}

/* --- Any bytes -------------------------------------------------------------------------------- */

/* Call every getter: nothing may be read outside of the file. Returns a checksum. */
static unsigned ask_everything(struct bat_elf *elf)
{
    unsigned sum = 0;
    size_t count = 0;
    uint64_t size = 0;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = bat_elf_section_bytes(elf, &sections[i], &size);
        sum += (unsigned)strlen(sections[i].name);
        sum += size > 0 ? bytes[0] + bytes[size - 1] : 0;
    }
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        const struct bat_symbol *symbols = NULL;
        bat_elf_symbols(elf, dynamic != 0, &symbols, &count, NULL);
        for (size_t i = 0; i < count; i++)
            sum += (unsigned)strlen(symbols[i].name) +
                   (symbols[i].file ? (unsigned)strlen(symbols[i].file) : 0);
    }
    const uint8_t *bytes = bat_elf_build_id(elf, &count);
    sum += count > 0 ? bytes[count - 1] : 0;
    if (bat_elf_note(elf, &bytes, &count, NULL, NULL) == BAT_OK)
        sum += count > 0 ? bytes[count - 1] : 0;
    bytes = bat_elf_at_address(elf, bat_elf_base_address(elf), &size);
    sum += size > 0 ? bytes[size - 1] : 0;
    return sum + (bat_elf_bolt_info(elf) ? 1 : 0);
}

/* Open any bytes: either an error with a message, or a file whose getters work. True if opened. */
static bool open_any(const char *path, const uint8_t *bytes, size_t size)
{
    struct bat_elf *elf = NULL;
    struct bat_error error = {.message = ""};
    save(path, bytes, size);
    enum bat_code code = bat_elf_open(path, &elf, &error);
    if (code == BAT_OK) {
        ask_everything(elf);
        bat_elf_close(elf);
        return true;
    }
    assert_null(elf);
    assert_int_equal(error.code, code);
    assert_true(strlen(error.message) > 0);
    return false;
}

TEST(test_every_prefix)
{
    struct image image = sound_image();
    char *folder = make_folder();
    char *path = path_in(folder, "prefix");
    for (size_t size = 0; size < image.size; size++)
        assert_false(open_any(path, image.bytes, size));
    assert_true(open_any(path, image.bytes, image.size));
}

TEST(test_every_byte_changed)
{
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    struct image image = sound_image();
    char *folder = make_folder();
    char *path = path_in(folder, "changed");
    unsigned opened = 0;
    for (size_t i = 0; i < image.size; i++) {
        for (size_t c = 0; c < sizeof(changes); c++) {
            image.bytes[i] ^= changes[c];
            opened += open_any(path, image.bytes, image.size);
            image.bytes[i] ^= changes[c];
        }
    }
    /* Some changes must be refused, others must not matter. */
    assert_in_range(opened, 1, image.size * sizeof(changes) - 1);
}
