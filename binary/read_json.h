/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How read_json.c reads: the text, the members of its objects, the tables that they make. */
#ifndef BAT_BINARY_READ_JSON_H
#define BAT_BINARY_READ_JSON_H

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

enum json_type {
    JSON_TEXT,    /* any string; ignored */
    JSON_WORD,    /* one of a few strings; its value is the position among them */
    JSON_NUMBER,  /* a whole number up to max, or a "0x.." string */
    JSON_ADDRESS, /* a "0x.." string of up to 64 bits */
    JSON_BOOLEAN,
    JSON_ARRAY,
    JSON_ANY, /* of a member that is skipped */
};

struct json_member {
    const char *name; /* NULL behind an object's last member */
    enum json_type type;
    uint64_t max;
    const char *const *words; /* NULL behind the last */
};

enum json_note_member {
    NOTE_FORMAT,
    NOTE_SCHEMA,
    NOTE_VERSION,
    NOTE_HOT_INDEX,
    NOTE_BUILD_ID,
    NOTE_BOLT_INFO,
    NOTE_FUNCTIONS,
};

enum json_table_member {
    TABLE_KIND,
    TABLE_ADDRESS,
    TABLE_NAME,
    TABLE_HASH,
    TABLE_NUM_BLOCKS,
    TABLE_SECONDARY_ENTRY_POINTS,
    TABLE_PARENT,
    TABLE_SKEW,
    TABLE_EQUAL_PREFIX,
    TABLE_NUM_ENTRIES,
    TABLE_ENTRIES,
    TABLE_MEMBERS /* no object has more */
};

enum json_entry_member { ENTRY_OUTPUT, ENTRY_INPUT, ENTRY_HASH, ENTRY_INDEX, ENTRY_BRANCH };

enum json_hot_index_word { WORD_TABLE, WORD_MERGED };
enum json_kind_word { WORD_HOT, WORD_COLD };

extern const struct json_member json_note_members[];
extern const struct json_member json_table_members[];
extern const struct json_member json_entry_members[];

/* A member whose name begins with "x-". */
extern const struct json_member json_skipped_member;

/* A secondary entry point: an element of an array, treated as a member. */
extern const struct json_member json_secondary_member;

/* The name of a type, for messages. */
const char *json_type_name(enum json_type type);

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

/* Add to a table. False if there is no memory. */
bool json_table_add_entry(struct json_table *table, struct json_entry entry);
bool json_table_add_secondary(struct json_table *table, uint32_t offset);

/* Make it an empty table again; its arrays are kept for the next one. */
void json_table_reset(struct json_table *table);
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

#endif
