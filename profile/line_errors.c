/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Errors of the text readers, with line and column. */
#include "profile.h"

#include <string.h>

#include "spec/escape_controls.h"
#include "text_fields.h"

#define QUOTED_MAX 40u

/* Bytes from `at` to the next blank as text, unprintable ones as \xNN, shortened with "...". */
static void quote(const uint8_t *at, const uint8_t *end, char *buffer)
{
    size_t length = 0;
    for (; at < end && !bat_ends_field(*at); at++) {
        if (length + 4 > QUOTED_MAX) {
            memcpy(buffer + length, "...", 3);
            length += 3;
            break;
        }
        if (*at >= 0x20 && *at < 0x7f) {
            buffer[length++] = (char)*at;
            continue;
        }
        bat_put_bytes_escaped(buffer + length, (const char *)at, 1);
        length += BAT_ESCAPED_BYTE;
    }
    buffer[length] = '\0';
}

enum bat_code bat_lines_fail(const struct bat_lines *lines, const uint8_t *start, const uint8_t *at,
                             const char *expected)
{
    uint64_t column = (uint64_t)(at - start) + 1;
    if (at >= lines->end || *at == '\n')
        return bat_fail_text(lines->error, BAT_ERR_SYNTAX, lines->line, column,
                             "expected %s, found the end of the line", expected);
    char found[QUOTED_MAX + 8];
    quote(at, lines->end, found);
    if (found[0] == '\0')
        return bat_fail_text(lines->error, BAT_ERR_SYNTAX, lines->line, column,
                             "expected %s, found a blank", expected);
    return bat_fail_text(lines->error, BAT_ERR_SYNTAX, lines->line, column,
                         "expected %s, found \"%s\"", expected, found);
}

enum bat_code bat_lines_fail_add(const struct bat_lines *lines, enum bat_code code)
{
    /* Additions are made in batches, so the line of the failed one is not known. */
    return bat_counts_fail(lines->error, code, "the profile");
}
