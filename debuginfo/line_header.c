/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Headers of line-number programs: DWARF 2 to 5, sections 6.2.4. */
#include <dwarf.h>

#include "line_table.h"
#include "spec/array.h"

/* A string of a section, which line_sections_find() has cut behind the end of one; or NULL. */
static const char *string_at(const struct line_bytes *section, uint64_t offset)
{
    return offset < section->size ? (const char *)section->bytes + offset : NULL;
}

/* --- Before version 5 ----------------------------------------------------------------------- */

static bool add_folder(struct line_table *table, size_t *capacity, const char *name)
{
    return BAT_APPEND(table->folders, table->folder_count, *capacity, name);
}

static bool add_file(struct line_table *table, size_t *capacity, const char *name, uint64_t folder)
{
    return BAT_APPEND(table->files, table->file_count, *capacity,
                      (struct line_file){.name = name, .folder = folder});
}

/* Folders and files count from 1; folder 0 is the compiler's. */
static bool read_old_tables(struct line_table *table, struct line_reader *reader)
{
    size_t capacity = 0;
    if (!add_folder(table, &capacity, NULL))
        return false;
    for (;;) {
        const char *name = line_read_string(reader);
        if (reader->failed || !*name)
            break;
        if (!add_folder(table, &capacity, name))
            return false;
    }
    capacity = 0;
    if (!add_file(table, &capacity, NULL, 0))
        return false;
    for (;;) {
        const char *name = line_read_string(reader);
        if (reader->failed || !*name)
            break;
        uint64_t folder = line_read_leb128(reader);
        line_read_leb128(reader); /* time */
        line_read_leb128(reader); /* size */
        if (reader->failed || !add_file(table, &capacity, name, folder))
            return false;
    }
    return !reader->failed;
}

/* --- Version 5 ------------------------------------------------------------------------------ */

/* Kinds of content and forms, at most 255 of them by the format. */
struct entry_format {
    struct {
        uint64_t content;
        uint64_t form;
    } fields[255];
    size_t count;
};

static void read_format(struct entry_format *format, struct line_reader *reader)
{
    format->count = (size_t)line_read_fixed(reader, 1);
    for (size_t i = 0; i < format->count && !reader->failed; i++) {
        format->fields[i].content = line_read_leb128(reader);
        format->fields[i].form = line_read_leb128(reader);
    }
}

/* Read a field: a string into *text or a number into *number; blocks are skipped. */
static void read_field(uint64_t form, struct line_reader *reader,
                       const struct line_sections *sections, const char **text, uint64_t *number)
{
    switch (form) {
    case DW_FORM_string:
        *text = line_read_string(reader);
        break;
    case DW_FORM_line_strp:
        *text = string_at(&sections->line_strings, line_read_offset(reader));
        break;
    case DW_FORM_strp:
        *text = string_at(&sections->strings, line_read_offset(reader));
        break;
    case DW_FORM_udata:
        *number = line_read_leb128(reader);
        break;
    case DW_FORM_data1:
        *number = line_read_fixed(reader, 1);
        break;
    case DW_FORM_data2:
        *number = line_read_fixed(reader, 2);
        break;
    case DW_FORM_data4:
        *number = line_read_fixed(reader, 4);
        break;
    case DW_FORM_data8:
        *number = line_read_fixed(reader, 8);
        break;
    case DW_FORM_data16:
        line_read_skip(reader, 16);
        break;
    case DW_FORM_block:
        line_read_skip(reader, line_read_leb128(reader));
        break;
    default: /* its length is not known */
        reader->failed = true;
    }
}

/* One folder or file. */
static struct line_file read_entry(const struct entry_format *format, struct line_reader *reader,
                                   const struct line_sections *sections)
{
    struct line_file file = {0};
    for (size_t i = 0; i < format->count && !reader->failed; i++) {
        const char *text = NULL;
        uint64_t number = 0;
        read_field(format->fields[i].form, reader, sections, &text, &number);
        if (format->fields[i].content == DW_LNCT_path)
            file.name = text;
        else if (format->fields[i].content == DW_LNCT_directory_index)
            file.folder = number;
    }
    return file;
}

/* Folders and files count from 0. */
static bool read_tables(struct line_table *table, struct line_reader *reader,
                        const struct line_sections *sections)
{
    struct entry_format format;
    size_t capacity = 0;
    read_format(&format, reader);
    uint64_t count = line_read_leb128(reader);
    /* Ignore entries without fields: the bytes left do not limit the count of these. */
    for (uint64_t i = 0; i < count && format.count != 0; i++) {
        struct line_file entry = read_entry(&format, reader, sections);
        if (reader->failed || !add_folder(table, &capacity, entry.name))
            return false;
    }
    capacity = 0;
    read_format(&format, reader);
    count = line_read_leb128(reader);
    for (uint64_t i = 0; i < count && format.count != 0; i++) {
        struct line_file entry = read_entry(&format, reader, sections);
        if (reader->failed || !add_file(table, &capacity, entry.name, entry.folder))
            return false;
    }
    return !reader->failed;
}

/* --- Both ----------------------------------------------------------------------------------- */

static bool read_unit_length(struct line_reader *reader)
{
    uint64_t length = line_read_fixed(reader, 4);
    if (length == 0xffffffff) {
        reader->is_64_bit = true;
        length = line_read_fixed(reader, 8);
    }
    if (reader->failed || (uint64_t)(reader->end - reader->at) < length)
        return false;
    reader->end = reader->at + length;
    return true;
}

bool line_header_read(struct line_header *header, struct line_table *table,
                      struct line_reader *reader, const struct line_sections *sections,
                      bool *has_memory)
{
    if (!read_unit_length(reader))
        return false;
    header->version = (unsigned)line_read_fixed(reader, 2);
    if (reader->failed || header->version < 2 || header->version > 5)
        return false;
    if (header->version >= 5)
        line_read_skip(reader, 2); /* sizes of addresses and of segment selectors */
    uint64_t length = line_read_offset(reader);
    if (reader->failed || (uint64_t)(reader->end - reader->at) < length)
        return false;
    const uint8_t *program = reader->at + length;
    header->instruction_length = (unsigned)line_read_fixed(reader, 1);
    if (header->version >= 4)
        line_read_fixed(reader, 1); /* operations an instruction: 1 on the machines known here */
    line_read_fixed(reader, 1);     /* default_is_stmt */
    header->line_base = (int)line_read_fixed(reader, 1);
    header->line_base -= header->line_base > 127 ? 256 : 0; /* a signed byte */
    header->line_range = (unsigned)line_read_fixed(reader, 1);
    header->opcode_base = (unsigned)line_read_fixed(reader, 1);
    header->opcode_lengths = reader->at;
    line_read_skip(reader, header->opcode_base ? header->opcode_base - 1 : 0);
    if (reader->failed || header->opcode_base == 0 || reader->at > program)
        return false;
    table->version = header->version;
    const uint8_t *end = reader->end;
    reader->end = program;
    /* If the folders or files are damaged, the program is still read. */
    bool is_read = header->version >= 5 ? read_tables(table, reader, sections)
                                        : read_old_tables(table, reader);
    *has_memory &= is_read || reader->failed;
    *reader = (struct line_reader){.at = program, .end = end, .is_64_bit = reader->is_64_bit};
    return true;
}
