/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* batdump --compare: what differs between two binaries that BOLT wrote. */
#ifndef BAT_TOOLS_BATDUMP_COMPARE_H
#define BAT_TOOLS_BATDUMP_COMPARE_H

#include "bat_binary.h"
#include "tools/common/output.h"
#include "tools/common/store.h"

/* What differs in a function, as bits. */
enum function_change {
    CHANGE_INPUT = 1,  /* its input: the hash */
    CHANGE_SPLIT = 2,  /* the number of fragments, or the bytes in them */
    CHANGE_SIZE = 4,   /* the bytes of its code, hot and cold */
    CHANGE_LAYOUT = 8, /* the entries of its tables */
    CHANGE_PLACE = 16, /* its address, or a fragment's */
};
#define CHANGES 5u

/* A function with a table, on one side. Sizes are bytes by its symbols, 0 without them. */
struct compared_function {
    const char *name;
    uint32_t table;
    uint64_t address;
    uint64_t hash;
    uint64_t hot_size;
    uint64_t cold_size;
    uint32_t fragments;
    const struct compared_function *pair; /* on the other side; NULL if it is not there */
    unsigned changes;                     /* of the new side's: enum function_change */
};

/* One of the two binaries. */
struct compared_side {
    const char *path;
    struct bat_binary binary;
    struct bat_names names;
    const char **table_names;
    struct compared_function *functions;
    uint32_t count;
    uint32_t unnamed; /* functions without a symbol: they cannot be compared */
    uint64_t hot_size;
    uint64_t cold_size;
    struct bat_shares shares; /* bytes of the note by kind of field */
};

/* The sizes of all sections of a name; 0 where there is none. */
struct compared_section {
    const char *name;
    uint64_t sizes[2];
};

struct comparison {
    struct compared_side sides[2];     /* old, new */
    struct compared_section *sections; /* that differ, the largest change first */
    uint32_t section_count;
    uint32_t changed[CHANGES]; /* functions, by the number of the bit */
    uint32_t equal;            /* functions without a change */
    uint32_t appeared;
    uint32_t went;
    bool same_info;  /* the same text of BOLT: revision and command line */
    bool same_note;  /* the same bytes */
    bool same_input; /* the same build-id; false if one has none */
};

/*
 * Compare the binaries at two paths; what shipped ones lack is in the stores. *comparison is to be
 * freed in any case. Prints errors to standard error. Time n log n in functions, linear in entries.
 */
bool compare_files(const char *old_path, const char *new_path, const struct stores *stores,
                   struct comparison *comparison);
void comparison_free(struct comparison *comparison);

/* True if nothing differs that is compared. */
bool comparison_is_same(const struct comparison *comparison);

/* Print it as text or JSON, with at most limit functions or sections in each list; 0: all. */
bool compare_print_text(struct output *output, const struct comparison *comparison, uint32_t limit);
bool compare_print_json(struct output *output, const struct comparison *comparison, uint32_t limit);

#endif
