/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "read_json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bat_binary.h"
#include "spec/array.h"

/* --- Members of objects ----------------------------------------------------------------------- */

enum type {
    JSON_TEXT,    /* any string; ignored */
    JSON_WORD,    /* one of a few strings; its value is the position among them */
    JSON_NUMBER,  /* a whole number up to max, or a "0x.." string */
    JSON_ADDRESS, /* a "0x.." string of up to 64 bits */
    JSON_BOOLEAN,
    JSON_ARRAY,
    JSON_ANY, /* of a member that is skipped */
};

struct member {
    const char *name; /* NULL behind an object's last member */
    enum type type;
    uint64_t max;
    const char *const *words; /* NULL behind the last */
};

enum note_member {
    NOTE_FORMAT,
    NOTE_SCHEMA,
    NOTE_VERSION,
    NOTE_HOT_INDEX,
    NOTE_BUILD_ID,
    NOTE_BOLT_INFO,
    NOTE_FUNCTIONS,
};

enum table_member {
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

enum entry_member { ENTRY_OUTPUT, ENTRY_INPUT, ENTRY_HASH, ENTRY_INDEX, ENTRY_BRANCH };

enum hot_index_word { WORD_TABLE, WORD_MERGED };
enum kind_word { WORD_HOT, WORD_COLD };

static const char *const format_words[] = {"batkit-note", NULL};
static const char *const hot_index_words[] = {
    [WORD_TABLE] = "table", [WORD_MERGED] = "merged", NULL};
static const char *const kind_words[] = {[WORD_HOT] = "hot", [WORD_COLD] = "cold", NULL};

static const struct member note_members[] = {
    [NOTE_FORMAT] = {"format", JSON_WORD, 0, format_words},
    [NOTE_SCHEMA] = {"schema", JSON_NUMBER, UINT64_MAX, NULL},
    [NOTE_VERSION] = {"version", JSON_NUMBER, UINT64_MAX, NULL},
    [NOTE_HOT_INDEX] = {"hot_index", JSON_WORD, 0, hot_index_words},
    [NOTE_BUILD_ID] = {"build_id", JSON_TEXT, 0, NULL},
    [NOTE_BOLT_INFO] = {"bolt_info", JSON_TEXT, 0, NULL},
    [NOTE_FUNCTIONS] = {"functions", JSON_ARRAY, 0, NULL},
    {0},
};

static const struct member table_members[] = {
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

static const struct member entry_members[] = {
    [ENTRY_OUTPUT] = {"output", JSON_NUMBER, UINT32_MAX, NULL},
    [ENTRY_INPUT] = {"input", JSON_NUMBER, INT32_MAX, NULL},
    [ENTRY_HASH] = {"hash", JSON_ADDRESS, UINT64_MAX, NULL},
    [ENTRY_INDEX] = {"index", JSON_NUMBER, UINT32_MAX, NULL},
    [ENTRY_BRANCH] = {"branch", JSON_BOOLEAN, 1, NULL},
    {0},
};

/* A member whose name begins with "x-". */
static const struct member skipped_member = {"", JSON_ANY, 0, NULL};
/* A secondary entry point: an element of an array, treated as a member. */
static const struct member secondary_member = {"secondary_entry_points", JSON_NUMBER, UINT32_MAX,
                                               NULL};

static const char *type_name(enum type type)
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

/* --- Reading ---------------------------------------------------------------------------------- */

/* A skipped member may nest this deep. */
#define DEPTH_MAX 100u

/* Bytes around a string in the text. */
#define QUOTES 2u

/* An object that is being read. */
struct object {
    const struct member *members;
    struct json_place place;
    uint32_t seen; /* bit n for member n */
    uint64_t values[TABLE_MEMBERS];
};

/* The position in the document. */
enum where {
    IN_FILE,
    IN_NOTE,
    IN_FUNCTIONS,
    IN_TABLE,
    IN_SECONDARY_ENTRY_POINTS,
    IN_ENTRIES,
    IN_ENTRY,
};

struct reader {
    struct json_text text;
    enum where where;
    const struct member *member; /* whose value is next; NULL: a name is next */
    unsigned skipped_depth;      /* open arrays and objects of a skipped member */
    struct object note;
    struct object entry;
    struct object object; /* a table */
    struct json_table table;
    struct json_tables tables;
};

static int stop_memory(struct reader *reader)
{
    reader->text.code = bat_fail_memory(reader->text.error, "for the tables");
    return 0;
}

/* Text from the file, cut to fit into a message and made printable. */
struct excerpt {
    char text[48];
};

static struct excerpt excerpt(const char *text, size_t length)
{
    struct excerpt result;
    size_t most = sizeof(result.text) - 1;
    size_t kept = length < most ? length : most;
    for (size_t i = 0; i < kept; i++)
        result.text[i] = (char)((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i]);
    result.text[kept] = '\0';
    return result;
}

/* --- Names of members --------------------------------------------------------------------- */

/* The object that is read now; NULL in arrays. */
static struct object *current_object(struct reader *reader)
{
    switch (reader->where) {
    case IN_NOTE:
        return &reader->note;
    case IN_TABLE:
        return &reader->object;
    case IN_ENTRY:
        return &reader->entry;
    default:
        return NULL;
    }
}

static int begin_object(struct reader *reader, struct object *object, const struct member *members,
                        enum where where)
{
    object->members = members;
    object->place = json_text_place(&reader->text, 1);
    object->seen = 0;
    reader->where = where;
    reader->member = NULL;
    return 1;
}

static bool has(const struct object *object, size_t member)
{
    return (object->seen >> member & 1) != 0;
}

static int on_key(void *context, const unsigned char *key, size_t length)
{
    struct reader *reader = context;
    struct object *object = current_object(reader);
    const char *name = (const char *)key;
    if (reader->skipped_depth > 0 || !object)
        return 1;
    if (length >= 2 && memcmp(name, "x-", 2) == 0) {
        reader->member = &skipped_member;
        return 1;
    }
    for (size_t i = 0; object->members[i].name; i++) {
        if (strlen(object->members[i].name) != length ||
            memcmp(object->members[i].name, name, length) != 0)
            continue;
        if (has(object, i))
            return json_text_stop(&reader->text, BAT_ERR_SYNTAX,
                                  json_text_place(&reader->text, length + QUOTES),
                                  "second \"%s\" in one object", object->members[i].name);
        object->seen |= (uint32_t)1 << i;
        reader->member = &object->members[i];
        return 1;
    }
    return json_text_stop(&reader->text, BAT_ERR_SYNTAX,
                          json_text_place(&reader->text, length + QUOTES),
                          "unknown member \"%s\": names of private members begin with \"x-\"",
                          excerpt(name, length).text);
}

/* --- Values ------------------------------------------------------------------------------- */

/* The member of the current value; NULL if only an object may be here. */
static const struct member *wanted(const struct reader *reader)
{
    return reader->where == IN_SECONDARY_ENTRY_POINTS ? &secondary_member : reader->member;
}

/* A value of the wrong kind, or where none belongs. */
static int stop_unexpected(struct reader *reader, size_t length, const char *found)
{
    struct json_place place = json_text_place(&reader->text, length);
    const struct member *member = wanted(reader);
    if (member)
        return json_text_stop(&reader->text, BAT_ERR_SYNTAX, place, "\"%s\": expected %s, found %s",
                              member->name, type_name(member->type), found);
    const char *expected = "an object";
    if (reader->where == IN_FUNCTIONS)
        expected = "an object for each table in \"functions\"";
    else if (reader->where == IN_ENTRIES)
        expected = "an object for each entry in \"entries\"";
    return json_text_stop(&reader->text, BAT_ERR_SYNTAX, place, "expected %s, found %s", expected,
                          found);
}

/* Tables of other versions have other members, so check the version as soon as it is read. */
static int check_version(struct reader *reader, uint64_t version)
{
    if (version == BAT_VERSION_3)
        return 1;
    return json_text_stop(&reader->text, BAT_ERR_VERSION, reader->note.place,
                          "\"version\": expected 3, found %lu", version);
}

/* Store the value of the current member. */
static int store(struct reader *reader, uint64_t value)
{
    struct json_table *table = &reader->table;
    if (reader->where == IN_SECONDARY_ENTRY_POINTS)
        return BAT_APPEND(table->secondary_entries, table->secondary_count,
                          table->secondary_capacity, (uint32_t)value)
                   ? 1
                   : stop_memory(reader);
    struct object *object = current_object(reader);
    if (object && reader->member != &skipped_member)
        object->values[reader->member - object->members] = value;
    bool is_version = object == &reader->note && reader->member == &object->members[NOTE_VERSION];
    reader->member = NULL;
    return is_version ? check_version(reader, value) : 1;
}

/* Read digits, which the caller has checked, as a number. False if it is greater than max. */
static bool parse_digits(const char *digits, size_t length, unsigned base, uint64_t max,
                         uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        char c = digits[i];
        unsigned digit = (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        if (*value > (max - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return true;
}

/* A "0x.." string for a number or an address. */
static int hexadecimal(struct reader *reader, const struct member *member, const char *text,
                       size_t length)
{
    struct json_place place = json_text_place(&reader->text, length + QUOTES);
    bool good = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    for (size_t i = 2; i < length && good; i++)
        good = isxdigit((unsigned char)text[i]) != 0;
    if (!good)
        return json_text_stop(&reader->text, BAT_ERR_SYNTAX, place,
                              "\"%s\": expected \"0x\" and hexadecimal digits, found \"%s\"",
                              member->name, excerpt(text, length).text);
    uint64_t value = 0;
    if (!parse_digits(text + 2, length - 2, 16, member->max, &value))
        return json_text_stop(&reader->text, BAT_ERR_RANGE, place,
                              "\"%s\": expected at most 0x%lx, found %s", member->name, member->max,
                              excerpt(text, length).text);
    return store(reader, value);
}

static int word(struct reader *reader, const struct member *member, const char *text, size_t length)
{
    char known[64] = "";
    for (size_t i = 0; member->words[i]; i++) {
        if (strlen(member->words[i]) == length && memcmp(member->words[i], text, length) == 0)
            return store(reader, i);
        size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, "%s\"%s\"", i ? " or " : "", member->words[i]);
    }
    return json_text_stop(
        &reader->text, BAT_ERR_SYNTAX, json_text_place(&reader->text, length + QUOTES),
        "\"%s\": expected %s, found \"%s\"", member->name, known, excerpt(text, length).text);
}

static int on_string(void *context, const unsigned char *string, size_t length)
{
    struct reader *reader = context;
    const struct member *member = wanted(reader);
    const char *text = (const char *)string;
    if (reader->skipped_depth > 0)
        return 1;
    if (!member || member->type == JSON_BOOLEAN || member->type == JSON_ARRAY)
        return stop_unexpected(reader, length + QUOTES, "a string");
    if (member->type == JSON_NUMBER || member->type == JSON_ADDRESS)
        return hexadecimal(reader, member, text, length);
    if (member->type == JSON_WORD)
        return word(reader, member, text, length);
    return store(reader, 0);
}

static int on_number(void *context, const char *text, size_t length)
{
    struct reader *reader = context;
    const struct member *member = wanted(reader);
    if (reader->skipped_depth > 0)
        return 1;
    if (member && member->type == JSON_ANY)
        return store(reader, 0);
    if (!member || member->type != JSON_NUMBER)
        return stop_unexpected(reader, length, "a number");
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return json_text_stop(&reader->text, BAT_ERR_SYNTAX,
                                  json_text_place(&reader->text, length),
                                  "\"%s\": expected a whole number, found %s", member->name,
                                  excerpt(text, length).text);
    }
    uint64_t value = 0;
    if (!parse_digits(text, length, 10, member->max, &value))
        return json_text_stop(&reader->text, BAT_ERR_RANGE, json_text_place(&reader->text, length),
                              "\"%s\": expected at most %lu, found %s", member->name, member->max,
                              excerpt(text, length).text);
    return store(reader, value);
}

static int on_boolean(void *context, int value)
{
    struct reader *reader = context;
    const struct member *member = wanted(reader);
    if (reader->skipped_depth > 0)
        return 1;
    if (!member || (member->type != JSON_BOOLEAN && member->type != JSON_ANY))
        return stop_unexpected(reader, value ? strlen("true") : strlen("false"),
                               value ? "true" : "false");
    return store(reader, value != 0);
}

static int on_null(void *context)
{
    struct reader *reader = context;
    if (reader->skipped_depth > 0)
        return 1;
    if (!reader->member || reader->member->type != JSON_ANY)
        return stop_unexpected(reader, strlen("null"), "null");
    return store(reader, 0);
}

/* --- Ends of objects: required and forbidden members ---------------------------------------- */

/* 1 if the object has all required members and none of the forbidden ones. */
static int check_members(struct reader *reader, const struct object *object, const char *what,
                         uint32_t required, uint32_t forbidden)
{
    for (size_t i = 0; object->members[i].name; i++) {
        if ((required >> i & 1) != 0 && !has(object, i))
            return json_text_stop(&reader->text, BAT_ERR_SYNTAX, object->place, "%s without \"%s\"",
                                  what, object->members[i].name);
        if ((forbidden >> i & 1) != 0 && has(object, i))
            return json_text_stop(&reader->text, BAT_ERR_SYNTAX, object->place,
                                  "%s cannot have \"%s\"", what, object->members[i].name);
    }
    return 1;
}

#define BIT(member) ((uint32_t)1 << (member))

static int end_entry(struct reader *reader)
{
    const struct object *object = &reader->entry;
    const uint64_t *values = object->values;
    const uint32_t of_block = BIT(ENTRY_HASH) | BIT(ENTRY_INDEX);
    const uint32_t of_all = BIT(ENTRY_OUTPUT) | BIT(ENTRY_INPUT);
    bool is_branch = has(object, ENTRY_BRANCH) && values[ENTRY_BRANCH] != 0;
    if (!check_members(reader, object, is_branch ? "a branch entry" : "a block entry",
                       is_branch ? of_all : of_all | of_block, is_branch ? of_block : 0))
        return 0;
    struct json_entry entry = {
        .hash = is_branch ? 0 : values[ENTRY_HASH],
        .output = (uint32_t)values[ENTRY_OUTPUT],
        .input = (uint32_t)values[ENTRY_INPUT],
        .index = is_branch ? 0 : (uint32_t)values[ENTRY_INDEX],
        .is_branch = is_branch,
    };
    reader->where = IN_ENTRIES;
    struct json_table *table = &reader->table;
    return BAT_APPEND(table->entries, table->entry_count, table->entry_capacity, entry)
               ? 1
               : stop_memory(reader);
}

static int end_table(struct reader *reader)
{
    const struct object *object = &reader->object;
    const uint32_t of_all = BIT(TABLE_KIND) | BIT(TABLE_ADDRESS) | BIT(TABLE_ENTRIES);
    const uint32_t of_hot = BIT(TABLE_HASH) | BIT(TABLE_NUM_BLOCKS);
    if (!check_members(reader, object, "a table", BIT(TABLE_KIND), 0))
        return 0;
    bool is_cold = object->values[TABLE_KIND] == WORD_COLD;
    int fine =
        is_cold
            ? check_members(reader, object, "a cold fragment", of_all | BIT(TABLE_PARENT),
                            of_hot | BIT(TABLE_SECONDARY_ENTRY_POINTS))
            : check_members(reader, object, "a hot function", of_all | of_hot, BIT(TABLE_PARENT));
    if (!fine)
        return 0;
    struct json_table *table = &reader->table;
    table->place = object->place;
    table->is_cold = is_cold;
    table->address = object->values[TABLE_ADDRESS];
    table->hash = is_cold ? 0 : object->values[TABLE_HASH];
    table->num_blocks = is_cold ? 0 : (uint32_t)object->values[TABLE_NUM_BLOCKS];
    table->parent = is_cold ? object->values[TABLE_PARENT] : 0;
    reader->where = IN_FUNCTIONS;
    reader->text.code = json_tables_add(&reader->tables, table, reader->text.error);
    return reader->text.code == BAT_OK;
}

static int end_note(struct reader *reader)
{
    const struct object *object = &reader->note;
    if (!check_members(
            reader, object, "a note",
            BIT(NOTE_FORMAT) | BIT(NOTE_SCHEMA) | BIT(NOTE_VERSION) | BIT(NOTE_FUNCTIONS), 0))
        return 0;
    if (object->values[NOTE_SCHEMA] != 1)
        return json_text_stop(&reader->text, BAT_ERR_SYNTAX, object->place,
                              "\"schema\": expected 1, found %lu", object->values[NOTE_SCHEMA]);
    reader->where = IN_FILE;
    return 1;
}

/* --- Objects and arrays --------------------------------------------------------------------- */

/* True if the object or array that begins is skipped; the callback then returns *result. */
static bool skip_into(struct reader *reader, int *result)
{
    *result = 1;
    if (reader->skipped_depth == 0 && (!reader->member || reader->member->type != JSON_ANY))
        return false;
    if (++reader->skipped_depth > DEPTH_MAX)
        *result = json_text_stop(&reader->text, BAT_ERR_SYNTAX, json_text_place(&reader->text, 1),
                                 "more than %u arrays and objects inside each other", DEPTH_MAX);
    return true;
}

/* True if the object or array that ends is skipped. */
static bool skip_out_of(struct reader *reader)
{
    if (reader->skipped_depth == 0)
        return false;
    if (--reader->skipped_depth == 0)
        reader->member = NULL;
    return true;
}

static int on_start_map(void *context)
{
    struct reader *reader = context;
    int result = 0;
    if (skip_into(reader, &result))
        return result;
    if (wanted(reader))
        return stop_unexpected(reader, 1, "an object");
    if (reader->where == IN_FILE)
        return begin_object(reader, &reader->note, note_members, IN_NOTE);
    if (reader->where == IN_FUNCTIONS) {
        reader->table.entry_count = reader->table.secondary_count = 0;
        return begin_object(reader, &reader->object, table_members, IN_TABLE);
    }
    return begin_object(reader, &reader->entry, entry_members, IN_ENTRY);
}

static int on_end_map(void *context)
{
    struct reader *reader = context;
    if (skip_out_of(reader))
        return 1;
    if (reader->where == IN_ENTRY)
        return end_entry(reader);
    return reader->where == IN_TABLE ? end_table(reader) : end_note(reader);
}

static int on_start_array(void *context)
{
    struct reader *reader = context;
    int result = 0;
    if (skip_into(reader, &result))
        return result;
    if (!reader->member || reader->member->type != JSON_ARRAY)
        return stop_unexpected(reader, 1, "an array");
    if (reader->where == IN_NOTE)
        reader->where = IN_FUNCTIONS;
    else if (reader->member == &table_members[TABLE_ENTRIES])
        reader->where = IN_ENTRIES;
    else
        reader->where = IN_SECONDARY_ENTRY_POINTS;
    reader->member = NULL;
    return 1;
}

static int on_end_array(void *context)
{
    struct reader *reader = context;
    if (skip_out_of(reader))
        return 1;
    reader->where = reader->where == IN_FUNCTIONS ? IN_NOTE : IN_TABLE;
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_start_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_map,
    .yajl_start_array = on_start_array,
    .yajl_end_array = on_end_array,
};

/* --- The file ------------------------------------------------------------------------------- */

enum bat_code bat_map_read_json(int file, struct bat_map **map, struct bat_error *error)
{
    *map = NULL;
    struct reader reader = {.where = IN_FILE};
    enum bat_code code = json_tables_begin(&reader.tables, error);
    code = code ? code : json_text_parse(&reader.text, file, &callbacks, &reader, error);
    if (code == BAT_OK) {
        bool merged =
            has(&reader.note, NOTE_HOT_INDEX) && reader.note.values[NOTE_HOT_INDEX] == WORD_MERGED;
        code = json_tables_finish(&reader.tables,
                                  merged ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE, map, error);
    }
    json_tables_free(&reader.tables);
    json_table_free(&reader.table);
    return code;
}
