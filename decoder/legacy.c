/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Recognises notes of versions 1 and 2: BAT.md 9 to 11. Their tables are not decoded. */
#include "decoding.h"
#include "leb128.h"

struct legacy_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

/* --- Version 1: little-endian words ------------------------------------------------------- */

static bool skip(struct legacy_cursor *cursor, uint64_t size)
{
    if ((uint64_t)(cursor->end - cursor->at) < size)
        return false;
    cursor->at += size;
    return true;
}

static bool read_u32(struct legacy_cursor *cursor, uint32_t *value)
{
    const uint8_t *at = cursor->at;
    if (!skip(cursor, 4))
        return false;
    *value = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return true;
}

static bool is_version_1(const uint8_t *description, size_t size)
{
    struct legacy_cursor cursor = {description, description + size};
    uint32_t functions;
    uint32_t fragments;
    if (!read_u32(&cursor, &functions))
        return false;
    for (uint32_t i = 0; i < functions; i++) {
        uint32_t entries;
        if (!skip(&cursor, 8) || !read_u32(&cursor, &entries) ||
            !skip(&cursor, (uint64_t)entries * 8))
            return false;
    }
    return read_u32(&cursor, &fragments) && skip(&cursor, (uint64_t)fragments * 16) &&
           cursor.at == cursor.end;
}

/* --- Version 2: LEB128, hot and cold tables, no hashes ------------------------------------ */

static bool read_uleb(struct legacy_cursor *cursor, uint64_t *value)
{
    return bat_uleb128_read(&cursor->at, cursor->end, value) == BAT_LEB128_FINE;
}

static bool skip_entry(struct legacy_cursor *cursor, bool is_equal)
{
    uint64_t output;
    int64_t input;
    return read_uleb(cursor, &output) &&
           (is_equal || bat_sleb128_read(&cursor->at, cursor->end, &input) == BAT_LEB128_FINE);
}

static bool skip_table(struct legacy_cursor *cursor, bool is_cold)
{
    uint64_t ignored;
    uint64_t entries;
    uint64_t equal = 0;
    if (!read_uleb(cursor, &ignored) || (is_cold && !read_uleb(cursor, &ignored)) ||
        !read_uleb(cursor, &entries))
        return false;
    if (!is_cold && !read_uleb(cursor, &equal))
        return false;
    if (equal > entries || !skip(cursor, equal / 8 + (equal % 8 != 0)))
        return false;
    for (uint64_t i = 0; i < entries; i++)
        if (!skip_entry(cursor, i < equal))
            return false;
    return true;
}

static bool skip_tables(struct legacy_cursor *cursor, bool is_cold)
{
    uint64_t tables;
    if (!read_uleb(cursor, &tables))
        return false;
    for (uint64_t i = 0; i < tables; i++)
        if (!skip_table(cursor, is_cold))
            return false;
    return true;
}

static bool is_version_2(const uint8_t *description, size_t size)
{
    struct legacy_cursor cursor = {description, description + size};
    return skip_tables(&cursor, false) && skip_tables(&cursor, true) && cursor.at == cursor.end;
}

enum bat_version bat_legacy_recognise(const uint8_t *description, size_t size)
{
    if (is_version_1(description, size))
        return BAT_VERSION_1;
    if (is_version_2(description, size))
        return BAT_VERSION_2;
    return BAT_VERSION_3;
}
