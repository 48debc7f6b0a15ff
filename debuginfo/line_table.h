/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The line table of a unit: the rows that its line-number program makes, and its files.
 *
 * libdw's reader is not used: it keeps what it has read until the end, and it rejects a unit whose
 * discriminators or columns do not fit its fields (24 and 16 bits), as in programs compiled with
 * -enable-fs-discriminator. Internal to debuginfo/.
 */
#pragma once

#include <libelf.h>
#include <string.h>

#include "bat.h"
#include "support/dwarf_numbers.h"

/* A position in bytes that are read in sequence. */
struct line_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool is_64_bit; /* offsets take 8 bytes, not 4 */
    bool failed;    /* a read went beyond the end; all later reads return 0 */
};

/* The number in the size bytes at a place; at most 8 count. The caller checks that they are there.
 */
static inline uint64_t line_fixed_at(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size && i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static inline uint64_t line_read_fixed(struct line_reader *reader, size_t size)
{
    if (reader->failed || (size_t)(reader->end - reader->at) < size) {
        reader->failed = true;
        return 0;
    }
    const uint64_t value = line_fixed_at(reader->at, size);
    reader->at += size;
    return value;
}

/* As dwarf_read_leb128() reads a number without sign. Most take a byte. */
static inline bool line_leb128(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    if (*at < end && **at < 0x80) {
        *value = *(*at)++;
        return true;
    }
    return dwarf_read_leb128(at, end, false, value);
}

static inline uint64_t line_read_leb128(struct line_reader *reader)
{
    uint64_t value = 0;
    if (!reader->failed)
        reader->failed = !line_leb128(&reader->at, reader->end, &value);
    return value;
}

static inline int64_t line_read_signed_leb128(struct line_reader *reader)
{
    uint64_t value = 0;
    if (!reader->failed)
        reader->failed = !dwarf_read_leb128(&reader->at, reader->end, true, &value);
    return (int64_t)value;
}

static inline const char *line_read_string(struct line_reader *reader)
{
    const uint8_t *start = reader->at;
    const uint8_t *end =
        reader->failed ? NULL
                       : (const uint8_t *)memchr(start, 0, (size_t)(reader->end - reader->at));
    if (!end) {
        reader->failed = true;
        return "";
    }
    reader->at = end + 1;
    return (const char *)start;
}

static inline void line_read_skip(struct line_reader *reader, uint64_t size)
{
    if (reader->failed || (uint64_t)(reader->end - reader->at) < size)
        reader->failed = true;
    else
        reader->at += size;
}

static inline uint64_t line_read_offset(struct line_reader *reader)
{
    return line_read_fixed(reader, reader->is_64_bit ? 8 : 4);
}

/* The bytes of a section; size is 0 if there is none. */
struct line_bytes {
    const uint8_t *bytes;
    size_t size;
};

/* The sections of an ELF file that line tables need. */
struct line_sections {
    struct line_bytes line;         /* .debug_line */
    struct line_bytes line_strings; /* .debug_line_str, up to the end of its last string */
    struct line_bytes strings;      /* .debug_str, likewise */
};

struct line_row {
    uint64_t address;
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
    uint32_t file;
};

/* Rows of consecutive code. */
struct line_sequence {
    uint64_t start;
    uint64_t end;
    uint32_t first_row;
    uint32_t row_count;
};

struct line_file {
    const char *name; /* in a section */
    uint64_t folder;
    char *path; /* made when it is first needed */
};

/* So many elements behind that of the last look-up are tried before a binary search. */
#define DEBUG_NEAR 8u

struct line_table {
    unsigned version;
    const char *compile_folder; /* DW_AT_comp_dir, or NULL */
    const char **folders;
    size_t folder_count;
    struct line_file *files;
    size_t file_count;
    struct line_row *rows; /* strictly ascending by address in each sequence */
    size_t row_count;
    struct line_sequence *sequences; /* ascending by end */
    size_t sequence_count;
    size_t last_sequence; /* of the last look-up */
    size_t last_row;      /* in this sequence */
    bool lacks_memory;    /* memory ran out while a path was made */
};

/*
 * Find the sections of an ELF file whose debug sections libdw has unpacked. is_split: those of a
 * .dwo file.
 */
struct line_sections line_sections_find(Elf *elf, bool is_split);

/* The section of this name, or of GNU's name for it when it is packed; size 0 if there is none. */
struct line_bytes line_section_find(Elf *elf, const char *wanted);

/* The bytes of a section; none if they are not in the file, or packed. */
struct line_bytes line_section_bytes(Elf_Scn *section);

/* True if the program has code at address, where a sequence starts. */
typedef bool line_filter(uint64_t address, const void *context);

/*
 * Read the table at offset in .debug_line. Damaged parts are left out. False if memory ran out and
 * something was left out. Linear in the table's bytes, except for sorting sequences. The table's
 * bytes are subtracted from *budget, the bytes that may still be read: tables do not overlap, and
 * one that has more is damaged.
 */
bool line_table_read(struct line_table *table, const struct line_sections *sections,
                     uint64_t offset, line_filter *filter, const void *context, uint64_t *budget);
void line_table_free(struct line_table *table);

/* The row that covers the address, or NULL. Quick near the last address, else logarithmic. */
const struct line_row *line_table_find(struct line_table *table, uint64_t address);

/* The end of the addresses that have the row that was found last. */
uint64_t line_table_last_end(const struct line_table *table);

/* The path of a file by its number in DWARF, or NULL. It belongs to the table. */
const char *line_table_path(struct line_table *table, uint32_t number);

/* --- Between the parts of the reader -------------------------------------------------------- */

/* The part of a line-number program's header that its opcodes depend on. */
struct line_header {
    unsigned version;
    unsigned instruction_length; /* minimum_instruction_length */
    int line_base;
    unsigned line_range;
    unsigned opcode_base;
    const uint8_t *opcode_lengths; /* of the standard opcodes from 1 */
};

/*
 * Read a header, and its folders and files into table. Afterwards reader has the bytes of the
 * program. False if the header is damaged or of an unknown version. *has_memory becomes false if
 * memory ran out and folders or files were left out.
 */
bool line_header_read(struct line_header *header, struct line_table *table,
                      struct line_reader *reader, const struct line_sections *sections,
                      bool *has_memory);
