/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as an ELF file: read everything, put a note in, take it out. The results can be opened
 * again, and the bytes that a program header maps do not change.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_binary.h"
#include "bat_elf.h"
#include "bat_validate.h"
#include "fuzz.h"

/* A note without tables: two zero counts. */
static const uint8_t empty_note[] = {5,   0,   0,   0,   2, 0, 0, 0, 1, 0, 0, 0,
                                     'B', 'O', 'L', 'T', 0, 0, 0, 0, 0, 0, 0, 0};

static uint64_t read_sum; /* keeps reads from being optimized away */

static void read_bytes(const uint8_t *bytes, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        read_sum += bytes[i];
}

static void read_text(const char *text)
{
    if (text)
        read_sum += strlen(text);
}

static void read_symbols(struct bat_elf *elf, bool dynamic)
{
    const struct bat_symbol *symbols;
    size_t count;
    struct bat_error error;
    enum bat_code code = bat_elf_symbols(elf, dynamic, &symbols, &count, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        read_text(symbols[i].name);
        read_text(symbols[i].file);
        uint64_t available;
        const uint8_t *bytes = bat_elf_at_address(elf, symbols[i].address, &available);
        fuzz_expect(bytes || available == 0, "there are no bytes at no place");
        if (bytes)
            read_bytes(bytes, available < 16 ? available : 16);
        read_sum += bat_elf_is_executable(elf, symbols[i].address);
    }
}

static void read_all(struct bat_elf *elf)
{
    uint64_t size;
    read_bytes(bat_elf_bytes(elf, &size), size);
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    for (size_t i = 0; i < count; i++) {
        read_text(sections[i].name);
        uint64_t bytes_size;
        const uint8_t *bytes = bat_elf_section_bytes(elf, &sections[i], &bytes_size);
        read_bytes(bytes, bytes_size);
    }
    size_t id_size;
    const uint8_t *id = bat_elf_build_id(elf, &id_size);
    read_bytes(id, id_size);
    read_text(bat_elf_bolt_info(elf));
    read_sum += bat_elf_base_address(elf);
    read_symbols(elf, false);
    read_symbols(elf, true);
}

/* Use the note as a tool does: decode it, find names, and check it. */
static void use_note(const char *path)
{
    struct bat_binary binary;
    struct bat_error error;
    enum bat_code code = bat_binary_open(path, &binary, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, UINT64_MAX);
        return;
    }
    const char **names;
    code = bat_binary_table_names(&binary, &names, &error);
    if (code == BAT_OK) {
        for (uint32_t i = 0; i < bat_map_tables(binary.map); i++)
            read_text(names[i]);
        free(names);
    }
    struct bat_verdict verdict;
    const struct bat_validate_options options = {
        .size = sizeof(options), .round_trip = true, .original = binary.elf};
    code = bat_validate(&binary, &options, NULL, NULL, &verdict, &error);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, UINT64_MAX);
    bat_binary_close(&binary);
}

static struct bat_elf *reopen(const char *path)
{
    struct bat_elf *elf;
    struct bat_error error;
    enum bat_code code = bat_elf_open(path, &elf, &error);
    fuzz_expect(code == BAT_OK, "a file that was written can be opened");
    return elf;
}

/* Bytes that a program header maps, without the fields of the ELF header that may change. */
static void expect_same_segments(const uint8_t *data, size_t size, const struct bat_elf *after)
{
    uint64_t after_size;
    const uint8_t *bytes = bat_elf_bytes(after, &after_size);
    Elf64_Ehdr header;
    memcpy(&header, data, sizeof(header));
    for (uint32_t i = 0; i < header.e_phnum && header.e_phnum != PN_XNUM; i++) {
        Elf64_Phdr segment;
        uint64_t at = header.e_phoff + (uint64_t)i * sizeof(segment);
        if (at < header.e_phoff || at > size || size - at < sizeof(segment))
            return;
        memcpy(&segment, data + at, sizeof(segment));
        if (segment.p_type == PT_NULL || segment.p_offset > size ||
            segment.p_filesz > size - segment.p_offset)
            continue;
        uint64_t start = segment.p_offset < sizeof(header) ? sizeof(header) : segment.p_offset;
        uint64_t end = segment.p_offset + segment.p_filesz;
        if (start >= end)
            continue;
        fuzz_expect(end <= after_size && memcmp(data + start, bytes + start, end - start) == 0,
                    "what a program header maps stays as it is");
    }
}

static void expect_note(const struct bat_elf *elf, const void *note, size_t note_size)
{
    const uint8_t *bytes;
    size_t size;
    const struct bat_section *section;
    struct bat_error error;
    enum bat_code code = bat_elf_note(elf, &bytes, &size, &section, &error);
    fuzz_expect(code == BAT_OK, "a note that was written is found");
    fuzz_expect(size == note_size && memcmp(bytes, note, size) == 0,
                "a note that was written has the bytes that were given");
}

static void rewrite(const char *path, const uint8_t *data, size_t size)
{
    char *written = fuzz_path("written");
    char *removed = fuzz_path("removed");
    struct bat_error error;
    enum bat_code code = bat_elf_write_note(path, written, empty_note, sizeof(empty_note), &error);
    if (code == BAT_OK) {
        struct bat_elf *elf = reopen(written);
        expect_note(elf, empty_note, sizeof(empty_note));
        expect_same_segments(data, size, elf);
        read_all(elf);
        bat_elf_close(elf);
        code = bat_elf_remove_note(written, removed, &error);
        fuzz_expect(code == BAT_OK, "a note that was written can be removed");
        elf = reopen(removed);
        expect_same_segments(data, size, elf);
        read_all(elf);
        bat_elf_close(elf);
        unlink(removed);
    } else {
        fuzz_expect_error(code, &error, UINT64_MAX);
        fuzz_expect(access(written, F_OK) != 0, "where writing fails there is no file");
    }
    unlink(written);
    code = bat_elf_remove_note(path, removed, &error);
    if (code != BAT_OK)
        fuzz_expect_error(code, &error, UINT64_MAX);
    else
        bat_elf_close(reopen(removed));
    unlink(removed);
    free(written);
    free(removed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = fuzz_path("input");
    fuzz_write_file(path, data, size);
    struct bat_elf *elf;
    struct bat_error error;
    enum bat_code code = bat_elf_open(path, &elf, &error);
    if (code == BAT_OK) {
        read_all(elf);
        bat_elf_close(elf);
        use_note(path);
        rewrite(path, data, size);
    } else {
        fuzz_expect_error(code, &error, size);
    }
    unlink(path);
    free(path);
    return 0;
}
