/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Buffered text output. Internal to the library. */
#ifndef BAT_SUPPORT_TEXT_WRITER_H
#define BAT_SUPPORT_TEXT_WRITER_H

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
    /* Not NULL: called with context before anything goes to output, which waits for it. If it
       fails, nothing goes there. */
    enum bat_code (*before_output)(void *context);
    void *context;
};

/* Begin to append to output, which stays the caller's. After success bat_text_finish() must follow.
 */
enum bat_code bat_text_begin(struct bat_text_writer *writer, struct bat_output *output,
                             struct bat_error *error);

/*
 * Write the rest of the buffer if code is BAT_OK, and free the buffer. Returns code, or else the
 * first error of the writer.
 */
enum bat_code bat_text_finish(struct bat_text_writer *writer, enum bat_code code);

void bat_text_flush(struct bat_text_writer *writer);

/* Space for size bytes, at most BAT_TEXT_BUFFER. bat_text_end() appends what was put there. */
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

/* Append any number of bytes: bat_text_long() if the buffer has no room for them. */
void bat_text_long(struct bat_text_writer *writer, const char *bytes, size_t size);

static inline void bat_text_bytes(struct bat_text_writer *writer, const char *bytes, size_t size)
{
    if (size > BAT_TEXT_BUFFER - writer->used) {
        bat_text_long(writer, bytes, size);
        return;
    }
    memcpy(writer->buffer + writer->used, bytes, size);
    writer->used += size;
}

/*
 * How many of the size bytes of text to write at once: at most `most`, which is at least 4, without
 * cutting a UTF-8 character.
 */
size_t bat_text_part(const char *text, size_t size, size_t most);

/* Append a C string of any length with its control characters escaped. */
void bat_text_escaped(struct bat_text_writer *writer, const char *string);

/* The same for a string that is read back as one word: blanks become underscores. */
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

static inline char *bat_put_base_16(char *at, uint64_t value, const char *digits)
{
    size_t size = 1;
    for (uint64_t rest = value >> 4; rest != 0; rest >>= 4)
        size++;
    for (size_t i = size; i-- > 0; value >>= 4)
        at[i] = digits[value & 15];
    return at + size;
}

static inline char *bat_put_hex(char *at, uint64_t value)
{
    return bat_put_base_16(at, value, "0123456789abcdef");
}

static inline char *bat_put_upper_hex(char *at, uint64_t value)
{
    return bat_put_base_16(at, value, "0123456789ABCDEF");
}

static inline char *bat_put_decimal(char *at, uint64_t value)
{
    size_t size = 1;
    for (uint64_t rest = value / 10; rest != 0; rest /= 10)
        size++;
    for (size_t i = size; i-- > 0; value /= 10)
        at[i] = (char)('0' + value % 10);
    return at + size;
}

#endif
