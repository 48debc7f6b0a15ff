/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "reading.h"

#include <stdarg.h>
#include <stdio.h>

/* Longer LEB128 numbers are damaged; 64 bits take 10 bytes, the rest would be padding. */
#define LEB128_MAX 16u

enum bat_code probe_bytes_fail(const struct probe_bytes *bytes, const uint8_t *at,
                               enum bat_code code, const char *format, ...)
{
    char sentence[BAT_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return bat_fail(bytes->error, code, "%s+0x%lx: %s", bytes->section,
                    (uint64_t)(at - bytes->start), sentence);
}

enum bat_code probe_bytes_ends(const struct probe_bytes *bytes, const char *what, const char *size)
{
    return probe_bytes_fail(bytes, bytes->at, BAT_ERR_TRUNCATED,
                            "expected %s (%s), found the section's end after %zu bytes", what, size,
                            probe_bytes_left(bytes));
}

/* A LEB128 number; *is_wide is set if it has bits beyond 64 that say something. */
static enum bat_code read_leb128(struct probe_bytes *bytes, const char *what, bool is_signed,
                                 uint64_t *value, bool *is_wide)
{
    const uint8_t *at = bytes->at;
    uint64_t result = 0;
    uint64_t beyond = 0;  /* the bits beyond 64, those of all bytes together */
    uint64_t missing = 0; /* the complements of the same bits */
    for (unsigned shift = 0; at < bytes->end && shift < 7 * LEB128_MAX; shift += 7) {
        const uint8_t byte = *at++;
        const uint64_t bits = byte & 0x7f;
        if (shift < 64)
            result |= bits << shift;
        if (shift + 7 > 64) {
            const unsigned inside = shift < 64 ? 64 - shift : 0;
            beyond |= bits >> inside;
            missing |= (bits ^ 0x7f) >> inside;
        }
        if (byte & 0x80)
            continue;
        if (is_signed && (byte & 0x40) && shift + 7 < 64)
            result |= UINT64_MAX << (shift + 7);
        const bool is_negative = is_signed && result >> 63;
        *is_wide = is_negative ? missing != 0 : beyond != 0;
        *value = result;
        bytes->at = at;
        return BAT_OK;
    }
    if (at == bytes->end)
        return probe_bytes_ends(bytes, what, "LEB128");
    return probe_bytes_fail(bytes, bytes->at, BAT_ERR_LEB128,
                            "expected %s in at most %u bytes of LEB128, found more", what,
                            LEB128_MAX);
}

enum bat_code probe_bytes_long_number(struct probe_bytes *bytes, const char *what, uint32_t *value)
{
    const uint8_t *at = bytes->at;
    uint64_t number = 0;
    bool is_wide = false;
    BAT_TRY(read_leb128(bytes, what, false, &number, &is_wide));
    if (is_wide || number > UINT32_MAX)
        return probe_bytes_fail(bytes, at, is_wide ? BAT_ERR_LEB128 : BAT_ERR_RANGE,
                                "expected %s of at most 32 bits, found %s%lu", what,
                                is_wide ? "2^64 and more, of which the lower bits are " : "",
                                number);
    *value = (uint32_t)number;
    return BAT_OK;
}

enum bat_code probe_bytes_long_signed(struct probe_bytes *bytes, const char *what, int64_t *value)
{
    const uint8_t *at = bytes->at;
    uint64_t number = 0;
    bool is_wide = false;
    BAT_TRY(read_leb128(bytes, what, true, &number, &is_wide));
    if (is_wide)
        return probe_bytes_fail(
            bytes, at, BAT_ERR_LEB128,
            "expected %s of at most 64 bits, found more; the lower ones are 0x%lx", what, number);
    *value = (int64_t)number;
    return BAT_OK;
}

enum bat_code probe_bytes_many(const struct probe_bytes *bytes, const uint8_t *at, const char *what,
                               size_t least, uint32_t value)
{
    return probe_bytes_fail(bytes, at, BAT_ERR_COUNT,
                            "expected %s of at most %zu, as %zu bytes are left, found %u", what,
                            probe_bytes_left(bytes) / least, probe_bytes_left(bytes), value);
}
