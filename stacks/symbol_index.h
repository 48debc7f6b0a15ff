/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The symbols of an ELF file, by address and by name. Internal to the library. */
#pragma once

#include "bat_elf.h"
#include "bat_symbolizer.h"

/* A symbol and its name, mangled or demangled. */
struct named_symbol {
    const char *name;
    size_t length; /* of the part of name that is compared */
    const struct bat_symbol *symbol;
};

struct symbol_index {
    struct bat_elf *elf;
    const struct bat_symbol **by_address; /* ascending, one for each address */
    uint64_t *addresses;                  /* their addresses */
    size_t count;
    struct bat_symbol *plt; /* made here: one for each entry of a PLT, called "f@plt" */
    char *plt_names;
    struct named_symbol *by_name; /* of functions; made when first needed */
    size_t name_count;
    struct named_symbol *by_plain; /* the same, demangled and without parameters */
    size_t plain_count;
};

/*
 * Sort the symbols of .symtab, or of .dynsym if there is none. If several have one address, the
 * largest names it, and of equally large ones the last in the table, as in llvm-symbolizer. Symbols
 * are made for the entries of procedure linkage tables, which have none. Linear.
 */
enum bat_code symbol_index_make(struct symbol_index *index, struct bat_elf *elf,
                                struct bat_error *error);
void symbol_index_free(struct symbol_index *index);

/*
 * The symbol that names an address, or NULL: the nearest at or below it, if that contains it. A
 * symbol of size 0 reaches to the end of its section. Logarithmic.
 */
const struct bat_symbol *symbol_index_at(const struct symbol_index *index, uint64_t address);

/* The same. *last is 0 or from the call before, whose symbol is tried first. */
const struct bat_symbol *symbol_index_near(const struct symbol_index *index, uint64_t address,
                                           size_t *last);

/*
 * The symbol that names all addresses from start up to, without, end; NULL if there is none.
 */
const struct bat_symbol *symbol_index_of_all(const struct symbol_index *index, uint64_t start,
                                             uint64_t end);

/*
 * Find the functions of a name. Returns their number and sets *first to the first of them. They
 * ascend by address; of those at one address, size 0 comes first, then the largest. Returns 0 and
 * sets *first to NULL if there is none, if there is no memory, or if names overlap so that they are
 * far longer than the file. name is a symbol's name; if there is no such symbol and demangle is not
 * NULL, it is a demangled name, compared without parameters. The first call sorts all names, or
 * demangles them; later calls are logarithmic.
 */
size_t symbol_index_named(struct symbol_index *index, struct bat_slice name,
                          bat_demangle_fn *demangle, const struct named_symbol **first);
