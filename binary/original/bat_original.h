/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Pairs the binary that BOLT wrote ("output") with the one that it read ("input"): finds the
 * function and the instruction of one binary in the other, by the note's tables (BAT.md 8.1) and by
 * the code (spec/profiles.md 5). Addresses are virtual addresses as in the ELF files.
 */
#ifndef BAT_ORIGINAL_H
#define BAT_ORIGINAL_H

#include "bat_binary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An input binary, paired with a BOLTed one. Threads may share one. */
struct bat_original;

/* Options. */
struct bat_original_options {
    size_t size;                    /* sizeof(struct bat_original_options) */
    struct bat_elf *output_symbols; /* an unstripped copy of the BOLTed binary, or NULL */
    struct bat_elf *input_symbols;  /* an unstripped copy of the input binary, or NULL */
    bool ignore_build_id;           /* accept an input binary with any build-id */
    unsigned threads;               /* at most so many; 0: as many as are of use */
    bool no_names; /* leave the names of functions with symbols NULL: that takes less time */
};

/*
 * Open the input binary at path and pair it with binary, whose note is decoded meanwhile if it is
 * not yet; errors in the note have BAT_PLACE_SECTION, and errors in binary's functions begin with
 * its path. options may be NULL. binary and the files in options must outlive *original. The caller
 * closes *original with bat_original_close().
 *
 * Global functions are paired by name; local functions with the same name and file, then those with
 * the same name that are left, by their order in the symbol tables, which BOLT keeps; PLT entries,
 * and code without a symbol, by their names in profiles.
 *
 * Fails with BAT_ERR_MISMATCH if the file is not what BOLT read; the message says what does not
 * fit: another ELF type or machine, a file that BOLT wrote, a build-id that is not binary's with
 * the last bit flipped (by BOLT 24 and later the first bit too), functions with other names or too
 * small for their tables, no symbols. Fails with BAT_ERR_ARGUMENT if binary is a raw note or
 * options lack their size, with BAT_ERR_MEMORY, and like bat_elf_open() and bat_binary_decode().
 * Time n log n in the symbols.
 */
BAT_API enum bat_code bat_original_open(const char *path, struct bat_binary *binary,
                                        const struct bat_original_options *options,
                                        struct bat_original **original, struct bat_error *error);
BAT_API void bat_original_close(struct bat_original *original);

/* The input binary; owned by original. */
BAT_API struct bat_elf *bat_original_elf(const struct bat_original *original);

/* Numbers of paired functions, for reports. */
struct bat_original_counters {
    uint64_t tables;           /* hot tables of the note */
    uint64_t tables_paired;    /* ... whose input function is known */
    uint64_t functions;        /* functions of the BOLTed binary without table, without the PLT */
    uint64_t functions_paired; /* ... whose input function is known */
    uint64_t plt;              /* PLT entries that are paired */
    uint64_t folded;           /* input functions that BOLT folded into another one */
};

/* What bat_original_open() paired. */
BAT_API struct bat_original_counters bat_original_counters(const struct bat_original *original);

/* --- One address -------------------------------------------------------------------------- */

/* How an address was translated between the binaries. */
enum bat_original_kind {
    BAT_ORIGINAL_TABLE, /* by a table of the note */
    BAT_ORIGINAL_WHOLE, /* in a function without table: same offset in both functions */
    BAT_ORIGINAL_PLT,   /* in a PLT entry */
    BAT_ORIGINAL_GONE,  /* not translated: the input function is not in the output */
};

struct bat_original_place {
    uint64_t address;          /* in the input binary */
    uint64_t function_address; /* of the input function that holds it */
    uint64_t function_size;    /* bytes */
    const char *name; /* of the input function, as in llvm-bolt's profiles; owned by original; or
                         NULL by the option no_names */
    enum bat_original_kind kind;
    uint32_t table; /* the table that was used, for BAT_ORIGINAL_TABLE; else BAT_NONE */
};

/*
 * The place in the input binary of the instruction at an output address. False if the address is in
 * no function of the BOLTed binary, or in one whose input function is not known. With
 * is_branch_source, the place is the branch or call of the last BAT entry at or below the address.
 * Where the input's instructions can be decoded, the place is the start of an instruction inside
 * the function. Logarithmic, plus linear in the distance from the BAT entry.
 */
BAT_API bool bat_original_input_of(const struct bat_original *original, uint64_t output_address,
                                   bool is_branch_source, struct bat_original_place *place);

/* The same, but returns the address only. */
BAT_API bool bat_original_input_address_of(const struct bat_original *original,
                                           uint64_t output_address, bool is_branch_source,
                                           uint64_t *input_address);

/*
 * All output addresses of the instruction at an input address: none if BOLT removed it or it is in
 * no paired function, several if BOLT copied code. Ascending, each once; the caller frees
 * *output_addresses with free(). Fails with BAT_ERR_MEMORY only. Linear in the entries of the
 * function.
 */
BAT_API enum bat_code bat_original_outputs_of(const struct bat_original *original,
                                              uint64_t input_address, uint64_t **output_addresses,
                                              size_t *count, struct bat_error *error);

/*
 * The function that contains an input address: place->address is the address itself, place->table
 * the hot table. False if the address is in no function. Logarithmic.
 */
BAT_API bool bat_original_input_function_at(const struct bat_original *original,
                                            uint64_t input_address,
                                            struct bat_original_place *place);

/*
 * Find input functions by name: a symbol's name, or a name in profiles ("f/file.c/2"). Returns the
 * number of functions with that name; *address is the lowest one's address. Linear.
 */
BAT_API size_t bat_original_input_function_named(const struct bat_original *original,
                                                 const char *name, uint64_t *address);

/*
 * bat_map_upgrade() of a binary's map with the input binary at path: blocks get the numbers that
 * they have in its code. Fails as bat_original_open() and bat_map_upgrade().
 */
BAT_API enum bat_code bat_original_upgrade(struct bat_binary *binary, const char *path,
                                           struct bat_error *error);

#ifdef __cplusplus
}
#endif

#endif
