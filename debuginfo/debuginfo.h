/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What debug information is kept as, flat arrays a unit. Internal to debuginfo/. */
#ifndef BAT_DEBUGINFO_DEBUGINFO_H
#define BAT_DEBUGINFO_DEBUGINFO_H

#include <elfutils/libdw.h>

#include "bat_debuginfo.h"
#include "line_table.h"

/* What DWARF says of a function wherever it was inlined. */
struct debug_name {
    const char *linkage_name;
    const char *name;
    const char *start_file; /* NULL until it is asked for */
    uint32_t start_unit;    /* the unit whose file table start_number counts in, or BAT_NONE */
    uint32_t start_number;
    uint32_t start_line;
};

/* A subprogram or an inlined call, in the order of the DIEs: parents stand before children. */
struct debug_node {
    uint32_t parent; /* the node that this one is inlined into; BAT_NONE for a subprogram */
    uint32_t name;   /* index into names */
    uint32_t call_file;
    uint32_t call_line;
    uint32_t call_column;
    uint32_t call_discriminator;
    uint32_t function; /* of a subprogram with code: index into functions; else BAT_NONE */
    uint64_t low_pc;
};

/* A run of addresses that a node has, while a unit is read: a child's run covers its parent's. */
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
};

/* A unit of .debug_info. */
struct debug_unit {
    Dwarf_Die die;      /* the unit's own */
    Dwarf_Die split;    /* that of the .dwo file of a skeleton unit; addr NULL if it has none */
    uint64_t start;     /* offset in .debug_info of the unit's DIE */
    uint64_t end;       /* offset in .debug_info where the next unit starts */
    bool is_split;      /* a skeleton: its DIEs are elsewhere */
    bool has_code;      /* no type unit or partial unit */
    bool is_read;       /* the members below were filled, as far as DWARF tells them */
    bool is_table_read; /* lines has been filled */

    struct debug_node *nodes;
    size_t node_count;
    struct debug_name *names;
    size_t name_count;
    struct bat_debuginfo_function *functions;
    size_t function_count;
    struct bat_debuginfo_range *ranges; /* of the functions */
    size_t range_count;
    struct debug_map map;
    struct line_table lines;
    struct line_table split_lines; /* of the .dwo file, if it has one: files only */
};

/* Addresses that a unit has, from its DIE. */
struct debug_unit_run {
    uint64_t start;
    uint64_t end;
    uint64_t reach; /* the highest end up to here: tells how far back to look */
    uint32_t unit;
};

struct bat_debuginfo {
    char *path; /* of the file that has the DWARF */
    int file;
    Elf *elf;
    Dwarf *dwarf;
    uint64_t file_size;

    struct bat_debuginfo_range *code; /* executable segments of the program itself */
    size_t code_count;

    struct debug_unit *units; /* ascending by offset */
    size_t unit_count;
    struct debug_unit_run *runs; /* ascending by start */
    size_t run_count;
    size_t last_run; /* where the last look-up was */

    struct bat_frame *frames; /* what the last look-up gave */
    size_t frame_capacity;
    struct bat_debuginfo_counters counters;
};

/* True for an address where the program has code: linkers leave others for what they dropped. */
bool debug_is_code(const struct bat_debuginfo *debuginfo, uint64_t address);

/* Fill units and runs. */
enum bat_code debug_read_units(struct bat_debuginfo *debuginfo, struct bat_error *error);

/* The unit that the DIE of this unit is of, or BAT_NONE. */
uint32_t debug_unit_at(const struct bat_debuginfo *debuginfo, uint64_t die_offset);

/*
 * Fill the arrays of a unit. Where there is no memory they stay empty. Linear in the unit's DIEs,
 * but for sorting.
 */
void debug_read_unit(struct bat_debuginfo *debuginfo, struct debug_unit *unit);
void debug_free_unit(struct debug_unit *unit);

/* Fill the line table of a unit, if that has not been done. */
void debug_read_lines(struct bat_debuginfo *debuginfo, struct debug_unit *unit);

/* The path of a file by the number that a DIE of the unit has for it, or NULL. */
const char *debug_file_path(struct bat_debuginfo *debuginfo, struct debug_unit *unit,
                            uint32_t number);

/* Make the map of runs, which are sorted on the way. Time n log n. False if there is no memory. */
bool debug_map_make(struct debug_map *map, struct debug_run *runs, size_t count);

/* Grow an array of count elements so that one more fits. False if there is no memory. */
bool debug_grow(void *array, size_t *capacity, size_t count, size_t size);

/*
 * Open the file that has the DWARF of elf, which is at path, and keep it in debuginfo: file, elf,
 * dwarf, path. See bat_debuginfo_open() for where it looks.
 */
enum bat_code debug_find_file(struct bat_debuginfo *debuginfo, const char *path,
                              const char *debug_file, struct bat_error *error);

#endif
