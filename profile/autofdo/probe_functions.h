/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of a program by its symbols. Profiles by probes need no DWARF. */
#pragma once

#include "bat_elf.h"
#include "bat_probes.h"
#include "support/string_table.h"

/* Code with a symbol: addresses [start, end) of a function, or of a part such as f.cold. */
struct probe_piece {
    uint64_t start;
    uint64_t end;
    const struct bat_symbol *symbol;
    uint32_t function; /* number of the function's name, without what names its parts */
};

struct probe_functions {
    struct bat_strings names;
    uint64_t *guids;            /* of names, as far as they were needed; or else 0 */
    struct probe_piece *pieces; /* ascending by start, then in the symbol table's order */
    size_t count;
};

/*
 * Read the function symbols of elf, which must outlive the result. Free it with
 * probe_functions_free(), in any case. Fails as bat_elf_symbols() does.
 */
enum bat_code probe_functions_read(struct probe_functions *functions, struct bat_elf *elf,
                                   struct bat_error *error);
void probe_functions_free(struct probe_functions *functions);

/* Fails with BAT_ERR_NO_DEBUG if no probe has an address, as elf has no symbols to count from. */
enum bat_code probes_check_symbols(const struct bat_probes *probes, const struct bat_elf *elf,
                                   struct bat_error *error);

uint64_t probe_functions_guid(struct probe_functions *functions, uint32_t function);

/*
 * The pieces that start nearest at or before an address: returns their number, and sets *first;
 * several are aliases. They may end before the address. Logarithmic.
 */
size_t probe_functions_before(const struct probe_functions *functions, uint64_t address,
                              const struct probe_piece **first);

/* The function around an address, or BAT_NONE. Logarithmic. */
uint32_t probe_functions_at(const struct probe_functions *functions, uint64_t address);

/*
 * Add the name of the probes' function of this index to names, unless known, an array with as many
 * elements as there are functions, has its number there: BAT_NONE at first.
 */
enum bat_code probe_function_name(struct bat_strings *names, const struct bat_probes *probes,
                                  uint32_t function, uint32_t *known, uint32_t *name);

/* Such an array, of names that are not known; NULL if there is no memory. */
uint32_t *probe_function_names(const struct bat_probes *probes);

/* The first probe of a call at an address, or NULL. */
const struct bat_probe *probe_call_at(const struct bat_probes *probes, uint64_t address);

/* The same for ascending addresses: the search goes on at the probe *next, 0 at first. */
const struct bat_probe *probe_call_from(const struct bat_probes *probes, uint64_t address,
                                        uint32_t *next);

/*
 * The piece that starts at an address where calls of a function go to, or NULL. Of aliases the one
 * that the probes are named for holds, or else the first.
 */
const struct probe_piece *probe_functions_entry(struct probe_functions *functions,
                                                const struct bat_probes *probes, uint64_t address);
