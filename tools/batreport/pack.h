/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes that the page's data is packed from: varints, columns of them, compressed base64. */
#ifndef BAT_TOOLS_BATREPORT_PACK_H
#define BAT_TOOLS_BATREPORT_PACK_H

#include "bat_output.h"

/* A growing array of bytes. All zero is empty. Freed with pack_free(). */
struct pack {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool lacks_memory; /* something could not be added */
};

void pack_free(struct pack *pack);

void pack_bytes(struct pack *pack, const void *bytes, size_t size);

/* An unsigned number: seven bits a byte, the lowest first, the highest bit set in all but the last.
 */
void pack_number(struct pack *pack, uint64_t value);

/* A difference to - from, modulo 2^64 a signed number: zigzag, then as pack_number(). */
void pack_change(struct pack *pack, uint64_t from, uint64_t to);

/* The size of a column, and then its bytes. The column is empty afterwards. */
void pack_column(struct pack *pack, struct pack *column);

/* Text, its terminating zero included. */
void pack_text(struct pack *pack, const char *text);

/* Write raw deflate of pack in base64. Fails as bat_output_write(), and with BAT_ERR_MEMORY. */
enum bat_code pack_write(struct pack *pack, struct bat_output *output, struct bat_error *error);

/* size bytes in base64, with a terminating zero: text has room for 4 * ((size + 2) / 3) + 1. */
void pack_base64(const uint8_t *bytes, size_t size, char *text);

#endif
