/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fdata, as llvm-bolt and merge-fdata read it: spec/profiles.md 3. */
#include "escape_name.h"
#include "profile/profile.h"
#include "records.h"
#include "support/text_writer.h"

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

void bat_fdata_write_counts(struct bat_text_writer *writer, const uint64_t *item, uint32_t words)
{
    char *at = bat_text_room(writer, 64);
    if (words == 4 && item[0] >> 32 < BAT_FIRST_MEMORY_KIND) {
        at = bat_put_decimal(at, item[words + 1]);
        *at++ = ' ';
    }
    at = bat_put_decimal(at, item[words]);
    *at++ = '\n';
    bat_text_end(writer, at);
}

void bat_fdata_write_header(struct bat_text_writer *writer, const struct bat_strings *events,
                            bool is_bolted)
{
    bat_text_string(writer, events ? "no_lbr" : "");
    for (uint32_t i = 0; events && i < events->count; i++) {
        bat_text_string(writer, " ");
        bat_text_word(writer, bat_strings_get(events, i));
    }
    bat_text_string(writer, events ? "\n" : "");
    bat_text_string(writer, is_bolted ? "boltedcollection\n" : "");
}

static void write_records(struct bat_text_writer *writer, const struct bat_records *records,
                          const struct bat_counts *counts, uint32_t first, uint32_t end)
{
    struct written from = {.size = 0};
    struct written to = {.size = 0};
    for (uint32_t i = first; i < end; i++) {
        const uint64_t *item = bat_counts_item(counts, i);
        write_location(writer, records, item, &from);
        if (counts->words == 4)
            write_location(writer, records, item + 2, item[2] == item[0] ? &from : &to);
        bat_fdata_write_counts(writer, item, counts->words);
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

static const struct bat_counts *counts_of(const struct bat_records *records)
{
    return records->kind == BAT_PROFILE_BRANCHES ? &records->branches : &records->samples;
}

static enum bat_code begin(const void *subject, void **state, size_t *parts,
                           struct bat_error *error)
{
    const struct bat_counts *counts = counts_of(subject);
    *state = (void *)subject;
    *parts = 1 + ((size_t)counts->count + BAT_RECORDS_PER_PART - 1) / BAT_RECORDS_PER_PART;
    return check_counts(counts, error);
}

/* The first part is the header. */
static enum bat_code write_part(void *state, size_t part, unsigned thread,
                                struct bat_text_writer *text, struct bat_error *error)
{
    (void)thread;
    (void)error;
    const struct bat_records *records = state;
    const struct bat_counts *counts = counts_of(records);
    if (part == 0) {
        bat_fdata_write_header(text, counts == &records->samples ? &records->events : NULL,
                               bat_records_have_note(records));
        return BAT_OK;
    }
    size_t first = (part - 1) * BAT_RECORDS_PER_PART;
    size_t left = counts->count - first;
    size_t end = first + (left < BAT_RECORDS_PER_PART ? left : BAT_RECORDS_PER_PART);
    write_records(text, records, counts, (uint32_t)first, (uint32_t)end);
    return BAT_OK;
}

static void end(void *state)
{
    (void)state; /* the records are the caller's */
}

const struct bat_text_source bat_fdata_source = {begin, write_part, end};
