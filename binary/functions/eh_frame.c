/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "eh_frame.h"

#include <string.h>

#include "support/dwarf_numbers.h"

#define SECTION ".eh_frame"

/* Longer augmentations would repeat letters; the limit keeps the time for an entry constant. */
#define AUGMENTATION_MAX 16u

/* The bytes of an entry that have not been read. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

struct entry {
    const uint8_t *start; /* of its length field */
    const uint8_t *id;    /* the identifier: 0 in a CIE; the distance to its CIE in an FDE */
    uint64_t cie_distance;
    struct cursor rest; /* the bytes after the identifier */
};

static enum bat_code damaged(const struct bat_fde_walk *walk, const uint8_t *at,
                             struct bat_error *error, const char *what)
{
    bat_fail(error, BAT_ERR_ELF, SECTION "+0x%lx: %s", (uint64_t)(at - walk->start), what);
    return BAT_ERR_ELF;
}

/* --- Fields ------------------------------------------------------------------------------- */

static bool read_bytes(struct cursor *cursor, void *value, size_t size)
{
    if ((size_t)(cursor->end - cursor->at) < size)
        return false;
    memcpy(value, cursor->at, size);
    cursor->at += size;
    return true;
}

static bool read_number(struct cursor *cursor, size_t size, uint64_t *value)
{
    return dwarf_read_fixed(&cursor->at, cursor->end, size, false, value);
}

static bool read_leb128(struct cursor *cursor, bool is_signed, uint64_t *value)
{
    return dwarf_read_leb128(&cursor->at, cursor->end, is_signed, value);
}

static bool read_form(struct cursor *cursor, uint8_t encoding, uint64_t *value)
{
    return dwarf_read_form(&cursor->at, cursor->end, encoding, value);
}

static bool read_pointer(const struct bat_fde_walk *walk, struct cursor *cursor, uint8_t encoding,
                         uint64_t *value)
{
    uint64_t place = walk->address + (uint64_t)(cursor->at - walk->start);
    return dwarf_read_pointer(&cursor->at, cursor->end, encoding, place, value);
}

/* --- Entries ------------------------------------------------------------------------------ */

/* Read length and identifier of the entry at `at`; *is_last is set for the terminating entry. */
static enum bat_code read_entry(const struct bat_fde_walk *walk, const uint8_t *at,
                                struct entry *entry, bool *is_last, struct bat_error *error)
{
    struct cursor cursor = {.at = at, .end = walk->end};
    uint64_t length;
    if (!read_number(&cursor, 4, &length))
        return damaged(walk, at, error, "the section ends inside an entry's length");
    if (length == UINT32_MAX && !read_number(&cursor, 8, &length))
        return damaged(walk, at, error, "the section ends inside an entry's 64-bit length");
    *is_last = length == 0;
    if (length == 0)
        return BAT_OK;
    if (length > (uint64_t)(walk->end - cursor.at))
        return damaged(walk, at, error, "an entry reaches beyond the section's end");
    cursor.end = cursor.at + length;
    entry->start = at;
    entry->id = cursor.at;
    if (!read_number(&cursor, 4, &entry->cie_distance))
        return damaged(walk, at, error, "an entry is too short for its identifier");
    entry->rest = cursor;
    return BAT_OK;
}

/* Read the encodings from a CIE's augmentation data, which has the fields that string names. */
static bool read_augmentation(struct bat_fde_walk *walk, struct cursor *cursor, const char *string)
{
    uint64_t ignored;
    for (const char *letter = string; *letter; letter++) {
        uint8_t encoding;
        switch (*letter) {
        case 'z':
            if (letter != string || !read_leb128(cursor, false, &ignored))
                return false;
            walk->has_augmentation = true;
            break;
        case 'R':
            if (!read_bytes(cursor, &walk->code_encoding, 1))
                return false;
            break;
        case 'L':
            if (!read_bytes(cursor, &walk->lsda_encoding, 1))
                return false;
            break;
        case 'P':
            if (!read_bytes(cursor, &encoding, 1) ||
                (encoding != DWARF_PE_OMIT && !read_form(cursor, encoding, &ignored)))
                return false;
            break;
        case 'S': /* signal frame */
        case 'B': /* AArch64: return addresses are signed with key B */
        case 'G': /* AArch64: memory tagging */
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool read_string(struct cursor *cursor, const char **string)
{
    size_t left = (size_t)(cursor->end - cursor->at);
    size_t limit = left < AUGMENTATION_MAX + 1 ? left : AUGMENTATION_MAX + 1;
    const uint8_t *end = memchr(cursor->at, 0, limit);
    if (!end)
        return false;
    *string = (const char *)cursor->at;
    cursor->at = end + 1;
    return true;
}

/* Take the encodings from the CIE at `at`. */
static enum bat_code read_cie(struct bat_fde_walk *walk, const uint8_t *at, struct bat_error *error)
{
    struct entry entry;
    bool is_last;
    BAT_TRY(read_entry(walk, at, &entry, &is_last, error));
    if (is_last || entry.cie_distance != 0)
        return damaged(walk, at, error, "expected a common entry (CIE), found another entry");

    walk->cie = NULL;
    walk->code_encoding = DWARF_PE_ABSOLUTE;
    walk->lsda_encoding = DWARF_PE_OMIT;
    walk->has_augmentation = false;
    struct cursor *cursor = &entry.rest;
    uint8_t version;
    uint8_t sizes[2]; /* version 4: bytes of an address and of a segment selector */
    const char *augmentation;
    uint64_t ignored;
    if (!read_bytes(cursor, &version, 1) || !read_string(cursor, &augmentation) ||
        (version >= 4 && !read_bytes(cursor, sizes, sizeof(sizes))) ||
        !read_leb128(cursor, false, &ignored) ||          /* code alignment factor */
        !read_leb128(cursor, true, &ignored) ||           /* data alignment factor */
        !(version == 1 ? read_number(cursor, 1, &ignored) /* return address register */
                       : read_leb128(cursor, false, &ignored)) ||
        !read_augmentation(walk, cursor, augmentation))
        return damaged(walk, at, error, "a common entry (CIE) has an unknown form");
    walk->cie = at;
    return BAT_OK;
}

static enum bat_code read_fde(struct bat_fde_walk *walk, struct entry *entry, struct bat_fde *fde,
                              struct bat_error *error)
{
    if (entry->cie_distance > (uint64_t)(entry->id - walk->start))
        return damaged(walk, entry->start, error, "the common entry lies before the section");
    const uint8_t *cie = entry->id - entry->cie_distance;
    if (cie != walk->cie)
        BAT_TRY(read_cie(walk, cie, error));
    struct cursor *cursor = &entry->rest;
    struct bat_fde result = {0};
    uint64_t ignored;
    /* The size has the address's form, but is not relative. */
    if (!read_pointer(walk, cursor, walk->code_encoding, &result.address) ||
        !read_form(cursor, walk->code_encoding, &result.size))
        return damaged(walk, entry->start, error, "the code range of an entry cannot be read");
    if (walk->has_augmentation && !read_leb128(cursor, false, &ignored))
        return damaged(walk, entry->start, error, "the augmentation size cannot be read");
    if (walk->lsda_encoding != DWARF_PE_OMIT) {
        struct cursor field = *cursor;
        uint64_t distance;
        if (!read_form(&field, walk->lsda_encoding, &distance) ||
            !read_pointer(walk, cursor, walk->lsda_encoding, &result.lsda))
            return damaged(walk, entry->start, error, "the exception table's address is damaged");
        if (distance == 0) /* no exception table, even if pointers are relative */
            result.lsda = 0;
    }
    *fde = result;
    return BAT_OK;
}

/* --- The walk ----------------------------------------------------------------------------- */

void bat_fde_begin_bytes(struct bat_fde_walk *walk, const uint8_t *bytes, size_t size,
                         uint64_t address)
{
    static const uint8_t nothing[1];
    *walk = (struct bat_fde_walk){.start = bytes ? bytes : nothing, .address = address};
    walk->next = walk->start;
    walk->end = walk->start + (bytes ? size : 0);
}

void bat_fde_begin(struct bat_fde_walk *walk, const struct bat_elf *elf)
{
    const struct bat_section *section = bat_elf_section(elf, SECTION);
    uint64_t size = 0;
    const uint8_t *bytes = section ? bat_elf_section_bytes(elf, section, &size) : NULL;
    bat_fde_begin_bytes(walk, bytes, (size_t)size, section ? section->address : 0);
}

enum bat_code bat_fde_next(struct bat_fde_walk *walk, struct bat_fde *fde, bool *found,
                           struct bat_error *error)
{
    *found = false;
    while (walk->next < walk->end) {
        struct entry entry;
        bool is_last;
        BAT_TRY(read_entry(walk, walk->next, &entry, &is_last, error));
        if (is_last) {
            walk->next = walk->end;
            return BAT_OK;
        }
        walk->next = entry.rest.end;
        if (entry.cie_distance == 0)
            continue;
        enum bat_code code = read_fde(walk, &entry, fde, error);
        *found = code == BAT_OK;
        return code;
    }
    return BAT_OK;
}
