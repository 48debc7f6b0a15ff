/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What differs between two binaries that BOLT wrote. */
#pragma once

#include "bat_binary.h"
#include "support/text_writer.h"

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
    const struct bat_binary *binary; /* of the caller */
    struct bat_names names;
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
    const char *failed;                /* the path that an error is of; NULL: none of the two */
    struct compared_side sides[2];     /* old, new */
    struct compared_section *sections; /* that differ, the largest change first */
    uint32_t section_count;
    uint32_t changed[CHANGES]; /* functions, by the number of the bit */
    uint32_t equal;            /* functions without a change */
    uint32_t appeared;
    uint32_t went;
    bool same_info;  /* the same text of BOLT: revision and command line */
    bool same_note;  /* the same bytes */
    bool same_input; /* by the build-ids; false if one has none */
};

/*
 * Compare two binaries, which the caller opened from these paths and closes after
 * comparison_free(). *comparison is to be freed in any case. Fails with BAT_ERR_MEMORY,
 * BAT_ERR_MISMATCH for a binary without symbols, and as bat_names_collect(). Time n log n in
 * functions, linear in entries.
 */
enum bat_code compare_binaries(const struct bat_binary *old_binary, const char *old_path,
                               const struct bat_binary *new_binary, const char *new_path,
                               struct comparison *comparison, struct bat_error *error);
void comparison_free(struct comparison *comparison);

/* True if nothing differs that is compared. */
bool comparison_is_same(const struct comparison *comparison);

/* --- Lists, the largest change first --------------------------------------------------------- */

struct listed_function {
    const struct compared_function *function; /* the new side's, or of those that went the old's */
    uint64_t amount;                          /* of the change, in bytes, for the order */
};

struct function_list {
    struct listed_function *items; /* the caller frees them */
    uint32_t count;
};

/*
 * Make the list of a change, of side 1; change 0: of functions that the other side does not have.
 * False without memory.
 */
bool list_functions(const struct compared_side *side, unsigned change, struct function_list *list);

/* What a change is called, for people; index: the number of its bit. */
extern const char *const change_labels[CHANGES];

/* The same for programs: keys of JSON and in addresses. */
extern const char *const change_keys[CHANGES];

/* Hot and cold bytes. */
static inline uint64_t compared_size(const struct compared_function *function)
{
    return function->hot_size + function->cold_size;
}

/*
 * Print it as text or JSON, with at most limit functions or sections in each list; 0: all. False
 * without memory.
 */
bool comparison_print_text(struct bat_text_writer *output, const struct comparison *comparison,
                           uint32_t limit);
bool comparison_print_json(struct bat_text_writer *output, const struct comparison *comparison,
                           uint32_t limit);
