/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The sections of a text of perf script: spec/perf-script.md 1. */
#include <string.h>

#include "script.h"

/* "MMAP=1f4;": a section and its size in hexadecimal. */
static enum bat_code read_section(struct bat_line *line, struct perf_script_sections *sections)
{
    static const struct {
        const char *name;
        enum perf_script_content content;
    } known[] = {
        {"BUILDIDS=", PERF_SCRIPT_BUILD_IDS}, {"MMAP=", PERF_SCRIPT_RECORDS},
        {"TASK=", PERF_SCRIPT_RECORDS},       {"MAIN=", PERF_SCRIPT_SAMPLES},
        {"MEM=", PERF_SCRIPT_SAMPLES},
    };
    size_t i = 0;
    while (i < sizeof(known) / sizeof(known[0]) &&
           strncmp((const char *)line->at, known[i].name, strlen(known[i].name)) != 0)
        i++;
    if (i == sizeof(known) / sizeof(known[0]) || sections->count == PERF_SCRIPT_SECTIONS_MAX)
        return bat_lines_fail(line->lines, line->start, line->at,
                              "a section (BUILDIDS, MMAP, TASK, MAIN or MEM) and its size");
    const uint8_t *at = line->at + strlen(known[i].name);
    uint64_t size;
    uint64_t start = sections->count ? sections->all[sections->count - 1].end : sections->start;
    if (!bat_read_hex(&at, &size) || *at != ';' || size > UINT64_MAX - start)
        return bat_lines_fail(line->lines, line->start, line->at + strlen(known[i].name),
                              "the hexadecimal size of a section and a semicolon");
    sections->all[sections->count++] =
        (struct perf_script_section){.content = known[i].content, .end = start + size};
    line->at = at + 1;
    return BAT_OK;
}

static enum bat_code read_head(struct bat_line *line, uint64_t size,
                               struct perf_script_sections *sections)
{
    line->at += sizeof(PERF_SCRIPT_MAGIC) - 1;
    while (!bat_ends_field(*line->at))
        BAT_TRY(read_section(line, sections));
    uint64_t end = sections->count ? sections->all[sections->count - 1].end : sections->start;
    if (end != size)
        return bat_fail_text(
            line->lines->error, BAT_ERR_SYNTAX, 1, 1,
            "expected sections of %lu bytes altogether, as this line says, found %lu",
            end - sections->start, size - sections->start);
    return BAT_OK;
}

enum bat_code perf_script_find_sections(int file, uint64_t size,
                                        struct perf_script_sections *sections,
                                        struct bat_error *error)
{
    *sections = (struct perf_script_sections){
        .all = {{.content = PERF_SCRIPT_ANYTHING, .end = UINT64_MAX}}, .count = 1};
    struct bat_input input;
    enum bat_code code = bat_input_open(&input, file, false, 0, UINT64_MAX, error);
    const uint8_t *text = NULL;
    size_t text_size = 0;
    code = code ? code : bat_input_next(&input, 1, &text, &text_size, error);
    size_t magic_size = sizeof(PERF_SCRIPT_MAGIC) - 1;
    if (code == BAT_OK && text_size > magic_size &&
        memcmp(text, PERF_SCRIPT_MAGIC, magic_size) == 0) {
        const uint8_t *newline = rawmemchr(text, '\n');
        struct bat_lines lines = {.at = text, .end = newline + 1, .line = 1, .error = error};
        struct bat_line line = {.lines = &lines, .start = text, .at = text};
        sections->start = (uint64_t)(newline + 1 - text);
        if (sections->start > size) /* the file does not have the newline */
            sections->start = size;
        sections->count = 0;
        code = read_head(&line, size, sections);
    }
    bat_input_close(&input);
    return code;
}

const struct perf_script_section *
perf_script_section_at(const struct perf_script_sections *sections, uint64_t offset)
{
    if (offset < sections->start)
        return NULL;
    for (uint32_t i = 0; i < sections->count; i++)
        if (offset < sections->all[i].end)
            return &sections->all[i];
    return NULL;
}
