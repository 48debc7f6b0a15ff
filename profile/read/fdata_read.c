/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fdata, a record a line, as perf2bolt, merge-fdata and this library write it: spec/profiles.md 3.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "profile/text_fields.h"
#include "spec/escape_controls.h"

/* Add a name with control characters, escaping them: other tools write them unescaped. */
static enum bat_code add_name_with_controls(struct bat_fdata *fdata, const char *text, size_t size,
                                            uint32_t *name)
{
    char *escaped = malloc(BAT_ESCAPED_BYTE * size);
    if (!escaped)
        return BAT_ERR_MEMORY;
    char *at = escaped;
    for (size_t i = 0, length; i < size; i += length) {
        bool has_backslash = text[i] == '\\' && i + 1 < size;
        const char *character = text + i + has_backslash;
        size_t left = size - i - has_backslash;
        bool is_control = bat_is_control(character, left, &length);
        if (has_backslash && !is_control)
            *at++ = '\\';
        at = is_control ? bat_put_bytes_escaped(at, character, length)
                        : (char *)memcpy(at, character, length) + length;
        length += has_backslash;
    }
    enum bat_code code = bat_strings_add(&fdata->names, escaped, (size_t)(at - escaped), name);
    free(escaped);
    return code;
}

/* A name ends at the next blank without a backslash before it. It is kept escaped. */
static enum bat_code read_name(struct bat_fdata *fdata, struct bat_line *line, uint32_t *name)
{
    bat_line_skip_blanks(line);
    const uint8_t *start = line->at;
    while (!bat_ends_field(*line->at) && *line->at != '\0') {
        if (*line->at == '\\' && line->at[1] != '\n' && line->at[1] != '\0')
            line->at++;
        line->at++;
    }
    if (line->at == start || *line->at == '\0')
        return bat_line_fail(line, line->at, "a name");
    const char *text = (const char *)start;
    size_t size = (size_t)(line->at - start);
    enum bat_code code = bat_has_controls(text, size)
                             ? add_name_with_controls(fdata, text, size, name)
                             : bat_strings_add(&fdata->names, text, size, name);
    return bat_line_fail_add(line, code);
}

/* Read a location (kind, name, offset) as two words of a key. */
static enum bat_code read_location(struct bat_fdata *fdata, struct bat_line *line, uint64_t *words)
{
    bat_line_skip_blanks(line);
    uint8_t digit = *line->at;
    if (digit < '0' || digit > '5' || !bat_ends_field(line->at[1]))
        return bat_line_fail(line, line->at, "the kind of a location (0 to 5)");
    line->at++;
    uint32_t name = 0;
    BAT_TRY(read_name(fdata, line, &name));
    words[0] = bat_fdata_word((uint32_t)(digit - '0'), name);
    bat_line_skip_blanks(line);
    const uint8_t *at = line->at;
    if (!bat_read_hex(&at, &words[1]) || !bat_ends_field(*at))
        return bat_line_fail(line, line->at, "a hexadecimal offset");
    line->at = at;
    return BAT_OK;
}

/* Read the count, which ends the line, and add it to counts with the key. */
static enum bat_code add_line(struct bat_profile *profile, struct bat_line *line,
                              struct bat_counts *counts, const uint64_t *key,
                              uint64_t mispredictions)
{
    uint64_t count = 0;
    enum bat_code code = bat_line_count(line, &count);
    code = code ? code : bat_line_end(line);
    BAT_TRY(code);
    BAT_TRY(bat_lines_add_sum(line->lines, profile, count));
    code = bat_counts_add(counts, key, count, mispredictions);
    return bat_line_fail_add(line, code);
}

static enum bat_code read_branch(struct bat_profile *profile, struct bat_line *line)
{
    uint64_t key[4] = {0};
    uint64_t mispredictions = 0;
    enum bat_code code = read_location(&profile->fdata, line, key);
    code = code ? code : read_location(&profile->fdata, line, key + 2);
    if (code == BAT_OK && key[0] >> 32 < BAT_FIRST_MEMORY_KIND)
        code = bat_line_count(line, &mispredictions);
    return code ? code : add_line(profile, line, &profile->fdata.branches, key, mispredictions);
}

static enum bat_code read_sample(struct bat_profile *profile, struct bat_line *line)
{
    uint64_t key[2] = {0};
    enum bat_code code = read_location(&profile->fdata, line, key);
    return code ? code : add_line(profile, line, &profile->fdata.samples, key, 0);
}

/* Skip the word if it comes next; false if it does not. */
static bool skip_word(struct bat_line *line, const char *word)
{
    size_t size = strlen(word);
    /* A newline ends every line and is in no word, so this never reads behind the text. */
    if (strncmp((const char *)line->at, word, size) != 0 || !bat_ends_field(line->at[size]))
        return false;
    line->at += size;
    return true;
}

/* Event names behind "no_lbr". */
static enum bat_code read_events(struct bat_profile *profile, struct bat_line *line)
{
    for (;;) {
        bat_line_skip_blanks(line);
        if (*line->at == '\n')
            return BAT_OK;
        uint32_t event;
        const uint8_t *start = line->at;
        while (!bat_ends_field(*line->at) && *line->at != '\0')
            line->at++;
        if (*line->at == '\0')
            return bat_line_fail(line, line->at, "the name of an event");
        enum bat_code code = bat_strings_add(&profile->events, (const char *)start,
                                             (size_t)(line->at - start), &event);
        if (code != BAT_OK)
            return bat_lines_fail_add(line->lines, code);
    }
}

/* A header line holds for all records, so it must come before the first one. */
static enum bat_code set_header(const struct bat_profile *profile, const struct bat_line *line,
                                const uint8_t *word, bool *header)
{
    bool has_records = profile->fdata.branches.count != 0 || profile->fdata.samples.count != 0;
    if (!*header && has_records)
        return bat_line_fail(line, word, "this line in front of all records");
    *header = true;
    return BAT_OK;
}

static enum bat_code read_record(struct bat_profile *profile, struct bat_line *line)
{
    bat_line_skip_blanks(line);
    if (*line->at == '\n')
        return BAT_OK;
    const uint8_t *word = line->at;
    if (skip_word(line, "boltedcollection")) {
        BAT_TRY(set_header(profile, line, word, &profile->fdata.bolted));
        return bat_line_end(line);
    }
    if (skip_word(line, "no_lbr")) {
        enum bat_code code = set_header(profile, line, word, &profile->fdata.no_lbr);
        return code ? code : read_events(profile, line);
    }
    profile->counters.fdata_records++;
    return profile->fdata.no_lbr ? read_sample(profile, line) : read_branch(profile, line);
}

enum bat_code bat_fdata_read(struct bat_profile *profile, struct bat_lines *lines)
{
    profile->fdata.seen = true;
    while (lines->at < lines->end) {
        struct bat_line line = {.lines = lines, .start = lines->at, .at = lines->at};
        BAT_TRY(read_record(profile, &line));
        lines->at = line.at + 1;
        lines->line++;
    }
    return BAT_OK;
}
