/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reading YAML profiles, in the layout in which LLVM writes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elfnote/whole_file.h"
#include "yaml_lists.h"

/* The keys that a mapping has had. */
struct seen {
    uint64_t line; /* where the mapping begins */
    uint32_t keys; /* bits by the numbers of key_set.names */
};

/* Where the items of a list have their parts: bytes from the start of the line. */
struct item {
    size_t dash;
    size_t key; /* of all keys of the item */
};

struct numbers {
    uint64_t *all;
    uint32_t count;
    uint32_t capacity;
};

/* The text ends with a zero byte, which is no part of it. */
struct reader {
    const char *at;
    const char *end;
    const char *line_start;
    uint64_t line;
    struct bat_yaml_profile *profile;
    struct item function_item; /* the last one, of which profile has the number */
    struct item block_item;
    bool in_blocks; /* the function's last key is that of its blocks */
    struct seen header;
    struct seen function; /* the last one */
    struct seen block;    /* the last one of the last function; line 0: it has none */
    struct seen tables;   /* of pseudo probes */
    struct numbers guids; /* gs, gh and hs of the tables */
    struct numbers hash_indices;
    struct numbers hashes;
    struct numbers ids; /* of the last entry of probes */
    struct numbers nodes;
    bool has_skipped; /* the last key is unknown: lines without one belong to it */
    struct bat_error *error;
};

/* A line up to its value. */
struct entry {
    size_t indent; /* of the dash, or else of the key */
    size_t column; /* of the key */
    bool is_item;  /* has a dash */
    const char *key;
    size_t key_size;
};

static enum bat_code fail(const struct reader *reader, const char *expected)
{
    return bat_fail_text(reader->error, BAT_ERR_SYNTAX, reader->line,
                         (uint64_t)(reader->at - reader->line_start) + 1, "expected %s", expected);
}

static void skip_blanks(struct reader *reader)
{
    while (*reader->at == ' ')
        reader->at++;
}

/* Go to the next line, or to the end of the last one if it has no newline. */
static void next_line(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\n')
        reader->at++;
    if (reader->at == reader->end)
        return;
    reader->at++;
    reader->line++;
    reader->line_start = reader->at;
}

/* Skip the value of an unknown key. Its further lines have no key, or one that is unknown, too. */
static enum bat_code skip_value(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '\n')
        reader->at++;
    reader->has_skipped = true;
    return BAT_OK;
}

/* Check that nothing but a comment is left of the line. */
static enum bat_code expect_line_end(struct reader *reader)
{
    while (*reader->at == ' ' || *reader->at == '\r')
        reader->at++;
    bool is_comment =
        *reader->at == '#' && (reader->at == reader->line_start || reader->at[-1] == ' ');
    if (reader->at < reader->end && *reader->at != '\n' && !is_comment)
        return fail(reader, "the end of the line");
    return BAT_OK;
}

/* --- Values --------------------------------------------------------------------------------- */

static enum bat_code read_number(struct reader *reader, uint64_t *value)
{
    skip_blanks(reader);
    char *after;
    bool is_hexadecimal = reader->at[0] == '0' && reader->at[1] == 'x';
    const char *digits = reader->at + (is_hexadecimal ? 2 : 0);
    size_t length = strspn(digits, is_hexadecimal ? "0123456789abcdefABCDEF" : "0123456789");
    errno = 0;
    *value = strtoull(digits, &after, is_hexadecimal ? 16 : 10);
    if (length == 0 || errno == ERANGE)
        return fail(reader, "a number of at most 64 bits");
    reader->at = digits + length;
    return BAT_OK;
}

static enum bat_code read_number32(struct reader *reader, uint32_t *value)
{
    uint64_t number;
    skip_blanks(reader);
    const char *start = reader->at;
    enum bat_code code = read_number(reader, &number);
    if (code == BAT_OK && number > UINT32_MAX) {
        reader->at = start;
        return fail(reader, "a number below 2^32");
    }
    *value = (uint32_t)number;
    return code;
}

static char *put_unicode(char *to, uint32_t character)
{
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    unsigned bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    if (bytes == 1) {
        *to++ = (char)character;
        return to;
    }
    *to++ = (char)(leads[bytes] | character >> (6 * (bytes - 1)));
    for (unsigned i = bytes - 1; i-- > 0;)
        *to++ = (char)(0x80 | (character >> (6 * i) & 0x3f));
    return to;
}

/* Read an escape behind its backslash; *to moves behind its bytes. False for an unknown one. */
static bool read_escape(struct reader *reader, char **to)
{
    static const char letters[] = "0abtnvfre\"\\/ ";
    static const char meanings[] = "\0\a\b\t\n\v\f\r\x1b\"\\/ ";
    static const struct {
        char letter;
        uint32_t character;
    } named[] = {{'N', 0x85}, {'_', 0xa0}, {'L', 0x2028}, {'P', 0x2029}};
    char letter = *reader->at++;
    const char *known = letter ? strchr(letters, letter) : NULL;
    if (known) {
        *(*to)++ = meanings[known - letters];
        return letter != '0';
    }
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (named[i].letter == letter) {
            *to = put_unicode(*to, named[i].character);
            return true;
        }
    size_t size = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (size == 0 || strspn(reader->at, "0123456789abcdefABCDEF") < size)
        return false;
    char digits[9] = "";
    memcpy(digits, reader->at, size);
    reader->at += size;
    unsigned long character = strtoul(digits, NULL, 16);
    if (character == 0 || character > 0x10ffff)
        return false;
    *to = put_unicode(*to, (uint32_t)character);
    return true;
}

static enum bat_code read_double_quoted(struct reader *reader, char *to)
{
    reader->at++;
    while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\n') {
        if (*reader->at != '\\') {
            *to++ = *reader->at++;
            continue;
        }
        reader->at++;
        if (!read_escape(reader, &to))
            return fail(reader, "an escape that YAML knows, of a character that is not zero");
    }
    *to = '\0';
    if (*reader->at != '"')
        return fail(reader, "a double quote at the end of the string");
    reader->at++;
    return BAT_OK;
}

static enum bat_code read_single_quoted(struct reader *reader, char *to)
{
    reader->at++;
    for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
        if (*reader->at == '\'' && reader->at[1] != '\'')
            break;
        reader->at += *reader->at == '\'';
        *to++ = *reader->at;
    }
    *to = '\0';
    if (*reader->at != '\'')
        return fail(reader, "a quote at the end of the string");
    reader->at++;
    return BAT_OK;
}

/* Read a string into new memory. */
static enum bat_code read_string(struct reader *reader, char **string)
{
    skip_blanks(reader);
    const char *newline = reader->at;
    while (newline < reader->end && *newline != '\n')
        newline++;
    /* The escapes that grow most are the two bytes of \L and \P: three bytes of UTF-8. */
    size_t length = (size_t)(newline - reader->at);
    free(*string);
    *string = malloc(length + length / 2 + 1);
    BAT_TRY_MEMORY(*string, reader->error, "to read the profile");
    if (*reader->at == '"')
        return read_double_quoted(reader, *string);
    if (*reader->at == '\'')
        return read_single_quoted(reader, *string);
    const char *comment = memmem(reader->at, (size_t)(newline - reader->at), " #", 2);
    if (comment)
        newline = comment;
    while (newline > reader->at && (newline[-1] == ' ' || newline[-1] == '\r'))
        newline--;
    size_t size = (size_t)(newline - reader->at);
    memcpy(*string, reader->at, size);
    (*string)[size] = '\0';
    reader->at = newline;
    return BAT_OK;
}

/* True if the word is at the reader, which moves behind it. */
static bool read_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    if (strncmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

/* --- Lists in brackets ---------------------------------------------------------------------- */

/* Skip blanks and newlines: LLVM breaks long lists. */
static void skip_space(struct reader *reader)
{
    for (; *reader->at == ' ' || *reader->at == '\n' || *reader->at == '\r'; reader->at++)
        if (*reader->at == '\n') {
            reader->line++;
            reader->line_start = reader->at + 1;
        }
}

/* Read a character of a list. False, if another one is there. */
static bool read_mark(struct reader *reader, char mark)
{
    skip_space(reader);
    if (*reader->at != mark)
        return false;
    reader->at++;
    return true;
}

/* True for a key of as many letters as `key` has. */
static bool is_member(const char *letters, size_t size, const char *key)
{
    return size == strlen(key) && memcmp(letters, key, size) == 0;
}

/* Keys without which an edge says nothing. */
enum { HAS_PLACE = 1, HAS_FUNCTION = 2, HAS_COUNT = 4 };

/*
 * Read a key and its value, and note in *has which it was. Keys of the other kind of edge are as
 * unknown here as they are to LLVM.
 */
static enum bat_code read_member(struct reader *reader, struct bat_yaml_edge *edge, bool is_call,
                                 unsigned *has)
{
    skip_space(reader);
    size_t size = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz");
    const char *key = reader->at;
    reader->at += size;
    if (size == 0 || !read_mark(reader, ':'))
        return fail(reader, "a key and a colon");
    skip_space(reader);
    if (is_member(key, size, is_call ? "off" : "bid")) {
        *has |= HAS_PLACE;
        return read_number(reader, &edge->at);
    }
    if (is_call && is_member(key, size, "fid")) {
        *has |= HAS_FUNCTION;
        return read_number32(reader, &edge->function);
    }
    if (is_call && is_member(key, size, "disc"))
        return read_number32(reader, &edge->entry);
    if (is_member(key, size, "cnt")) {
        *has |= HAS_COUNT;
        return read_number(reader, &edge->count);
    }
    if (is_member(key, size, "mis"))
        return read_number(reader, &edge->mispredictions);
    if (is_call && is_member(key, size, "pp"))
        return read_number32(reader, &edge->probe);
    if (is_call && is_member(key, size, "ppn"))
        return read_number32(reader, &edge->probe_node);
    if (is_call && is_member(key, size, "ind")) {
        edge->is_indirect = read_word(reader, "true");
        return edge->is_indirect || read_word(reader, "false") ? BAT_OK
                                                               : fail(reader, "true or false");
    }
    /* Unknown ones: a number or a word. */
    reader->at += strspn(reader->at, "0123456789abcdefxABCDEFtrus");
    return BAT_OK;
}

static enum bat_code read_edge(struct reader *reader, struct bat_yaml_edge *edge, bool is_call)
{
    if (!read_mark(reader, '{'))
        return fail(reader, "an opening brace");
    unsigned has = is_call ? 0 : HAS_FUNCTION;
    enum bat_code code = read_member(reader, edge, is_call, &has);
    while (code == BAT_OK && read_mark(reader, ','))
        code = read_member(reader, edge, is_call, &has);
    if (code == BAT_OK && !read_mark(reader, '}'))
        return fail(reader, "a comma or a closing brace");
    if (edge->probe == 0) {
        edge->probe_node = 0;
        edge->is_indirect = false;
    }
    if (code == BAT_OK && has != (HAS_PLACE | HAS_FUNCTION | HAS_COUNT))
        return fail(reader,
                    is_call ? "off, fid and cnt of each call" : "bid and cnt of each successor");
    return code;
}

static enum bat_code read_edges(struct reader *reader, struct bat_yaml_edges *edges, bool is_call)
{
    if (!read_mark(reader, '['))
        return fail(reader, "an opening bracket");
    if (read_mark(reader, ']'))
        return BAT_OK;
    do {
        struct bat_yaml_edge edge = {0};
        BAT_TRY(read_edge(reader, &edge, is_call));
        if (!bat_yaml_profile_grow(&edges->all, &edges->capacity, edges->count, sizeof(edge)))
            return bat_fail_memory(reader->error, "to read the profile");
        edges->all[edges->count++] = edge;
    } while (read_mark(reader, ','));
    return read_mark(reader, ']') ? BAT_OK : fail(reader, "a comma or a closing bracket");
}

/* --- Lists of pseudo probes ----------------------------------------------------------------- */

/* Read a list of numbers, in place of those that are there. */
static enum bat_code read_numbers(struct reader *reader, struct numbers *numbers)
{
    numbers->count = 0;
    if (!read_mark(reader, '['))
        return fail(reader, "an opening bracket");
    if (read_mark(reader, ']'))
        return BAT_OK;
    do {
        uint64_t number;
        skip_space(reader);
        BAT_TRY(read_number(reader, &number));
        if (!bat_yaml_profile_grow(&numbers->all, &numbers->capacity, numbers->count,
                                   sizeof(number)))
            return bat_fail_memory(reader->error, "to read the profile");
        numbers->all[numbers->count++] = number;
    } while (read_mark(reader, ','));
    return read_mark(reader, ']') ? BAT_OK : fail(reader, "a comma or a closing bracket");
}

/* Read the key of a member of a mapping in a list. */
static enum bat_code read_list_key(struct reader *reader, const char **key, size_t *size)
{
    skip_space(reader);
    *key = reader->at;
    *size = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz");
    reader->at += *size;
    return *size != 0 && read_mark(reader, ':') ? BAT_OK : fail(reader, "a key and a colon");
}

/* A node as the file has it: guid is an index, parent is relative to the last node's. */
static enum bat_code read_node_member(struct reader *reader, struct bat_yaml_node *node,
                                      uint32_t last_parent)
{
    const char *key;
    size_t size;
    enum bat_code code = read_list_key(reader, &key, &size);
    skip_space(reader);
    if (code != BAT_OK)
        return code;
    if (is_member(key, size, "g"))
        return read_number(reader, &node->guid);
    if (is_member(key, size, "cs"))
        return read_number32(reader, &node->call_site);
    if (!is_member(key, size, "p"))
        return fail(reader, "the key g, p or cs");
    code = read_number32(reader, &node->parent);
    node->parent += last_parent;
    return code;
}

static enum bat_code read_node(struct reader *reader, struct bat_yaml_node *node)
{
    const uint32_t last_parent = node->parent;
    if (!read_mark(reader, '{'))
        return fail(reader, "an opening brace");
    if (read_mark(reader, '}'))
        return BAT_OK;
    enum bat_code code = BAT_OK;
    do {
        code = read_node_member(reader, node, last_parent);
    } while (code == BAT_OK && read_mark(reader, ','));
    if (code != BAT_OK)
        return code;
    return read_mark(reader, '}') ? BAT_OK : fail(reader, "a comma or a closing brace");
}

/* Read an inline tree. What a node does not say is as in the node before. */
static enum bat_code read_tree(struct reader *reader, struct bat_yaml_profile_function *function)
{
    struct bat_yaml_node node = {0};
    if (!read_mark(reader, '['))
        return fail(reader, "an opening bracket");
    if (read_mark(reader, ']'))
        return BAT_OK;
    do {
        node.call_site = 0;
        BAT_TRY(read_node(reader, &node));
        if (function->node_count == 0 ? node.parent != 0 : node.parent >= function->node_count)
            return fail(reader, "a node whose parent is before it");
        if (!bat_yaml_profile_grow(&function->nodes, &function->node_capacity, function->node_count,
                                   sizeof(node)))
            return bat_fail_memory(reader->error, "to read the profile");
        function->nodes[function->node_count++] = node;
    } while (read_mark(reader, ','));
    return read_mark(reader, ']') ? BAT_OK : fail(reader, "a comma or a closing bracket");
}

/* An entry may have so many probes for each of its numbers. Real ones have few. */
#define PROBES_PER_NUMBER 64u

/* Add each id with each node. */
static enum bat_code add_probes(struct reader *reader, struct bat_yaml_profile_block *block)
{
    const struct numbers *ids = &reader->ids;
    const struct numbers *nodes = &reader->nodes;
    if ((uint64_t)ids->count * nodes->count >
        PROBES_PER_NUMBER * ((uint64_t)ids->count + nodes->count))
        return fail(reader, "an entry with fewer probes before this");
    for (uint32_t i = 0; i < nodes->count; i++)
        for (uint32_t j = 0; j < ids->count; j++) {
            if (nodes->all[i] > UINT32_MAX || ids->all[j] > UINT32_MAX)
                return fail(reader, "numbers below 2^32 before this");
            if (!bat_yaml_profile_grow(&block->probes, &block->probe_capacity, block->probe_count,
                                       sizeof(*block->probes)))
                return bat_fail_memory(reader->error, "to read the profile");
            block->probes[block->probe_count++] = nodes->all[i] << 32 | ids->all[j];
        }
    return BAT_OK;
}

static enum bat_code read_probe_entry(struct reader *reader, struct bat_yaml_profile_block *block)
{
    uint64_t first_node = 0;
    uint64_t first_id = 1;
    struct numbers *const lists[] = {&reader->ids, &reader->nodes};
    const uint64_t missing[] = {first_id, first_node};
    bool has[2] = {false, false};
    enum bat_code code = BAT_OK;
    if (!read_mark(reader, '{'))
        return fail(reader, "an opening brace");
    if (!read_mark(reader, '}')) {
        do {
            const char *key;
            size_t size;
            code = read_list_key(reader, &key, &size);
            const bool is_ids = code == BAT_OK && is_member(key, size, "blk");
            if (code == BAT_OK && !is_ids && !is_member(key, size, "ids"))
                return fail(reader, "the key blk or ids");
            code = code ? code : read_numbers(reader, lists[!is_ids]);
            has[!is_ids] = true;
        } while (code == BAT_OK && read_mark(reader, ','));
        if (code == BAT_OK && !read_mark(reader, '}'))
            return fail(reader, "a comma or a closing brace");
    }
    for (unsigned i = 0; i < 2 && code == BAT_OK; i++) {
        if (has[i])
            continue;
        lists[i]->count = 0;
        if (!bat_yaml_profile_grow(&lists[i]->all, &lists[i]->capacity, 0, sizeof(uint64_t)))
            return bat_fail_memory(reader->error, "to read the profile");
        lists[i]->all[lists[i]->count++] = missing[i];
    }
    return code ? code : add_probes(reader, block);
}

static enum bat_code read_probes(struct reader *reader, struct bat_yaml_profile_block *block)
{
    if (!read_mark(reader, '['))
        return fail(reader, "an opening bracket");
    if (read_mark(reader, ']'))
        return BAT_OK;
    do {
        BAT_TRY(read_probe_entry(reader, block));
    } while (read_mark(reader, ','));
    bat_yaml_profile_sort_probes(block);
    return read_mark(reader, ']') ? BAT_OK : fail(reader, "a comma or a closing bracket");
}

static enum bat_code read_flags(struct reader *reader, uint32_t *flags)
{
    static const char *const names[] = {"lbr", "sample", "memevent"};
    *flags = 0;
    if (!read_mark(reader, '['))
        return fail(reader, "an opening bracket");
    while (!read_mark(reader, ']')) {
        unsigned i = 0;
        skip_space(reader);
        while (i < sizeof(names) / sizeof(names[0]) && !read_word(reader, names[i]))
            i++;
        if (i == sizeof(names) / sizeof(names[0]))
            return fail(reader, "lbr, sample or memevent");
        *flags |= 1u << i;
        if (!read_mark(reader, ',') && *reader->at != ']')
            return fail(reader, "a comma or a closing bracket");
    }
    return BAT_OK;
}

/* --- Keys ----------------------------------------------------------------------------------- */

/* What the value of a key is, and what it is read into. */
enum value_kind {
    NUMBER,
    NUMBER32,
    STRING,
    FLAGS,
    ORDER,
    HASH,
    BLOCKS,
    CALLS,
    SUCCESSORS,
    TREE,
    PROBES,
    NUMBERS
};

/* The keys of one kind of mapping that LLVM knows; those that it must have come first. */
struct key_set {
    const char *what;
    uint32_t required;
    uint32_t count;
    const char *names[8];
    enum value_kind kinds[8];
};

static const struct key_set header_keys = {
    "the header",
    3,
    8,
    {"profile-version", "binary-name", "profile-flags", "binary-build-id", "profile-origin",
     "profile-events", "dfs-order", "hash-func"},
    {NUMBER, STRING, FLAGS, STRING, STRING, STRING, ORDER, HASH}};
static const struct key_set function_keys = {
    "this function",
    5,
    8,
    {"name", "fid", "hash", "exec", "nblocks", "extern", "blocks", "inline_tree"},
    {STRING, NUMBER32, NUMBER, NUMBER, NUMBER32, NUMBER, BLOCKS, TREE}};
static const struct key_set block_keys = {
    "this block",
    2,
    8,
    {"bid", "insns", "hash", "exec", "events", "calls", "succ", "probes"},
    {NUMBER32, NUMBER32, NUMBER, NUMBER, NUMBER, CALLS, SUCCESSORS, PROBES}};
static const struct key_set table_keys = {
    "pseudo_probe_desc", 0, 3, {"gs", "gh", "hs"}, {NUMBERS, NUMBERS, NUMBERS}};

static bool is_key(const struct entry *entry, const char *key)
{
    return entry->key_size == strlen(key) && memcmp(entry->key, key, entry->key_size) == 0;
}

static enum bat_code read_either(struct reader *reader, const char *yes, const char *no,
                                 const char *expected, bool *value)
{
    skip_blanks(reader);
    *value = read_word(reader, yes);
    return *value || read_word(reader, no) ? BAT_OK : fail(reader, expected);
}

static enum bat_code read_value(struct reader *reader, enum value_kind kind, void *to)
{
    switch (kind) {
    case NUMBER:
        return read_number(reader, to);
    case NUMBER32:
        return read_number32(reader, to);
    case STRING:
        return read_string(reader, to);
    case FLAGS:
        return read_flags(reader, to);
    case ORDER:
        return read_either(reader, "true", "false", "true or false", to);
    case HASH:
        return read_either(reader, "xxh3", "std-hash", "xxh3 or std-hash", to);
    case CALLS:
    case SUCCESSORS:
        return read_edges(reader, to, kind == CALLS);
    case TREE:
        return read_tree(reader, to);
    case PROBES:
        return read_probes(reader, to);
    case NUMBERS:
        return read_numbers(reader, to);
    case BLOCKS: /* their lines follow, or an empty list */
        skip_blanks(reader);
        reader->in_blocks = !read_word(reader, "[]");
    }
    return BAT_OK;
}

/* Read the value of a key, which a mapping may have once; to: for each key of the set. */
static enum bat_code read_key(struct reader *reader, struct seen *seen, const struct key_set *set,
                              const struct entry *entry, void *const to[])
{
    uint32_t i = 0;
    while (i < set->count && !is_key(entry, set->names[i]))
        i++;
    if (i == set->count)
        return skip_value(reader);
    if (seen->keys >> i & 1)
        return bat_fail_text(reader->error, BAT_ERR_SYNTAX, reader->line,
                             (uint64_t)(entry->key - reader->line_start) + 1,
                             "expected each key once, found %s a second time", set->names[i]);
    seen->keys |= 1u << i;
    return read_value(reader, set->kinds[i], to[i]);
}

/* Check that a mapping had all keys that it must have. */
static enum bat_code expect_keys(const struct reader *reader, const struct seen *seen,
                                 const struct key_set *set)
{
    for (uint32_t i = 0; seen->line != 0 && i < set->required; i++)
        if (!(seen->keys >> i & 1))
            return bat_fail_text(reader->error, BAT_ERR_SYNTAX, seen->line, 1,
                                 "expected %s to have the key %s, found none", set->what,
                                 set->names[i]);
    return BAT_OK;
}

/* Check the last block and the last function, which are complete. */
static enum bat_code end_block(const struct reader *reader)
{
    return expect_keys(reader, &reader->block, &block_keys);
}

static enum bat_code end_function(const struct reader *reader)
{
    BAT_TRY(end_block(reader));
    return expect_keys(reader, &reader->function, &function_keys);
}

/* --- Members -------------------------------------------------------------------------------- */

static enum bat_code read_header(struct reader *reader, const struct entry *entry)
{
    struct bat_yaml_profile *profile = reader->profile;
    void *const to[] = {&profile->version,      &profile->binary,  &profile->flags,
                        &profile->build_id,     &profile->origin,  &profile->events,
                        &profile->is_dfs_order, &profile->has_xxh3};
    return read_key(reader, &reader->header, &header_keys, entry, to);
}

static struct bat_yaml_profile_function *last_function(const struct reader *reader)
{
    return &reader->profile->functions[reader->profile->count - 1];
}

static enum bat_code read_function(struct reader *reader, const struct entry *entry)
{
    struct bat_yaml_profile_function *function = last_function(reader);
    void *const to[] = {&function->name,
                        &function->number,
                        &function->hash,
                        &function->executions,
                        &function->block_count,
                        &function->from_outside,
                        NULL,
                        function};
    reader->in_blocks = false;
    return read_key(reader, &reader->function, &function_keys, entry, to);
}

static enum bat_code read_block(struct reader *reader, const struct entry *entry)
{
    struct bat_yaml_profile_function *function = last_function(reader);
    struct bat_yaml_profile_block *block = &function->blocks[function->count - 1];
    void *const to[] = {
        &block->index,  &block->instructions, &block->hash,       &block->executions,
        &block->events, &block->calls,        &block->successors, block};
    return read_key(reader, &reader->block, &block_keys, entry, to);
}

static enum bat_code read_tables(struct reader *reader, const struct entry *entry)
{
    void *const to[] = {&reader->guids, &reader->hash_indices, &reader->hashes};
    return read_key(reader, &reader->tables, &table_keys, entry, to);
}

static enum bat_code add_function(struct reader *reader)
{
    struct bat_yaml_profile *profile = reader->profile;
    BAT_TRY(end_function(reader));
    if (!bat_yaml_profile_grow(&profile->functions, &profile->capacity, profile->count,
                               sizeof(*profile->functions)))
        return bat_fail_memory(reader->error, "to read the profile");
    profile->functions[profile->count++] = (struct bat_yaml_profile_function){0};
    reader->block = (struct seen){0};
    reader->function = (struct seen){.line = reader->line};
    return BAT_OK;
}

static enum bat_code add_block(struct reader *reader)
{
    struct bat_yaml_profile_function *function = last_function(reader);
    BAT_TRY(end_block(reader));
    if (!bat_yaml_profile_grow(&function->blocks, &function->capacity, function->count,
                               sizeof(*function->blocks)))
        return bat_fail_memory(reader->error, "to read the profile");
    function->blocks[function->count++] = (struct bat_yaml_profile_block){0};
    reader->block = (struct seen){.line = reader->line};
    return BAT_OK;
}

/* An entry below "functions:". Its indentation tells whose it is. */
static enum bat_code read_below_functions(struct reader *reader, const struct entry *entry)
{
    struct bat_yaml_profile *profile = reader->profile;
    const struct item item = {entry->indent, entry->column};
    enum bat_code code = BAT_OK;
    if (entry->is_item && (profile->count == 0 || entry->indent == reader->function_item.dash)) {
        code = add_function(reader);
        reader->function_item = item;
        return code ? code : read_function(reader, entry);
    }
    if (profile->count == 0)
        return fail(reader, "a dash at the first function");
    if (!entry->is_item && entry->column == reader->function_item.key)
        return read_function(reader, entry);
    bool has_block = last_function(reader)->count != 0;
    if (entry->is_item && reader->in_blocks &&
        (!has_block || entry->indent == reader->block_item.dash)) {
        code = add_block(reader);
        reader->block_item = item;
        return code ? code : read_block(reader, entry);
    }
    if (!entry->is_item && reader->in_blocks && has_block &&
        entry->column == reader->block_item.key)
        return read_block(reader, entry);
    return skip_value(reader);
}

/* --- The text ------------------------------------------------------------------------------- */

/* Read the start of a line. False for a line without a key, which is skipped. */
static bool read_entry(struct reader *reader, struct entry *entry)
{
    *entry = (struct entry){.indent = strspn(reader->at, " ")};
    reader->at += entry->indent;
    if (reader->at[0] == '-' && reader->at[1] == ' ') {
        entry->is_item = true;
        reader->at += 1 + strspn(reader->at + 1, " ");
    }
    entry->key = reader->at;
    entry->column = (size_t)(reader->at - reader->line_start);
    entry->key_size = strspn(reader->at, "abcdefghijklmnopqrstuvwxyz_-");
    if (entry->key_size == 0 || reader->at[entry->key_size] != ':')
        return false;
    reader->at += entry->key_size + 1;
    return true;
}

static enum bat_code read_lines(struct reader *reader)
{
    enum { ELSEWHERE, IN_HEADER, IN_FUNCTIONS, IN_TABLES } place = ELSEWHERE;
    enum bat_code code = BAT_OK;
    bool has_functions = false;
    for (; reader->at < reader->end && code == BAT_OK; next_line(reader)) {
        struct entry entry;
        if (strncmp(reader->at, "...", 3) == 0)
            break;
        if (!read_entry(reader, &entry)) {
            bool is_start = reader->at == reader->line_start && read_word(reader, "---");
            if (!reader->has_skipped || entry.indent == 0 || is_start)
                code = expect_line_end(reader);
            continue;
        }
        bool is_top = entry.indent == 0 && !entry.is_item;
        if (is_top) {
            place = is_key(&entry, "header")              ? IN_HEADER
                    : is_key(&entry, "functions")         ? IN_FUNCTIONS
                    : is_key(&entry, "pseudo_probe_desc") ? IN_TABLES
                                                          : ELSEWHERE;
            has_functions |= place == IN_FUNCTIONS;
            if (place == IN_HEADER)
                reader->header.line = reader->line;
        }
        reader->has_skipped = place == ELSEWHERE;
        if (!is_top && place == IN_HEADER)
            code = read_header(reader, &entry);
        else if (!is_top && place == IN_FUNCTIONS)
            code = read_below_functions(reader, &entry);
        else if (!is_top && place == IN_TABLES)
            code = read_tables(reader, &entry);
        if (code == BAT_OK && !reader->has_skipped && !is_top)
            code = expect_line_end(reader);
    }
    return code == BAT_OK && !has_functions ? fail(reader, "the key functions, found none") : code;
}

/* --- Tables of pseudo probes ---------------------------------------------------------------- */

/* Put the tables into the profile. */
static enum bat_code complete_tables(struct reader *reader)
{
    struct bat_yaml_profile *profile = reader->profile;
    const struct numbers *guids = &reader->guids;
    const struct numbers *indices = &reader->hash_indices;
    if (indices->count != guids->count)
        return bat_fail(
            reader->error, BAT_ERR_SYNTAX,
            "expected as many numbers in gh as in gs of pseudo_probe_desc (%u), found %u",
            guids->count, indices->count);
    profile->hashes = reader->hashes.all;
    profile->hash_count = reader->hashes.count;
    profile->hash_capacity = reader->hashes.capacity;
    reader->hashes = (struct numbers){0};
    profile->guids = calloc((size_t)guids->count + 1, sizeof(*profile->guids));
    BAT_TRY_MEMORY(profile->guids, reader->error, "to read the profile");
    profile->guid_count = profile->guid_capacity = guids->count;
    for (uint32_t i = 0; i < guids->count; i++) {
        if (indices->all[i] >= profile->hash_count)
            return bat_fail(reader->error, BAT_ERR_SYNTAX,
                            "expected numbers below %u in gh of pseudo_probe_desc, found %lu",
                            profile->hash_count, indices->all[i]);
        profile->guids[i] = (struct bat_yaml_guid){guids->all[i], profile->hashes[indices->all[i]]};
    }
    return BAT_OK;
}

/* True if the probes of a function are of nodes that its tree has. */
static bool has_nodes(const struct bat_yaml_profile_function *function)
{
    for (uint32_t i = 0; i < function->count; i++) {
        const struct bat_yaml_profile_block *block = &function->blocks[i];
        if (block->probe_count != 0 &&
            block->probes[block->probe_count - 1] >> 32 >= function->node_count)
            return false;
        for (uint32_t j = 0; j < block->calls.count; j++)
            if (block->calls.all[j].probe != 0 &&
                block->calls.all[j].probe_node >= function->node_count)
                return false;
    }
    return true;
}

/* Give the nodes of a function the GUIDs of their indices. */
static enum bat_code complete_probes(const struct reader *reader,
                                     struct bat_yaml_profile_function *function)
{
    const struct bat_yaml_profile *profile = reader->profile;
    if (profile->guid_count == 0) {
        bat_yaml_profile_drop_probes(function);
        return BAT_OK;
    }
    for (uint32_t i = 0; i < function->node_count; i++) {
        if (function->nodes[i].guid >= profile->guid_count)
            return bat_fail(reader->error, BAT_ERR_SYNTAX,
                            "expected %.200s to have an inline_tree of GUIDs below %u, found %lu",
                            function->name, profile->guid_count, function->nodes[i].guid);
        function->nodes[i].guid = profile->guids[function->nodes[i].guid].guid;
    }
    return has_nodes(function) ? BAT_OK
                               : bat_fail(reader->error, BAT_ERR_SYNTAX,
                                          "expected %.200s to have pseudo probes of nodes of its "
                                          "inline_tree, found others",
                                          function->name);
}

/* Check the keys of what was read last, and give missing strings an empty text. */
static enum bat_code complete(struct reader *reader)
{
    BAT_TRY(expect_keys(reader, &reader->header, &header_keys));
    BAT_TRY(end_function(reader));
    struct bat_yaml_profile *profile = reader->profile;
    enum bat_code code = complete_tables(reader);
    for (uint32_t i = 0; i < profile->count && code == BAT_OK; i++)
        code = complete_probes(reader, &profile->functions[i]);
    if (code != BAT_OK)
        return code;
    char **const strings[] = {&profile->binary, &profile->build_id, &profile->origin,
                              &profile->events};
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        if (!*strings[i])
            *strings[i] = strdup("");
        BAT_TRY_MEMORY(*strings[i], reader->error, "to read the profile");
    }
    return BAT_OK;
}

enum bat_code bat_yaml_profile_read(const char *text, size_t size, struct bat_yaml_profile *profile,
                                    struct bat_error *error)
{
    *profile = (struct bat_yaml_profile){.is_dfs_order = true};
    struct reader reader = {.at = text,
                            .end = text + size,
                            .line_start = text,
                            .line = 1,
                            .profile = profile,
                            .error = error};
    if (memchr(text, '\0', size))
        return fail(&reader, "text without zero bytes");
    enum bat_code code = read_lines(&reader);
    if (code == BAT_OK && profile->version != 1)
        code = bat_fail(error, BAT_ERR_SYNTAX,
                        "expected the header's profile-version to be 1, found another or none");
    code = code == BAT_OK ? complete(&reader) : code;
    struct numbers *const lists[] = {&reader.guids, &reader.hash_indices, &reader.hashes,
                                     &reader.ids, &reader.nodes};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        free(lists[i]->all);
    return code;
}

bool bat_yaml_profile_is(const char *text, size_t size)
{
    return size >= 4 && memcmp(text, "---\n", 4) == 0;
}

enum bat_code bat_yaml_profile_read_file(const char *path, struct bat_yaml_profile *profile,
                                         struct bat_error *error)
{
    char *text;
    size_t size;
    *profile = (struct bat_yaml_profile){0};
    enum bat_code code = bat_whole_file_read(path, &text, &size, error);
    if (code == BAT_OK && !bat_yaml_profile_is(text, size))
        code = bat_fail(error, BAT_ERR_MISMATCH,
                        "expected YAML, which begins with \"---\", found another form");
    code = code ? code : bat_yaml_profile_read(text, size, profile, error);
    free(text);
    return code;
}
