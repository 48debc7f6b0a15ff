/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"
#include "spec/grow.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

void pack_free(struct pack *pack)
{
    free(pack->bytes);
    *pack = (struct pack){0};
}

void pack_bytes(struct pack *pack, const void *bytes, size_t size)
{
    if (!bat_reserve(&pack->bytes, &pack->capacity, pack->size, size, 1)) {
        pack->lacks_memory = true;
        return;
    }
    if (size != 0)
        memcpy(pack->bytes + pack->size, bytes, size);
    pack->size += size;
}

void pack_number(struct pack *pack, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    pack_bytes(pack, bytes, size);
}

void pack_change(struct pack *pack, uint64_t from, uint64_t to)
{
    uint64_t change = to - from;
    pack_number(pack, change << 1 ^ (change >> 63 ? UINT64_MAX : 0));
}

void pack_column(struct pack *pack, struct pack *column)
{
    pack_number(pack, column->size);
    pack_bytes(pack, column->bytes, column->size);
    pack->lacks_memory |= column->lacks_memory;
    column->size = 0;
}

void pack_text(struct pack *pack, const char *text)
{
    pack_bytes(pack, text, strlen(text) + 1);
}

/* --- Base64 ---------------------------------------------------------------------------------- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void put_group(uint32_t bits, char *text)
{
    for (unsigned i = 0; i < 4; i++)
        text[i] = digits[bits >> (18 - 6 * i) & 63];
}

void pack_base64(const uint8_t *bytes, size_t size, char *text)
{
    size_t whole = size / 3 * 3;
    for (size_t i = 0; i < whole; i += 3, text += 4)
        put_group((uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2], text);
    if (size > whole) {
        uint32_t bits = (uint32_t)bytes[whole] << 16;
        if (size - whole == 2)
            bits |= (uint32_t)bytes[whole + 1] << 8;
        put_group(bits, text);
        text[3] = '=';
        if (size - whole == 1)
            text[2] = '=';
        text += 4;
    }
    *text = '\0';
}

/* --- Deflate --------------------------------------------------------------------------------- */

/* Bytes of deflate that are written at once; a multiple of 3, so that base64 has no padding. */
#define PORTION ((size_t)3 << 14)

struct portion {
    uint8_t bytes[PORTION];
    char text[PORTION / 3 * 4 + 1];
};

/* zlib's usual one: the best is 1% smaller and takes twice the time. */
#define LEVEL 6

/* zlib counts input in 32 bits. */
static void feed(z_stream *stream, const struct pack *pack, size_t *fed)
{
    size_t left = pack->size - *fed;
    size_t size = left < (size_t)1 << 30 ? left : (size_t)1 << 30;
    stream->next_in = pack->bytes + *fed;
    stream->avail_in = (uInt)size;
    *fed += size;
}

static enum bat_code deflate_all(z_stream *stream, const struct pack *pack, struct portion *portion,
                                 struct bat_output *output, struct bat_error *error)
{
    size_t fed = 0;
    int state = Z_OK;
    enum bat_code code = BAT_OK;
    while (code == BAT_OK && state != Z_STREAM_END) {
        stream->next_out = portion->bytes;
        stream->avail_out = (uInt)PORTION;
        while (stream->avail_out != 0 && state != Z_STREAM_END) {
            if (stream->avail_in == 0)
                feed(stream, pack, &fed);
            state = deflate(stream, fed == pack->size ? Z_FINISH : Z_NO_FLUSH);
        }
        pack_base64(portion->bytes, PORTION - stream->avail_out, portion->text);
        code = bat_output_write(output, portion->text, strlen(portion->text), error);
    }
    return code;
}

enum bat_code pack_write(struct pack *pack, struct bat_output *output, struct bat_error *error)
{
    z_stream stream = {0};
    struct portion *portion = pack->lacks_memory ? NULL : malloc(sizeof(*portion));
    if (!portion || deflateInit2(&stream, LEVEL, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(portion);
        return bat_fail_memory(error, "to pack the page");
    }
    enum bat_code code = deflate_all(&stream, pack, portion, output, error);
    deflateEnd(&stream);
    free(portion);
    return code;
}
