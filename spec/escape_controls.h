/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Control characters in names, paths and text that come from files, made visible. All output goes
 * through these functions: messages, reports, profiles. Internal to the library and the tools.
 *
 * A control character is a byte below 0x20, 0x7f, U+0080 to U+009F in UTF-8 (two bytes), or a byte
 * from 0x80 to 0x9f that is no part of a UTF-8 character. Each of its bytes becomes "\x1b": a
 * backslash, an x, two hexadecimal digits. Everything else stays as it is, so escaping twice is
 * escaping once.
 */
#ifndef BAT_SPEC_ESCAPE_CONTROLS_H
#define BAT_SPEC_ESCAPE_CONTROLS_H

#include <stdbool.h>
#include <stddef.h>

/* What one byte may grow to. */
#define BAT_ESCAPED_BYTE 4u

/*
 * The bytes of the UTF-8 character that text, size bytes and at least 1, begins with; 0 if it
 * begins with none. Overlong forms, surrogates and what lies above U+10FFFF are no characters.
 */
size_t bat_utf8_length(const char *text, size_t size);

/* True if a control character begins at text, size bytes and at least 1; *length are its bytes. */
bool bat_is_control(const char *text, size_t size, size_t *length);

/* True if any control character is in text, size bytes. */
bool bat_has_controls(const char *text, size_t size);

/*
 * Put text, size bytes, with its control characters escaped at `at`, which has room for
 * BAT_ESCAPED_BYTE * size bytes. Returns the end; writes no terminating zero.
 */
char *bat_put_escaped(char *at, const char *text, size_t size);

/* Put size bytes as "\x1b" each. Returns the end. */
char *bat_put_bytes_escaped(char *at, const char *bytes, size_t size);

/*
 * Escape the C string in buffer, which has size bytes (at most BAT_MESSAGE_SIZE). What no longer
 * fits is cut off at the end.
 */
void bat_escape_message(char *buffer, size_t size);

#endif
