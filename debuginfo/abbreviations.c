/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Checks before libdw reads units, DWARF 2 to 5, sections 7.5.1 and 7.5.3. It trusts a unit's
 * length. It keeps a copy of the abbreviations for each unit, even if units share them, and reads
 * all attributes of an abbreviation for each DIE that has it.
 */
#include <dwarf.h>
#include <gelf.h>

#include "debuginfo.h"

/* Compilers use 30. */
#define ATTRIBUTES_MAX 1000u

/* Units may refer to abbreviations of this many times the file's size in total: with link-time
 * optimization clang's units share the table of the largest. */
#define SHARED_MAX 16u

/* The bytes that a unit takes at least, on average; compilers' take hundreds. libdw and this
 * library have more than a thousand bytes of memory for each. The first units may be smaller. */
#define UNIT_SIZE_MIN 24u
#define SMALL_UNITS 100u

/* Find the first unit of a section that does not end in it. False if there is none. */
static bool find_too_long(const struct line_bytes *section, uint64_t *offset, uint64_t *length)
{
    if (section->size == 0)
        return false;
    struct line_reader reader = {.at = section->bytes, .end = section->bytes + section->size};
    while (reader.end - reader.at >= 4) {
        *offset = (uint64_t)(reader.at - section->bytes);
        *length = line_read_fixed(&reader, 4);
        if (*length == UINT32_MAX)
            *length = line_read_fixed(&reader, 8);
        line_read_skip(&reader, *length);
        if (reader.failed)
            return true;
    }
    return false;
}

/* True for a section that libdw may take for one of units, also in a .dwo file, or packed. */
static bool has_units(const char *name)
{
    static const char lto[] = ".gnu.debuglto_";
    static const char *const kinds[] = {"debug_info", "debug_types"};
    if (strncmp(name, lto, strlen(lto)) == 0)
        name += strlen(lto);
    name += name[0] == '.';
    name += name[0] == 'z';
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t length = strlen(kinds[i]);
        if (strncmp(name, kinds[i], length) == 0 &&
            (name[length] == 0 || strcmp(name + length, ".dwo") == 0))
            return true;
    }
    return false;
}

/* Checks every section of units: which one libdw takes is its matter. */
enum bat_code debug_check_lengths(const struct debug_image *image, struct bat_error *error)
{
    size_t strings;
    if (elf_getshdrstrndx(image->elf, &strings) != 0)
        return BAT_OK;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(image->elf, section)) != NULL;) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(image->elf, strings, header.sh_name) : NULL;
        uint64_t offset;
        uint64_t length;
        if (!name || !has_units(name))
            continue;
        const struct line_bytes bytes = line_section_bytes(section);
        if (find_too_long(&bytes, &offset, &length))
            return bat_fail(error, BAT_ERR_ELF,
                            "expected each unit of DWARF to end in its section, %.40s of %zu "
                            "bytes, found a length of %llu at 0x%llx",
                            name, bytes.size, (unsigned long long)length,
                            (unsigned long long)offset);
    }
    return BAT_OK;
}

/* Skip an abbreviation. False if it is the table's end, or damaged. */
static bool skip_abbreviation(struct line_reader *reader, bool *has_too_many)
{
    if (line_read_leb128(reader) == 0 || reader->failed)
        return false;
    line_read_leb128(reader); /* tag */
    line_read_fixed(reader, 1);
    for (size_t count = 0; !reader->failed; count++) {
        uint64_t name = line_read_leb128(reader);
        uint64_t form = line_read_leb128(reader);
        if (form == DW_FORM_implicit_const)
            line_read_signed_leb128(reader);
        if (name == 0 && form == 0)
            return !reader->failed;
        if (count == ATTRIBUTES_MAX) {
            *has_too_many = true;
            return false;
        }
    }
    return false;
}

/* The number of bytes of the table at offset. Counting stops behind limit. */
static uint64_t measure(const struct line_bytes *section, uint64_t offset, uint64_t limit,
                        bool *has_too_many)
{
    if (offset >= section->size)
        return 0;
    const uint8_t *start = section->bytes + offset;
    struct line_reader reader = {.at = start, .end = section->bytes + section->size};
    while ((uint64_t)(reader.at - start) <= limit && skip_abbreviation(&reader, has_too_many))
        continue;
    return (uint64_t)(reader.at - start);
}

/* Check the units of .debug_info or, if signature is not NULL, those of .debug_types. */
static enum bat_code check_units(const struct debug_image *image, uint64_t *signature,
                                 uint64_t *budget, struct bat_error *error)
{
    Dwarf_Off offset = 0;
    Dwarf_Off next;
    Dwarf_Off table;
    size_t header_size;
    uint64_t last = UINT64_MAX;
    uint64_t size = 0;
    uint64_t count = 0;
    while (dwarf_next_unit(image->dwarf, offset, &next, &header_size, NULL, &table, NULL, NULL,
                           signature, NULL) == 0) {
        if (++count > SMALL_UNITS && next / UNIT_SIZE_MIN < count - SMALL_UNITS)
            return bat_fail(
                error, BAT_ERR_ELF,
                "expected units of DWARF of at least %u bytes, found %llu units in %llu "
                "bytes",
                UNIT_SIZE_MIN, (unsigned long long)count, (unsigned long long)next);
        bool has_too_many = false;
        if (table != last)
            size = measure(&image->abbreviations, table, *budget, &has_too_many);
        if (has_too_many)
            return bat_fail(error, BAT_ERR_ELF,
                            "expected DWARF abbreviations of at most %u attributes, found more at "
                            ".debug_abbrev+0x%llx",
                            ATTRIBUTES_MAX, (unsigned long long)(table + size));
        if (size > *budget)
            return bat_fail(error, BAT_ERR_ELF,
                            "expected DWARF abbreviations of units to take at most %u times the "
                            "file's size, found more at .debug_info+0x%llx",
                            SHARED_MAX, (unsigned long long)offset);
        *budget -= size;
        last = table;
        offset = next;
    }
    return BAT_OK;
}

enum bat_code debug_check_abbreviations(const struct debug_image *image, struct bat_error *error)
{
    uint64_t budget = (uint64_t)image->size * SHARED_MAX;
    uint64_t signature;
    enum bat_code code = check_units(image, NULL, &budget, error);
    return code ? code : check_units(image, &signature, &budget, error);
}
