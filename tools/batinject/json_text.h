/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parses JSON from a file with callbacks, and finds lines and columns in it: json_note.h. */
#ifndef BAT_TOOLS_BATINJECT_JSON_TEXT_H
#define BAT_TOOLS_BATINJECT_JSON_TEXT_H

#include "bat.h"

#include <stddef.h>
#include <yajl/yajl_parse.h>

struct json_place {
    uint64_t line;   /* from 1 */
    uint64_t column; /* from 1, in bytes */
};

struct json_text {
    yajl_handle parser;
    const unsigned char *chunk;
    uint64_t chunk_start; /* of the chunk in the file */
    uint64_t counted;     /* offset in the file up to which lines were counted */
    uint64_t line;        /* at that offset */
    uint64_t line_start;  /* its offset in the file */
    bool at_end;          /* the whole file was parsed */
    enum bat_code code;   /* why a callback stopped the parser */
    struct bat_error *error;
};

/*
 * Parse an open file up to its end; callbacks get context. Text that is not JSON fails with
 * BAT_ERR_SYNTAX. A callback that returns 0 must have called json_text_stop(), or set text->code
 * and text->error itself.
 */
enum bat_code json_text_parse(struct json_text *text, int file, const yajl_callbacks *callbacks,
                              void *context, struct bat_error *error);

/* The place of the last parsed token, which has length bytes. Calls must not go backwards. */
struct json_place json_text_place(struct json_text *text, size_t length);

/* Set the error, with its place. Returns 0, which stops the parser. */
int json_text_stop(struct json_text *text, enum bat_code code, struct json_place place,
                   const char *format, ...) BAT_PRINTF(4, 5);

#endif
