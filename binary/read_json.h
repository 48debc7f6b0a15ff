/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How read_json.c reads: the text, and the tables that it makes. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>

#include "bat.h"
#include "bat_encoder.h"

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

struct json_entry {
    uint64_t hash;
    uint32_t output;
    uint32_t input;
    uint32_t index;
    bool is_branch;
};

/* One table as it was read; an empty one is all zeros. */
struct json_table {
    struct json_place place;
    bool is_cold;
    uint64_t address;
    uint64_t hash;
    uint64_t parent; /* address */
    uint32_t num_blocks;
    struct json_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
    uint32_t *secondary_entries;
    size_t secondary_count;
    size_t secondary_capacity;
};

void json_table_free(struct json_table *table);

/* All tables. */
struct json_tables {
    struct bat_builder *builder;
    void *by_address; /* tree of the tables that the builder has, and of those that wait */
    struct json_table *waiting; /* fragments whose parent is not known yet */
    size_t waiting_count;
    size_t waiting_capacity;
};

enum bat_code json_tables_begin(struct json_tables *tables, struct bat_error *error);

/* Add a complete table. Takes over its arrays if it must wait for its parent. */
enum bat_code json_tables_add(struct json_tables *tables, struct json_table *table,
                              struct bat_error *error);

/* Make the map of all tables. */
enum bat_code json_tables_finish(struct json_tables *tables, enum bat_hot_index hot_index,
                                 struct bat_map **map, struct bat_error *error);

void json_tables_free(struct json_tables *tables);
