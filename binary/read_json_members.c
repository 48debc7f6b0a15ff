/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "read_json.h"

#include <stddef.h>

static const char *const format_words[] = {"batkit-note", NULL};
static const char *const hot_index_words[] = {
    [WORD_TABLE] = "table", [WORD_MERGED] = "merged", NULL};
static const char *const kind_words[] = {[WORD_HOT] = "hot", [WORD_COLD] = "cold", NULL};

const struct json_member json_note_members[] = {
    [NOTE_FORMAT] = {"format", JSON_WORD, 0, format_words},
    [NOTE_SCHEMA] = {"schema", JSON_NUMBER, UINT64_MAX, NULL},
    [NOTE_VERSION] = {"version", JSON_NUMBER, UINT64_MAX, NULL},
    [NOTE_HOT_INDEX] = {"hot_index", JSON_WORD, 0, hot_index_words},
    [NOTE_BUILD_ID] = {"build_id", JSON_TEXT, 0, NULL},
    [NOTE_BOLT_INFO] = {"bolt_info", JSON_TEXT, 0, NULL},
    [NOTE_FUNCTIONS] = {"functions", JSON_ARRAY, 0, NULL},
    {0},
};

const struct json_member json_table_members[] = {
    [TABLE_KIND] = {"kind", JSON_WORD, 0, kind_words},
    [TABLE_ADDRESS] = {"address", JSON_ADDRESS, UINT64_MAX, NULL},
    [TABLE_NAME] = {"name", JSON_TEXT, 0, NULL},
    [TABLE_HASH] = {"hash", JSON_ADDRESS, UINT64_MAX, NULL},
    [TABLE_NUM_BLOCKS] = {"num_blocks", JSON_NUMBER, UINT32_MAX, NULL},
    [TABLE_SECONDARY_ENTRY_POINTS] = {"secondary_entry_points", JSON_ARRAY, 0, NULL},
    [TABLE_PARENT] = {"parent", JSON_ADDRESS, UINT64_MAX, NULL},
    [TABLE_SKEW] = {"skew", JSON_NUMBER, UINT64_MAX, NULL},
    [TABLE_EQUAL_PREFIX] = {"equal_prefix", JSON_NUMBER, UINT64_MAX, NULL},
    [TABLE_NUM_ENTRIES] = {"num_entries", JSON_NUMBER, UINT64_MAX, NULL},
    [TABLE_ENTRIES] = {"entries", JSON_ARRAY, 0, NULL},
    {0},
};

const struct json_member json_entry_members[] = {
    [ENTRY_OUTPUT] = {"output", JSON_NUMBER, UINT32_MAX, NULL},
    [ENTRY_INPUT] = {"input", JSON_NUMBER, INT32_MAX, NULL},
    [ENTRY_HASH] = {"hash", JSON_ADDRESS, UINT64_MAX, NULL},
    [ENTRY_INDEX] = {"index", JSON_NUMBER, UINT32_MAX, NULL},
    [ENTRY_BRANCH] = {"branch", JSON_BOOLEAN, 1, NULL},
    {0},
};

const struct json_member json_skipped_member = {"", JSON_ANY, 0, NULL};
const struct json_member json_secondary_member = {"secondary_entry_points", JSON_NUMBER, UINT32_MAX,
                                                  NULL};

const char *json_type_name(enum json_type type)
{
    switch (type) {
    case JSON_TEXT:
    case JSON_WORD:
        return "a string";
    case JSON_NUMBER:
        return "a whole number";
    case JSON_ADDRESS:
        return "a string such as \"0x4005d0\"";
    case JSON_BOOLEAN:
        return "true or false";
    case JSON_ARRAY:
        return "an array";
    default:
        return "any value";
    }
}
