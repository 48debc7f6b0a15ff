/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data of an ELF file by its symbols, as perf2bolt sees them, for look-ups from the address
 * that a load has read. Internal to the library.
 *
 * Every symbol in a section that is in memory and holds no code stands for the bytes that its size
 * says; one of size 0 that lies in no other's bytes reaches to the next symbol or to its section's
 * end. Of several symbols at one address the first gives the name, the largest the size. An
 * address belongs to the innermost data that holds it.
 *
 * A global symbol's name is its own, a local one's "d/N": N counts the local symbols of that name,
 * functions too, by ascending address, from 1.
 */
#ifndef BAT_PROFILE_DATA_SYMBOLS_H
#define BAT_PROFILE_DATA_SYMBOLS_H

#include "bat_elf.h"

struct bat_data_symbols;

/*
 * Read the data symbols of a file: elf itself or an unstripped copy of it. *data is to be freed
 * with bat_data_symbols_free(), before elf is closed. Fails with BAT_ERR_ELF (a damaged symbol
 * table) or BAT_ERR_MEMORY. Linear in the symbols, but for names that are asked for.
 */
enum bat_code bat_data_symbols_open(const struct bat_elf *elf, struct bat_data_symbols **data,
                                    struct bat_error *error);

/* NULL is allowed. */
void bat_data_symbols_free(struct bat_data_symbols *data);

/* The data that holds the address, by index, or BAT_NONE. Logarithmic. */
uint32_t bat_data_symbols_find(const struct bat_data_symbols *data, uint64_t address);

uint64_t bat_data_symbols_address(const struct bat_data_symbols *data, uint32_t index);

/* Number the local symbols among those i for which wanted[i] is not 0, before names are asked. */
enum bat_code bat_data_symbols_number(struct bat_data_symbols *data, const uint8_t *wanted,
                                      struct bat_error *error);
uint32_t bat_data_symbols_count(const struct bat_data_symbols *data);

/* The name of data that was numbered, as a C string to be freed; NULL if there is no memory. */
char *bat_data_symbols_name(const struct bat_data_symbols *data, uint32_t index);

#endif
