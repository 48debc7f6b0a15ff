/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text for an output, by way of a buffer. Internal to the library. */
#ifndef BAT_PROFILE_TEXT_WRITER_H
#define BAT_PROFILE_TEXT_WRITER_H

#include <string.h>

#include "bat.h"
#include "bat_output.h"

#define BAT_TEXT_BUFFER ((size_t)1 << 17)

/* Errors are kept until bat_text_finish(). */
struct bat_text_writer {
    struct bat_output *output;
    char *buffer;
    size_t used;
    enum bat_code code;
    struct bat_error *error;
};

/* Begin to append to output, which stays the caller's. After success bat_text_finish() must follow.
 */
enum bat_code bat_text_begin(struct bat_text_writer *writer, struct bat_output *output,
                             struct bat_error *error);

/*
 * Write out what is left if code is BAT_OK, and free the buffer. Returns code, or what went wrong
 * here.
 */
enum bat_code bat_text_finish(struct bat_text_writer *writer, enum bat_code code);

void bat_text_flush(struct bat_text_writer *writer);

/* Room for size bytes, at most BAT_TEXT_BUFFER; what was put there is handed over with _end(). */
static inline char *bat_text_room(struct bat_text_writer *writer, size_t size)
{
    if (BAT_TEXT_BUFFER - writer->used < size)
        bat_text_flush(writer);
    return writer->buffer + writer->used;
}

static inline void bat_text_end(struct bat_text_writer *writer, const char *at)
{
    writer->used = (size_t)(at - writer->buffer);
}

/* Any number of bytes. */
void bat_text_bytes(struct bat_text_writer *writer, const char *bytes, size_t size);

/*
 * The bytes of text, size bytes, to take at once: at most `most`, which is 4 at least,
 * and none of a UTF-8 character that is cut by that.
 */
size_t bat_text_part(const char *text, size_t size, size_t most);

/* A C string of any length with its control characters escaped. */
void bat_text_escaped(struct bat_text_writer *writer, const char *string);

/* The same for what is read as a word: blanks, which would end it, become underscores. */
void bat_text_word(struct bat_text_writer *writer, const char *string);

static inline void bat_text_string(struct bat_text_writer *writer, const char *string)
{
    bat_text_bytes(writer, string, strlen(string));
}

/* Put text or a number at `at`, which has room for it (20 bytes for a number); return the end. */
static inline char *bat_put_text(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    return at;
}

static inline char *bat_put_number(char *at, uint64_t value, unsigned base, const char *digits)
{
    char reversed[64];
    size_t size = 0;
    do
        reversed[size++] = digits[value % base];
    while ((value /= base) != 0);
    while (size != 0)
        *at++ = reversed[--size];
    return at;
}

static inline char *bat_put_hex(char *at, uint64_t value)
{
    return bat_put_number(at, value, 16, "0123456789abcdef");
}

static inline char *bat_put_upper_hex(char *at, uint64_t value)
{
    return bat_put_number(at, value, 16, "0123456789ABCDEF");
}

static inline char *bat_put_decimal(char *at, uint64_t value)
{
    return bat_put_number(at, value, 10, "0123456789");
}

#endif
