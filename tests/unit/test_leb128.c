/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * decoder/leb128.h and encoder/writer.h: LEB128 numbers (BAT.md 3). The values in the tables were
 * worked out by hand; all other forms are compared with a reader that computes in 128 bits.
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
static bool is_sound_uleb(const uint8_t *bytes, const struct slow_number *number)
{
    if (number->length == 0 || number->length > 10 || number->value > UINT64_MAX)
        return false;
    return number->length == 1 || bytes[number->length - 1] != 0x00;
}

/* "Neither 00 behind a byte whose bit 6 is clear nor 7f behind one whose bit 6 is set." */
static bool is_sound_sleb(const uint8_t *bytes, const struct slow_number *number)
{
    if (number->length == 0 || number->length > 10)
        return false;
    uint8_t last = bytes[number->length - 1];
    if (number->length == 10 && last != 0x00 && last != 0x7f)
        return false;
    if (number->length == 1)
        return true;
    bool bit_6_before = (bytes[number->length - 2] & 0x40) != 0;
    return !(last == 0x00 && !bit_6_before) && !(last == 0x7f && bit_6_before);
}

static int64_t signed_value(const struct slow_number *number)
{
    unsigned __int128 value = number->value;
    if (number->is_negative)
        value |= ~(unsigned __int128)0 << (7 * number->length);
    return (int64_t)(uint64_t)value;
}

/* --- Values worked out by hand -------------------------------------------------------------- */

static const struct {
    const char *bytes;
    uint64_t value;
} unsigned_values[] = {
    {"00", 0},
    {"01", 1},
    {"7f", 127},
    {"8001", 128},
    {"ac02", 300},
    {"ff7f", 16383},
    {"808001", 16384},
    {"80808004", 0x800000},
    {"ffffffff0f", 0xffffffff},
    {"8080808010", 0x100000000},
    {"ffffffffffff7f", 0x1ffffffffffff},          /* seven bytes of seven ones: 49 bits */
    {"8080808080808001", (uint64_t)1 << 49},      /* eight bytes */
    {"ffffffffffffff7f", 0xffffffffffffff},       /* 56 bits */
    {"808080808080808001", (uint64_t)1 << 56},    /* nine bytes */
    {"ffffffffffffffff7f", INT64_MAX},            /* 63 bits */
    {"80808080808080808001", (uint64_t)1 << 63},  /* ten bytes */
    {"fdffffffffffffffff01", 0xfffffffffffffffd}, /* -3 modulo 2^64 */
    {"ffffffffffffffffff01", UINT64_MAX},
};

static const struct {
    const char *bytes;
    int64_t value;
} signed_values[] = {
    {"00", 0},
    {"3f", 63},
    {"40", -64},
    {"7f", -1},
    {"62", -30},
    {"75", -11},
    {"c000", 64},
    {"bf7f", -65},
    {"8001", 128},
    {"807f", -128},
    {"ff3f", 8191},
    {"8040", -8192},
    {"80c000", 8192},
    {"ffbf7f", -8193},
    {"ffffffff0f", 0xffffffff}, /* 32 ones, 35 bits, sign clear */
    {"8180808070", -0xffffffffLL},
    {"ffffffffffffff3f", ((int64_t)1 << 55) - 1}, /* eight bytes, the fast reader's most */
    {"8080808080808040", -((int64_t)1 << 55)},
    {"80808080808080c000", (int64_t)1 << 55}, /* nine bytes */
    {"ffffffffffffffbf7f", -((int64_t)1 << 55) - 1},
    {"ffffffffffffffff3f", ((int64_t)1 << 62) - 1},
    {"808080808080808040", -((int64_t)1 << 62)},
    {"8080808080808080c000", (int64_t)1 << 62}, /* ten bytes */
    {"ffffffffffffffffff00", INT64_MAX},
    {"8080808080808080807f", INT64_MIN},
};

/* A number, followed by bytes of ones that must not be read as part of it. */
static struct note_bytes number_of(const char *hex, size_t *length)
{
    struct note_bytes bytes = {.size = 0};
    put_hex(&bytes, hex);
    *length = bytes.size;
    for (unsigned i = 0; i < 2 * BAT_LEB128_MAX; i++)
        put_byte(&bytes, 0xff);
    return bytes;
}

TEST(test_unsigned_values)
{
    for (size_t i = 0; i < COUNT(unsigned_values); i++) {
        size_t length;
        struct note_bytes bytes = number_of(unsigned_values[i].bytes, &length);
        const uint8_t *cursor = bytes.bytes;
        uint64_t value = 0;
        /* The bytes may end right after the number. */
        assert_int_equal(bat_uleb128_read(&cursor, bytes.bytes + length, &value), BAT_LEB128_FINE);
        assert_int_equal(value, unsigned_values[i].value);
        assert_ptr_equal(cursor, bytes.bytes + length);

        value = 0;
        assert_ptr_equal(bat_uleb128_fast(bytes.bytes, &value), bytes.bytes + length);
        assert_int_equal(value, unsigned_values[i].value);

        uint8_t written[BAT_LEB128_MAX];
        assert_int_equal(bat_write_uleb(written, unsigned_values[i].value) - written, length);
        assert_memory_equal(written, bytes.bytes, length);
    }
}

TEST(test_signed_values)
{
    for (size_t i = 0; i < COUNT(signed_values); i++) {
        size_t length;
        struct note_bytes bytes = number_of(signed_values[i].bytes, &length);
        const uint8_t *cursor = bytes.bytes;
        int64_t value = 0;
        assert_int_equal(bat_sleb128_read(&cursor, bytes.bytes + length, &value), BAT_LEB128_FINE);
        assert_int_equal(value, signed_values[i].value);
        assert_ptr_equal(cursor, bytes.bytes + length);

        if (length <= 8) {
            value = 0;
            assert_ptr_equal(bat_sleb128_fast(bytes.bytes, &value), bytes.bytes + length);
            assert_int_equal(value, signed_values[i].value);
        } else {
            assert_null(bat_sleb128_fast(bytes.bytes, &value));
        }

        uint8_t written[BAT_LEB128_MAX];
        assert_int_equal(bat_write_sleb(written, signed_values[i].value) - written, length);
        assert_memory_equal(written, bytes.bytes, length);
        memset(written, 0, sizeof(written));
        assert_int_equal(bat_write_step(written, signed_values[i].value) - written, length);
        assert_memory_equal(written, bytes.bytes, length);
    }
}

/* All numbers of one and two bytes, and those next to them. */
TEST(test_steps)
{
    for (int64_t step = -9000; step <= 9000; step++) {
        uint8_t written[BAT_LEB128_MAX + BAT_WRITER_SLACK];
        const uint8_t *end = bat_write_step(written, step);
        const uint8_t *cursor = written;
        int64_t value = 0;
        assert_int_equal(bat_sleb128_read(&cursor, end, &value), BAT_LEB128_FINE);
        assert_ptr_equal(cursor, end);
        assert_int_equal(value, step);
    }
}

/* --- Forms that are refused ----------------------------------------------------------------- */

struct fault {
    const char *bytes;
    enum bat_leb128_form form;
};

static const struct fault unsigned_faults[] = {
    {"8000", BAT_LEB128_OVERLONG},
    {"ff00", BAT_LEB128_OVERLONG},
    {"808000", BAT_LEB128_OVERLONG},
    {"808080808080800000", BAT_LEB128_OVERLONG},
    {"80808080808080808000", BAT_LEB128_OVERLONG}, /* ten bytes, the last one padding */
    {"80808080808080808002", BAT_LEB128_OVERFLOW}, /* bit 64 */
    {"8080808080808080807f", BAT_LEB128_OVERFLOW},
    {"8080808080808080808000", BAT_LEB128_OVERFLOW}, /* eleven bytes */
    {"ffffffffffffffffff8100", BAT_LEB128_OVERFLOW},
    {"ffffffffffffffffffffff01", BAT_LEB128_OVERFLOW},
};

static const struct fault signed_faults[] = {
    {"8000", BAT_LEB128_OVERLONG},
    {"bf00", BAT_LEB128_OVERLONG}, /* 63 is 3f */
    {"c07f", BAT_LEB128_OVERLONG}, /* -64 is 40 */
    {"ff7f", BAT_LEB128_OVERLONG}, /* -1 is 7f */
    {"ffff7f", BAT_LEB128_OVERLONG},
    {"c08000", BAT_LEB128_OVERLONG},
    {"80808080808080808000", BAT_LEB128_OVERLONG},
    {"ffffffffffffffffff7f", BAT_LEB128_OVERLONG},
    {"ffffffffffffffffff01", BAT_LEB128_OVERFLOW}, /* bit 63 and no sign: 2^64 - 1 */
    {"80808080808080808001", BAT_LEB128_OVERFLOW},
    {"8080808080808080807e", BAT_LEB128_OVERFLOW},
    {"80808080808080808040", BAT_LEB128_OVERFLOW},
    {"8080808080808080808000", BAT_LEB128_OVERFLOW},
    {"ffffffffffffffffffff7f", BAT_LEB128_OVERFLOW},
};

TEST(test_faults)
{
    for (size_t i = 0; i < COUNT(unsigned_faults) + COUNT(signed_faults); i++) {
        const bool is_signed = i >= COUNT(unsigned_faults);
        const struct fault *fault =
            is_signed ? &signed_faults[i - COUNT(unsigned_faults)] : &unsigned_faults[i];
        size_t length;
        struct note_bytes bytes = number_of(fault->bytes, &length);
        const uint8_t *cursor = bytes.bytes;
        const uint8_t *end = bytes.bytes + length;
        uint64_t value;
        int64_t number;
        assert_int_equal(is_signed ? bat_sleb128_read(&cursor, end, &number)
                                   : bat_uleb128_read(&cursor, end, &value),
                         fault->form);
        assert_ptr_equal(cursor, bytes.bytes);
        assert_null(is_signed ? bat_sleb128_fast(bytes.bytes, &number)
                              : bat_uleb128_fast(bytes.bytes, &value));
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

static void check_unsigned(const uint8_t *bytes, unsigned size)
{
    struct slow_number number = read_slowly(bytes, size);
    bool is_sound = is_sound_uleb(bytes, &number);
    const uint8_t *cursor = bytes;
    uint64_t value = 0;
    enum bat_leb128_form form = bat_uleb128_read(&cursor, bytes + size, &value);
    uint64_t fast_value = 0;
    const uint8_t *fast_end = bat_uleb128_fast(bytes, &fast_value);
    if ((form == BAT_LEB128_FINE) != is_sound || (fast_end != NULL) != is_sound)
        fail_msg("a form of %u bytes is judged otherwise", number.length);
    if (!is_sound)
        return;
    /* No assertions of cmocka here: there are millions of calls. */
    if (value != (uint64_t)number.value || fast_value != value || cursor != bytes + number.length ||
        fast_end != cursor)
        fail_msg("a number of %u bytes is read otherwise", number.length);
}

static void check_signed(const uint8_t *bytes, unsigned size)
{
    struct slow_number number = read_slowly(bytes, size);
    bool is_sound = is_sound_sleb(bytes, &number);
    const uint8_t *cursor = bytes;
    int64_t value = 0;
    enum bat_leb128_form form = bat_sleb128_read(&cursor, bytes + size, &value);
    int64_t fast_value = 0;
    const uint8_t *fast_end = bat_sleb128_fast(bytes, &fast_value);
    bool is_fast = is_sound && number.length <= 8;
    if ((form == BAT_LEB128_FINE) != is_sound || (fast_end != NULL) != is_fast)
        fail_msg("a signed form of %u bytes is judged otherwise", number.length);
    if (!is_sound)
        return;
    if (value != signed_value(&number) || cursor != bytes + number.length ||
        (is_fast && (fast_value != value || fast_end != cursor)))
        fail_msg("a signed number of %u bytes is read otherwise", number.length);
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
