/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"
#include "spec/array.h"

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

/* Bytes that deflate gets room for at a time. */
#define PORTION ((size_t)3 << 14)

/* zlib's usual one: the best is 1% smaller and takes twice the time. */
#define LEVEL 6

/* zlib counts in 32 bits: feed it, and take from it, at most so much at a time. */
static uInt portion(size_t left)
{
    return left < (size_t)1 << 30 ? (uInt)left : (uInt)1 << 30;
}

static bool deflate_all(z_stream *stream, const struct pack *pack, struct pack *packed)
{
    size_t fed = 0;
    for (int state = Z_OK; state != Z_STREAM_END;) {
        if (stream->avail_in == 0) {
            stream->next_in = pack->bytes + fed;
            stream->avail_in = portion(pack->size - fed);
            fed += stream->avail_in;
        }
        if (!bat_reserve(&packed->bytes, &packed->capacity, packed->size, PORTION, 1))
            return false;
        stream->next_out = packed->bytes + packed->size;
        stream->avail_out = (uInt)PORTION;
        state = deflate(stream, fed == pack->size ? Z_FINISH : Z_NO_FLUSH);
        packed->size += PORTION - stream->avail_out;
    }
    return true;
}

void pack_deflate(struct pack *pack)
{
    z_stream stream = {0};
    struct pack packed = {0};
    bool fits = !pack->lacks_memory &&
                deflateInit2(&stream, LEVEL, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) == Z_OK;
    if (fits) {
        fits = deflate_all(&stream, pack, &packed);
        deflateEnd(&stream);
    }
    pack_free(pack);
    size_t size = 4 * ((packed.size + 2) / 3);
    pack->bytes = fits ? malloc(size + 1) : NULL;
    pack->lacks_memory = !pack->bytes;
    if (pack->bytes) {
        pack_base64(packed.bytes, packed.size, (char *)pack->bytes);
        pack->size = size;
    }
    pack_free(&packed);
}
