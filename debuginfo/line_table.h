/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The line table of a unit: the rows that its line-number program makes, and its files.
 *
 * libdw has one too, but it keeps what it read for good, and it gives up a unit whose
 * discriminators or columns do not fit its fields (24 and 16 bits), as those of programs compiled
 * with -enable-fs-discriminator do not. Internal to debuginfo/.
 */
#ifndef BAT_DEBUGINFO_LINE_TABLE_H
#define BAT_DEBUGINFO_LINE_TABLE_H

#include <libelf.h>

#include "bat.h"

/* The sections that line tables need, of one ELF file; size 0 where there is none. */
struct line_bytes {
    const uint8_t *bytes;
    size_t size;
};

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
    char *path; /* put together when it is first asked for */
};

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
    bool lacks_memory; /* a path could not be put together */
};

/* Find the sections in an ELF file whose debug sections libdw has unpacked; in a .dwo file theirs.
 */
struct line_sections line_sections_find(Elf *elf, bool is_split);

/* The wanted section, also as GNU's tools call it when it is packed; size 0 if there is none. */
struct line_bytes line_section_find(Elf *elf, const char *wanted);

/*
 * A string of a section, or NULL if it begins outside. The section has to end with a string's end,
 * as those that line_sections_find() finds do.
 */
const char *line_string(const struct line_bytes *section, uint64_t offset);

/* Tells whether a sequence that starts there is of code that the program has. */
typedef bool line_filter(uint64_t address, const void *context);

/*
 * Read the table at offset in .debug_line. What is damaged is left out. False if something was left
 * out for want of memory. Linear in the table's bytes, but for sorting sequences. The table's bytes
 * are taken off *budget, which tells how many are left to read: tables do not overlap; one that
 * takes more is damaged.
 */
bool line_table_read(struct line_table *table, const struct line_sections *sections,
                     uint64_t offset, line_filter *filter, const void *context, uint64_t *budget);
void line_table_free(struct line_table *table);

/* The row that covers the address, or NULL. Logarithmic. */
const struct line_row *line_table_find(const struct line_table *table, uint64_t address);

/* The path of a file by its number in DWARF, or NULL. It belongs to the table. */
const char *line_table_path(struct line_table *table, uint32_t number);

/* --- Between the parts of the reader -------------------------------------------------------- */

/* Bytes that are read one after the other. */
struct line_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool is_64_bit; /* offsets take 8 bytes, not 4 */
    bool failed;    /* something was longer than the bytes left; all reads after it give 0 */
};

uint64_t line_read_fixed(struct line_reader *reader, size_t size);
uint64_t line_read_leb128(struct line_reader *reader);
int64_t line_read_signed_leb128(struct line_reader *reader);
const char *line_read_string(struct line_reader *reader);
void line_read_skip(struct line_reader *reader, uint64_t size);

static inline uint64_t line_read_offset(struct line_reader *reader)
{
    return line_read_fixed(reader, reader->is_64_bit ? 8 : 4);
}

/* What stands in front of a program and decides how its opcodes are read. */
struct line_header {
    unsigned version;
    unsigned address_size;
    unsigned instruction_length; /* minimum_instruction_length */
    int line_base;
    unsigned line_range;
    unsigned opcode_base;
    const uint8_t *opcode_lengths; /* of the standard opcodes from 1 */
};

/*
 * Read a header, its folders and files into table; reader is at the program then and ends where it
 * ends. False if it is damaged or of an unknown version. *has_memory becomes false if folders or
 * files were left out for want of memory.
 */
bool line_header_read(struct line_header *header, struct line_table *table,
                      struct line_reader *reader, const struct line_sections *sections,
                      bool *has_memory);

#endif
