/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data of bat_functions_create(): symbols in the order in which they are examined, and the
 * functions found so far. Internal to binary/functions/.
 */
#pragma once

#include <elf.h>

#include "elfnote/symbol_table.h"
#include "elfnote/text_budget.h"
#include "functions.h"
#include "loaded_sections.h"
#include "support/key_sort.h"

/* --- Symbols (symbols.c, number.c) ------------------------------------- */

/* A symbol whose section is in memory. */
struct draft_symbol {
    uint64_t address;
    uint64_t size;
    uint32_t index;          /* in the table, which has its name and section */
    uint32_t file;           /* see draft_file() */
    uint32_t hash;           /* of a local symbol's name */
    uint8_t type;            /* STT_* */
    uint8_t binding;         /* STB_* */
    uint8_t slashes;         /* in the name, up to 2 */
    bool is_in_code : 1;     /* in a section of code, and no mark of space that BOLT reserves */
    bool is_in_data : 1;     /* in a section without code */
    bool is_nameless : 1;    /* also without a section's name */
    bool is_fragment : 1;    /* has the name f.cold, f.warm, f.cold.N or f.warm.N */
    bool is_patched : 1;     /* has the name f.org.N */
    bool is_private : 1;     /* has the name of an assembler's private label, .Lf */
    bool is_entry_point : 1; /* a secondary entry point of the function around it */
};

/* A symbol of data that only counts: see draft_symbols_number(). */
struct draft_other {
    uint32_t index; /* in the table */
    uint32_t file;  /* as in struct draft_symbol */
    uint32_t hash;
};

/* Sorted by address; at one address function symbols come first, section symbols last, otherwise in
 * the file's order. */
struct draft_symbols {
    struct draft_symbol *all;
    uint32_t count;
    uint32_t *numbers;          /* if needed: N of a local symbol's "f/N", from 1; the position of
                                   a nameless symbol among those, from 1; else 0 */
    uint32_t *file_numbers;     /* if needed: N of its "f/file.c/N", from 1; else 0 */
    struct draft_other *others; /* local or nameless symbols of data, if only code is wanted */
    size_t other_count;
    size_t other_capacity;
    struct symbol_table table; /* not kept: names are checked to end in it, and may change */
    uint64_t seed;             /* of all hashes; the author of a hostile file cannot know it */
    struct bat_budget names;   /* that may still be read or written */
};

/*
 * Read the symbols of elf that perf2bolt uses, and sort them; with only_code without those that are
 * surely in no section of code. Names are taken from symbols->names. The caller frees the symbols
 * with draft_symbols_free(), also after a failure.
 */
enum bat_code draft_symbols_read(const struct bat_elf *elf, bool only_code,
                                 struct draft_symbols *symbols, struct bat_error *error);

/* Free the symbols, and give back the memory of the table. */
void draft_symbols_free(struct draft_symbols *symbols);

/* The name of a symbol of the table: of a nameless section symbol the section's. */
const char *draft_table_name(const struct symbol_table *table, uint32_t index,
                             const Elf64_Sym *symbol);

/* The name of a symbol that was read: of a nameless section symbol the section's. */
static inline const char *draft_symbol_name(const struct draft_symbols *symbols,
                                            const struct draft_symbol *symbol)
{
    const Elf64_Sym from = symbol_table_at(&symbols->table, symbol->index);
    return draft_table_name(&symbols->table, symbol->index, &from);
}

/*
 * Number the local symbols with the names of the symbols in wanted[], which need an "f/N", or with
 * by_file an "f/file.c/N". Only these names are numbered, because a look-up among few is cheap.
 */
enum bat_code draft_symbols_number(struct draft_symbols *symbols, bool by_file,
                                   const uint32_t *wanted, uint32_t wanted_count,
                                   struct bat_error *error);

/* Number all symbols without a name. */
enum bat_code draft_symbols_number_nameless(struct draft_symbols *symbols, struct bat_error *error);

/* The first symbol at or above address; symbols->count if there is none. */
uint32_t draft_symbols_from(const struct draft_symbols *symbols, uint64_t address);

/* The name of the FILE symbol before a local function symbol, from its `file`; NULL for others. */
static inline const char *draft_file(const struct draft_symbols *symbols, uint32_t file)
{
    return file ? symbols->table.strings + file : NULL;
}

/* The number of a symbol in one of these, if it needed one; else 0. */
static inline uint32_t draft_number(const uint32_t *numbers, uint32_t symbol)
{
    return numbers ? numbers[symbol] : 0;
}

static inline bool draft_is_function(const struct draft_symbol *symbol)
{
    return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
}

/* --- Functions ---------------------------------------------------------------------------- */

/* The form of a function's name. */
enum draft_name {
    DRAFT_NAME_PLAIN,     /* the symbol's name */
    DRAFT_NAME_LOCAL,     /* "f/N" */
    DRAFT_NAME_FILE,      /* "f/file.c/N" */
    DRAFT_NAME_ANONYMOUS, /* "ANONYMOUS.N", from 0, of a symbol without name */
    DRAFT_NAME_PLT,       /* "f@PLT" or "f/N@PLT"; up to here names are a symbol's */
    DRAFT_NAME_PLT_TEXT,  /* "f@PLT", of a function that has no symbol here */
    DRAFT_NAME_PSEUDO,    /* "__BOLT_PSEUDO_.plt" */
    DRAFT_NAME_FDE,       /* "__BOLT_FDE_FUNCat..." */
};

/* Where a function is, and what its name will be. */
struct draft_naming {
    uint32_t symbol;   /* PLAIN to PLT: the symbol that the name is from; PLT_TEXT: the name before
                          "@PLT", in struct draft's texts */
    uint32_t first;    /* the first symbol at its address; BAT_NONE without symbols */
    uint32_t in : 28;  /* the section at its address */
    uint32_t name : 3; /* enum draft_name */
    uint32_t has_final_name : 1; /* its name has two slashes, and no other replaces it */
};

/* A function that is added to others. */
struct draft_function {
    struct bat_function_symbol code; /* without its name */
    struct draft_naming naming;
};

/* Functions, ascending by address, one for each address: all[i] and namings[i] are one. */
struct draft_functions {
    struct bat_function_symbol *all;
    struct draft_naming *namings;
    uint32_t count;
    uint32_t capacity;
};

/* A secondary entry point of the function with that index. */
struct draft_entry {
    uint64_t address;
    uint32_t function;
};

struct draft_entries {
    struct draft_entry *all;
    uint32_t count;
    size_t capacity;
};

/* The code that an FDE describes. */
struct draft_fde {
    uint64_t address;
    uint64_t size;
};

struct draft {
    const struct bat_elf *elf;
    const struct bat_section *file_sections; /* by index */
    struct draft_symbols symbols;
    struct loaded_sections sections; /* empty ones as well */
    size_t last_section;             /* of draft_section_at() */
    struct draft_fde *fdes;          /* ascending by address, one for each address */
    size_t fde_count;
    struct draft_functions functions;
    struct draft_entries entries; /* ascending by address */
    const char **texts;           /* names of PLT entries, of the file */
    uint32_t text_count;
};

/* More sections than struct draft_naming can name: their headers alone take 16 GB. */
#define DRAFT_SECTIONS_END (1u << 28)

/* A section's index for struct draft_naming. */
#define DRAFT_IN(section) ((section)->index & (DRAFT_SECTIONS_END - 1))

static inline const struct bat_section *draft_section(const struct draft *draft,
                                                      const struct draft_naming *naming)
{
    return &draft->file_sections[naming->in];
}

/* Find all functions: discover.c, append.c (PLT, FDEs), size.c. */
enum bat_code draft_read_fdes(struct draft *draft, struct bat_error *error);
enum bat_code draft_discover(struct draft *draft, struct bat_error *error);
enum bat_code draft_add_plt(struct draft *draft, struct bat_error *error);
enum bat_code draft_add_fdes(struct draft *draft, struct bat_error *error);
enum bat_code draft_set_sizes(struct draft *draft, struct bat_error *error);

/* The section in memory that contains address, or NULL. Addresses mostly ascend or descend. */
static inline const struct bat_section *draft_section_at(struct draft *draft, uint64_t address)
{
    return loaded_section_near(&draft->sections, address, &draft->last_section);
}

/* True if a symbol may be inside the function without ending it. */
bool draft_tolerates(const struct draft *draft, uint32_t function,
                     const struct draft_symbol *symbol);

static inline bool draft_contains(const struct bat_function_symbol *function, uint64_t address)
{
    return address - function->address < function->size;
}

/* Make room for capacity functions in total. */
enum bat_code draft_reserve(struct draft_functions *functions, uint64_t capacity,
                            struct bat_error *error);

/* Append a function; addresses must ascend. */
enum bat_code draft_append(struct draft_functions *functions, const struct draft_function *function,
                           struct bat_error *error);

/*
 * Fill to[i].name for the functions i for which wanted[i] is not 0 (for all, if wanted is NULL);
 * see names.c. Names point into *memory, which the caller frees with free(), also after a failure.
 */
enum bat_code draft_write_names(struct draft *draft, const uint8_t *wanted,
                                struct bat_function_symbol *to, char **memory,
                                struct bat_error *error);

/* --- Padding (padding.c) -------------------------------------------------------- */

/*
 * True if the size bytes at address, between a function and what follows it, are only padding:
 * breakpoints first, then no-operations, zeros and, on x86-64, jumps forward over them. False if
 * they are not in the file. True on machines other than x86-64 and AArch64.
 */
bool draft_is_padding(const struct bat_elf *elf, uint64_t address, uint64_t size);
