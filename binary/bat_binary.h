/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A BOLTed binary: its ELF file and its decoded note together, with names for the tables. A raw
 * note (the content of .note.bolt_bat in a file of its own) is a binary without an ELF file.
 */
#ifndef BAT_BINARY_H
#define BAT_BINARY_H

#include "bat.h"
#include "bat_elf.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bat_binary {
    struct bat_elf *elf; /* NULL for a raw note */
    struct bat_map *map;
    const uint8_t *note; /* the section's content */
    size_t note_size;
    uint8_t *owned;                 /* the bytes of a raw note, or NULL */
    struct bat_mapped_file *mapped; /* the file that they are mapped from; NULL: allocated */
};

/*
 * Open path, "-" meaning a raw note on standard input, and decode its note. What the file is, ELF
 * or raw note, is told by its first bytes. Where the note alone leaves open how hot indices are
 * meant (BAT.md 7.2), symbols decide, and map->hot_index_ambiguous stays set only if they cannot.
 * On success binary is to be closed with bat_binary_close(); on failure it is empty.
 */
BAT_API enum bat_code bat_binary_open(const char *path, struct bat_binary *binary,
                                      struct bat_error *error);
BAT_API void bat_binary_close(struct bat_binary *binary);

/*
 * The first half of bat_binary_open(): find the note's bytes, map stays NULL.
 * bat_binary_decode() is the second half.
 */
BAT_API enum bat_code bat_binary_find_note(const char *path, struct bat_binary *binary,
                                           struct bat_error *error);
BAT_API enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error);

/*
 * Fails with BAT_ERR_IO if the file that the note is mapped from was changed since it was opened:
 * bytes that were read twice may differ. Always BAT_OK for a note in memory, or for none.
 */
BAT_API enum bat_code bat_binary_check_unchanged(const struct bat_binary *binary,
                                                 struct bat_error *error);

/*
 * The same for a binary that BOLT may not have written. Without a note and without any other trace
 * of BOLT, it has an empty map and note is NULL: each of its functions is one without a table, and
 * profiles of it are translated by its code. Where BOLT left traces the missing note is an error.
 */
BAT_API enum bat_code bat_binary_find_note_if_any(const char *path, struct bat_binary *binary,
                                                  struct bat_error *error);

/* Make such a binary of an open file, of which binary becomes the owner; on failure it is empty,
 * and elf is still the caller's. */
BAT_API enum bat_code bat_binary_without_note(struct bat_elf *elf, struct bat_binary *binary,
                                              struct bat_error *error);

/*
 * Bytes of the note that are not needed soon leave memory, if they are a file's: they are the
 * same when they are read again.
 */
BAT_API void bat_binary_release_note(const struct bat_binary *binary, const uint8_t *bytes,
                                     size_t size);

/*
 * A name for each table, from the symbols at its address: a function symbol that has a size
 * before others, global before weak before local, and then the first in the symbol table.
 * *names is an array of bat_map_tables() pointers into the ELF file, NULL where there is no
 * symbol; to be freed with free(). All NULL for a raw note.
 */
BAT_API enum bat_code bat_binary_table_names(struct bat_binary *binary, const char ***names,
                                             struct bat_error *error);

/* --- Symbols of functions ------------------------------------------------------------------- */

/*
 * The symbols that can name a function: defined, of type FUNC, IFUNC or NOTYPE, mapping symbols
 * ("$x") left out. From .symtab; from .dynsym where there is none.
 */
struct bat_names {
    const struct bat_symbol **symbols; /* ascending by address, then by name */
    size_t count;

    /* Private: what the symbols of each address say together. */
    struct bat_name_group *groups;
    size_t group_count;
};

/*
 * Collect and sort them. *names is to be freed with bat_names_free(); it is empty, and BAT_OK is
 * returned, for a raw note or a stripped file (then symbols may be NULL). The symbols belong to
 * binary->elf. Time n log n; all look-ups below are logarithmic.
 */
BAT_API enum bat_code bat_names_collect(const struct bat_binary *binary, struct bat_names *names,
                                        struct bat_error *error);
BAT_API void bat_names_free(struct bat_names *names);

/* The symbols at exactly this address: names->symbols[*first .. *first + n), n is returned. */
BAT_API size_t bat_names_at(const struct bat_names *names, uint64_t address, size_t *first);

/* Of the symbols at this address the one that names a table (see above), or NULL. */
BAT_API const struct bat_symbol *bat_names_best(const struct bat_names *names, uint64_t address);

/*
 * The function symbol that holds the address: the nearest at or below it that is not NOTYPE, if
 * the address is less than its size away; one of size 0 reaches to the next. NULL if there is none.
 */
BAT_API const struct bat_symbol *bat_names_containing(const struct bat_names *names,
                                                      uint64_t address);

/*
 * The table whose function or fragment holds the output address, or BAT_NONE. Symbols tell where
 * it ends; where they do not, it reaches to the next function symbol or table.
 */
BAT_API uint32_t bat_binary_table_containing(const struct bat_binary *binary,
                                             const struct bat_names *names, uint64_t address);

/*
 * True if a symbol called fragment is BOLT's name for a fragment of the function that a symbol
 * called function names: "f.cold", "f.cold.2", "f.warm" of "f".
 */
BAT_API bool bat_name_is_fragment_of(const char *fragment, const char *function);

/* --- What takes up the bytes ---------------------------------------------------------------- */

/* Fields of a note, gathered by kind, in the order in which a note has them. */
enum bat_share {
    BAT_SHARE_CONTAINER, /* ELF note header and padding */
    BAT_SHARE_COUNTS,    /* NumFuncs, NumBlocks, NumSecEntryPoints, NumEntries, EqualElems */
    BAT_SHARE_ADDRESSES, /* of functions and fragments */
    BAT_SHARE_FUNCTION_HASHES,
    BAT_SHARE_HOT_INDICES,  /* HotIndex */
    BAT_SHARE_SKEWS,        /* ColdInputSkew */
    BAT_SHARE_BRANCH_MASKS, /* BranchEntries */
    BAT_SHARE_OUTPUT_OFFSETS,
    BAT_SHARE_INPUT_OFFSETS,
    BAT_SHARE_BLOCK_HASHES,
    BAT_SHARE_BLOCK_INDICES,
    BAT_SHARE_SECONDARY_ENTRIES,
    BAT_SHARES /* how many kinds there are */
};

/* Bytes of each kind of field. */
struct bat_shares {
    uint64_t bytes[BAT_SHARES];
};

/*
 * Measure how many bytes each kind of field takes in the note that the map encodes to. Their sum
 * is the size of what bat_encode() makes of the map; for a map just decoded, of the section that
 * it came from. Linear in the number of entries.
 */
BAT_API void bat_map_shares(const struct bat_map *map, struct bat_shares *shares);
BAT_API uint64_t bat_shares_sum(const struct bat_shares *shares);

#ifdef __cplusplus
}
#endif

#endif
