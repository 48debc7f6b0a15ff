/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The functions of a BOLTed ELF file as perf2bolt sees them, for look-ups from an address to the
 * function that contains it, and the name that profiles know it by.
 *
 * What is a function:
 * - a function symbol of .symtab in a section of code; also another symbol there (no type, a
 *   section's own) that lies in no function. A symbol inside the function before it is none, but
 *   a secondary entry point of it;
 * - an entry of .plt, .plt.got, .plt.sec or .iplt, and what stands at such a section's start;
 * - code that only .eh_frame describes.
 *
 * How it is called, in profiles of binaries that hold a BAT note: a global symbol's name is its
 * own; a local symbol's is "f/file.c/N" if it is a function below a FILE symbol, else "f/N".
 * N counts the local symbols with that name (and file: only functions) by ascending address, from
 * 1. Of several names at one address the first with two slashes wins, else the first; function
 * symbols come first, sections' last, otherwise the symbol table's order decides. PLT entries are
 * "f@PLT", a PLT section's start "__BOLT_PSEUDO_.plt", code known from .eh_frame alone
 * "__BOLT_FDE_FUNCat<hex address>".
 *
 * How far it reaches: as many bytes as the largest of its symbols and its FDE say, and on over
 * padding (no-operations, breakpoints, zeros) if nothing else follows up to the next function, the
 * next symbol that cannot be a label of this one, or the section's end. Where no size is known, or
 * where a symbol lies inside an FDE's code, up to there in any case.
 */
#ifndef BAT_FUNCTIONS_H
#define BAT_FUNCTIONS_H

#include "bat_elf.h"

/* Bits of struct bat_function_symbol.flags. */
enum bat_function_flag {
    BAT_FUNCTION_PLT = 1,       /* an entry of a PLT section, or its start */
    BAT_FUNCTION_FDE = 2,       /* known from .eh_frame alone */
    BAT_FUNCTION_FRAGMENT = 4,  /* a symbol f.cold, f.warm, f.cold.N or f.warm.N: a part of f */
    BAT_FUNCTION_UNSIZED = 8,   /* size was found from what follows, not from a symbol or FDE */
    BAT_FUNCTION_CONFLICT = 16, /* overlaps another object: perf2bolt does not disassemble it */
};

struct bat_function_symbol {
    uint64_t address;
    uint64_t size;    /* bytes of code; a damaged file's may reach into the next function */
    uint64_t extent;  /* bytes up to what follows, at least size: code or padding */
    const char *name; /* owned by the table or by an ELF file that it was built from; NULL as long
                         as it has not been made */
    uint32_t flags;
};

/* All functions of a file. Threads may share one for look-ups. */
struct bat_functions;

/*
 * Find the functions of elf. Their symbols are read from symbols, an unstripped copy of the same
 * build, or from elf itself if symbols is NULL; everything else from elf. That the two belong
 * together is for the caller to check. A file without .symtab is not an error: then only PLT
 * entries and .eh_frame's functions are found (see bat_functions_have_symbols()).
 *
 * On success *functions is to be freed with bat_functions_free(); both files must stay open as
 * long, for the names. Fails with BAT_ERR_ELF (a damaged symbol table or .eh_frame) or
 * BAT_ERR_MEMORY. Time n log n in the symbols and FDEs; memory stays within 64 times the size of
 * the symbol table and its names.
 */
enum bat_code bat_functions_create(const struct bat_elf *elf, const struct bat_elf *symbols,
                                   struct bat_functions **functions, struct bat_error *error);

/*
 * The same without names, and the names of those functions i for which wanted[i] is not 0 (NULL:
 * of all), which can be made once; the others stay NULL. Names take as long as all the rest, and
 * few functions of a large program have samples.
 */
enum bat_code bat_functions_create_unnamed(const struct bat_elf *elf, const struct bat_elf *symbols,
                                           struct bat_functions **functions,
                                           struct bat_error *error);
enum bat_code bat_functions_name(struct bat_functions *functions, const uint8_t *wanted,
                                 struct bat_error *error);

/*
 * Before bat_functions_name(): call functions as profiles of binaries without a note do, by the
 * first of their symbols, a local one always "f/N". Linear in the functions.
 */
void bat_functions_take_first_names(struct bat_functions *functions);

/* NULL is allowed. */
void bat_functions_free(struct bat_functions *functions);

/* All functions by ascending address, no two at the same; owned by the table. */
const struct bat_function_symbol *bat_functions_all(const struct bat_functions *functions,
                                                    uint32_t *count);

/* False if there was no symbol table: names are then missing, not unknown to perf2bolt. */
bool bat_functions_have_symbols(const struct bat_functions *functions);

/*
 * The last function that starts at or below this address, as an index into bat_functions_all(),
 * if the address is one of its size bytes, or of its extent and all behind size is padding; else
 * BAT_NONE. At most logarithmic, mostly constant; the first look-up in a function's padding takes
 * time linear in that.
 */
uint32_t bat_functions_find(const struct bat_functions *functions, uint64_t address);

/*
 * The secondary entry points that symbols give function index: addresses, ascending, each once;
 * owned by the table. Branches from other functions may add more.
 */
const uint64_t *bat_functions_entry_points(const struct bat_functions *functions, uint32_t index,
                                           uint32_t *count);

#endif
