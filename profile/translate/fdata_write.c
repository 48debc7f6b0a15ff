/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fdata, as llvm-bolt and merge-fdata read it: spec/profiles.md 3. */
#include "escape_name.h"
#include "profile/profile.h"
#include "records.h"
#include "support/text_writer.h"

/* The first kind of location that makes a record a memory access, without mispredictions. */
#define FIRST_MEMORY_KIND 3u

/* Longer names are written in parts. */
#define NAME_MAX_AT_ONCE 1024u

/* "kind name ", as it was written last: many records have the function of the record before. */
struct written {
    uint64_t word;
    size_t size; /* 0: nothing was written yet */
    char text[BAT_NAME_ESCAPED_BYTE * NAME_MAX_AT_ONCE + 3];
};

static void write_long_name(struct bat_text_writer *writer, const char *name, size_t size)
{
    while (size != 0) {
        size_t part = bat_text_part(name, size, NAME_MAX_AT_ONCE);
        char *at = bat_text_room(writer, BAT_NAME_ESCAPED_BYTE * part);
        bat_text_end(writer, bat_escape_name(at, name, part));
        name += part;
        size -= part;
    }
}

/* "kind name ". */
static void write_name(struct bat_text_writer *writer, const struct bat_records *records,
                       uint64_t word, struct written *last)
{
    if (last->size != 0 && last->word == word) {
        bat_text_bytes(writer, last->text, last->size);
        return;
    }
    bool is_escaped;
    const char *name = bat_records_name(records, (uint32_t)word, &is_escaped);
    size_t size = strlen(name);
    char *at = last->text;
    *at++ = (char)('0' + (word >> 32));
    *at++ = ' ';
    if (is_escaped || size > NAME_MAX_AT_ONCE) {
        last->size = 0;
        bat_text_bytes(writer, last->text, 2);
        if (is_escaped)
            bat_text_bytes(writer, name, size);
        else
            write_long_name(writer, name, size);
        bat_text_string(writer, " ");
        return;
    }
    at = bat_escape_name(at, name, size);
    *at++ = ' ';
    last->word = word;
    last->size = (size_t)(at - last->text);
    bat_text_bytes(writer, last->text, last->size);
}

/* "kind name offset ". */
static void write_location(struct bat_text_writer *writer, const struct bat_records *records,
                           const uint64_t *end, struct written *last)
{
    write_name(writer, records, end[0], last);
    char *at = bat_put_hex(bat_text_room(writer, 32), end[1]);
    *at++ = ' ';
    bat_text_end(writer, at);
}

static void write_branches(struct bat_text_writer *writer, const struct bat_records *records)
{
    if (bat_records_have_note(records))
        bat_text_string(writer, "boltedcollection\n");
    const struct bat_counts *branches = &records->branches;
    struct written from = {.size = 0};
    struct written to = {.size = 0};
    for (uint32_t i = 0; i < branches->count; i++) {
        const uint64_t *item = bat_counts_item(branches, i);
        write_location(writer, records, item, &from);
        write_location(writer, records, item + 2, item[2] == item[0] ? &from : &to);
        char *at = bat_text_room(writer, 64);
        if (item[0] >> 32 < FIRST_MEMORY_KIND) {
            at = bat_put_decimal(at, item[5]);
            *at++ = ' ';
        }
        at = bat_put_decimal(at, item[4]);
        *at++ = '\n';
        bat_text_end(writer, at);
    }
}

/* llvm-bolt reads the two lines of the header in this order only; perf2bolt writes the other. */
static void write_samples(struct bat_text_writer *writer, const struct bat_records *records)
{
    bat_text_string(writer, "no_lbr");
    for (uint32_t i = 0; i < records->events.count; i++) {
        bat_text_string(writer, " ");
        bat_text_word(writer, bat_strings_get(&records->events, i));
    }
    bat_text_string(writer, bat_records_have_note(records) ? "\nboltedcollection\n" : "\n");
    struct written last = {.size = 0};
    for (uint32_t i = 0; i < records->samples.count; i++) {
        const uint64_t *item = bat_counts_item(&records->samples, i);
        write_location(writer, records, item, &last);
        char *at = bat_text_room(writer, 32);
        at = bat_put_decimal(at, item[2]);
        *at++ = '\n';
        bat_text_end(writer, at);
    }
}

/* llvm-bolt rejects a whole file for one count above BAT_COUNT_MAX. */
static enum bat_code check_counts(const struct bat_counts *counts, struct bat_error *error)
{
    for (uint32_t i = 0; i < counts->count; i++) {
        const uint64_t *values = bat_counts_item(counts, i) + counts->words;
        if (values[0] > BAT_COUNT_MAX || values[1] > BAT_COUNT_MAX)
            return bat_fail(error, BAT_ERR_RANGE,
                            "expected counts below 2^63, the limit of llvm-bolt, found a larger "
                            "one");
    }
    return BAT_OK;
}

enum bat_code bat_records_write_fdata(const struct bat_records *records, struct bat_output *output,
                                      struct bat_error *error)
{
    bool has_branches = records->kind == BAT_PROFILE_BRANCHES;
    enum bat_code code = check_counts(has_branches ? &records->branches : &records->samples, error);
    if (code != BAT_OK)
        return code;
    struct bat_text_writer writer;
    code = bat_text_begin(&writer, output, error);
    if (code != BAT_OK)
        return code;
    if (has_branches)
        write_branches(&writer, records);
    else
        write_samples(&writer, records);
    return bat_text_finish(&writer, BAT_OK);
}
