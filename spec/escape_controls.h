/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Escapes control characters in names, paths and text that come from files. All output goes
 * through these functions: messages, reports, profiles. Internal to the library and the tools.
 *
 * A control character is a byte below 0x20, the byte 0x7f, U+0080 to U+009F in UTF-8 (two bytes),
 * or a byte from 0x80 to 0x9f that is not part of a UTF-8 character. Each of its bytes becomes a
 * backslash, an x and two hexadecimal digits, for example "\x1b". All other bytes stay as they
 * are, so escaping a second time changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The most bytes that one byte becomes. */
#define BAT_ESCAPED_BYTE 4u

/*
 * Returns the number of bytes of the UTF-8 character at the start of text, or 0 if there is none.
 * text has size bytes, at least 1. Overlong forms, surrogates and code points above U+10FFFF are
 * not characters.
 */
size_t bat_utf8_length(const char *text, size_t size);

/*
 * True if text, which has size bytes, at least 1, starts with a control character. *length gets
 * the number of bytes of the character at the start of text, control character or not.
 */
bool bat_is_control(const char *text, size_t size, size_t *length);

/* True if text, which has size bytes, contains a control character. */
bool bat_has_controls(const char *text, size_t size);

/*
 * Write text, which has size bytes, to `at` with its control characters escaped. `at` must have
 * room for BAT_ESCAPED_BYTE * size bytes. Returns the end; writes no terminating zero.
 */
char *bat_put_escaped(char *at, const char *text, size_t size);

/* Write every one of size bytes in the form "\x1b". Returns the end. */
char *bat_put_bytes_escaped(char *at, const char *bytes, size_t size);

/*
 * Escape the C string in buffer, which has size bytes (at most BAT_MESSAGE_SIZE); bytes of no whole
 * UTF-8 character, too, as of one that was cut. What does not fit is cut off behind a character.
 */
void bat_escape_message(char *buffer, size_t size);
