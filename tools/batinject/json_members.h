/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The members of the objects in a note described as JSON, as data: json_note.h, spec/json.md. */
#ifndef BAT_TOOLS_BATINJECT_JSON_MEMBERS_H
#define BAT_TOOLS_BATINJECT_JSON_MEMBERS_H

#include <stdint.h>

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

#endif
