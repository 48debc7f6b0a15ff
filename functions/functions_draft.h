/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * What bat_functions_create() works with: symbols in the order in which they are looked at, and
 * functions while they are being found. Internal to functions*.c.
 */
#ifndef BAT_FUNCTIONS_DRAFT_H
#define BAT_FUNCTIONS_DRAFT_H

#include <elf.h>

#include "functions.h"
#include "key_sort.h"

/* --- Symbols (functions_symbols.c, functions_number.c) ------------------------------------- */

/* One symbol of the symbol table that lies in memory. */
struct draft_symbol {
    uint64_t address;
    uint64_t size;
    const char *name;             /* of a nameless section symbol: the section's */
    const char *file;             /* of the FILE symbol above a local function symbol; or NULL */
    const struct bat_section *in; /* NULL for an absolute symbol */
    uint64_t hash;                /* of a local symbol's name */
    uint32_t length;              /* of the name */
    uint32_t number;              /* N of a local symbol's "f/N", from 1, if it is wanted; of a
                                     symbol without name its position among these, from 1, the
                                     same; else 0 */
    uint32_t file_number;         /* N of its "f/file.c/N", from 1, if it is wanted; else 0 */
    uint8_t type;                 /* STT_* */
    uint8_t binding;              /* STB_* */
    uint8_t slashes;              /* in the name, up to 2 */
    bool is_fragment;             /* called f.cold, f.warm, f.cold.N or f.warm.N */
    bool is_private;              /* called like an assembler's private label, .Lf */
    bool is_reserved;             /* one of the marks of space that BOLT leaves, no function */
    bool is_entry_point;          /* lies inside a function, which it gives another entry */
};

/* Sorted by address; at one address functions come first, sections last, else as in the file. */
struct draft_symbols {
    struct draft_symbol *all;
    uint32_t count;
    bool found;         /* there is a symbol table */
    uint64_t seed;      /* of all hashes: not known to whoever made the file */
    uint64_t text_left; /* bytes of names that may still be read or written */
};

/*
 * Names in a damaged table can overlap, so that all of them together are far longer than the
 * file. So no more than this many bytes of names for each byte of symbol tables and strings are
 * read and written: what compilers and linkers write needs two or three.
 */
#define DRAFT_TEXT_FACTOR 32u

/* How many that are for a file. Tables that lie in the same bytes count once. */
uint64_t draft_text_limit(const struct bat_elf *elf);

/*
 * Read those symbols of elf that perf2bolt looks at, and sort them; text_left is kept.
 * symbols->all is to be freed with free() whatever is returned.
 */
enum bat_code draft_symbols_read(const struct bat_elf *elf, struct draft_symbols *symbols,
                                 struct bat_error *error);

/*
 * Number local symbols that bear the same names as wanted[], indices of symbols that want their
 * "f/N", or with by_file their "f/file.c/N". Looking up a name among few is cheap.
 */
enum bat_code draft_symbols_number(struct draft_symbols *symbols, bool by_file,
                                   const uint32_t *wanted, uint32_t wanted_count,
                                   struct bat_error *error);

/* Number all symbols without a name. */
void draft_symbols_number_nameless(struct draft_symbols *symbols);

/* The first symbol at or above address; symbols->count if there is none. */
uint32_t draft_symbols_from(const struct draft_symbols *symbols, uint64_t address);

/* Take bytes from symbols->text_left; fails with BAT_ERR_ELF if it does not have them. */
enum bat_code draft_symbols_spend(struct draft_symbols *symbols, uint64_t bytes,
                                  struct bat_error *error);

static inline bool draft_is_function(const struct draft_symbol *symbol)
{
    return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
}

/* --- Functions ---------------------------------------------------------------------------- */

/* How a function's name is made. */
enum draft_name {
    DRAFT_NAME_PLAIN,     /* the symbol's own */
    DRAFT_NAME_LOCAL,     /* "f/N" */
    DRAFT_NAME_FILE,      /* "f/file.c/N" */
    DRAFT_NAME_ANONYMOUS, /* "ANONYMOUS.N", from 0, of a symbol without name */
    DRAFT_NAME_PLT,       /* "f@PLT" or "f/N@PLT" */
    DRAFT_NAME_PSEUDO,    /* "__BOLT_PSEUDO_.plt" */
    DRAFT_NAME_FDE,       /* "__BOLT_FDE_FUNCat..." */
};

struct draft_function {
    uint64_t address;
    uint64_t size;
    uint64_t extent;
    const struct bat_section *in; /* by its address */
    const char *text;             /* PLT: what is before "@PLT", if no symbol is to say it */
    uint32_t symbol;              /* PLAIN to PLT: the symbol that the name is from; BAT_NONE for
                                     a PLT entry called after text */
    uint32_t first;               /* the symbol that made it a function; else BAT_NONE */
    uint32_t flags;               /* enum bat_function_flag */
    uint8_t name;                 /* enum draft_name */
    bool has_final_name;          /* a name with two slashes: no other can replace it */
};

/* Functions, ascending by address, no two at the same. */
struct draft_functions {
    struct draft_function *all;
    uint32_t count;
    uint32_t capacity;
};

/* A secondary entry point of the function of that index. */
struct draft_entry {
    uint64_t address;
    uint32_t function;
};

struct draft_entries {
    struct draft_entry *all;
    uint32_t count;
    uint32_t capacity;
};

/* The code that an FDE describes. */
struct draft_fde {
    uint64_t address;
    uint64_t size;
};

struct draft {
    const struct bat_elf *elf;
    struct draft_symbols symbols;
    const struct bat_section **sections; /* in memory, ascending by address */
    size_t section_count;
    struct draft_fde *fdes; /* ascending by address, no two at the same */
    size_t fde_count;
    struct draft_functions functions;
    struct draft_entries entries; /* ascending by address */
};

/* Find all functions: functions_discover.c, functions_others.c (PLT, FDEs), functions_size.c. */
enum bat_code draft_read_sections(struct draft *draft, struct bat_error *error);
enum bat_code draft_read_fdes(struct draft *draft, struct bat_error *error);
enum bat_code draft_discover(struct draft *draft, struct bat_error *error);
enum bat_code draft_add_plt(struct draft *draft, struct bat_error *error);
enum bat_code draft_add_fdes(struct draft *draft, struct bat_error *error);
enum bat_code draft_set_sizes(struct draft *draft, struct bat_error *error);

/* The section in memory that holds address, or NULL. */
const struct bat_section *draft_section_at(const struct draft *draft, uint64_t address);

/* True if a symbol may stand inside the function without being something of its own. */
bool draft_tolerates(const struct draft_function *function, const struct draft_symbol *symbol);

static inline bool draft_contains(const struct draft_function *function, uint64_t address)
{
    return address - function->address < function->size;
}

/* Make room for as many functions altogether. */
enum bat_code draft_reserve(struct draft_functions *functions, uint64_t capacity,
                            struct bat_error *error);

/* Append a function; addresses must ascend. */
enum bat_code draft_append(struct draft_functions *functions, const struct draft_function *function,
                           struct bat_error *error);

/*
 * Write the names (functions_text.c) into to[] of those functions i for which wanted[i] is not 0
 * (of all, if it is NULL): they are in *text or in the file. *text is to be freed with free(),
 * also on failure.
 */
enum bat_code draft_write_names(struct draft *draft, const uint8_t *wanted,
                                struct bat_function_symbol *to, char **text,
                                struct bat_error *error);

/* --- Padding (functions_padding.c) -------------------------------------------------------- */

/*
 * True if the bytes from address on, size of them, up to what follows a function, are only
 * padding: breakpoints, or no-operations, zeros and, on x86-64, jumps forward over them. False
 * too if they are not in the file.
 */
bool draft_is_padding(const struct bat_elf *elf, uint64_t address, uint64_t size);

#endif
