/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes written byte by byte in tests, and checks of decoding them. Only assert_encodes()
 * uses the library's encoder.
 */
#pragma once

#include "bat_decoder.h"
#include "decoder/sparse.h"
#include "folder.h"
#include "kept.h"
#include "unit_test.h"

#define NOTE_BYTES_MAX 8192u

/* The bytes of a section that is being built. */
struct note_bytes {
    uint8_t bytes[NOTE_BYTES_MAX];
    size_t size;
};

static inline void put_byte(struct note_bytes *note, unsigned byte)
{
    assert_true(note->size < NOTE_BYTES_MAX);
    note->bytes[note->size++] = (uint8_t)byte;
}

static inline unsigned hex_digit(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *found = digit ? strchr(digits, digit) : NULL;
    assert_non_null(found);
    return (unsigned)(found - digits);
}

/* Bytes as pairs of hexadecimal digits, in lower case; blanks are passed over. */
static inline void put_hex(struct note_bytes *note, const char *hex)
{
    for (; *hex; hex++) {
        if (*hex == ' ')
            continue;
        put_byte(note, hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
        hex++;
    }
}

static inline void put_bytes(struct note_bytes *note, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put_byte(note, ((const uint8_t *)bytes)[i]);
}

/* size bytes of a number, the lowest first. */
static inline void put_word(struct note_bytes *note, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        put_byte(note, (unsigned)(value >> (8 * i)) & 0xff);
}

/* BAT.md 3: groups of seven bits, lowest first. */
static inline void put_uleb(struct note_bytes *note, uint64_t value)
{
    for (; value > 127; value /= 128)
        put_byte(note, (unsigned)(value % 128) + 128);
    put_byte(note, (unsigned)value);
}

/* The shortest form: as many groups of seven bits as hold the value with its sign. */
static inline void put_sleb(struct note_bytes *note, int64_t value)
{
    unsigned groups = 1;
    while (groups < 10 &&
           (value < -((int64_t)1 << (7 * groups - 1)) || value >= (int64_t)1 << (7 * groups - 1)))
        groups++;
    for (unsigned i = 0; i < groups; i++) {
        unsigned bits = i < 9 ? (unsigned)((uint64_t)value >> (7 * i)) & 127 : (value < 0) * 127U;
        put_byte(note, i + 1 < groups ? bits | 128 : bits);
    }
}

/* A section's beginning: room for the header that finish_note() fills in, then these bytes. */
static inline struct note_bytes note_begun(const char *hex)
{
    struct note_bytes note = {.size = 20};
    put_hex(&note, hex);
    return note;
}

/* BAT.md 2: add the note header before the description, and the padding after it. */
static inline void finish_note(struct note_bytes *note)
{
    size_t description = note->size - 20;
    while (note->size % 4 != 0)
        put_byte(note, 0);
    size_t size = note->size;
    note->size = 0;
    put_hex(note, "05000000");
    put_word(note, description, 4);
    put_hex(note, "01000000 424f4c5400000000");
    note->size = size;
}

/* The whole section of a description in hexadecimal. */
static inline struct note_bytes note_of(const char *description)
{
    struct note_bytes note = note_begun(description);
    finish_note(&note);
    return note;
}

static inline struct note_bytes note_from_file(const char *path)
{
    struct note_bytes note = {.size = 0};
    size_t size;
    const char *bytes = file_bytes(path, &size);
    put_bytes(&note, bytes, size);
    return note;
}

/* Decode from a block of exactly these bytes, so that reading one byte too many is noticed. */
static inline enum bat_code decode_copy(const void *bytes, size_t size,
                                        enum bat_hot_index hot_index, struct bat_map **map,
                                        struct bat_error *error)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size != 0)
        memcpy(copy, bytes, size);
    /* A failure must replace this value. */
    *map = (struct bat_map *)copy;
    const struct bat_decode_options options = {.size = sizeof(options), .hot_index = hot_index};
    enum bat_code code = bat_decode(copy, size, &options, map, error);
    free(copy);
    if (code != BAT_OK)
        assert_null(*map);
    return code;
}

static inline struct bat_map *decode_note(const struct note_bytes *note,
                                          enum bat_hot_index hot_index)
{
    struct bat_map *map;
    struct bat_error error;
    if (decode_copy(note->bytes, note->size, hot_index, &map, &error) != BAT_OK)
        fail_msg("offset 0x%llx: %s", (unsigned long long)error.offset, error.message);
    assert_non_null(map);
    return kept_map(map);
}

static inline struct bat_map *decode_description(const char *description)
{
    struct note_bytes note = note_of(description);
    return decode_note(&note, BAT_HOT_INDEX_AUTO);
}

static inline void assert_encodes(const struct bat_map *map, const struct note_bytes *expected)
{
    size_t size;
    uint8_t *bytes = encode_map(map, &size);
    assert_int_equal(size, expected->size);
    assert_memory_equal(bytes, expected->bytes, size);
}

/* Check that decoding fails with this code at this offset in the section, and says something. */
static inline void assert_note_fails(const struct note_bytes *note, enum bat_hot_index hot_index,
                                     enum bat_code code, uint64_t offset)
{
    struct bat_map *map;
    struct bat_error error = {0};
    enum bat_code got = decode_copy(note->bytes, note->size, hot_index, &map, &error);
    if (got == BAT_OK)
        bat_map_free(map);
    if (got != code || (got != BAT_OK && error.offset != offset))
        fail_msg("expected %s at 0x%llx, got %s at 0x%llx: %s", bat_code_name(code),
                 (unsigned long long)offset, bat_code_name(got), (unsigned long long)error.offset,
                 error.message);
    assert_int_equal(error.code, code);
    assert_int_equal(error.place, BAT_PLACE_SECTION);
    assert_non_null(strstr(error.message, "expected "));
    assert_non_null(strstr(error.message, "found "));
    /* The same without a struct bat_error, and when only some tables are wanted. */
    assert_int_equal(decode_copy(note->bytes, note->size, hot_index, &map, NULL), code);
    if (hot_index != BAT_HOT_INDEX_AUTO)
        return;
    struct bat_sparse_map sparse = {0};
    error = (struct bat_error){0};
    assert_int_equal(bat_decode_sparse(note->bytes, note->size, false, NULL, NULL, &sparse, &error),
                     code);
    assert_int_equal(error.offset, offset);
    assert_null(sparse.map);
    assert_null(sparse.tables);
}
