/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The BAT note as C types: constants, the map that a note decodes to, and the error that every
 * fallible function of libbatkit fills. spec/BAT.md describes the format; section numbers in the
 * comments of this library refer to that file.
 */
#ifndef BAT_SPEC_BAT_H
#define BAT_SPEC_BAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define BAT_API __attribute__((visibility("default")))
#define BAT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define BAT_API
#define BAT_PRINTF(fmt, args)
#endif

/*
 * Structures whose first member is "size_t size" hold options. The caller sets size to the
 * structure's size in its own program, and every member that it does not want otherwise to 0:
 *
 *     struct bat_read_options options = {.size = sizeof(options), .threads = 2};
 *
 * So a program and a library of different versions work together: members that the program does
 * not know are 0, which is the default of each. NULL in place of the structure is all defaults.
 * Functions fail with BAT_ERR_ARGUMENT if size was not set, or if a member is set that the library
 * is too old to have.
 */

/* --- The container (BAT.md 2) ------------------------------------------------------------- */

#define BAT_SECTION_NAME ".note.bolt_bat"
#define BAT_NOTE_OWNER "BOLT"
#define BAT_NOTE_OWNER_SIZE 5u /* bytes of the owner with its terminating zero */
#define BAT_NOTE_TYPE 1u
#define BAT_NOTE_HEADER_SIZE 20u /* three 32-bit words and the owner padded to 8 bytes */

/* --- The map (BAT.md 3 to 8) -------------------------------------------------------------- */

/* "No such element", wherever an index or an offset is returned. */
#define BAT_NONE UINT32_MAX
#define BAT_NO_OFFSET UINT64_MAX

/* Lowest bit of an entry's input side: set for a branch or call, clear for a block start. */
#define BAT_BRANCH_ENTRY 1u

/* Encodings of the description, and the releases of BOLT that write them. */
enum bat_version {
    BAT_VERSION_1 = 1, /* BOLT 17 and earlier */
    BAT_VERSION_2 = 2, /* BOLT 18 */
    BAT_VERSION_3 = 3, /* BOLT 19 and later */
};

/* How a hot index in the cold table names the parent (BAT.md 7.2, 9.2). */
enum bat_hot_index {
    BAT_HOT_INDEX_AUTO = 0,   /* the decoder finds out */
    BAT_HOT_INDEX_TABLE = 1,  /* position in the hot table, as documented */
    BAT_HOT_INDEX_MERGED = 2, /* position among all tables by address: BOLT 19's defect */
    /* Version 2 only: the fragment's own position in the cold table, BOLT 18's defect. */
    BAT_HOT_INDEX_FRAGMENT = 3,
};

/*
 * One translation table: a function (the hot part, which has the function's name) or one of its
 * cold fragments. Ranges are given as the index of the first element in the map's arrays and a
 * number of elements.
 */
struct bat_table {
    uint64_t address;     /* in the output binary */
    uint64_t hash;        /* of the input function; 0 for a cold fragment */
    uint32_t first_entry; /* in output_offsets and input_offsets */
    uint32_t entry_count;
    uint32_t first_block;       /* in block_hashes and block_indices */
    uint32_t block_count;       /* entries without the branch bit, in this table */
    uint32_t first_secondary;   /* in secondary_entries */
    uint32_t secondary_count;   /* 0 for a cold fragment */
    uint32_t input_block_count; /* NumBlocks of the input function; 0 for a cold fragment */
    uint32_t equal_count;       /* length of the equal prefix, as the note gives it */
    uint32_t skew;              /* input offset of the prefix's start; 0 for a hot function */
    uint32_t parent;            /* index of the hot function; a hot function's own index */
};

/* Speeds up look-ups in large tables. Private. */
struct bat_map_index;

/*
 * A decoded note. tables[] holds the hot table and then the cold table, each in ascending
 * order of address, as in the note. No two tables have the same address. All arrays are owned by
 * the map and are freed by bat_map_free().
 *
 * Entry i of table f is at position e = f.first_entry + i: output_offsets[e] is the offset from
 * f.address in the output binary (ascending, repeats allowed), input_offsets[e] is the offset
 * from the input function's start, shifted left by one, with BAT_BRANCH_ENTRY in the lowest bit.
 * The n-th entry of f without that bit has its hash and index at position f.first_block + n.
 *
 * Versions 1 and 2 have no hashes, block indices, numbers of blocks, secondary entry points and
 * skews: block_hashes and block_indices are NULL, the members of struct bat_table are 0.
 * block_count and first_block count the block entries all the same.
 *
 * This structure is open, other handles of the library are not: programs that read a note go over
 * its arrays, entry by entry, and a call for each would take longer than what they do with it. All
 * members but index are for callers to read, and stay what they are as long as the library's
 * soname does; later versions add members at the end. Maps are made by bat_decode() and
 * bat_builder_finish(), and changed by functions of the library alone.
 */
struct bat_map {
    enum bat_version version;
    enum bat_hot_index hot_index; /* never AUTO */
    bool hot_index_ambiguous;     /* both readings fit the note, and they differ; FRAGMENT: the
                                     parents are as BOLT 18's perf2bolt guesses them */
    bool has_prefixes;            /* version 2: hot tables have equal prefixes (BAT.md 9.3) */

    uint32_t hot_count;
    uint32_t cold_count;
    uint32_t entry_count;
    uint32_t block_count;
    uint32_t secondary_count;

    struct bat_table *tables;    /* hot_count + cold_count */
    uint32_t *by_address;        /* indices into tables[], ascending by address */
    uint32_t *fragment_start;    /* hot_count + 1: hot function h's fragments are ... */
    uint32_t *fragments;         /* ... fragments[fragment_start[h] .. fragment_start[h + 1]) */
    uint32_t *output_offsets;    /* entry_count */
    uint32_t *input_offsets;     /* entry_count */
    uint64_t *block_hashes;      /* block_count; version 3 only */
    uint32_t *block_indices;     /* block_count; version 3 only */
    uint32_t *secondary_entries; /* secondary_count: input offsets in BOLT's order */
    struct bat_map_index *index; /* private; stale if a caller changes the arrays */
};

/* Total number of tables, hot and cold. */
static inline uint32_t bat_map_tables(const struct bat_map *map)
{
    return map->hot_count + map->cold_count;
}

/* True if the map has hashes and indices of blocks. */
static inline bool bat_map_has_hashes(const struct bat_map *map)
{
    return map->version >= BAT_VERSION_3;
}

/*
 * True if the note has hashes of functions, without which there is no YAML: notes of versions 1 and
 * 2 have none, nor have those that were made of them. True of a map without functions.
 */
static inline bool bat_map_has_function_hashes(const struct bat_map *map)
{
    for (uint32_t i = 0; i < map->hot_count; i++)
        if (map->tables[i].hash != 0)
            return true;
    return map->hot_count == 0;
}

/* Frees a map and its arrays. NULL is allowed. */
BAT_API void bat_map_free(struct bat_map *map);

/* --- Errors ------------------------------------------------------------------------------- */

enum bat_code {
    BAT_OK = 0,
    BAT_ERR_MEMORY,      /* out of memory */
    BAT_ERR_IO,          /* the system refused a file operation */
    BAT_ERR_ARGUMENT,    /* the caller passed an invalid argument */
    BAT_ERR_CONTAINER,   /* the ELF note header: sizes, owner, type, padding */
    BAT_ERR_TRUNCATED,   /* the bytes end inside a field */
    BAT_ERR_TRAILING,    /* bytes follow the last table */
    BAT_ERR_LEB128,      /* a LEB128 number longer than its value needs, or beyond 64 bits */
    BAT_ERR_COUNT,       /* a count larger than the remaining bytes can hold */
    BAT_ERR_RANGE,       /* an offset, index or count beyond 32 bits */
    BAT_ERR_ORDER,       /* tables or entries that do not ascend */
    BAT_ERR_PREFIX,      /* an equal prefix that is longer than the table, or not equal */
    BAT_ERR_HOT_INDEX,   /* a hot index that names no hot function */
    BAT_ERR_VERSION,     /* a note of a version that lacks what is needed */
    BAT_ERR_NOT_ELF,     /* neither ELF nor a note */
    BAT_ERR_UNSUPPORTED, /* an ELF file of a kind that BOLT does not write */
    BAT_ERR_ELF,         /* a damaged ELF file */
    BAT_ERR_NO_NOTE,     /* an ELF file without a BAT note */
    BAT_ERR_SYNTAX,      /* text input: JSON, profiles, options */
    BAT_ERR_MISMATCH,    /* two inputs that do not belong together */
    BAT_ERR_NO_DEBUG,    /* no debug information where it is needed */
    BAT_ERR_CODES        /* number of codes */
};

/* What the position in a bat_error is relative to. */
enum bat_place {
    BAT_PLACE_NONE,    /* the error has no position */
    BAT_PLACE_SECTION, /* bytes from the start of the .note.bolt_bat section */
    BAT_PLACE_FILE,    /* bytes from the start of the file */
    BAT_PLACE_TEXT,    /* line and column, both from 1 */
};

#define BAT_MESSAGE_SIZE 512u

/* Every function that takes one fills it on failure and leaves it unchanged on success. */
struct bat_error {
    enum bat_code code;
    enum bat_place place;
    uint64_t offset;                /* for SECTION and FILE; BAT_NO_OFFSET if not known */
    uint64_t line;                  /* for TEXT */
    uint64_t column;                /* for TEXT */
    char message[BAT_MESSAGE_SIZE]; /* one sentence on one line, without the place; control
                                       characters are escaped as "\x1b" */
};

/*
 * The code's stable name in lower case with hyphens, for example "leb128"; batvalidate prints it
 * as the id of a check. Never NULL; the string is static.
 */
BAT_API const char *bat_code_name(enum bat_code code);

/*
 * Writes "<place>: <message>", or the message alone if the error has no place, into buffer, which
 * has size bytes; always terminated. Places read ".note.bolt_bat+0x1f4", "offset 0x40" and "17:9".
 */
BAT_API void bat_error_text(const struct bat_error *error, char *buffer, size_t size);

/*
 * Fill *error (which may be NULL) and return code, so that a failing function can end with
 * "return bat_fail(...)". bat_fail_at() gives a byte position, bat_fail_text() line and column.
 * bat_fail_memory() returns BAT_ERR_MEMORY: its text follows "not enough memory ", such as "for %zu
 * symbols" or "to write the profile".
 */
BAT_API enum bat_code bat_fail(struct bat_error *error, enum bat_code code, const char *format, ...)
    BAT_PRINTF(3, 4);
BAT_API enum bat_code bat_fail_at(struct bat_error *error, enum bat_code code, enum bat_place place,
                                  uint64_t offset, const char *format, ...) BAT_PRINTF(5, 6);
BAT_API enum bat_code bat_fail_text(struct bat_error *error, enum bat_code code, uint64_t line,
                                    uint64_t column, const char *format, ...) BAT_PRINTF(5, 6);
BAT_API enum bat_code bat_fail_memory(struct bat_error *error, const char *format, ...)
    BAT_PRINTF(2, 3);

/*
 * Makes a step of a function: what the step returns is returned at once, unless it is BAT_OK, or
 * what else is 0. (C17 has no typeof; gcc and clang know it by this name.)
 */
#ifndef __cplusplus
#define BAT_TRY(step)                                                                              \
    do {                                                                                           \
        const __typeof__(step) bat_tried = (step);                                                 \
        if (bat_tried)                                                                             \
            return bat_tried;                                                                      \
    } while (0)

/* Where memory is NULL or false, return at once what bat_fail_memory() returns for the rest. */
#define BAT_TRY_MEMORY(memory, ...)                                                                \
    do {                                                                                           \
        if (!(memory))                                                                             \
            return bat_fail_memory(__VA_ARGS__);                                                   \
    } while (0)
#endif

/* Static analysis does not see that these functions return the code passed in. */
#ifdef __clang_analyzer__
#define bat_fail(error, code, ...)                                                                 \
    __extension__({                                                                                \
        bat_fail(error, code, __VA_ARGS__);                                                        \
        (code);                                                                                    \
    })
#define bat_fail_at(error, code, ...)                                                              \
    __extension__({                                                                                \
        bat_fail_at(error, code, __VA_ARGS__);                                                     \
        (code);                                                                                    \
    })
#define bat_fail_text(error, code, ...)                                                            \
    __extension__({                                                                                \
        bat_fail_text(error, code, __VA_ARGS__);                                                   \
        (code);                                                                                    \
    })
#define bat_fail_memory(...) __extension__({ bat_fail_memory(__VA_ARGS__), BAT_ERR_MEMORY; })
#endif

#ifdef __cplusplus
}
#endif

#endif
