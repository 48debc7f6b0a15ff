/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The binary that BOLT read, beside the one that it wrote: which function of the one is which of
 * the other, and where an instruction of the one is in the other. "Output" is the BOLTed binary,
 * "input" is the one that BOLT read; addresses are virtual addresses as in the ELF files.
 */
#ifndef BAT_ORIGINAL_H
#define BAT_ORIGINAL_H

#include "bat_binary.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An input binary, paired with a BOLTed one. Threads may share one. */
struct bat_original;

/* What else than the two files may be needed; all zero for nothing. */
struct bat_original_options {
    struct bat_elf *output_symbols; /* an unstripped copy of the BOLTed binary, or NULL */
    struct bat_elf *input_symbols;  /* an unstripped copy of the input binary, or NULL */
    bool ignore_build_id;           /* take the input binary whatever its build-id */
};

/*
 * Open the input binary at path and pair it with binary, whose map must be decoded. options may be
 * NULL. binary and the files in options must outlive *original, which is to be closed with
 * bat_original_close().
 *
 * Global functions pair by name, local ones of one name and file by their order in the symbol
 * tables, which BOLT keeps; PLT entries, and code that has no symbol, by the names that profiles
 * give them.
 *
 * Fails with BAT_ERR_MISMATCH, saying what does not fit, if input is not what BOLT read: another
 * machine, a file that BOLT wrote, another build-id than binary's but for the last bit (which BOLT
 * flips; since BOLT 24 the first bit as well), functions of other names or too small for their
 * tables, no symbols; with BAT_ERR_ARGUMENT if binary is a raw note, and as bat_elf_open() does.
 * Time n log n in the symbols.
 */
BAT_API enum bat_code bat_original_open(const char *path, struct bat_binary *binary,
                                        const struct bat_original_options *options,
                                        struct bat_original **original, struct bat_error *error);
BAT_API void bat_original_close(struct bat_original *original);

/* The input binary; owned by original. */
BAT_API struct bat_elf *bat_original_elf(const struct bat_original *original);

/* What was paired, for reports. */
struct bat_original_counters {
    uint64_t tables;           /* hot tables of the note */
    uint64_t tables_paired;    /* ... whose input function is known */
    uint64_t functions;        /* functions of the BOLTed binary without table, PLT left out */
    uint64_t functions_paired; /* ... whose input function is known */
    uint64_t plt;              /* PLT entries that are the same in both */
    uint64_t folded;           /* input functions whose code BOLT replaced by an equal one's */
};

BAT_API struct bat_original_counters bat_original_counters(const struct bat_original *original);

/* --- One address -------------------------------------------------------------------------- */

/* How an address of the one binary is known in the other. */
enum bat_original_kind {
    BAT_ORIGINAL_TABLE, /* by a table of the note */
    BAT_ORIGINAL_WHOLE, /* in a function without table: the same offset in the input's function */
    BAT_ORIGINAL_PLT,   /* in a PLT entry */
    BAT_ORIGINAL_GONE,  /* in a function of the input that is none of the output's */
};

struct bat_original_place {
    uint64_t address;          /* in the input binary */
    uint64_t function_address; /* of the input function that holds it */
    uint64_t function_size;    /* bytes */
    const char *name; /* of the input function, as llvm-bolt will call it in profiles; owned */
    enum bat_original_kind kind;
    uint32_t table; /* the table that was asked, for BAT_ORIGINAL_TABLE; else BAT_NONE */
};

/*
 * Where the instruction at an output address was in the input binary. False if it is in no
 * function of the BOLTed binary, or in one whose input function is not known. is_branch_source is
 * for the source of a branch: the place is then the branch or call that BAT knows there. The
 * address is an instruction's start, and inside the function, wherever the input's instructions
 * can be decoded. Logarithmic, and linear in the distance from the BAT entry.
 */
BAT_API bool bat_original_find(const struct bat_original *original, uint64_t output_address,
                               bool is_branch_source, struct bat_original_place *place);

/* The same, for the address alone. */
BAT_API bool bat_original_to_input(const struct bat_original *original, uint64_t output_address,
                                   bool is_branch_source, uint64_t *input_address);

/*
 * All output addresses that the instruction at an input address went to: none if it was removed or
 * is in no paired function, several where BOLT copied code. Ascending, each once;
 * *output_addresses is to be freed with free(). Fails with BAT_ERR_MEMORY only. Linear in the
 * entries of the function.
 */
BAT_API enum bat_code bat_original_to_output(const struct bat_original *original,
                                             uint64_t input_address, uint64_t **output_addresses,
                                             size_t *count, struct bat_error *error);

/*
 * The function that holds an input address: *place has the address itself, and of table the hot
 * one. False if it is in no function. Logarithmic.
 */
BAT_API bool bat_original_at(const struct bat_original *original, uint64_t input_address,
                             struct bat_original_place *place);

/*
 * The input function that is called name: a symbol's name, or a profile's ("f/file.c/2").
 * Returns how many are called so, 0 if none is; *address is the first one's, by address. Linear.
 */
BAT_API size_t bat_original_function(const struct bat_original *original, const char *name,
                                     uint64_t *address);

#ifdef __cplusplus
}
#endif

#endif
