/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * decoder/leb128.h and encoder/writer.h: LEB128 numbers (BAT.md 3). All forms are compared with a
 * reader that computes in 128 bits, and that with some values that were worked out by hand.
 */
#include "decoder/leb128.h"
#include "encoder/writer.h"
#include "note_bytes.h"
#include "unit_test.h"

/* --- What BAT.md 3 says, in slow motion ---------------------------------------------------- */

/*
 * The bytes of one number, read into 128 bits. `length` is 0 if no byte among the first
 * `available` ends it.
 */
struct slow_number {
    unsigned length;
    unsigned __int128 value; /* without sign extension */
    bool is_negative;        /* bit 6 of the last byte */
};

static struct slow_number read_slowly(const uint8_t *bytes, unsigned available)
{
    struct slow_number number = {0};
    for (unsigned i = 0; i < available && i < 18; i++) {
        number.value |= (unsigned __int128)(bytes[i] & 127) << (7 * i);
        if (bytes[i] < 128) {
            number.length = i + 1;
            number.is_negative = (bytes[i] & 64) != 0;
            break;
        }
    }
    return number;
}

/* "The last byte of a ULEB128 number of several bytes is not 00", and it fits 64 bits. */
static enum bat_leb128_form form_of_uleb(const uint8_t *bytes, const struct slow_number *number)
{
    if (number->length == 0 || number->length > 10 || number->value > UINT64_MAX)
        return BAT_LEB128_OVERFLOW;
    bool is_overlong = number->length > 1 && bytes[number->length - 1] == 0x00;
    return is_overlong ? BAT_LEB128_OVERLONG : BAT_LEB128_FINE;
}

/* "Neither 00 behind a byte whose bit 6 is clear nor 7f behind one whose bit 6 is set." */
static enum bat_leb128_form form_of_sleb(const uint8_t *bytes, const struct slow_number *number)
{
    if (number->length == 0 || number->length > 10)
        return BAT_LEB128_OVERFLOW;
    uint8_t last = bytes[number->length - 1];
    if (number->length == 10 && last != 0x00 && last != 0x7f)
        return BAT_LEB128_OVERFLOW;
    bool is_overlong =
        number->length > 1 && last == (bytes[number->length - 2] & 0x40 ? 0x7f : 0x00);
    return is_overlong ? BAT_LEB128_OVERLONG : BAT_LEB128_FINE;
}

static int64_t signed_value(const struct slow_number *number)
{
    unsigned __int128 value = number->value;
    if (number->is_negative)
        value |= ~(unsigned __int128)0 << (7 * number->length);
    return (int64_t)(uint64_t)value;
}

TEST(test_values)
{
    static const struct {
        const char *bytes;
        bool is_signed;
        uint64_t value;
    } cases[] = {
        {"00", false, 0},
        {"ac02", false, 300},
        {"80808004", false, 0x800000},
        {"80808080808080808001", false, (uint64_t)1 << 63},
        {"ffffffffffffffffff01", false, UINT64_MAX},
        {"3f", true, 63},
        {"62", true, (uint64_t)-30},
        {"c000", true, 64},
        {"bf7f", true, (uint64_t)-65},
        {"ffffffffffffffffff00", true, INT64_MAX},
        {"8080808080808080807f", true, (uint64_t)INT64_MIN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct note_bytes bytes = {.size = 0};
        put_hex(&bytes, cases[i].bytes);
        struct slow_number number = read_slowly(bytes.bytes, (unsigned)bytes.size);
        assert_int_equal(number.length, bytes.size);
        uint64_t value =
            cases[i].is_signed ? (uint64_t)signed_value(&number) : (uint64_t)number.value;
        assert_int_equal(value, cases[i].value);
    }
}

/* Every proper prefix of a sound number is truncated; memory has exactly these bytes. */
TEST(test_truncated)
{
    for (unsigned length = 0; length < BAT_LEB128_MAX; length++) {
        uint8_t *bytes = malloc(length + 1);
        assert_non_null(bytes);
        memset(bytes, 0xff, length);
        uint8_t *block = realloc(bytes, length ? length : 1);
        assert_non_null(block);
        const uint8_t *cursor = block;
        uint64_t value;
        int64_t signed_number;
        assert_int_equal(bat_uleb128_read(&cursor, block + length, &value), BAT_LEB128_TRUNCATED);
        assert_int_equal(bat_sleb128_read(&cursor, block + length, &signed_number),
                         BAT_LEB128_TRUNCATED);
        assert_ptr_equal(cursor, block);
        free(block);
    }
}

/* --- All forms ------------------------------------------------------------------------------ */

/* No assertions of cmocka in these: there are millions of calls. */
static void check_unsigned(const uint8_t *bytes, unsigned size)
{
    struct slow_number number = read_slowly(bytes, size);
    enum bat_leb128_form form = form_of_uleb(bytes, &number);
    const uint8_t *end = form == BAT_LEB128_FINE ? bytes + number.length : bytes;
    const uint8_t *cursor = bytes;
    uint64_t value = 0;
    uint64_t fast_value = 0;
    /* The bytes may end right after the number. */
    if (bat_uleb128_read(&cursor, number.length ? bytes + number.length : bytes + size, &value) !=
            form ||
        cursor != end ||
        bat_uleb128_fast(bytes, &fast_value) != (form == BAT_LEB128_FINE ? end : NULL))
        fail_msg("a form of %u bytes is judged otherwise", number.length);
    if (form != BAT_LEB128_FINE)
        return;
    uint8_t written[BAT_LEB128_MAX];
    if (value != (uint64_t)number.value || fast_value != value ||
        bat_write_uleb(written, value) != written + number.length ||
        memcmp(written, bytes, number.length) != 0)
        fail_msg("a number of %u bytes is read or written otherwise", number.length);
}

static void check_signed(const uint8_t *bytes, unsigned size)
{
    struct slow_number number = read_slowly(bytes, size);
    enum bat_leb128_form form = form_of_sleb(bytes, &number);
    const uint8_t *end = form == BAT_LEB128_FINE ? bytes + number.length : bytes;
    bool is_fast = form == BAT_LEB128_FINE && number.length <= 8;
    const uint8_t *cursor = bytes;
    int64_t value = 0;
    int64_t fast_value = 0;
    if (bat_sleb128_read(&cursor, number.length ? bytes + number.length : bytes + size, &value) !=
            form ||
        cursor != end || bat_sleb128_fast(bytes, &fast_value) != (is_fast ? end : NULL))
        fail_msg("a signed form of %u bytes is judged otherwise", number.length);
    if (form != BAT_LEB128_FINE)
        return;
    uint8_t written[BAT_LEB128_MAX];
    uint8_t step[BAT_LEB128_MAX];
    if (value != signed_value(&number) || (is_fast && fast_value != value) ||
        bat_write_sleb(written, value) != written + number.length ||
        memcmp(written, bytes, number.length) != 0 ||
        bat_write_step(step, value) != step + number.length ||
        memcmp(step, bytes, number.length) != 0)
        fail_msg("a signed number of %u bytes is read or written otherwise", number.length);
}

/*
 * All pairs of bytes at each position of a number, after runs of four kinds of bytes: every length,
 * every last byte and every byte before it.
 */
TEST(test_all_forms)
{
    static const uint8_t runs[] = {0x80, 0xff, 0xc0, 0xbf};
    uint8_t bytes[2 * BAT_LEB128_MAX];
    for (unsigned run = 0; run < COUNT(runs); run++) {
        for (unsigned place = 0; place < BAT_LEB128_MAX; place++) {
            memset(bytes, runs[run], sizeof(bytes));
            for (unsigned pair = 0; pair < 65536; pair++) {
                bytes[place] = (uint8_t)pair;
                bytes[place + 1] = (uint8_t)(pair >> 8);
                check_unsigned(bytes, BAT_LEB128_MAX + 2);
                check_signed(bytes, BAT_LEB128_MAX + 2);
            }
        }
    }
}

TEST(test_load64)
{
    /* Little-endian, and from any alignment. */
    const uint8_t bytes[9] = {0xff, 0x8d, 0xb7, 0xf0, 0x63, 0x0a, 0xc4, 0xa1, 0x96};
    assert_int_equal(bat_load64(bytes + 1), 0x96a1c40a63f0b78d);
}
