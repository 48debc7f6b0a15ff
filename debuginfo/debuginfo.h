/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The data structures of debug information: flat arrays for each unit. Internal to debuginfo/. */
#pragma once

#include <elfutils/libdw.h>

#include "bat_debuginfo.h"
#include "elfnote/mapping.h"
#include "entries.h"
#include "line_table.h"
#include "spec/array.h"
#include "support/counts.h"

/* --- Files ---------------------------------------------------------------------------------- */

/* An ELF file with DWARF in memory. Pointers that libdw returns point into it. */
struct debug_image {
    char *path;
    uint64_t device; /* identifies the file, with inode */
    uint64_t inode;
    struct bat_mapping mapping;
    const void *owner; /* start of the mapping that bytes is in */
    uint8_t *bytes;    /* the ELF file in it */
    size_t size;
    size_t file_size;
    Elf *elf;
    Dwarf *dwarf;
    struct line_sections lines;
    uint64_t info_size; /* of .debug_info, unpacked */
    struct line_bytes abbreviations;
    struct line_bytes addresses;      /* .debug_addr */
    struct line_bytes string_offsets; /* .debug_str_offsets */
    struct line_bytes ranges;         /* .debug_ranges */
    struct line_bytes rnglists;       /* .debug_rnglists, in .dwo files .debug_rnglists.dwo */
};

/*
 * Map the ELF file; sections that zstd packed are unpacked. file is closed. The mapping starts with
 * head bytes of zeros in front of the ELF file. Fails with BAT_ERR_IO, BAT_ERR_MEMORY, or
 * BAT_ERR_ELF (not ELF64, little-endian; damaged packed sections).
 */
enum bat_code debug_image_map(struct debug_image *image, const char *path, int file, size_t head,
                              struct bat_error *error);

/*
 * Open the image's DWARF with libdw. elf is made of bytes if it is NULL. is_split: the image is a
 * .dwo file or a slice of a package. Fails with BAT_ERR_NO_DEBUG (no unit of DWARF), BAT_ERR_ELF
 * (more abbreviations than units can need), BAT_ERR_MEMORY.
 */
enum bat_code debug_image_begin(struct debug_image *image, bool is_split, struct bat_error *error);
void debug_image_close(struct debug_image *image);

/* Apply the relocations of a relocatable file, in place. Fails with BAT_ERR_ELF. */
enum bat_code debug_relocate(const struct debug_image *image, struct bat_error *error);

/* Check that all units end in their sections: libdw trusts their lengths. Fails with BAT_ERR_ELF.
 */
enum bat_code debug_check_lengths(const struct debug_image *image, struct bat_error *error);

/*
 * Check what libdw's time and memory depend on: the total size of the abbreviations that units
 * refer to, and the number of attributes of each. Fails with BAT_ERR_ELF.
 */
enum bat_code debug_check_abbreviations(const struct debug_image *image, struct bat_error *error);

/*
 * Run work(context), which calls libdw. False if libdw ran out of memory: then work was left by a
 * jump, and the Dwarf handles that it used can only be closed.
 */
bool debug_run_libdw(void (*work)(void *), void *context);

/* False if libdw may lack the memory to read another unit of the image. Call this before. */
bool debug_has_memory(const struct debug_image *image);

/* Make debug_run_libdw() return when libdw has no memory. Call this for every Dwarf handle. */
void debug_handle_no_memory(Dwarf *dwarf);

/*
 * Find the DIE of the next unit of .debug_info that libdw can read. *offset starts as 0. False
 * behind the last unit, or without memory, which sets *no_memory.
 */
bool debug_next_unit(const struct debug_image *image, Dwarf_Off *offset, Dwarf_Die *die,
                     bool *no_memory);

/* --- Line tables ---------------------------------------------------------------------------- */

/* The line table at one place, which units may share. */
struct debug_table {
    struct line_table lines;
    struct line_sections sections;
    uint64_t offset; /* in .debug_line */
    bool is_read;
};

/* --- Addresses ------------------------------------------------------------------------------ */

/* How a unit encodes addresses. */
struct debug_addresses {
    struct line_bytes table;  /* .debug_addr of the program */
    uint64_t table_base;      /* DW_AT_addr_base */
    struct line_bytes ranges; /* .debug_ranges up to version 4, then .debug_rnglists */
    uint64_t ranges_base;     /* added to offsets in .debug_ranges */
    uint64_t lists_base;      /* DW_AT_rnglists_base */
    uint64_t base;            /* the unit's DW_AT_low_pc */
    unsigned version;
    unsigned size; /* of an address: 4 or 8 */
    bool is_64_bit;
};

/*
 * The number that an attribute has, as dwarf_formudata() reads it. False if it has none. All of the
 * attribute is in its unit: entries_attribute() and entries_read() give no other. The attribute is
 * none that can have a place in another section. Several threads may call this.
 */
bool debug_read_number(Dwarf_Attribute *attribute, uint64_t *value);

/*
 * What the addresses of code are that the linker dropped: it writes -1, or -2 where -1 has another
 * meaning. (Older linkers write 0 and 1.) An address relative to such a one is one too.
 */
#define DEBUG_DROPPED UINT64_MAX

/* The address that an attribute has. False if it has none. */
bool debug_read_address(const struct debug_addresses *addresses, Dwarf_Attribute *attribute,
                        uint64_t *address);

/* Read the bounds in DW_AT_low_pc and DW_AT_high_pc, the latter an address or a size. */
bool debug_read_bounds(const struct debug_addresses *addresses, Dwarf_Attribute *low,
                       Dwarf_Attribute *high, uint64_t *start, uint64_t *end);

/* A position in a list of ranges. */
struct debug_ranges {
    const struct debug_addresses *addresses;
    struct line_reader reader;
    uint64_t base;
    uint64_t *budget; /* bytes of lists that may still be read: lists may be shared */
};

/*
 * Go to the list that DW_AT_ranges names. Each debug_ranges_next() reads the next range that is not
 * empty, or that starts at DEBUG_DROPPED; false at the end, or where the list is damaged.
 */
bool debug_ranges_begin(struct debug_ranges *ranges, const struct debug_addresses *addresses,
                        Dwarf_Attribute *attribute, uint64_t *budget);
bool debug_ranges_next(struct debug_ranges *ranges, uint64_t *start, uint64_t *end);

/* --- Strings -------------------------------------------------------------------------------- */

#define DEBUG_NO_OFFSETS UINT64_MAX

/* How a unit encodes strings. */
struct debug_strings {
    const struct debug_image *image; /* NULL: only libdw can read them */
    uint64_t base;                   /* DW_AT_str_offsets_base, or DEBUG_NO_OFFSETS */
    bool is_64_bit;
};

/*
 * The string that an attribute has. NULL if it has none, or if only libdw can find it. All of the
 * attribute is in its unit. Several threads may call this.
 */
const char *debug_read_string(const struct debug_strings *strings,
                              const Dwarf_Attribute *attribute);

/*
 * dwarf_formstring(), but NULL for a string that does not end in its section: libdw 0.188 returns
 * these, too. split is the image of the .dwo file that the attribute may be of, or NULL.
 */
const char *debug_form_string(const struct bat_debuginfo *debuginfo,
                              const struct debug_image *split, Dwarf_Attribute *attribute);

/* --- Functions ------------------------------------------------------------------------------ */

/* What DWARF says about a function, the same for all calls that were inlined. */
struct debug_name {
    const char *linkage_name;
    const char *name;
    const char *start_file; /* NULL until it is needed */
    uint32_t start_table;   /* the table that start_number counts in, or BAT_NONE */
    uint32_t start_number;
    uint32_t start_line;
};

/* A subprogram or an inlined call, in the order of the DIEs: parents stand before children. */
struct debug_node {
    uint32_t parent; /* the node that this one is inlined into; BAT_NONE for a subprogram */
    uint32_t depth;  /* how many nodes are around this one */
    uint32_t name;   /* index into names */
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_column;
    uint32_t call_discriminator;
    uint32_t function; /* of a subprogram with code: index into functions; else BAT_NONE */
    uint64_t low_pc;
};

/* Addresses of a node, while a unit is read. A child's run takes precedence over its parent's. */
struct debug_run {
    uint64_t start;
    uint64_t end;
    uint32_t node;
};

/* The innermost node of every address of a unit. */
struct debug_map {
    uint64_t *starts; /* ascending: the node is nodes[i] from starts[i] to starts[i + 1] */
    uint32_t *nodes;  /* BAT_NONE where there is none, and at the end */
    size_t count;
    size_t last; /* the place of the last look-up */
};

/* A unit of .debug_info that can have code. */
struct debug_unit {
    Dwarf_Die die;              /* the unit's own */
    const char *compile_folder; /* DW_AT_comp_dir */
    const char *split_name;     /* the .dwo file of a skeleton unit, which has the DIEs */
    uint64_t split_id;
    struct debug_addresses addresses;
    struct debug_strings strings;
    struct entries_place place; /* of its DIEs */
    uint32_t table;             /* BAT_NONE: it has none */
    bool is_split;
    bool is_counted; /* as read: by this handle, or by a second one that was closed */
    bool is_missing; /* the .dwo file was sought and not found */
    bool is_read;    /* the members below were filled, as far as DWARF has them */

    struct debug_node *nodes;
    size_t node_count;
    struct debug_name *names;
    size_t name_count;
    struct bat_debuginfo_function *functions;
    size_t function_count;
    struct bat_debuginfo_range *ranges; /* of the functions */
    size_t range_count;
    struct debug_map map;
};

/* Addresses of a unit, from its DIE or else from its functions. */
struct debug_unit_run {
    uint64_t start;
    uint64_t end;
    uint32_t unit;
};

/* --- Split units ---------------------------------------------------------------------------- */

/* A unit in a .dwo file, or a row of a package's index. */
struct split_unit {
    uint64_t id;
    uint64_t offset; /* of the DIE in the .dwo file; number of the row in a package */
    bool is_used;    /* by a skeleton; it is used once */
};

struct split_package;

/* A .dwo file, or a package of them (.dwp). */
struct split_file {
    struct debug_image image;
    struct split_unit *units; /* ascending by id */
    size_t unit_count;
};

/* The DIE of a split unit, and the image that has it. */
struct split_found {
    Dwarf_Die die;
    const struct debug_image *image; /* slice, or that of a .dwo file; NULL: not found */
    struct debug_image slice; /* of a package, or elf is NULL. Close it after DIEs were read. */
};

/* A symbol of a function. */
struct debug_symbol {
    uint64_t address;
    const char *name; /* in the image */
    uint32_t order;   /* in the table of symbols */
};

/* Bytes that may still be read. Compilers stay far below the limits. */
struct debug_budget {
    uint64_t lines;  /* of line tables: tables do not overlap */
    uint64_t ranges; /* of lists of ranges */
    uint64_t names;  /* many times the files' size: names may overlap */
    uint64_t nodes;  /* of all units */
};

struct bat_debuginfo {
    char *program_path;
    char *debug_file; /* that was given; or NULL */
    struct debug_image image;
    struct debug_image alternate; /* dwz's supplementary file */

    struct bat_debuginfo_range *code; /* executable segments of the program itself, ascending */
    size_t code_count;

    struct debug_unit *units; /* ascending by offset */
    size_t unit_count;
    struct debug_unit_run *runs; /* ascending by start */
    size_t run_count;
    struct debug_map run_map; /* from addresses to runs */

    struct debug_table *tables;
    size_t table_count;
    size_t table_capacity;
    struct bat_counts table_index; /* address in memory: number of the table */

    struct split_file **splits; /* in the order of their opening */
    size_t split_count;
    size_t split_capacity;
    struct split_package *package; /* NULL: there is none */
    bool is_package_sought;

    unsigned threads; /* see bat_debuginfo_set_threads() */
    struct debug_budget budget;
    uint64_t name_budget; /* what budget.names was at first */
    struct bat_counts
        strings; /* addresses of all names, once has_strings is set: see take_name() */
    bool has_strings;
    bool no_memory;    /* memory ran out, and something was left out */
    bool has_too_many; /* that was the budget of nodes */

    bool is_relocatable;          /* the program: it begins at 0 */
    struct debug_symbol *symbols; /* ascending by address, then as the file has them */
    size_t symbol_count;
    bool has_symbols; /* the file's symbols were read */

    struct bat_frame *frames; /* of the last look-up */
    size_t frame_capacity;
    struct bat_debuginfo_counters counters;
};

/* A function or an inlined call of compilers takes more than twice as many bytes. */
#define DEBUG_NODE_SIZE_MIN 6u

/* Let reading take as much as a file of size bytes with these line tables and entries can need. */
void debug_allow(struct bat_debuginfo *debuginfo, uint64_t lines, uint64_t info, uint64_t size);

/* True if the program has code at the address: not so for code that the linker dropped. */
bool debug_is_code(const struct bat_debuginfo *debuginfo, uint64_t address);

/*
 * Fill the arrays of a unit. Without memory they stay incomplete, and no_memory is set. Linear in
 * the unit's DIEs, except for sorting.
 */
void debug_read_unit(struct bat_debuginfo *debuginfo, struct debug_unit *unit);
void debug_free_unit(struct debug_unit *unit);

/* The number of the line table that a unit's DIE names, or BAT_NONE. It is not read yet. */
uint32_t debug_find_table(struct bat_debuginfo *debuginfo, const struct line_sections *sections,
                          Dwarf_Die *unit_die, const char *compile_folder);

/* A line table by its number, read; NULL for BAT_NONE. Valid until the next table is found. */
struct line_table *debug_table(struct bat_debuginfo *debuginfo, uint32_t number);

/*
 * Find the DIEs of a skeleton unit: in the package beside the program, else in the .dwo file. False
 * if they are not found, or another skeleton has used them.
 */
bool debug_find_split(struct bat_debuginfo *debuginfo, const struct debug_unit *unit,
                      struct split_found *found);
void debug_close_splits(struct bat_debuginfo *debuginfo);

/* Make the map of runs. Time n log n for runs inside each other. False if there is no memory. */
bool debug_map_make(struct debug_map *map, const struct debug_run *runs, size_t count);

/* The innermost node at an address, or BAT_NONE. Quick near the last address, else logarithmic. */
uint32_t debug_map_find(struct debug_map *map, uint64_t address);

/*
 * Open the file that has the DWARF of the program at path, and fill code, image and alternate. See
 * bat_debuginfo_open() for where it looks.
 */
enum bat_code debug_find_file(struct bat_debuginfo *debuginfo, const char *path,
                              const char *debug_file, struct bat_error *error);

/*
 * Each from a function's DIE or else from those that it refers to, its declaration or its abstract
 * function. code is 0 where none of them has it.
 */
struct name_attributes {
    Dwarf_Attribute linkage_name;
    Dwarf_Attribute old_linkage_name; /* as compilers called it before DWARF 4 */
    Dwarf_Attribute name;
    Dwarf_Attribute line;
    Dwarf_Attribute file;
    Dwarf_Attribute origin; /* of the last DIE alone, ... */
    Dwarf_Attribute specification;
};

/*
 * Find the attributes of a DIE's name; *attributes is zero before. Only those in other units than
 * that of entries are searched with libdw.
 */
void name_attributes_find(struct name_attributes *attributes, const struct entries *entries,
                          Dwarf_Die *die);
