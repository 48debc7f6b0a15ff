/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fdata, as llvm-bolt and merge-fdata read it: spec/profiles.md 3. */
#include "escape_name.h"
#include "records.h"
#include "text_writer.h"

/* Kinds of ends from which on a record is a memory access: it has no mispredictions. */
#define FIRST_MEMORY_KIND 3u

/* Longer names than this are written in parts. */
#define NAME_MAX_AT_ONCE (BAT_TEXT_BUFFER / 4)

static void write_name(struct bat_text_writer *writer, const char *name, bool is_escaped)
{
    size_t size = strlen(name);
    if (is_escaped || size > NAME_MAX_AT_ONCE) {
        /* A name this long is not worth a fast way: a character at a time. */
        for (; !is_escaped && *name; name++) {
            if (*name == ' ' || *name == '\\')
                bat_text_bytes(writer, "\\", 1);
            bat_text_bytes(writer, name, 1);
        }
        bat_text_string(writer, name);
        return;
    }
    char *at = bat_text_room(writer, 2 * size);
    bat_text_end(writer, bat_escape_name(at, name, size));
}

/* "kind name offset ". */
static void write_end(struct bat_text_writer *writer, const struct bat_records *records,
                      uint64_t word, uint64_t offset)
{
    char *at = bat_text_room(writer, 32);
    *at++ = (char)('0' + (word >> 32));
    *at++ = ' ';
    bat_text_end(writer, at);
    bool is_escaped;
    const char *name = bat_records_name(records, (uint32_t)word, &is_escaped);
    write_name(writer, name, is_escaped);
    at = bat_text_room(writer, 32);
    *at++ = ' ';
    at = bat_put_hex(at, offset);
    *at++ = ' ';
    bat_text_end(writer, at);
}

static void write_branches(struct bat_text_writer *writer, const struct bat_records *records)
{
    bat_text_string(writer, "boltedcollection\n");
    const struct bat_counts *branches = &records->branches;
    for (uint32_t i = 0; i < branches->count; i++) {
        const uint64_t *item = bat_counts_item(branches, i);
        write_end(writer, records, item[0], item[1]);
        write_end(writer, records, item[2], item[3]);
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
        bat_text_string(writer, bat_strings_get(&records->events, i));
    }
    bat_text_string(writer, "\nboltedcollection\n");
    for (uint32_t i = 0; i < records->samples.count; i++) {
        const uint64_t *item = bat_counts_item(&records->samples, i);
        write_end(writer, records, item[0], item[1]);
        char *at = bat_text_room(writer, 32);
        at = bat_put_decimal(at, item[2]);
        *at++ = '\n';
        bat_text_end(writer, at);
    }
}

enum bat_code bat_records_write_fdata(const struct bat_records *records, const char *path,
                                      struct bat_error *error)
{
    struct bat_text_writer writer;
    enum bat_code code = bat_text_begin(&writer, path, error);
    if (code != BAT_OK)
        return code;
    if (records->kind == BAT_PROFILE_BRANCHES)
        write_branches(&writer, records);
    else
        write_samples(&writer, records);
    return bat_text_finish(&writer, BAT_OK);
}
