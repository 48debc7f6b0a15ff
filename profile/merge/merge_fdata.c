/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_merge.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/line_blocks.h"
#include "support/counts.h"
#include "support/key_sort.h"
#include "support/string_table.h"
#include "support/text_writer.h"

/* Records of one sort. */
struct merged_records {
    struct bat_strings keys;  /* lines without their counts, in the order in which they were met */
    struct bat_counts counts; /* number of a key: count, mispredictions */
};

struct bat_merged_fdata {
    struct merged_records samples; /* branches, or basic samples */
    struct merged_records memory;  /* loads, which have no mispredictions */
    struct bat_strings events;     /* that the lines no_lbr name */
    bool is_bolted;                /* the files have the line boltedcollection */
    bool has_no_lbr;               /* ... a line no_lbr */
    bool has_files;                /* the two above are known */
};

/* A file that is being read. */
struct reading {
    struct bat_merged_fdata *merged;
    uint64_t line;
    bool is_bolted;
    bool has_no_lbr;
    bool in_head; /* no record was read yet */
    struct bat_error *error;
};

struct bat_merged_fdata *bat_merged_fdata_new(void)
{
    struct bat_merged_fdata *merged = calloc(1, sizeof(*merged));
    if (!merged)
        return NULL;
    merged->samples.counts = bat_counts_new(1);
    merged->memory.counts = bat_counts_new(1);
    return merged;
}

void bat_merged_fdata_free(struct bat_merged_fdata *merged)
{
    if (!merged)
        return;
    bat_strings_free(&merged->samples.keys);
    bat_counts_free(&merged->samples.counts);
    bat_strings_free(&merged->memory.keys);
    bat_counts_free(&merged->memory.counts);
    bat_strings_free(&merged->events);
    free(merged);
}

/* --- Reading -------------------------------------------------------------------------------- */

static enum bat_code fail(const struct reading *reading, size_t column, const char *expected)
{
    return bat_fail_text(reading->error, BAT_ERR_SYNTAX, reading->line, column + 1, "expected %s",
                         expected);
}

/*
 * Cut the decimal number behind the last blank off the line, and the blank. False if there is none,
 * or it has more than 64 bits.
 */
static bool cut_number(const char *line, size_t *size, uint64_t *number)
{
    size_t start = *size;
    while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9')
        start--;
    if (start == *size || start < 2 || line[start - 1] != ' ' || *size - start > 20)
        return false;
    char digits[24] = "";
    memcpy(digits, line + start, *size - start);
    errno = 0;
    *number = strtoull(digits, NULL, 10);
    *size = start - 1;
    return errno != ERANGE;
}

static enum bat_code check_head(struct reading *reading)
{
    struct bat_merged_fdata *merged = reading->merged;
    reading->in_head = false;
    if (!merged->has_files) {
        merged->has_files = true;
        merged->is_bolted = reading->is_bolted;
        merged->has_no_lbr = reading->has_no_lbr;
    }
    if (merged->is_bolted != reading->is_bolted)
        return bat_fail(reading->error, BAT_ERR_MISMATCH,
                        "expected fdata %s boltedcollection, as in the files before it, found it "
                        "%s",
                        merged->is_bolted ? "with" : "without",
                        merged->is_bolted ? "without" : "with");
    if (merged->has_no_lbr != reading->has_no_lbr)
        return bat_fail(reading->error, BAT_ERR_MISMATCH,
                        "expected fdata of %s, as in the files before it, found %s",
                        merged->has_no_lbr ? "basic samples (no_lbr)" : "branches",
                        merged->has_no_lbr ? "branches" : "basic samples (no_lbr)");
    return BAT_OK;
}

/*
 * Skip "KIND NAME OFFSET" and the blanks behind it, or return what was expected at `at`. Blanks in
 * a name have a backslash before them.
 */
static const char *skip_location(const char *line, size_t size, size_t *at)
{
    size_t i = *at;
    if (i == size || line[i] < '0' || line[i] > '5' || (i + 1 < size && line[i + 1] != ' '))
        return "the kind of a location (0 to 5)";
    for (i++; i < size && line[i] == ' ';)
        i++;
    const size_t name = *at = i;
    while (i < size && line[i] != ' ')
        i += line[i] == '\\' && i + 1 < size ? 2 : 1;
    if (i == name)
        return "a name";
    while (i < size && line[i] == ' ')
        i++;
    const size_t offset = *at = i;
    while (i < size && isxdigit((unsigned char)line[i]))
        i++;
    if (i == offset || i - offset > 16 || (i < size && line[i] != ' '))
        return "a hexadecimal offset";
    while (i < size && line[i] == ' ')
        i++;
    *at = i;
    return NULL;
}

/* A line that was damaged, or cut off, seldom has exactly the locations that it needs. */
static enum bat_code check_locations(const struct reading *reading, const char *line, size_t size,
                                     bool has_two)
{
    size_t at = 0;
    const char *expected = skip_location(line, size, &at);
    if (!expected && has_two)
        expected = skip_location(line, size, &at);
    if (!expected && at != size)
        expected = has_two ? "two locations and numbers" : "one location and a number";
    return expected ? fail(reading, at, expected) : BAT_OK;
}

static enum bat_code add_record(struct reading *reading, const char *line, size_t size)
{
    static const uint64_t memory_kinds = 1u << 3 | 1u << 4 | 1u << 5;
    struct bat_merged_fdata *merged = reading->merged;
    if (size < 2 || line[0] < '0' || line[0] > '9' || line[1] != ' ')
        return fail(reading, 0, "a record of fdata, which starts with a digit and a blank");
    if (memchr(line, '\0', size))
        return fail(reading, 0, "a record of fdata without zero bytes");
    bool is_memory = (memory_kinds >> (line[0] - '0') & 1) != 0;
    struct merged_records *records = is_memory ? &merged->memory : &merged->samples;
    uint64_t count;
    uint64_t mispredictions = 0;
    size_t whole = size;
    if (!cut_number(line, &size, &count))
        return fail(reading, whole, "a decimal count at the end of the line");
    if (!is_memory && !merged->has_no_lbr && !cut_number(line, &size, &mispredictions))
        return fail(reading, size, "decimal mispredictions before the count");
    uint32_t number = 0;
    BAT_TRY(check_locations(reading, line, size, is_memory || !merged->has_no_lbr));
    enum bat_code code = bat_strings_add(&records->keys, line, size, &number);
    const uint64_t key = number;
    code = code ? code : bat_counts_add(&records->counts, &key, count, mispredictions);
    return bat_counts_fail(reading->error, code, "the merged profile");
}

static bool starts_with(const char *line, size_t size, const char *word)
{
    return size >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

/* Add the events in what follows the word no_lbr. */
static enum bat_code add_events(struct reading *reading, const char *words, size_t size)
{
    if (memchr(words, '\0', size))
        return fail(reading, 0, "a line no_lbr without zero bytes");
    enum bat_code code = BAT_OK;
    for (size_t at = 0; at < size && code == BAT_OK;) {
        const char *blank = memchr(words + at, ' ', size - at);
        size_t length = blank ? (size_t)(blank - words) - at : size - at;
        uint32_t number;
        if (length != 0)
            code = bat_strings_add(&reading->merged->events, words + at, length, &number);
        at += length + 1;
    }
    return bat_counts_fail(reading->error, code, "the merged profile");
}

static enum bat_code read_line(struct reading *reading, const char *line, size_t size)
{
    static const char no_lbr[] = "no_lbr";
    const size_t no_lbr_size = sizeof(no_lbr) - 1;
    while (size > 0 && strchr(" \t\r", line[size - 1]) && line[size - 1])
        size--;
    if (reading->in_head && starts_with(line, size, "boltedcollection")) {
        reading->is_bolted = true;
        return BAT_OK;
    }
    if (reading->in_head && starts_with(line, size, no_lbr)) {
        reading->has_no_lbr = true;
        return add_events(reading, line + no_lbr_size, size - no_lbr_size);
    }
    enum bat_code code = reading->in_head ? check_head(reading) : BAT_OK;
    return code == BAT_OK && size != 0 ? add_record(reading, line, size) : code;
}

static enum bat_code read_lines(struct reading *reading, int file)
{
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, file, true, 0, UINT64_MAX, reading->error);
    size_t size = 1;
    while (code == BAT_OK && size != 0) {
        const uint8_t *text;
        code = bat_input_next(&input, reading->line, &text, &size, reading->error);
        for (const uint8_t *at = text; code == BAT_OK && size != 0 && at < text + size;) {
            const uint8_t *newline = rawmemchr(at, '\n');
            code = read_line(reading, (const char *)at, (size_t)(newline - at));
            at = newline + 1;
            reading->line++;
        }
    }
    bat_input_close(&input);
    return code == BAT_OK && reading->in_head ? check_head(reading) : code;
}

enum bat_code bat_merged_fdata_add(struct bat_merged_fdata *merged, const char *path,
                                   struct bat_error *error)
{
    struct reading reading = {.merged = merged, .line = 1, .in_head = true, .error = error};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bat_fail(error, BAT_ERR_IO, "%s", strerror(errno));
    enum bat_code code = read_lines(&reading, file);
    close(file);
    return code;
}

/* --- Writing -------------------------------------------------------------------------------- */

static void write_record(struct bat_text_writer *text, const struct merged_records *records,
                         uint32_t number, bool has_mispredictions)
{
    const uint64_t key = number;
    const uint64_t *item = bat_counts_find(&records->counts, &key);
    bat_text_string(text, bat_strings_get(&records->keys, number));
    char *at = bat_text_room(text, 64);
    *at++ = ' ';
    if (has_mispredictions) {
        at = bat_put_decimal(at, item[2]);
        *at++ = ' ';
    }
    at = bat_put_decimal(at, item[1]);
    *at++ = '\n';
    bat_text_end(text, at);
}

/* The first eight bytes of a string as a number that sorts as they do, with zeros behind its end.
 */
static uint64_t first_bytes(const char *string)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++) {
        number = number << 8 | (uint8_t)*string;
        string += *string != '\0';
    }
    return number;
}

/* Sort strings (the values of keys) that are the same up to depth. Linear in their bytes. */
static void sort_from(const struct bat_strings *strings, struct bat_sort_key *keys,
                      struct bat_sort_key *spare, size_t count, size_t depth)
{
    for (bool are_same = true; are_same; depth += 8) {
        for (size_t i = 0; i < count; i++)
            keys[i].key = first_bytes(bat_strings_get(strings, (uint32_t)keys[i].value) + depth);
        struct bat_sort_key *sorted = bat_sort_keys(keys, spare, count);
        if (sorted != keys)
            memcpy(keys, sorted, count * sizeof(*keys));
        are_same = count > 1 && keys[0].key == keys[count - 1].key;
    }
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && keys[end].key == keys[i].key;)
            end++;
        if (end - i > 1)
            sort_from(strings, keys + i, spare, end - i, depth);
    }
}

/* The numbers of all strings by their text, in values to be freed; NULL if there is no memory. */
static struct bat_sort_key *sort_strings(const struct bat_strings *strings)
{
    struct bat_sort_key *keys = malloc(((size_t)strings->count + 1) * sizeof(*keys));
    struct bat_sort_key *spare = malloc(((size_t)strings->count + 1) * sizeof(*spare));
    for (uint32_t i = 0; keys && i < strings->count; i++)
        keys[i].value = i;
    if (keys && spare) {
        sort_from(strings, keys, spare, strings->count, 0);
    } else {
        free(keys);
        keys = NULL;
    }
    free(spare);
    return keys;
}

static enum bat_code write_records(struct bat_text_writer *text,
                                   const struct merged_records *records, bool has_mispredictions)
{
    struct bat_sort_key *order = sort_strings(&records->keys);
    BAT_TRY_MEMORY(order, text->error, "to write the merged profile");
    for (uint32_t i = 0; i < records->keys.count; i++)
        write_record(text, records, (uint32_t)order[i].value, has_mispredictions);
    free(order);
    return BAT_OK;
}

static enum bat_code write_head(struct bat_text_writer *text, const struct bat_merged_fdata *merged)
{
    const struct bat_strings *events = &merged->events;
    struct bat_sort_key *order = sort_strings(events);
    BAT_TRY_MEMORY(order, text->error, "to write the merged profile");
    /* llvm-bolt reads the two lines in this order only. */
    bat_text_string(text, merged->has_no_lbr ? "no_lbr" : "");
    for (uint32_t i = 0; i < events->count; i++) {
        bat_text_string(text, " ");
        bat_text_string(text, bat_strings_get(events, (uint32_t)order[i].value));
    }
    bat_text_string(text, merged->has_no_lbr ? "\n" : "");
    bat_text_string(text, merged->is_bolted ? "boltedcollection\n" : "");
    free(order);
    return BAT_OK;
}

enum bat_code bat_merged_fdata_write(const struct bat_merged_fdata *merged,
                                     struct bat_output *output, struct bat_error *error)
{
    struct bat_text_writer text;
    BAT_TRY(bat_text_begin(&text, output, error));
    enum bat_code code = write_head(&text, merged);
    code = code ? code : write_records(&text, &merged->samples, !merged->has_no_lbr);
    code = code ? code : write_records(&text, &merged->memory, false);
    return bat_text_finish(&text, code);
}
