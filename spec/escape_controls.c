/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "escape_controls.h"

#include <stdint.h>
#include <string.h>

#include "bat.h"

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* True if a second byte may follow the first byte of a character of three or four bytes. */
static bool may_follow(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second < 0xa0;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second < 0x90;
    default:
        return true;
    }
}

size_t bat_utf8_length(const char *text, size_t size)
{
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (length > size)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (!continues(text[i]))
            return 0;
    return may_follow(first, (unsigned char)text[1]) ? length : 0;
}

bool bat_is_control(const char *text, size_t size, size_t *length)
{
    unsigned char first = (unsigned char)text[0];
    *length = bat_utf8_length(text, size);
    if (*length == 2)
        return first == 0xc2 && (unsigned char)text[1] < 0xa0;
    if (*length > 2)
        return false;
    *length = 1;
    return first < 0x20 || (first >= 0x7f && first < 0xa0);
}

/* The value 1 in each of eight bytes. */
#define EACH_BYTE UINT64_C(0x0101010101010101)

/* True if one of eight bytes is not between a blank and a tilde, as nearly all bytes of names are.
 */
static bool has_others(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    /* The highest bit of a byte is set if it is below 0x20, above 0x7e, or 0x80 and above. A carry
     * into the next byte comes only from such a byte. */
    return (((word - 0x20 * EACH_BYTE) | (word + EACH_BYTE) | word) & 0x80 * EACH_BYTE) != 0;
}

/* True if all bytes are printable ASCII characters. */
static bool are_plain(const char *text, size_t size)
{
    if (size >= 8) {
        for (size_t i = 0; i + 8 <= size; i += 8)
            if (has_others(text + i))
                return false;
        return !has_others(text + size - 8);
    }
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)(text[i] - 0x20) > 0x7e - 0x20)
            return false;
    return true;
}

bool bat_has_controls(const char *text, size_t size)
{
    if (are_plain(text, size))
        return false;
    size_t length;
    for (size_t i = 0; i < size; i += length)
        if (bat_is_control(text + i, size - i, &length))
            return true;
    return false;
}

char *bat_put_bytes_escaped(char *at, const char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        *at++ = '\\';
        *at++ = 'x';
        *at++ = digits[byte >> 4];
        *at++ = digits[byte & 15];
    }
    return at;
}

char *bat_put_escaped(char *at, const char *text, size_t size)
{
    if (!bat_has_controls(text, size))
        return (char *)memcpy(at, text, size) + size;
    size_t length;
    for (size_t i = 0; i < size; i += length) {
        if (bat_is_control(text + i, size - i, &length))
            at = bat_put_bytes_escaped(at, text + i, length);
        else
            at = (char *)memcpy(at, text + i, length) + length;
    }
    return at;
}

void bat_escape_message(char *buffer, size_t size)
{
    const size_t used = strlen(buffer);
    if (are_plain(buffer, used))
        return;
    char escaped[BAT_ESCAPED_BYTE * BAT_MESSAGE_SIZE];
    char *at = escaped;
    size_t length;
    for (size_t i = 0; i < used; i += length) {
        const bool is_escaped = bat_is_control(buffer + i, used - i, &length) ||
                                bat_utf8_length(buffer + i, used - i) == 0;
        char *end = is_escaped ? bat_put_bytes_escaped(at, buffer + i, length)
                               : (char *)memcpy(at, buffer + i, length) + length;
        if ((size_t)(end - escaped) >= size)
            break;
        at = end;
    }
    memcpy(buffer, escaped, (size_t)(at - escaped));
    buffer[at - escaped] = '\0';
}
