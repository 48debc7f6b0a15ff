/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * elfnote/: adding, replacing and removing the note. assert_only_note_changed() checks what must
 * stay the same in any file, on files made for single cases and on random ones.
 */
#include <signal.h>
#include <sys/resource.h>

#include "elf_image.h"
#include "elfnote/elf_file.h"
#include "folder.h"
#include "kept.h"
#include "unit_test.h"

#define NOTE_NAME ".note.bolt_bat"

static const uint8_t note_a[] = "first note, of twenty-six";
static const uint8_t note_b[] = "second note, which is a good deal longer than the first one is";
static const uint8_t note_c[] = "third";

/* --- A file taken apart ------------------------------------------------------------------- */

/* An ELF file, parsed from its bytes; numbers that do not fit in the ELF header are resolved. */
struct parsed {
    struct loaded file;
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* a copy: the table may have any alignment */
    size_t section_count;
    size_t names_index;
};

static struct parsed parse(const char *path)
{
    struct parsed parsed = {.file = load(path)};
    memcpy(&parsed.header, parsed.file.bytes, sizeof(parsed.header));
    Elf64_Shdr first;
    memcpy(&first, parsed.file.bytes + parsed.header.e_shoff, sizeof(first));
    parsed.section_count = parsed.header.e_shnum ? parsed.header.e_shnum : first.sh_size;
    parsed.names_index =
        parsed.header.e_shstrndx == SHN_XINDEX ? first.sh_link : parsed.header.e_shstrndx;
    size_t size = parsed.section_count * sizeof(Elf64_Shdr);
    assert_true(parsed.header.e_shoff + size <= parsed.file.size);
    parsed.sections = kept_memory(NULL, size);
    memcpy(parsed.sections, parsed.file.bytes + parsed.header.e_shoff, size);
    return parsed;
}

static const char *name_of(const struct parsed *parsed, size_t index)
{
    const Elf64_Shdr *names = &parsed->sections[parsed->names_index];
    assert_true(parsed->sections[index].sh_name < names->sh_size);
    const uint8_t *name = parsed->file.bytes + names->sh_offset + parsed->sections[index].sh_name;
    assert_non_null(memchr(name, '\0', names->sh_size - parsed->sections[index].sh_name));
    return (const char *)name;
}

/* The section called .note.bolt_bat; 0 if there is none. */
static size_t find_note(const struct parsed *parsed)
{
    size_t found = 0;
    for (size_t i = 1; i < parsed->section_count; i++) {
        if (strcmp(name_of(parsed, i), NOTE_NAME) != 0)
            continue;
        assert_int_equal(found, 0);
        found = i;
    }
    return found;
}

static bool has_bytes(const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS && section->sh_size > 0;
}

/* --- What may not change -------------------------------------------------------------------- */

/* Every byte that a program header maps is the same, except three fields of the ELF header. */
static void assert_segments_same(const struct parsed *before, const struct parsed *after)
{
    assert_int_equal(before->header.e_phoff, after->header.e_phoff);
    assert_int_equal(before->header.e_phnum, after->header.e_phnum);
    const Elf64_Phdr *segments = (const void *)(before->file.bytes + before->header.e_phoff);
    for (size_t i = 0; i < before->header.e_phnum; i++) {
        for (uint64_t at = segments[i].p_offset; at < segments[i].p_offset + segments[i].p_filesz;
             at++) {
            if (at >= sizeof(Elf64_Ehdr) && before->file.bytes[at] != after->file.bytes[at])
                fail_msg("segment %zu changed at offset 0x%lx", i, (unsigned long)at);
        }
    }
    Elf64_Ehdr expected = before->header;
    expected.e_shoff = after->header.e_shoff;
    expected.e_shnum = after->header.e_shnum;
    expected.e_shstrndx = after->header.e_shstrndx;
    assert_memory_equal(&expected, &after->header, sizeof(expected));
}

/* A section that is neither note nor section names has the same header, name and content. */
static void assert_section_same(const struct parsed *before, const struct parsed *after,
                                size_t index)
{
    const Elf64_Shdr *section = &before->sections[index];
    assert_memory_equal(section, &after->sections[index], sizeof(*section));
    assert_string_equal(name_of(before, index), name_of(after, index));
    if (has_bytes(section))
        assert_memory_equal(before->file.bytes + section->sh_offset,
                            after->file.bytes + section->sh_offset, section->sh_size);
}

/* Nothing overlaps the new pieces. */
static void assert_apart(const struct parsed *parsed, uint64_t start, uint64_t size, size_t except)
{
    assert_true(start >= sizeof(Elf64_Ehdr) && start + size <= parsed->file.size);
    for (size_t i = 1; i < parsed->section_count; i++) {
        const Elf64_Shdr *section = &parsed->sections[i];
        if (i != except && has_bytes(section))
            assert_true(section->sh_offset + section->sh_size <= start ||
                        start + size <= section->sh_offset);
    }
}

/*
 * Compare a file before and after a change. expected is the note that it must have now, NULL for
 * none. Sections keep their indices, unless the removed note was the last one.
 */
static void assert_only_note_changed(const char *before_path, const char *after_path,
                                     const void *expected, size_t expected_size)
{
    struct parsed before = parse(before_path);
    struct parsed after = parse(after_path);
    size_t old_note = find_note(&before);
    size_t new_note = find_note(&after);
    assert_segments_same(&before, &after);
    for (size_t i = 1; i < before.section_count; i++) {
        if (i == old_note || i == before.names_index)
            continue;
        assert_true(i < after.section_count);
        assert_section_same(&before, &after, i);
    }
    assert_apart(&after, after.header.e_shoff, after.section_count * sizeof(Elf64_Shdr), 0);
    assert_apart(&after, after.sections[after.names_index].sh_offset,
                 after.sections[after.names_index].sh_size, after.names_index);

    if (expected) {
        assert_true(new_note != 0);
        const Elf64_Shdr *note = &after.sections[new_note];
        const Elf64_Shdr header = {.sh_name = note->sh_name,
                                   .sh_type = SHT_NOTE,
                                   .sh_offset = note->sh_offset,
                                   .sh_size = expected_size,
                                   .sh_addralign = 1};
        assert_memory_equal(note, &header, sizeof(header));
        assert_memory_equal(after.file.bytes + note->sh_offset, expected, expected_size);
        assert_apart(&after, note->sh_offset, note->sh_size, new_note);
    } else {
        assert_int_equal(new_note, 0);
    }
}

static void assert_same_files(const char *path, const char *other)
{
    struct loaded a = load(path);
    struct loaded b = load(other);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
}

/* --- A file and its changes ------------------------------------------------------------------- */

/* A folder with the file to be changed and the result of the last change. */
struct place {
    char *folder;
    char *before;
    char *after;
};

static struct place place_of(struct image *image)
{
    struct place place = {.folder = make_folder()};
    place.before = path_in(place.folder, "before");
    place.after = path_in(place.folder, "after");
    save(place.before, image->bytes, image->size);
    return place;
}

static void write_note(const struct place *place, const void *note, size_t size)
{
    struct bat_error error = {.message = ""};
    enum bat_code code = note ? bat_elf_write_note(place->before, place->after, note, size, &error)
                              : bat_elf_remove_note(place->before, place->after, &error);
    if (code != BAT_OK)
        fail_msg("%s", error.message);
    assert_only_note_changed(place->before, place->after, note, size);
}

/* Go on from the result of the last change. */
static void go_on(const struct place *place)
{
    assert_int_equal(rename(place->after, place->before), 0);
}

static void assert_refused(struct place *place, const void *note, enum bat_code code,
                           const char *message)
{
    struct bat_error error = {.message = ""};
    enum bat_code found = note ? bat_elf_write_note(place->before, place->after, note, 4, &error)
                               : bat_elf_remove_note(place->before, place->after, &error);
    assert_int_equal(found, code);
    assert_string_equal(error.message, message);
    assert_int_equal(access(place->after, F_OK), -1);
}

static size_t count_sections(const char *path)
{
    return parse(path).section_count;
}

static Elf64_Shdr section_of(const char *path, size_t index)
{
    struct parsed parsed = parse(path);
    assert_true(index < parsed.section_count);
    return parsed.sections[index];
}

/* --- Layouts -------------------------------------------------------------------------------- */

/* As linkers write: section names, then the table. Everything is where it is expected. */
TEST(test_add_to_linker_output)
{
    struct image image = image_new();
    image_section(&image, ".text", SHT_PROGBITS, "text", 4);
    image_append_names(&image);
    uint64_t names = image.sections[2].sh_offset;
    uint64_t names_size = image.names_size;
    image_finish_at_end(&image);
    struct place place = place_of(&image);
    write_note(&place, note_a, sizeof(note_a));

    struct parsed after = parse(place.after);
    assert_int_equal(after.section_count, 4);
    assert_int_equal(after.names_index, 2);
    assert_int_equal(after.sections[2].sh_offset, names);
    assert_int_equal(after.sections[2].sh_size, names_size + sizeof(NOTE_NAME));
    assert_int_equal(after.sections[3].sh_offset, names + names_size + sizeof(NOTE_NAME));
    uint64_t end = after.sections[3].sh_offset + sizeof(note_a);
    assert_int_equal(after.header.e_shoff, (end + 7) / 8 * 8);
    assert_int_equal(after.file.size, after.header.e_shoff + 4 * sizeof(Elf64_Shdr));
}

/* As BOLT writes: section names, its two notes, the table, aligned to 16 or, by BOLT 16, to 64. */
static struct image bolt_image(const void *note, size_t size, size_t alignment)
{
    struct image image = image_new();
    image_section(&image, ".text", SHT_PROGBITS, "text!", 5);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, image.size);
    image_name(&image, NOTE_NAME);
    image_name(&image, ".note.bolt_info");
    image_append_names(&image);
    image_section(&image, ".note.bolt_info", SHT_NOTE, "information", 11);
    image_section(&image, NOTE_NAME, SHT_NOTE, note, size);
    image_align(&image, alignment);
    uint64_t table = image_append(&image, NULL, image.section_count * sizeof(Elf64_Shdr));
    image_finish(&image, table);
    return image;
}

TEST(test_remove_and_put_back)
{
    static const size_t alignments[] = {16, 64};
    for (size_t a = 0; a < 2; a++) {
        /* All sizes modulo the alignment, so that the padding has all sizes too. The larger ones
         * leave no doubt which of the two alignments it is. */
        for (size_t size = 1; size <= 64; size++) {
            uint8_t note[64];
            memset(note, (int)size, size);
            struct image image = bolt_image(note, size, alignments[a]);
            size_t with_16 = (image.sections[4].sh_offset + size + 15) / 16 * 16;
            size_t with_64 = (image.sections[4].sh_offset + size + 63) / 64 * 64;
            size_t without_16 = (image.sections[4].sh_offset + 15) / 16 * 16;
            size_t without_64 = (image.sections[4].sh_offset + 63) / 64 * 64;
            if (alignments[a] == 64 && (with_16 == with_64 || without_16 == without_64)) {
                continue;
            }
            struct place place = place_of(&image);
            char *original = path_in(place.folder, "original");
            assert_int_equal(link(place.before, original), 0);
            write_note(&place, NULL, 0);
            assert_int_equal(count_sections(place.after), 4);
            go_on(&place);
            write_note(&place, note, size);
            assert_same_files(place.after, original);
            go_on(&place);
            write_note(&place, note_b, sizeof(note_b));
            go_on(&place);
            write_note(&place, note, size);
            assert_same_files(place.after, original);
        }
    }
}

/* Bytes at the end that no header describes: an archive, a signature. */
TEST(test_overlay)
{
    struct image image = bolt_image(note_a, sizeof(note_a), 8);
    uint64_t overlay = image_append(&image, "overlay", 7);
    uint64_t old_note = image.sections[4].sh_offset;
    struct place place = place_of(&image);
    /* A longer note goes after the overlay, and zeros replace the old one. */
    write_note(&place, note_b, sizeof(note_b));
    struct parsed after = parse(place.after);
    assert_memory_equal(after.file.bytes + overlay, "overlay", 7);
    assert_int_equal(after.sections[4].sh_offset, overlay + 7);
    for (size_t i = 0; i < sizeof(note_a); i++)
        assert_int_equal(after.file.bytes[old_note + i], 0);

    /* A shorter note takes the old one's place, and the table stays. */
    write_note(&place, note_c, sizeof(note_c));
    after = parse(place.after);
    assert_int_equal(after.file.size, overlay + 7);
    assert_memory_equal(after.file.bytes + overlay, "overlay", 7);
    assert_int_equal(after.sections[4].sh_offset, old_note);
    for (size_t i = sizeof(note_c); i < sizeof(note_a); i++)
        assert_int_equal(after.file.bytes[old_note + i], 0);

    write_note(&place, NULL, 0);
    after = parse(place.after);
    assert_int_equal(after.file.size, overlay + 7);
    assert_memory_equal(after.file.bytes + overlay, "overlay", 7);
    for (size_t i = 0; i < sizeof(note_a); i++)
        assert_int_equal(after.file.bytes[old_note + i], 0);
}

/* An overlay that is a large hole stays a hole. */
TEST(test_hole)
{
    const uint64_t hole = 64 << 20;
    struct image image = bolt_image(note_a, sizeof(note_a), 8);
    uint64_t size = image.size;
    struct place place = place_of(&image);
    assert_int_equal(truncate(place.before, (off_t)(size + hole)), 0);
    write_note(&place, note_c, sizeof(note_c));
    struct stat status;
    assert_int_equal(stat(place.after, &status), 0);
    assert_int_equal(status.st_size, size + hole);
    assert_in_range(status.st_blocks * 512, 0, hole / 8);
    write_note(&place, note_b, sizeof(note_b));
    assert_true(section_of(place.after, 4).sh_offset == size + hole);
}

/* Bytes before the table are kept unless they look like padding. */
TEST(test_bytes_before_table_stay)
{
    static const char *const unknown[] = {"\1", "\0\0\0\1", "unknown bytes"};
    for (size_t u = 0; u < 3; u++) {
        struct image image = image_new();
        image_append_names(&image);
        image_align(&image, 8);
        uint64_t start = image_append(&image, unknown[u], u == 1 ? 4 : strlen(unknown[u]));
        uint64_t size = image.size - start;
        image_finish_at_end(&image);
        struct place place = place_of(&image);
        write_note(&place, note_a, sizeof(note_a));
        struct parsed after = parse(place.after);
        assert_memory_equal(after.file.bytes + start, unknown[u], size);
        assert_true(after.sections[2].sh_offset >= start + size);
    }
}

/* The note is not the last section: the sections after it keep their indices. */
TEST(test_remove_from_the_middle)
{
    struct image image = image_new();
    image_section(&image, NOTE_NAME, SHT_NOTE, note_a, sizeof(note_a));
    image_section(&image, ".comment", SHT_PROGBITS, "comment", 7);
    image_end(&image);
    struct place place = place_of(&image);
    write_note(&place, NULL, 0);
    struct parsed after = parse(place.after);
    assert_int_equal(after.section_count, 4);
    const Elf64_Shdr nothing = {.sh_type = SHT_NULL};
    assert_memory_equal(&after.sections[1], &nothing, sizeof(nothing));

    go_on(&place);
    write_note(&place, note_a, sizeof(note_a));
    assert_int_equal(section_of(place.after, 4).sh_size, sizeof(note_a));
}

/* A last section whose index is in use elsewhere keeps its header too. */
TEST(test_remove_what_is_referenced)
{
    for (int by_symbol = 0; by_symbol < 2; by_symbol++) {
        struct image image = image_new();
        const Elf64_Sym symbols[] = {
            {0}, {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = by_symbol ? 5 : 1}};
        image_section(&image, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
        image.sections[1].sh_entsize = sizeof(Elf64_Sym);
        image.sections[1].sh_link = 2;
        image_section(&image, ".strtab", SHT_STRTAB, "", 1);
        image_section(&image, ".linked", SHT_PROGBITS, "", 1)->sh_link = by_symbol ? 0 : 5;
        image_name(&image, NOTE_NAME);
        image_append_names(&image);
        image_section(&image, NOTE_NAME, SHT_NOTE, note_a, sizeof(note_a));
        image_finish_at_end(&image);
        struct place place = place_of(&image);
        write_note(&place, NULL, 0);
        assert_int_equal(section_of(place.after, 5).sh_type, SHT_NULL);
    }
}

/* The table before everything else, in the middle, and in a segment. */
TEST(test_table_anywhere)
{
    for (int mapped = 0; mapped < 2; mapped++) {
        struct image image = image_new();
        uint64_t table = image_append(&image, NULL, 5 * sizeof(Elf64_Shdr));
        image_section(&image, ".text", SHT_PROGBITS, "text", 4);
        if (mapped)
            image_segment(&image, PT_LOAD, PF_R, 0, image.size);
        image_name(&image, ".last");
        image_name(&image, NOTE_NAME);
        image_append_names(&image);
        image_section(&image, ".last", SHT_PROGBITS, "last", 4);
        image_section(&image, NOTE_NAME, SHT_NOTE, note_a, sizeof(note_a));
        image_finish(&image, table);
        struct place place = place_of(&image);
        /* As many sections as before: the table can stay, but not if it is mapped. */
        write_note(&place, note_b, sizeof(note_b));
        struct parsed after = parse(place.after);
        if (mapped)
            assert_true(after.header.e_shoff > after.sections[4].sh_offset);
        else
            assert_int_equal(after.header.e_shoff, table);
        write_note(&place, NULL, 0);
        go_on(&place);
        write_note(&place, note_a, sizeof(note_a));
        after = parse(place.after);
        assert_true(after.header.e_shoff > after.sections[4].sh_offset);
    }
}

/* Section names that a segment maps, or that are symbol names too, get a longer copy. */
TEST(test_names_that_cannot_grow)
{
    for (int mapped = 0; mapped < 2; mapped++) {
        struct image image = image_new();
        image_append_names(&image);
        if (mapped)
            image_segment(&image, PT_LOAD, PF_R, image.sections[1].sh_offset + 3, 2);
        image_section(&image, ".x", SHT_PROGBITS, "x", 1);
        image.sections[2].sh_name = 1;
        if (!mapped) {
            image_section(&image, ".y", SHT_SYMTAB, NULL, 0)->sh_link = 1;
            image.sections[3].sh_name = 1;
        }
        image_finish_at_end(&image);
        struct place place = place_of(&image);
        struct parsed before = parse(place.before);
        write_note(&place, note_a, sizeof(note_a));
        struct parsed after = parse(place.after);
        assert_int_equal(after.section_count, before.section_count + 2);
        assert_int_equal(after.names_index, before.section_count);
        assert_memory_equal(&after.sections[1], &before.sections[1], sizeof(Elf64_Shdr));
        assert_int_equal(after.sections[after.names_index].sh_type, SHT_STRTAB);
        assert_int_equal(after.sections[after.names_index].sh_size,
                         before.sections[1].sh_size + sizeof(NOTE_NAME));

        /* A second note needs no second copy. */
        go_on(&place);
        write_note(&place, NULL, 0);
        go_on(&place);
        write_note(&place, note_b, sizeof(note_b));
        assert_int_equal(section_of(place.after, mapped ? 4 : 5).sh_size, sizeof(note_b));
    }
}

/* Section names that a segment maps stay as they are if they include the note's name. */
TEST(test_mapped_names_with_the_name)
{
    struct image image = image_new();
    image_name(&image, NOTE_NAME);
    image_append_names(&image);
    image_segment(&image, PT_LOAD, PF_R, image.sections[1].sh_offset, 4);
    image_finish_at_end(&image);
    struct place place = place_of(&image);
    Elf64_Shdr names = section_of(place.before, 1);
    write_note(&place, note_a, sizeof(note_a));
    Elf64_Shdr after = section_of(place.after, 1);
    assert_memory_equal(&after, &names, sizeof(names));
    assert_int_equal(count_sections(place.after), 3);
}

/* Section names whose last terminator is missing: it is added before the new name. */
TEST(test_names_without_terminator)
{
    struct image image = image_new();
    image_append_names(&image);
    image_append(&image, "!", 1);
    image.sections[1].sh_size += 1;
    image_finish_at_end(&image);
    struct place place = place_of(&image);
    write_note(&place, note_a, sizeof(note_a));
}

/* A note that was found by its owner gets the name by which BOLT finds it. */
TEST(test_note_gets_its_name)
{
    static const uint8_t note[] = "\5\0\0\0\4\0\0\0\1\0\0\0BOLT\0\0\0\0desc";
    struct image image = image_new();
    image_section(&image, ".odd", SHT_NOTE, note, sizeof(note) - 1);
    image_end(&image);
    struct place place = place_of(&image);
    struct bat_error error;
    assert_ok(bat_elf_write_note(place.before, place.after, note_b, sizeof(note_b), &error));
    struct parsed after = parse(place.after);
    assert_int_equal(after.section_count, 3);
    assert_int_equal(find_note(&after), 1);
}

/* A note that a segment maps keeps its bytes; the new one is written elsewhere. */
TEST(test_mapped_note)
{
    struct image image = image_new();
    image_section(&image, NOTE_NAME, SHT_NOTE, note_a, sizeof(note_a))->sh_flags = SHF_ALLOC;
    image_segment(&image, PT_NOTE, PF_R, image.sections[1].sh_offset, sizeof(note_a));
    image_end(&image);
    struct place place = place_of(&image);
    write_note(&place, note_c, sizeof(note_c));
    write_note(&place, NULL, 0);
}

/* --- Many sections -------------------------------------------------------------------------- */

/* count sections, the names in the last or the second one. */
static struct image image_with_sections(size_t count, bool names_last)
{
    struct image image = image_new();
    image_name(&image, ".s");
    if (!names_last)
        image_append_names(&image);
    while (image.section_count < count - names_last)
        image_header(&image, ".s", SHT_PROGBITS, sizeof(Elf64_Ehdr), 1)->sh_info =
            (uint32_t)image.section_count;
    if (names_last)
        image_append_names(&image);
    image_finish_at_end(&image);
    return image;
}

TEST(test_extended_section_count)
{
    struct image image = image_with_sections(SHN_LORESERVE - 1, false);
    struct place place = place_of(&image);
    write_note(&place, note_a, sizeof(note_a));
    struct parsed after = parse(place.after);
    assert_int_equal(after.header.e_shnum, 0);
    assert_int_equal(after.sections[0].sh_size, SHN_LORESERVE);
    assert_int_equal(after.header.e_shstrndx, 1);

    struct bat_elf *elf = open_elf(place.after);
    const struct bat_section *section = bat_elf_section(elf, NOTE_NAME);
    assert_int_equal(section->index, SHN_LORESERVE - 1);

    /* And back: with one section less the number fits in the ELF header again. */
    go_on(&place);
    write_note(&place, NULL, 0);
    after = parse(place.after);
    assert_int_equal(after.header.e_shnum, SHN_LORESERVE - 1);
    assert_int_equal(after.sections[0].sh_size, 0);
}

TEST(test_extended_names_index)
{
    struct image image = image_with_sections(SHN_LORESERVE + 1, true);
    struct place place = place_of(&image);
    write_note(&place, note_a, sizeof(note_a));
    struct parsed after = parse(place.after);
    assert_int_equal(after.header.e_shstrndx, SHN_XINDEX);
    assert_int_equal(after.sections[0].sh_link, SHN_LORESERVE);
    assert_int_equal(after.section_count, SHN_LORESERVE + 2);

    /* The section for a copy of the names may be the first beyond the limit. */
    image = image_with_sections(SHN_LORESERVE, false);
    image.sections[1].sh_flags = SHF_ALLOC;
    image_finish(&image, image.size - SHN_LORESERVE * sizeof(Elf64_Shdr));
    place = place_of(&image);
    write_note(&place, note_a, sizeof(note_a));
    after = parse(place.after);
    assert_int_equal(after.header.e_shstrndx, SHN_XINDEX);
    assert_int_equal(after.names_index, SHN_LORESERVE);
}

/* A program header table without entries may be anywhere, even beyond the file's end. */
TEST(test_no_program_headers_behind_the_end)
{
    struct image image = image_new();
    image_append_names(&image);
    image_name(&image, NOTE_NAME);
    Elf64_Ehdr *header = image_finish_at_end(&image);
    header->e_phoff = image.size + 40;
    struct place place = place_of(&image);
    write_note(&place, note_a, sizeof(note_a));
    go_on(&place);
    write_note(&place, NULL, 0);
    struct parsed after = parse(place.after);
    assert_true(after.header.e_phoff > after.file.size);
}

/* --- What is refused -------------------------------------------------------------------------- */

TEST(test_refused)
{
    struct image image = image_new();
    image_end(&image)->e_shoff = 0;
    struct place place = place_of(&image);
    assert_refused(&place, note_a, BAT_ERR_UNSUPPORTED,
                   "no section header table: a .note.bolt_bat section cannot be added");

    image = image_new();
    image_end(&image)->e_shstrndx = 0;
    place = place_of(&image);
    assert_refused(&place, note_a, BAT_ERR_UNSUPPORTED,
                   "no section name table: the name .note.bolt_bat cannot be added");

    image = image_new();
    image_end(&image);
    place = place_of(&image);
    assert_refused(&place, NULL, BAT_ERR_NO_NOTE,
                   "no BOLT note, neither .note.bolt_bat nor .note.bolt_info: not a BOLTed binary "
                   "(llvm-bolt --enable-bat writes the note)");

    image = image_new();
    image_section(&image, NOTE_NAME, SHT_NOTE, "a", 1);
    image_section(&image, NOTE_NAME, SHT_NOTE, "b", 1);
    image_end(&image);
    place = place_of(&image);
    assert_refused(&place, note_a, BAT_ERR_UNSUPPORTED,
                   "expected one section called .note.bolt_bat, found sections 1 and 2");

    image = image_new();
    image_name(&image, NOTE_NAME);
    image_append_names(&image)->sh_name = 1;
    image_finish_at_end(&image);
    place = place_of(&image);
    assert_refused(&place, note_a, BAT_ERR_ELF,
                   "section 1 is called .note.bolt_bat, but is not a note: it is section 0 or "
                   "holds the section names");
}

TEST(test_shared_section_refused)
{
    static const uint8_t notes[] = "\5\0\0\0\4\0\0\0\1\0\0\0BOLT\0\0\0\0desc"
                                   "\4\0\0\0\4\0\0\0\1\0\0\0GNU\0desc";
    struct image image = image_new();
    image_section(&image, ".odd", SHT_NOTE, notes, sizeof(notes) - 1);
    image_end(&image);
    struct place place = place_of(&image);
    assert_refused(&place, note_a, BAT_ERR_UNSUPPORTED,
                   "section 1 (.odd) holds other notes besides the BAT note: the note can only be "
                   "replaced or removed if its section holds nothing else");
}

TEST(test_empty_note_refused)
{
    struct bat_error error;
    assert_int_equal(bat_elf_write_note("/nonexistent", "/nonexistent", "", 0, &error),
                     BAT_ERR_ARGUMENT);
    assert_string_equal(error.message, "an empty note cannot be written");
}

/* --- The file that is replaced ---------------------------------------------------------------- */

static struct place bolt_place(void)
{
    struct image image = bolt_image(note_a, sizeof(note_a), 8);
    return place_of(&image);
}

TEST(test_in_place)
{
    struct place place = bolt_place();
    char *copy = path_in(place.folder, "copy");
    assert_int_equal(chmod(place.before, 04751), 0);
    assert_int_equal(link(place.before, copy), 0);
    assert_ok(bat_elf_write_note(place.before, place.before, note_b, sizeof(note_b), NULL));
    assert_only_note_changed(copy, place.before, note_b, sizeof(note_b));
    struct stat status;
    assert_int_equal(stat(place.before, &status), 0);
    assert_int_equal(status.st_mode & 07777, 04751);
    assert_int_equal(count_files(place.folder), 2);
}

TEST(test_symbolic_link)
{
    struct place place = bolt_place();
    char *link_path = path_in(place.folder, "link");
    assert_int_equal(symlink("before", link_path), 0);
    assert_ok(bat_elf_remove_note(place.before, link_path, NULL));
    struct stat status;
    assert_int_equal(lstat(link_path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(count_sections(place.before), 4);

    struct bat_error error;
    char *dangling = path_in(place.folder, "dangling");
    assert_int_equal(symlink("nowhere", dangling), 0);
    assert_int_equal(bat_write_file(dangling, "x", 1, &error), BAT_ERR_IO);
    assert_non_null(strstr(error.message, "it is a symbolic link to a file that does not exist"));
}

static void assert_cannot_write(const char *path, const char *reason)
{
    char message[300];
    struct bat_error error;
    assert_int_equal(bat_write_file(path, "x", 1, &error), BAT_ERR_IO);
    snprintf(message, sizeof(message), "cannot write %s: %s", path, reason);
    assert_string_equal(error.message, message);
}

TEST(test_no_regular_file)
{
    char *folder = make_folder();
    char *fifo = path_in(folder, "fifo");
    char *nowhere = path_in(folder, "no/where");
    char *nothing = path_in(folder, "nothing/");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_cannot_write(fifo, "it is a pipe or a device, not a regular file");
    assert_cannot_write(folder, "it is a directory, not a regular file");
    assert_cannot_write("/dev/null", "it is a pipe or a device, not a regular file");
    assert_cannot_write(nowhere, "No such file or directory");
    assert_cannot_write(nothing, "the path names no file");
    assert_cannot_write("", "the path names no file");
    assert_int_equal(count_files(folder), 1);
}

TEST(test_write_file)
{
    char *folder = make_folder();
    char *path = path_in(folder, "file");
    mode_t mask = umask(027);
    assert_ok(bat_write_file(path, "first", 5, NULL));
    umask(mask);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_ok(bat_write_file(path, "second", 6, NULL));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0604);
    struct loaded loaded = load(path);
    assert_int_equal(loaded.size, 6);
    assert_memory_equal(loaded.bytes, "second", 6);
    assert_int_equal(count_files(folder), 1);
}

/* As on a full disk: the system refuses to write beyond some size. */
TEST(test_no_room)
{
    struct place place = bolt_place();
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {.rlim_cur = 600, .rlim_max = limit.rlim_max};
    struct loaded before = load(place.before);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct bat_error error;
    enum bat_code code =
        bat_elf_write_note(place.before, place.before, note_b, sizeof(note_b), &error);
    enum bat_code other = bat_write_file(place.after, before.bytes, before.size, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(code, BAT_ERR_IO);
    assert_int_equal(other, BAT_ERR_IO);
    char message[300];
    snprintf(message, sizeof(message), "cannot write %s: File too large", place.before);
    assert_string_equal(error.message, message);
    struct loaded after = load(place.before);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, before.size);
    assert_int_equal(count_files(place.folder), 1);
}

/* --- Random files --------------------------------------------------------------------------- */

static uint32_t random_state;

/* Below limit. The same numbers in every run. */
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

static void append_noise(struct image *image, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)random_below(256);
        image_append(image, &byte, 1);
    }
}

/* Pieces in any order, with gaps, segments over any of them, and bytes that no header describes. */
static struct image random_image(void)
{
    struct image image = image_new();
    size_t count = 3 + random_below(4);
    size_t note = random_below(2) ? 1 + random_below((uint32_t)count) : 0;
    size_t names = 1 + random_below((uint32_t)count);
    size_t table_after = random_below((uint32_t)count + 1);
    uint64_t table = 0;
    bool note_is_named = random_below(4) != 0;
    names = names == note ? (names % count) + 1 : names;
    image_name(&image, ".s");
    if (note || note_is_named)
        image_name(&image, NOTE_NAME);
    for (size_t i = 1; i <= count; i++) {
        append_noise(&image, random_below(3) ? 0 : random_below(12));
        if (i == names) {
            image_append_names(&image);
        } else {
            uint64_t start = image.size;
            append_noise(&image, random_below(40));
            image_header(&image, i == note ? NOTE_NAME : ".s", i == note ? SHT_NOTE : SHT_PROGBITS,
                         start, image.size - start);
        }
        if (i == table_after) {
            image_align(&image, (size_t)1 << random_below(7));
            table = image_append(&image, NULL, (count + 1) * sizeof(Elf64_Shdr));
        }
    }
    if (table == 0) {
        image_align(&image, (size_t)1 << random_below(7));
        table = image_append(&image, NULL, (count + 1) * sizeof(Elf64_Shdr));
    }
    append_noise(&image, random_below(3) ? 0 : random_below(20));
    for (uint32_t i = random_below(3); i > 0; i--) {
        uint64_t start = random_below((uint32_t)image.size);
        image_segment(&image, PT_LOAD, PF_R, start, random_below((uint32_t)(image.size - start)));
    }
    image_finish(&image, table);
    return image;
}

TEST(test_random_files)
{
    for (uint32_t seed = 1; seed <= 300; seed++) {
        random_state = seed;
        struct image image = random_image();
        struct place place = place_of(&image);
        struct parsed parsed = parse(place.before);
        bool is_there = find_note(&parsed) != 0;
        for (int change = 0; change < 4; change++) {
            if (is_there && random_below(3) == 0) {
                write_note(&place, NULL, 0);
                is_there = false;
            } else {
                write_note(&place, note_b, 1 + random_below(sizeof(note_b)));
                is_there = true;
            }
            go_on(&place);
        }
    }
}
