/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A BOLTed binary: its ELF file, its decoded note, and names for the tables. A raw note (a file
 * with the content of .note.bolt_bat) is a binary without an ELF file.
 */
#ifndef BAT_BINARY_H
#define BAT_BINARY_H

#include "bat.h"
#include "bat_elf.h"
#include "bat_output.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The file, its note and its map. The structure is open because each of the three is of use without
 * the others, to functions that take one of them. Callers allocate it, and read the first four
 * members; functions below fill it.
 */
struct bat_binary {
    struct bat_elf *elf; /* NULL for a raw note */
    struct bat_map *map; /* NULL as long as the note is not decoded */
    const uint8_t *note; /* the section's content; NULL without a note */
    size_t note_size;    /* bytes */

    /* Private. */
    uint8_t *owned;                 /* the bytes of a raw note, or NULL */
    struct bat_mapped_file *mapped; /* the file that owned is mapped from; NULL: allocated */
};

/*
 * Open path ("-": a raw note on standard input) and decode its note. The first bytes decide whether
 * the file is an ELF file or a raw note. If the note alone leaves open how to read the hot indices
 * (BAT.md 7.2, 9.2), symbols decide; map->hot_index_ambiguous stays set only if they cannot.
 * On success the caller closes binary with bat_binary_close(); on failure it is empty.
 */
BAT_API enum bat_code bat_binary_open(const char *path, struct bat_binary *binary,
                                      struct bat_error *error);
BAT_API void bat_binary_close(struct bat_binary *binary);

/*
 * bat_binary_open() in two steps: bat_binary_find_note() finds the note's bytes and leaves map
 * NULL, bat_binary_decode() decodes them. If bat_binary_decode() fails, binary stays open.
 */
BAT_API enum bat_code bat_binary_find_note(const char *path, struct bat_binary *binary,
                                           struct bat_error *error);
BAT_API enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error);

/*
 * Fails with BAT_ERR_IO if the file that the note is mapped from has changed since it was opened:
 * bytes that were read twice may differ. Always BAT_OK if no file is mapped.
 */
BAT_API enum bat_code bat_binary_check_unchanged(const struct bat_binary *binary,
                                                 struct bat_error *error);

/*
 * bat_binary_find_note() for a binary that BOLT may not have written. Without a note and without
 * any other trace of BOLT, binary gets an empty map, and note is NULL: no function has a table, and
 * profiles are translated with the code alone. With traces of BOLT a missing note is an error.
 */
BAT_API enum bat_code bat_binary_find_note_if_any(const char *path, struct bat_binary *binary,
                                                  struct bat_error *error);

/* Make such a binary from an open file. On success binary owns elf; on failure binary is empty, and
 * the caller still owns elf. */
BAT_API enum bat_code bat_binary_without_note(struct bat_elf *elf, struct bat_binary *binary,
                                              struct bat_error *error);

/*
 * Give back the memory of these bytes of the note if they are mapped from a file; a later access
 * reads them from the file again.
 */
BAT_API void bat_binary_release_note(const struct bat_binary *binary, const uint8_t *bytes,
                                     size_t size);

/*
 * A name for each table, from the symbols at its address: function symbols with a size come first,
 * then other function symbols, then labels; among these global before weak before local, then the
 * order of the symbol table. *names is an array of bat_map_tables() pointers into the ELF file,
 * NULL for a table without symbols; the caller frees it with free(). All NULL for a raw note.
 */
BAT_API enum bat_code bat_binary_table_names(struct bat_binary *binary, const char ***names,
                                             struct bat_error *error);

/*
 * Write the note as JSON (spec/json.md): hot tables first, each on a line with its name. is_wanted
 * says for each table whether it is written; NULL: all are. Fails with BAT_ERR_MEMORY, and as
 * bat_output_write().
 */
BAT_API enum bat_code bat_binary_write_json(struct bat_binary *binary, const bool *is_wanted,
                                            struct bat_output *output, struct bat_error *error);

/*
 * Read a description of a note as JSON (spec/json.md) from an open file, up to its end, without
 * keeping the text in memory: time is linear in the text, memory in the map. Members may be in any
 * order, tables and entries too: they are sorted, and entries of equal output offset keep their
 * order. A fragment may precede its parent, but is then kept until the end. Unknown members are
 * errors, unless their names begin with "x-".
 *
 * On success, free *map with bat_map_free(). On failure it is NULL, and error has the line and
 * column, from 1 and in bytes, of the wrong value or object. (Columns of a string with escapes
 * count the characters that these stand for.) The minimal build fails with BAT_ERR_UNSUPPORTED.
 */
BAT_API enum bat_code bat_map_read_json(int file, struct bat_map **map, struct bat_error *error);

/* --- Symbols of functions ------------------------------------------------------------------- */

/*
 * The symbols that can name a function: defined symbols of type FUNC, IFUNC or NOTYPE, except
 * mapping symbols ("$x"). From .symtab; from .dynsym if .symtab has no symbols.
 */
struct bat_names {
    const struct bat_symbol **symbols; /* ascending by address, then by name */
    size_t count;

    /* Private: the symbols, grouped by address. */
    struct bat_name_group *groups;
    size_t group_count;
};

/*
 * Collect and sort them. The caller frees *names with bat_names_free(). For a raw note or a
 * stripped file it is empty, its symbols may be NULL, and BAT_OK is returned. The symbols belong to
 * binary->elf. Time n log n; all look-ups below are logarithmic.
 */
BAT_API enum bat_code bat_names_collect(const struct bat_binary *binary, struct bat_names *names,
                                        struct bat_error *error);
BAT_API void bat_names_free(struct bat_names *names);

/* Returns n, the number of symbols at this address: names->symbols[*first .. *first + n). */
BAT_API size_t bat_names_at(const struct bat_names *names, uint64_t address, size_t *first);

/* The symbol that names a table at this address (see bat_binary_table_names()), or NULL. */
BAT_API const struct bat_symbol *bat_names_best(const struct bat_names *names, uint64_t address);

/*
 * The function symbol that contains the address: the nearest at or below it that is not NOTYPE, if
 * the distance is less than its size. A symbol of size 0 reaches to the next. NULL if none does.
 */
BAT_API const struct bat_symbol *bat_names_containing(const struct bat_names *names,
                                                      uint64_t address);

/*
 * The table whose function or fragment contains the output address, or BAT_NONE. The symbols at its
 * start give the size; without a size it reaches to the next function symbol or table.
 */
BAT_API uint32_t bat_binary_table_containing(const struct bat_binary *binary,
                                             const struct bat_names *names, uint64_t address);

/* An output address as the input binary has it. */
struct bat_binary_place {
    /* The symbol that names the function; of a fragment's, the one at its parent. NULL if there is
     * none. Belongs to the binary's file. */
    const struct bat_symbol *symbol;
    uint32_t table;    /* that holds the address, a function's or a fragment's; or BAT_NONE */
    uint32_t function; /* the function's own (hot) table; or BAT_NONE */
    uint64_t offset;   /* bytes from the start of the input function */
};

/*
 * The central question: the function of an output address, and the offset in it in the input
 * binary (BAT.md 8.1). is_branch_source is for the address of a branch or call that was taken.
 * names are the binary's (bat_names_collect()); they tell where functions end. A function that BOLT
 * left alone has no table: table and function are BAT_NONE, and the offset is that of the address
 * in it. binary->map must be there. Returns false, *place all empty, if the address is in no
 * function. Logarithmic.
 */
BAT_API bool bat_binary_input_of(const struct bat_binary *binary, const struct bat_names *names,
                                 uint64_t output_address, bool is_branch_source,
                                 struct bat_binary_place *place);

/*
 * True if the symbol name fragment is BOLT's name for a fragment of the function with the symbol
 * name function: "f.cold", "f.cold.2", "f.warm" for "f".
 */
BAT_API bool bat_name_is_fragment_of(const char *fragment, const char *function);

/* --- Bytes by kind of field ----------------------------------------------------------------- */

/* Kinds of fields, in the order in which a note has them. */
enum bat_share {
    BAT_SHARE_CONTAINER, /* ELF note header and padding */
    BAT_SHARE_COUNTS,    /* NumFuncs, NumBlocks, NumSecEntryPoints, NumEntries, EqualElems */
    BAT_SHARE_ADDRESSES, /* of functions and fragments */
    BAT_SHARE_FUNCTION_HASHES,
    BAT_SHARE_HOT_INDICES,  /* HotIndex; version 1: the list of fragments and parents */
    BAT_SHARE_SKEWS,        /* ColdInputSkew */
    BAT_SHARE_BRANCH_MASKS, /* BranchEntries */
    BAT_SHARE_OUTPUT_OFFSETS,
    BAT_SHARE_INPUT_OFFSETS,
    BAT_SHARE_BLOCK_HASHES,
    BAT_SHARE_BLOCK_INDICES,
    BAT_SHARE_SECONDARY_ENTRIES,
    BAT_SHARES /* number of kinds */
};

/* Bytes of each kind of field. */
struct bat_shares {
    uint64_t bytes[BAT_SHARES];
};

/*
 * Measure how many bytes each kind of field takes in the note that bat_encode() makes of the map.
 * Their sum is the note's size; for a map just decoded, the size of the section that it was decoded
 * from. Linear in the number of entries.
 */
BAT_API void bat_map_shares(const struct bat_map *map, struct bat_shares *shares);
BAT_API uint64_t bat_shares_sum(const struct bat_shares *shares);

#ifdef __cplusplus
}
#endif

#endif
