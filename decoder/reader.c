/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "reader.h"

#include <stdarg.h>
#include <stdio.h>

#include "leb128.h"

enum bat_code bat_reader_fail(const struct bat_reader *reader, enum bat_code code,
                              const uint8_t *at, const char *format, ...)
{
    char sentence[BAT_MESSAGE_SIZE - 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);

    uint64_t offset = (uint64_t)(at - reader->start);
    if (!reader->table)
        return bat_fail_at(reader->error, code, BAT_PLACE_SECTION, offset, "%s", sentence);
    return bat_fail_at(reader->error, code, BAT_PLACE_SECTION, offset, "table at 0x%lx: %s",
                       *reader->table, sentence);
}

static enum bat_code fail_leb128(const struct bat_reader *reader, const char *what,
                                 enum bat_leb128_form form)
{
    switch (form) {
    case BAT_LEB128_TRUNCATED:
        return bat_reader_fail(reader, BAT_ERR_TRUNCATED, reader->cursor,
                               "expected the %s, found the end of the note after %zu bytes of it",
                               what, bat_reader_left(reader));
    case BAT_LEB128_OVERLONG:
        return bat_reader_fail(reader, BAT_ERR_LEB128, reader->cursor,
                               "expected the %s in the shortest LEB128 form, found it padded",
                               what);
    default:
        return bat_reader_fail(reader, BAT_ERR_LEB128, reader->cursor,
                               "expected the %s as a LEB128 number of at most 64 bits, found a "
                               "longer one",
                               what);
    }
}

enum bat_code bat_reader_uleb_long(struct bat_reader *reader, const char *what, uint64_t *value)
{
    const uint8_t *cursor = reader->cursor;
    enum bat_leb128_form form = bat_uleb128_read(&cursor, reader->end, value);
    if (form != BAT_LEB128_FINE)
        return fail_leb128(reader, what, form);
    reader->cursor = cursor;
    return BAT_OK;
}

enum bat_code bat_reader_sleb(struct bat_reader *reader, const char *what, int64_t *value)
{
    const uint8_t *cursor = reader->cursor;
    enum bat_leb128_form form = bat_sleb128_read(&cursor, reader->end, value);
    if (form != BAT_LEB128_FINE)
        return fail_leb128(reader, what, form);
    reader->cursor = cursor;
    return BAT_OK;
}

enum bat_code bat_reader_uleb32_long(struct bat_reader *reader, const char *what, uint32_t *value)
{
    const uint8_t *at = reader->cursor;
    uint64_t wide = 0;
    BAT_TRY(bat_reader_uleb(reader, what, &wide));
    if (wide > UINT32_MAX) {
        reader->cursor = at;
        return bat_reader_fail(reader, BAT_ERR_RANGE, at,
                               "expected the %s to fit 32 bits, found 0x%lx", what, wide);
    }
    *value = (uint32_t)wide;
    return BAT_OK;
}

enum bat_code bat_reader_count_long(struct bat_reader *reader, const char *what, size_t unit_size,
                                    uint32_t *value)
{
    const uint8_t *at = reader->cursor;
    uint64_t count = 0;
    BAT_TRY(bat_reader_uleb(reader, what, &count));
    uint64_t most = unit_size ? bat_reader_left(reader) / unit_size : UINT32_MAX;
    /* BAT_NONE means "no element", so a count must be below it. */
    if (most >= BAT_NONE)
        most = BAT_NONE - 1;
    if (count > most) {
        reader->cursor = at;
        return bat_reader_fail(
            reader, BAT_ERR_COUNT, at,
            "expected a %s of at most %lu (what the bytes left can hold), found %lu", what, most,
            count);
    }
    *value = (uint32_t)count;
    return BAT_OK;
}

enum bat_code bat_reader_u64(struct bat_reader *reader, const char *what, uint64_t *value)
{
    const uint8_t *bytes = NULL;
    enum bat_code code = bat_reader_bytes(reader, what, 8, &bytes);
    if (bytes)
        *value = bat_load64(bytes);
    return code;
}

enum bat_code bat_reader_bytes(struct bat_reader *reader, const char *what, size_t size,
                               const uint8_t **bytes)
{
    if (bat_reader_left(reader) < size)
        return bat_reader_fail(reader, BAT_ERR_TRUNCATED, reader->cursor,
                               "expected %zu bytes of %s, found the end of the note after %zu",
                               size, what, bat_reader_left(reader));
    *bytes = reader->cursor;
    reader->cursor += size;
    return BAT_OK;
}
