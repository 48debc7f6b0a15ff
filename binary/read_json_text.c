/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "read_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elfnote/descriptors.h"

#define CHUNK_SIZE ((size_t)128 << 10)

struct json_place json_text_place(struct json_text *text, size_t length)
{
    /* At the end yajl parses a space that is not in the file. */
    uint64_t end = text->chunk_start + (text->at_end ? 0 : yajl_get_bytes_consumed(text->parser));
    uint64_t start = end > length ? end - length : 0;
    while (text->counted < start) {
        const unsigned char *from = text->chunk + (text->counted - text->chunk_start);
        const unsigned char *newline = memchr(from, '\n', (size_t)(start - text->counted));
        if (!newline) {
            text->counted = start;
            break;
        }
        text->counted += (uint64_t)(newline - from) + 1;
        text->line++;
        text->line_start = text->counted;
    }
    return (struct json_place){text->line, start - text->line_start + 1};
}

int json_text_stop(struct json_text *text, enum bat_code code, struct json_place place,
                   const char *format, ...)
{
    char message[BAT_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    text->code = code;
    bat_fail_text(text->error, code, place.line, place.column, "%s", message);
    return 0;
}

/* Fail with yajl's message about text that is not JSON, at the place where it stopped. */
static enum bat_code fail_syntax(struct json_text *text)
{
    unsigned char *reason = yajl_get_error(text->parser, 0, NULL, 0);
    size_t length = reason ? strcspn((const char *)reason, "\n") : 0;
    json_text_stop(text, BAT_ERR_SYNTAX, json_text_place(text, 0), "not JSON: %.*s", (int)length,
                   reason ? (const char *)reason : "");
    if (reason)
        yajl_free_error(text->parser, reason);
    return text->code;
}

static enum bat_code check_status(struct json_text *text, yajl_status status)
{
    if (status == yajl_status_ok)
        return BAT_OK;
    return status == yajl_status_client_canceled ? text->code : fail_syntax(text);
}

static enum bat_code parse_chunk(struct json_text *text, size_t size)
{
    BAT_TRY(check_status(text, yajl_parse(text->parser, text->chunk, size)));
    json_text_place(text, 0); /* count the lines of this chunk before it is overwritten */
    text->chunk_start += size;
    return BAT_OK;
}

static enum bat_code parse_chunks(struct json_text *text, int file, unsigned char *chunk)
{
    text->chunk = chunk;
    for (;;) {
        ssize_t size = bat_read_some(file, chunk, CHUNK_SIZE, -1);
        if (size < 0)
            return bat_fail(text->error, BAT_ERR_IO, "cannot be read: %m");
        if (size == 0)
            break;
        BAT_TRY(parse_chunk(text, (size_t)size));
    }
    text->at_end = true;
    return check_status(text, yajl_complete_parse(text->parser));
}

/* --- The parser's memory -------------------------------------------------------------------- */

/*
 * yajl does not check whether an allocation failed. Without memory, longjmp() leaves its functions,
 * and their blocks are freed here. yajl allocates nothing while it runs a callback, so longjmp()
 * never leaves a callback.
 */
struct block {
    struct block *before;
    struct block *after;
};

struct parser_memory {
    struct block all; /* head of the ring of blocks, without memory behind it */
    jmp_buf failed;
};

static void *put_in_ring(struct parser_memory *memory, struct block *block)
{
    if (!block)
        longjmp(memory->failed, 1);
    block->before = &memory->all;
    block->after = memory->all.after;
    block->after->before = block;
    memory->all.after = block;
    return block + 1;
}

static struct block *take_from_ring(void *bytes)
{
    struct block *block = (struct block *)bytes - 1;
    block->before->after = block->after;
    block->after->before = block->before;
    return block;
}

static void *parser_malloc(void *context, size_t size)
{
    return put_in_ring(context, malloc(sizeof(struct block) + size));
}

static void *parser_realloc(void *context, void *bytes, size_t size)
{
    struct block *block = bytes ? take_from_ring(bytes) : NULL;
    struct block *grown = realloc(block, sizeof(struct block) + size);
    if (!grown)
        free(block);
    return put_in_ring(context, grown);
}

static void parser_free(void *context, void *bytes)
{
    (void)context;
    if (bytes)
        free(take_from_ring(bytes));
}

enum bat_code json_text_parse(struct json_text *text, int file, const yajl_callbacks *callbacks,
                              void *context, struct bat_error *error)
{
    *text = (struct json_text){.line = 1, .error = error};
    struct parser_memory memory = {.all = {&memory.all, &memory.all}};
    yajl_alloc_funcs functions = {parser_malloc, parser_realloc, parser_free, &memory};
    enum bat_code code = BAT_ERR_MEMORY;
    if (setjmp(memory.failed) == 0) {
        unsigned char *chunk = parser_malloc(&memory, CHUNK_SIZE);
        text->parser = yajl_alloc(callbacks, &functions, context);
        code = parse_chunks(text, file, chunk);
    } else {
        code = bat_fail_memory(error, "to read JSON");
    }
    struct block *after;
    for (struct block *block = memory.all.after; block != &memory.all; block = after) {
        after = block->after;
        free(block);
    }
    return code;
}
