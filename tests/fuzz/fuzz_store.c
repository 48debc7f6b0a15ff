/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as an ELF file that is shipped without what no host needs: the result can be opened,
 * everything that is loaded is in it at its place, sections keep their indices and their bytes, it
 * is about as large as the file at most, and it can be shipped again.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/shipped.h"
#include "fuzz.h"

/* libelf disagrees with itself on more program headers than a header counts. */
static bool is_readable(const struct bat_elf *elf)
{
    uint64_t size;
    Elf64_Ehdr header;
    memcpy(&header, bat_elf_bytes(elf, &size), sizeof(header));
    return header.e_phnum != PN_XNUM;
}

static bool ship(const char *from, const char *to, struct bat_error *error)
{
    struct bat_elf *elf;
    enum bat_code code = bat_elf_open(from, &elf, error);
    if (code != BAT_OK)
        return false;
    if (!is_readable(elf)) {
        bat_elf_close(elf);
        bat_fail(error, BAT_ERR_ELF, "expected a count of program headers in the ELF header");
        return false;
    }
    struct bat_output *output;
    fuzz_expect(bat_elf_begin_output(elf, to, &output, error) == BAT_OK, "an output can be begun");
    code = bat_elf_write_shipped(elf, output, error);
    if (code == BAT_OK)
        fuzz_expect(bat_outputs_commit(&output, 1, error) == BAT_OK, "an output can be committed");
    else
        bat_output_abandon(output);
    bat_elf_close(elf);
    return code == BAT_OK;
}

/* The bytes from an offset on are equal in both files, apart from the ELF header. */
static void expect_same_bytes(const struct bat_elf *whole, const struct bat_elf *shipped,
                              uint64_t offset, uint64_t size, const char *sentence)
{
    uint64_t whole_size;
    uint64_t shipped_size;
    const uint8_t *before = bat_elf_bytes(whole, &whole_size);
    const uint8_t *after = bat_elf_bytes(shipped, &shipped_size);
    if (offset >= whole_size)
        return;
    if (size > whole_size - offset)
        size = whole_size - offset;
    if (size == 0)
        return;
    fuzz_expect(offset <= shipped_size && size <= shipped_size - offset, sentence);
    uint64_t start = offset < sizeof(Elf64_Ehdr) ? sizeof(Elf64_Ehdr) : offset;
    if (start < offset + size)
        fuzz_expect(memcmp(before + start, after + start, offset + size - start) == 0, sentence);
}

static void expect_same_segments(const struct bat_elf *whole, const struct bat_elf *shipped)
{
    struct bat_segment segment;
    struct bat_segment same;
    for (size_t i = 0; bat_elf_segment(whole, i, &segment); i++) {
        fuzz_expect(bat_elf_segment(shipped, i, &same) &&
                        memcmp(&segment, &same, offsetof(struct bat_segment, flags)) == 0 &&
                        segment.flags == same.flags,
                    "a shipped file has the segments");
        expect_same_bytes(whole, shipped, segment.offset, segment.file_size,
                          "what is loaded stays as it is");
    }
}

static uint32_t names_index(const struct bat_elf *elf)
{
    uint64_t size;
    Elf64_Ehdr header;
    memcpy(&header, bat_elf_bytes(elf, &size), sizeof(header));
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    return header.e_shstrndx == SHN_XINDEX && count ? sections[0].link : header.e_shstrndx;
}

/* Sections that are there keep all that tells what they are. */
static void expect_same_sections(const struct bat_elf *whole, const struct bat_elf *shipped)
{
    size_t before_count;
    size_t after_count;
    const struct bat_section *before = bat_elf_sections(whole, &before_count);
    const struct bat_section *after = bat_elf_sections(shipped, &after_count);
    const uint32_t names = names_index(whole);
    fuzz_expect(after_count <= before_count, "no section is added");
    for (size_t i = 1; i < before_count; i++) {
        /* The names are written again. */
        if (i == names)
            continue;
        if (!(before[i].flags & SHF_ALLOC) && (i >= after_count || after[i].type == SHT_NULL))
            continue;
        fuzz_expect(i < after_count, "a section that is loaded is kept");
        fuzz_expect(strcmp(before[i].name, after[i].name) == 0 && before[i].type == after[i].type &&
                        before[i].flags == after[i].flags && before[i].address == after[i].address,
                    "a section keeps its name, its kind and its address");
        if (before[i].flags & SHF_ALLOC) {
            /* An empty one may have been behind what is kept of the file. */
            const bool can_move = before[i].size == 0 && before[i].type != SHT_NOBITS;
            fuzz_expect(before[i].size == after[i].size &&
                            (before[i].offset == after[i].offset || can_move),
                        "a section that is loaded keeps its place");
            if (before[i].type != SHT_NOBITS && before[i].type != SHT_NULL)
                expect_same_bytes(whole, shipped, before[i].offset, before[i].size,
                                  "a section that is loaded keeps its bytes");
        } else if (before[i].type == SHT_NOTE) {
            uint64_t size;
            const uint8_t *bytes = bat_elf_section_bytes(whole, &before[i], &size);
            uint64_t same_size;
            const uint8_t *same = bat_elf_section_bytes(shipped, &after[i], &same_size);
            fuzz_expect(size == same_size && (size == 0 || memcmp(bytes, same, size) == 0),
                        "a note that is kept has its bytes");
        }
    }
}

/* Notes and names that share bytes in the file are written once each: the sum of their sizes. */
static uint64_t most(const struct bat_elf *whole)
{
    uint64_t size;
    bat_elf_bytes(whole, &size);
    size_t count;
    const struct bat_section *sections = bat_elf_sections(whole, &count);
    size += 64 + count * (sizeof(Elf64_Shdr) + 64);
    for (size_t i = 0; i < count; i++)
        if (!(sections[i].flags & SHF_ALLOC) && sections[i].type != SHT_NOBITS) {
            uint64_t inside = 0; /* a section may claim more than the file has */
            if (bat_elf_section_bytes(whole, &sections[i], &inside))
                size += inside;
        }
    return size;
}

/* True if notes share bytes: then readers give up some of them, by the size of the file. */
static bool has_shared_notes(const struct bat_elf *elf)
{
    uint64_t size;
    bat_elf_bytes(elf, &size);
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t inside = 0;
        if (sections[i].type == SHT_NOTE && bat_elf_section_bytes(elf, &sections[i], &inside))
            sum += inside;
    }
    return sum > size;
}

static void compare(const char *whole_path, const char *shipped_path)
{
    struct bat_elf *whole;
    struct bat_elf *shipped;
    fuzz_expect(bat_elf_open(whole_path, &whole, NULL) == BAT_OK, "a file opens again");
    fuzz_expect(bat_elf_open(shipped_path, &shipped, NULL) == BAT_OK, "a shipped file opens");
    expect_same_segments(whole, shipped);
    expect_same_sections(whole, shipped);
    size_t id_size;
    const uint8_t *id = bat_elf_build_id(whole, &id_size);
    size_t same_size;
    const uint8_t *same = bat_elf_build_id(shipped, &same_size);
    fuzz_expect(has_shared_notes(whole) ||
                    (id_size == same_size && (id_size == 0 || memcmp(id, same, id_size) == 0)),
                "a shipped file has the build-id");
    uint64_t size;
    bat_elf_bytes(shipped, &size);
    fuzz_expect(size <= most(whole), "a shipped file does not grow beyond what it has");
    bat_elf_close(shipped);
    bat_elf_close(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *whole = fuzz_path("whole");
    char *shipped = fuzz_path("shipped");
    char *again = fuzz_path("again");
    fuzz_write_file(whole, data, size);
    struct bat_error error = {.code = BAT_OK};
    if (ship(whole, shipped, &error)) {
        compare(whole, shipped);
        fuzz_expect(ship(shipped, again, &error), "a shipped file can be shipped again");
        compare(shipped, again);
    } else {
        fuzz_expect_error(error.code, &error, UINT64_MAX);
        fuzz_expect(access(shipped, F_OK) != 0, "where shipping fails there is no file");
    }
    unlink(again);
    unlink(shipped);
    unlink(whole);
    free(again);
    free(shipped);
    free(whole);
    return 0;
}
