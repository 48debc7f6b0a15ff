/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Numbers in text: eight bytes at a time as well as one by one. */
#include <inttypes.h>

#include "profile/text_fields.h"
#include "unit_test.h"

/* The slow reader's word on what the fast one is to say. */
static void check_hex(const uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t expected = 0;
    bool is_number = bat_read_hex(&at, &expected);
    bool is_short = is_number && at - bytes < 8 && size >= 8;
    const uint8_t *fast = bytes;
    uint64_t value = 0;
    assert_int_equal(bat_read_short_hex(&fast, bytes + size, &value), is_short);
    if (is_short) {
        assert_ptr_equal(fast, at);
        assert_true(value == expected);
    } else {
        assert_ptr_equal(fast, bytes);
    }
}

/* Each byte at each place behind digits. */
TEST(test_every_byte)
{
    for (unsigned length = 0; length <= 8; length++)
        for (unsigned byte = 0; byte < 256; byte++) {
            uint8_t *bytes = malloc(10);
            assert_non_null(bytes);
            memcpy(bytes, "7f3E9aC0\n\n", 10);
            bytes[length] = (uint8_t)byte;
            check_hex(bytes, 10);
            free(bytes);
        }
}

/* Texts that end before eight bytes do: not one byte more may be read. */
TEST(test_short_texts)
{
    for (size_t size = 1; size <= 12; size++) {
        uint8_t *bytes = malloc(size);
        assert_non_null(bytes);
        memset(bytes, 'b', size);
        bytes[size > 4 ? 4 : size - 1] = '\n';
        bytes[size - 1] = '\n';
        check_hex(bytes, size);
        free(bytes);
    }
}

TEST(test_values)
{
    for (uint64_t value = 0; value < UINT64_C(1) << 28; value = value * 3 + 1) {
        char text[24];
        snprintf(text, sizeof(text), "%" PRIx64 " 1 2 3 4\n", value);
        const uint8_t *at = (const uint8_t *)text;
        uint64_t found = 0;
        assert_true(bat_read_short_hex(&at, (const uint8_t *)text + strlen(text), &found));
        assert_true(found == value);
        assert_int_equal(*at, ' ');
    }
}

TEST(test_decimal_limit)
{
    static const struct {
        const char *text;
        bool fits;
    } numbers[] = {
        {"18446744073709551615 ", true},  {"18446744073709551616 ", false},
        {"18446744073709551609 ", true},  {"18446744073709551620 ", false},
        {"28446744073709551610 ", false}, {"184467440737095516150 ", false},
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        const uint8_t *at = (const uint8_t *)numbers[i].text;
        uint64_t value;
        bool fits;
        assert_true(bat_read_decimal(&at, &value, &fits));
        assert_int_equal(fits, numbers[i].fits);
        assert_int_equal(*at, ' ');
        if (fits)
            assert_true(value == strtoull(numbers[i].text, NULL, 10));
    }
}
