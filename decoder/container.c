/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ELF note around the description: BAT.md 2. */
#include "bat_decoder.h"
#include "spec/little_endian.h"

#include <string.h>

static enum bat_code fail(struct bat_error *error, enum bat_code code, uint64_t offset,
                          const char *what, uint64_t expected, uint64_t found)
{
    return bat_fail_at(error, code, BAT_PLACE_SECTION, offset, "expected %s %lu, found %lu", what,
                       expected, found);
}

static enum bat_code check_owner(const uint8_t *bytes, struct bat_error *error)
{
    uint32_t name_size = bat_load32(bytes);
    if (name_size != BAT_NOTE_OWNER_SIZE)
        return fail(error, BAT_ERR_CONTAINER, 0, "a note whose owner's name has a size of",
                    BAT_NOTE_OWNER_SIZE, name_size);
    static const uint8_t owner[8] = BAT_NOTE_OWNER;
    if (memcmp(bytes + 12, owner, sizeof(owner)) != 0)
        return bat_fail_at(error, BAT_ERR_CONTAINER, BAT_PLACE_SECTION, 12,
                           "expected the note's owner \"%s\" padded with zeros, found other bytes",
                           BAT_NOTE_OWNER);
    uint32_t type = bat_load32(bytes + 8);
    if (type != BAT_NOTE_TYPE)
        return fail(error, BAT_ERR_CONTAINER, 8, "a note of type", BAT_NOTE_TYPE, type);
    return BAT_OK;
}

enum bat_code bat_note_description(const void *section, size_t size, const uint8_t **description,
                                   size_t *description_size, struct bat_error *error)
{
    const uint8_t *bytes = section;
    if (size < BAT_NOTE_HEADER_SIZE)
        return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_SECTION, 0,
                           "expected an ELF note header of %u bytes, found %zu bytes in all",
                           BAT_NOTE_HEADER_SIZE, size);
    BAT_TRY(check_owner(bytes, error));

    uint64_t wanted = bat_load32(bytes + 4);
    uint64_t padded = (wanted + 3) & ~(uint64_t)3;
    uint64_t left = size - BAT_NOTE_HEADER_SIZE;
    if (padded > left)
        return bat_fail_at(error, BAT_ERR_TRUNCATED, BAT_PLACE_SECTION, 4,
                           "expected a description of %lu bytes padded to %lu, found %lu bytes "
                           "behind the note header",
                           wanted, padded, left);
    if (padded < left)
        return bat_fail_at(
            error, BAT_ERR_TRAILING, BAT_PLACE_SECTION, BAT_NOTE_HEADER_SIZE + padded,
            "expected the section to end with the note, found %lu more bytes", left - padded);
    for (uint64_t i = wanted; i < padded; i++)
        if (bytes[BAT_NOTE_HEADER_SIZE + i] != 0)
            return fail(error, BAT_ERR_CONTAINER, BAT_NOTE_HEADER_SIZE + i, "a padding byte of", 0,
                        bytes[BAT_NOTE_HEADER_SIZE + i]);
    *description = bytes + BAT_NOTE_HEADER_SIZE;
    *description_size = (size_t)wanted;
    return BAT_OK;
}
