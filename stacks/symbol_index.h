/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The symbols of an ELF file, by address and by name. Internal to the library. */
#ifndef BAT_STACKS_SYMBOL_INDEX_H
#define BAT_STACKS_SYMBOL_INDEX_H

#include "bat_elf.h"
#include "bat_symbolizer.h"

/* A symbol and a name of it: as it is, or demangled. */
struct named_symbol {
    const char *name;
    size_t length; /* of the part of name that counts */
    const struct bat_symbol *symbol;
};

struct symbol_index {
    const struct bat_elf *elf;
    const struct bat_symbol **by_address; /* ascending, one for each address */
    size_t count;
    struct bat_symbol *plt; /* made here: one for each entry of a PLT, called "f@plt" */
    char *plt_names;
    struct named_symbol *by_name; /* of functions; made when first needed */
    size_t name_count;
    struct named_symbol *by_plain; /* the same, demangled and without parameters */
    size_t plain_count;
};

/*
 * Sort the symbols of .symtab, or of .dynsym if there is none. Where several have one address, the
 * largest names it, and of equals the last in the table, as llvm-symbolizer has it. Entries of
 * procedure linkage tables, which have no symbols, get some. n log n.
 */
enum bat_code symbol_index_make(struct symbol_index *index, struct bat_elf *elf,
                                struct bat_error *error);
void symbol_index_free(struct symbol_index *index);

/*
 * The symbol that names an address, or NULL: the nearest at or below it, if the address is inside.
 * One of size 0 reaches to the end of its section. Logarithmic.
 */
const struct bat_symbol *symbol_index_at(const struct symbol_index *index, uint64_t address);

/*
 * The functions of this name: *first is the first of so many, which ascend by address; of those at
 * one address the ones of size 0 come first, then the largest. NULL and 0 if there is none, or no
 * memory, or names overlap so that they are far longer than the file. The name is a symbol's; if
 * none is called so, and demangle is not NULL, a demangled one, whose parameters do not count. The
 * first call sorts all names, or demangles them all; further ones are logarithmic.
 */
size_t symbol_index_named(struct symbol_index *index, struct bat_slice name,
                          bat_demangle_fn *demangle, const struct named_symbol **first);

#endif
