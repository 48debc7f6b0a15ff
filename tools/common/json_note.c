/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "json_note.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "json_tables.h"

#define CHUNK_SIZE ((size_t)128 << 10)

/* How deep a member that is skipped may nest. */
#define DEPTH_MAX 100u

/* --- The members of each object ----------------------------------------------------------- */

enum member_type {
    TYPE_TEXT,    /* any string; not looked at */
    TYPE_WORD,    /* one of a few strings; its value is the position among them */
    TYPE_NUMBER,  /* a whole number up to max, or a "0x.." string */
    TYPE_ADDRESS, /* a "0x.." string of up to 64 bits */
    TYPE_BOOLEAN,
    TYPE_ARRAY,
    TYPE_ANY, /* of a member that is skipped */
};

struct member {
    const char *name;
    enum member_type type;
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
    TABLE_MEMBERS
};

enum entry_member { ENTRY_OUTPUT, ENTRY_INPUT, ENTRY_HASH, ENTRY_INDEX, ENTRY_BRANCH };

enum hot_index_word { WORD_TABLE, WORD_MERGED };
enum kind_word { WORD_HOT, WORD_COLD };

static const char *const format_words[] = {"batkit-note", NULL};
static const char *const hot_index_words[] = {
    [WORD_TABLE] = "table", [WORD_MERGED] = "merged", NULL};
static const char *const kind_words[] = {[WORD_HOT] = "hot", [WORD_COLD] = "cold", NULL};

static const struct member note_members[] = {
    [NOTE_FORMAT] = {"format", TYPE_WORD, 0, format_words},
    [NOTE_SCHEMA] = {"schema", TYPE_NUMBER, UINT64_MAX, NULL},
    [NOTE_VERSION] = {"version", TYPE_NUMBER, UINT64_MAX, NULL},
    [NOTE_HOT_INDEX] = {"hot_index", TYPE_WORD, 0, hot_index_words},
    [NOTE_BUILD_ID] = {"build_id", TYPE_TEXT, 0, NULL},
    [NOTE_BOLT_INFO] = {"bolt_info", TYPE_TEXT, 0, NULL},
    [NOTE_FUNCTIONS] = {"functions", TYPE_ARRAY, 0, NULL},
    {0},
};

static const struct member table_members[] = {
    [TABLE_KIND] = {"kind", TYPE_WORD, 0, kind_words},
    [TABLE_ADDRESS] = {"address", TYPE_ADDRESS, UINT64_MAX, NULL},
    [TABLE_NAME] = {"name", TYPE_TEXT, 0, NULL},
    [TABLE_HASH] = {"hash", TYPE_ADDRESS, UINT64_MAX, NULL},
    [TABLE_NUM_BLOCKS] = {"num_blocks", TYPE_NUMBER, UINT32_MAX, NULL},
    [TABLE_SECONDARY_ENTRY_POINTS] = {"secondary_entry_points", TYPE_ARRAY, 0, NULL},
    [TABLE_PARENT] = {"parent", TYPE_ADDRESS, UINT64_MAX, NULL},
    [TABLE_SKEW] = {"skew", TYPE_NUMBER, UINT64_MAX, NULL},
    [TABLE_EQUAL_PREFIX] = {"equal_prefix", TYPE_NUMBER, UINT64_MAX, NULL},
    [TABLE_NUM_ENTRIES] = {"num_entries", TYPE_NUMBER, UINT64_MAX, NULL},
    [TABLE_ENTRIES] = {"entries", TYPE_ARRAY, 0, NULL},
    {0},
};

static const struct member entry_members[] = {
    [ENTRY_OUTPUT] = {"output", TYPE_NUMBER, UINT32_MAX, NULL},
    [ENTRY_INPUT] = {"input", TYPE_NUMBER, INT32_MAX, NULL},
    [ENTRY_HASH] = {"hash", TYPE_ADDRESS, UINT64_MAX, NULL},
    [ENTRY_INDEX] = {"index", TYPE_NUMBER, UINT32_MAX, NULL},
    [ENTRY_BRANCH] = {"branch", TYPE_BOOLEAN, 1, NULL},
    {0},
};

static const struct member skipped_member = {"", TYPE_ANY, 0, NULL};

/* A secondary entry point, which is no member but stands in an array. */
static const struct member secondary_member = {"secondary_entry_points", TYPE_NUMBER, UINT32_MAX,
                                               NULL};

/* --- The reader --------------------------------------------------------------------------- */

/* An object that is being read. */
struct object {
    const struct member *members;
    struct json_place place;
    uint32_t seen; /* bit n for member n */
    uint64_t values[TABLE_MEMBERS];
};

/* What is read next. */
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
    yajl_handle parser;
    const unsigned char *chunk;
    uint64_t chunk_start; /* of the chunk in the file */
    uint64_t counted;     /* up to here lines were counted */
    uint64_t line;        /* of that place, from 1 */
    uint64_t line_start;  /* its offset in the file */

    enum where where;
    const struct member *member; /* whose value comes next; NULL if a name does */
    unsigned skipped_depth;      /* arrays and objects to leave until a skipped member ends */
    struct object note;
    struct object entry;
    struct object object; /* a table */
    struct json_table table;
    struct json_tables tables;
    enum bat_code code; /* why a callback stopped the parser */
    struct bat_error *error;
};

/* Where the token is that ends where the parser now is, and is length bytes long. */
static struct json_place place_of(struct reader *reader, size_t length)
{
    uint64_t end = reader->chunk_start + yajl_get_bytes_consumed(reader->parser);
    uint64_t start = end > length ? end - length : 0;
    while (reader->counted < start) {
        const unsigned char *from = reader->chunk + (reader->counted - reader->chunk_start);
        const unsigned char *newline = memchr(from, '\n', (size_t)(start - reader->counted));
        if (!newline) {
            reader->counted = start;
            break;
        }
        reader->counted += (uint64_t)(newline - from) + 1;
        reader->line++;
        reader->line_start = reader->counted;
    }
    return (struct json_place){reader->line, start - reader->line_start + 1};
}

/* What surrounds a string in the text. */
#define QUOTES 2u

/* Tell an error; returns 0, which stops the parser. */
static BAT_PRINTF(4, 5) int stop(struct reader *reader, enum bat_code code, struct json_place place,
                                 const char *format, ...)
{
    char message[BAT_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    reader->code = code;
    bat_fail_text(reader->error, code, place.line, place.column, "%s", message);
    return 0;
}

static int stop_memory(struct reader *reader)
{
    reader->code = bat_fail(reader->error, BAT_ERR_MEMORY, "not enough memory for the tables");
    return 0;
}

/* Text from the file, cut to what fits in a message and made printable. */
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
    object->place = place_of(reader, 1);
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
            return stop(reader, BAT_ERR_SYNTAX, place_of(reader, length + QUOTES),
                        "second \"%s\" in one object", object->members[i].name);
        object->seen |= (uint32_t)1 << i;
        reader->member = &object->members[i];
        return 1;
    }
    return stop(reader, BAT_ERR_SYNTAX, place_of(reader, length + QUOTES),
                "unknown member \"%s\": names of one's own have to begin with \"x-\"",
                excerpt(name, length).text);
}

/* --- Values ------------------------------------------------------------------------------- */

static const char *type_name(const struct member *member)
{
    switch (member->type) {
    case TYPE_TEXT:
    case TYPE_WORD:
        return "a string";
    case TYPE_NUMBER:
        return "a whole number";
    case TYPE_ADDRESS:
        return "a string such as \"0x4005d0\"";
    case TYPE_BOOLEAN:
        return "true or false";
    case TYPE_ARRAY:
        return "an array";
    default:
        return "any value";
    }
}

/* The member that the value which comes now is for; NULL if only an object would do. */
static const struct member *wanted(const struct reader *reader)
{
    return reader->where == IN_SECONDARY_ENTRY_POINTS ? &secondary_member : reader->member;
}

/* A value of the wrong kind, or where none belongs. */
static int stop_unexpected(struct reader *reader, size_t length, const char *found)
{
    struct json_place place = place_of(reader, length);
    const struct member *member = wanted(reader);
    if (member)
        return stop(reader, BAT_ERR_SYNTAX, place, "\"%s\": expected %s, found %s", member->name,
                    type_name(member), found);
    const char *expected = "an object";
    if (reader->where == IN_FUNCTIONS)
        expected = "an object for each table in \"functions\"";
    else if (reader->where == IN_ENTRIES)
        expected = "an object for each entry in \"entries\"";
    return stop(reader, BAT_ERR_SYNTAX, place, "expected %s, found %s", expected, found);
}

/* Keep the value of the member that was awaited. */
static int store(struct reader *reader, uint64_t value)
{
    if (reader->where == IN_SECONDARY_ENTRY_POINTS)
        return json_table_add_secondary(&reader->table, (uint32_t)value) ? 1 : stop_memory(reader);
    struct object *object = current_object(reader);
    if (object && reader->member != &skipped_member)
        object->values[reader->member - object->members] = value;
    reader->member = NULL;
    return 1;
}

/* Digits to a number up to max. False if it is beyond; what is no digit, the caller excluded. */
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
    struct json_place place = place_of(reader, length + QUOTES);
    bool good = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    for (size_t i = 2; i < length && good; i++)
        good = isxdigit((unsigned char)text[i]) != 0;
    if (!good)
        return stop(reader, BAT_ERR_SYNTAX, place,
                    "\"%s\": expected \"0x\" and hexadecimal digits, found \"%s\"", member->name,
                    excerpt(text, length).text);
    uint64_t value = 0;
    if (!parse_digits(text + 2, length - 2, 16, member->max, &value))
        return stop(reader, BAT_ERR_RANGE, place, "\"%s\": %s is beyond the largest, 0x%" PRIx64,
                    member->name, excerpt(text, length).text, member->max);
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
    return stop(reader, BAT_ERR_SYNTAX, place_of(reader, length + QUOTES),
                "\"%s\": expected %s, found \"%s\"", member->name, known,
                excerpt(text, length).text);
}

static int on_string(void *context, const unsigned char *string, size_t length)
{
    struct reader *reader = context;
    const struct member *member = wanted(reader);
    const char *text = (const char *)string;
    if (reader->skipped_depth > 0)
        return 1;
    if (!member || member->type == TYPE_BOOLEAN || member->type == TYPE_ARRAY)
        return stop_unexpected(reader, length + QUOTES, "a string");
    if (member->type == TYPE_NUMBER || member->type == TYPE_ADDRESS)
        return hexadecimal(reader, member, text, length);
    if (member->type == TYPE_WORD)
        return word(reader, member, text, length);
    return store(reader, 0);
}

static int on_number(void *context, const char *text, size_t length)
{
    struct reader *reader = context;
    const struct member *member = wanted(reader);
    if (reader->skipped_depth > 0)
        return 1;
    if (member && member->type == TYPE_ANY)
        return store(reader, 0);
    if (!member || member->type != TYPE_NUMBER)
        return stop_unexpected(reader, length, "a number");
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return stop(reader, BAT_ERR_SYNTAX, place_of(reader, length),
                        "\"%s\": expected a whole number, found %s", member->name,
                        excerpt(text, length).text);
    }
    uint64_t value = 0;
    if (!parse_digits(text, length, 10, member->max, &value))
        return stop(reader, BAT_ERR_RANGE, place_of(reader, length),
                    "\"%s\": %s is beyond the largest, %" PRIu64, member->name,
                    excerpt(text, length).text, member->max);
    return store(reader, value);
}

static int on_boolean(void *context, int value)
{
    struct reader *reader = context;
    const struct member *member = wanted(reader);
    if (reader->skipped_depth > 0)
        return 1;
    if (!member || (member->type != TYPE_BOOLEAN && member->type != TYPE_ANY))
        return stop_unexpected(reader, value ? strlen("true") : strlen("false"),
                               value ? "true" : "false");
    return store(reader, value != 0);
}

static int on_null(void *context)
{
    struct reader *reader = context;
    if (reader->skipped_depth > 0)
        return 1;
    if (!reader->member || reader->member->type != TYPE_ANY)
        return stop_unexpected(reader, strlen("null"), "null");
    return store(reader, 0);
}

/* --- Ends of objects: what has to be there and what must not -------------------------------- */

/* 1 if all these members are there (or, with forbidden, none of them). */
static int check_members(struct reader *reader, const struct object *object, const char *what,
                         uint32_t required, uint32_t forbidden)
{
    for (size_t i = 0; object->members[i].name; i++) {
        if ((required >> i & 1) != 0 && !has(object, i))
            return stop(reader, BAT_ERR_SYNTAX, object->place, "%s without \"%s\"", what,
                        object->members[i].name);
        if ((forbidden >> i & 1) != 0 && has(object, i))
            return stop(reader, BAT_ERR_SYNTAX, object->place, "%s cannot have \"%s\"", what,
                        object->members[i].name);
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
    return json_table_add_entry(&reader->table, entry) ? 1 : stop_memory(reader);
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
    reader->code = json_tables_add(&reader->tables, table, reader->error);
    return reader->code == BAT_OK;
}

static int end_note(struct reader *reader)
{
    const struct object *object = &reader->note;
    if (!check_members(
            reader, object, "a note",
            BIT(NOTE_FORMAT) | BIT(NOTE_SCHEMA) | BIT(NOTE_VERSION) | BIT(NOTE_FUNCTIONS), 0))
        return 0;
    if (object->values[NOTE_SCHEMA] != 1)
        return stop(reader, BAT_ERR_SYNTAX, object->place,
                    "\"schema\" is %" PRIu64 ": expected 1, the one that is known here",
                    object->values[NOTE_SCHEMA]);
    if (object->values[NOTE_VERSION] != BAT_VERSION_3)
        return stop(reader, BAT_ERR_VERSION, object->place,
                    "\"version\" is %" PRIu64 ": expected 3, the one that can be written",
                    object->values[NOTE_VERSION]);
    reader->where = IN_FILE;
    return 1;
}

/* --- Objects and arrays --------------------------------------------------------------------- */

/* True if what begins is part of a member that is skipped; *result is for the parser then. */
static bool skip_into(struct reader *reader, int *result)
{
    *result = 1;
    if (reader->skipped_depth == 0 && (!reader->member || reader->member->type != TYPE_ANY))
        return false;
    if (++reader->skipped_depth > DEPTH_MAX)
        *result = stop(reader, BAT_ERR_SYNTAX, place_of(reader, 1),
                       "more than %u arrays and objects inside each other", DEPTH_MAX);
    return true;
}

/* True if what ends is part of a member that is skipped. */
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
        json_table_reset(&reader->table);
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
    if (!reader->member || reader->member->type != TYPE_ARRAY)
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

/* What the parser says of text that is no JSON, at the place where it stopped. */
static enum bat_code fail_syntax(struct reader *reader)
{
    unsigned char *text = yajl_get_error(reader->parser, 0, NULL, 0);
    size_t length = text ? strcspn((const char *)text, "\n") : 0;
    stop(reader, BAT_ERR_SYNTAX, place_of(reader, 0), "not JSON: %.*s", (int)length,
         text ? (const char *)text : "");
    if (text)
        yajl_free_error(reader->parser, text);
    return reader->code;
}

static enum bat_code check_status(struct reader *reader, yajl_status status)
{
    if (status == yajl_status_ok)
        return BAT_OK;
    return status == yajl_status_client_canceled ? reader->code : fail_syntax(reader);
}

static enum bat_code parse_chunk(struct reader *reader, const unsigned char *chunk, size_t size)
{
    reader->chunk = chunk;
    enum bat_code code = check_status(reader, yajl_parse(reader->parser, chunk, size));
    if (code != BAT_OK)
        return code;
    place_of(reader, 0); /* count the lines of what goes away now */
    reader->chunk_start += size;
    return BAT_OK;
}

static enum bat_code parse_file(struct reader *reader, int file, unsigned char *chunk)
{
    for (;;) {
        ssize_t size = read(file, chunk, CHUNK_SIZE);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return bat_fail(reader->error, BAT_ERR_IO, "cannot be read: %m");
        if (size == 0)
            break;
        enum bat_code code = parse_chunk(reader, chunk, (size_t)size);
        if (code != BAT_OK)
            return code;
    }
    reader->chunk = (const unsigned char *)" "; /* with which the parser ends the text */
    return check_status(reader, yajl_complete_parse(reader->parser));
}

enum bat_code json_note_read(int file, struct bat_map **map, struct bat_error *error)
{
    *map = NULL;
    struct reader reader = {.line = 1, .error = error};
    unsigned char *chunk = malloc(CHUNK_SIZE);
    reader.parser = yajl_alloc(&callbacks, NULL, &reader);
    enum bat_code code = BAT_OK;
    if (!chunk || !reader.parser)
        code = bat_fail(error, BAT_ERR_MEMORY, "not enough memory to read JSON");
    if (code == BAT_OK)
        code = json_tables_begin(&reader.tables, error);
    if (code == BAT_OK)
        code = parse_file(&reader, file, chunk);
    if (code == BAT_OK) {
        bool merged =
            has(&reader.note, NOTE_HOT_INDEX) && reader.note.values[NOTE_HOT_INDEX] == WORD_MERGED;
        code = json_tables_finish(&reader.tables,
                                  merged ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE, map, error);
    }
    json_tables_free(&reader.tables);
    json_table_free(&reader.table);
    if (reader.parser)
        yajl_free(reader.parser);
    free(chunk);
    return code;
}
