/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions of a BOLTed ELF file as perf2bolt sees them. Finds the function that contains an
 * address, and its name in profiles.
 *
 * Functions are:
 * - a function symbol of .symtab in a section of code, and any other symbol there (without type, or
 *   a section's) that lies in no function. A symbol inside the function before it is not a function
 *   but a secondary entry point of that function;
 * - an entry of .plt, .plt.got, .plt.sec or .iplt, and the start of such a section;
 * - code that only .eh_frame describes.
 *
 * Names in profiles of binaries with a BAT note: a global symbol's name is unchanged; a local
 * symbol's becomes "f/file.c/N" if it is a function after a FILE symbol, else "f/N". N counts the
 * local symbols with that name (and file: only functions) by ascending address, from 1. Of several
 * names at one address the first with two slashes is taken, else the first: function symbols come
 * first, section symbols last, otherwise the symbol table's order decides. PLT entries are "f@PLT",
 * a PLT section's start is "__BOLT_PSEUDO_.plt", code known only from .eh_frame is
 * "__BOLT_FDE_FUNCat<hex address>".
 *
 * A function has the largest size of its symbols and its FDE. It also contains padding
 * (no-operations, breakpoints, zeros) after that, if there is only padding up to the next function,
 * the next symbol that cannot be a label of this one, or the section's end. Without a size, or if
 * its symbol lies inside the code of an FDE, it reaches up to there in any case.
 */
#pragma once

#include "bat_elf.h"

/* Bits of struct bat_function_symbol.flags. */
enum bat_function_flag {
    BAT_FUNCTION_PLT = 1,       /* an entry of a PLT section, or its start */
    BAT_FUNCTION_FDE = 2,       /* known only from .eh_frame */
    BAT_FUNCTION_FRAGMENT = 4,  /* has a symbol f.cold, f.warm, f.cold.N or f.warm.N: part of f */
    BAT_FUNCTION_UNSIZED = 8,   /* size is the distance to what follows, not from a symbol or FDE */
    BAT_FUNCTION_CONFLICT = 16, /* overlaps another object: perf2bolt does not disassemble it */
    BAT_FUNCTION_LATE = 32,     /* has no symbol: a PLT entry, or known only from .eh_frame */
    BAT_FUNCTION_PLT_START = 64,   /* the first function of a PLT section */
    BAT_FUNCTION_PLT_HEADER = 128, /* the start of a PLT section, if no entry is there */
    BAT_FUNCTION_SECTION = 512,    /* has no symbol but its section's */
    BAT_FUNCTION_PATCHED = 256, /* has a symbol f.org.N: BOLT moved f, and patched a jump to it */
};

struct bat_function_symbol {
    uint64_t address;
    uint64_t size;    /* bytes of code; in a damaged file it may reach into the next function */
    const char *name; /* owned by the table or by an ELF file that it was built from; NULL until
                         it is made */
    uint32_t padding; /* bytes behind the code, up to what follows; UINT32_MAX: or more */
    uint32_t flags;
};

/* Bytes of code or padding up to what follows, or 4 GB of it. */
static inline uint64_t bat_function_extent(const struct bat_function_symbol *function)
{
    return function->size + function->padding;
}

/* All functions of a file. Threads may share one for look-ups. */
struct bat_functions;

/*
 * Find the functions of elf. Symbols are read from symbols, an unstripped copy of the same build,
 * or from elf itself if symbols is NULL; everything else is read from elf. The caller must check
 * that the two belong together. A file without .symtab is not an error: then only PLT entries and
 * functions of .eh_frame are found.
 *
 * On success the caller frees *functions with bat_functions_free(); until then both files must stay
 * open, because names point into them. Fails with BAT_ERR_ELF (a damaged symbol table or .eh_frame)
 * or BAT_ERR_MEMORY. Time n log n in the symbols and FDEs; memory stays within 64 times the size of
 * the symbol table and its names.
 */
enum bat_code bat_functions_create(const struct bat_elf *elf, const struct bat_elf *symbols,
                                   struct bat_functions **functions, struct bat_error *error);

/*
 * The same in two steps: without names, then the names of the functions i for which wanted[i] is
 * not 0 (NULL: of all). bat_functions_name() can make names once; the others stay NULL. Names take
 * as long as all the rest, and few functions of a large program have samples. threads is the number
 * of threads that may be used, the caller's among them (two are of use); 0: as many as are of use.
 */
enum bat_code bat_functions_create_unnamed(const struct bat_elf *elf, const struct bat_elf *symbols,
                                           unsigned threads, struct bat_functions **functions,
                                           struct bat_error *error);
enum bat_code bat_functions_name(struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error);

/*
 * Add functions, ascending by address, whose names outlive the table; those that start in one of
 * the table's own are left out, unless only what follows tells its size. To be called after
 * bat_functions_name(). Linear in both. Fails with BAT_ERR_MEMORY.
 */
enum bat_code bat_functions_add(struct bat_functions *functions,
                                const struct bat_function_symbol *added, uint32_t count,
                                struct bat_error *error);

/*
 * To be called before bat_functions_name(): choose names as in profiles of binaries without a note,
 * from the first of a function's symbols, and "f/N" for every local one. Linear in the functions.
 */
void bat_functions_take_first_names(struct bat_functions *functions);

/* NULL is allowed. */
void bat_functions_free(struct bat_functions *functions);

/* All functions by ascending address, one for each address; owned by the table. */
const struct bat_function_symbol *bat_functions_all(const struct bat_functions *functions,
                                                    uint32_t *count);

/*
 * The last function that starts at or below this address, as an index into bat_functions_all(), if
 * the address is within its size, or within its extent and there is only padding from size to
 * extent; else BAT_NONE. At most logarithmic, mostly constant; the first look-up in a function's
 * padding takes time linear in the padding.
 */
uint32_t bat_functions_find(const struct bat_functions *functions, uint64_t address);

/* The function that starts at this address, or BAT_NONE. As quick as bat_functions_find(). */
uint32_t bat_functions_at(const struct bat_functions *functions, uint64_t address);

/*
 * The secondary entry points of function index that are known from symbols: addresses, ascending,
 * each once; owned by the table. Branches from other functions may add more.
 */
const uint64_t *bat_functions_entry_points(const struct bat_functions *functions, uint32_t index,
                                           uint32_t *count);
