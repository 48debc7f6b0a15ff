/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The data objects of an ELF file, found by their symbols as perf2bolt does it, for look-ups of the
 * addresses that loads read. Internal to the library.
 *
 * Each symbol in a loaded section without code covers as many bytes as its size says. A symbol of
 * size 0 that lies in no other object extends to the next symbol or to the end of its section. Of
 * several symbols at one address the first gives the name, the largest the size. An address belongs
 * to the innermost object that covers it.
 *
 * A global symbol keeps its name. A local symbol d is named "d/N": N counts the local symbols of
 * that name, functions too, by ascending address, from 1.
 */
#pragma once

#include "bat_elf.h"

struct bat_data_symbols;

/*
 * Read the data symbols of elf, which is the binary or an unstripped copy of it. The caller frees
 * *data with bat_data_symbols_free() before it closes elf. Fails with BAT_ERR_ELF (a damaged symbol
 * table) or BAT_ERR_MEMORY. Linear in the symbols; names are made on request.
 */
enum bat_code bat_data_symbols_open(const struct bat_elf *elf, struct bat_data_symbols **data,
                                    struct bat_error *error);

/* NULL is allowed. */
void bat_data_symbols_free(struct bat_data_symbols *data);

/* The index of the innermost object that covers the address, or BAT_NONE. Logarithmic. */
uint32_t bat_data_symbols_find(const struct bat_data_symbols *data, uint64_t address);

uint64_t bat_data_symbols_address(const struct bat_data_symbols *data, uint32_t index);

/* Number the local symbols of the objects i with wanted[i] != 0, before their names are made. */
enum bat_code bat_data_symbols_number(struct bat_data_symbols *data, const uint8_t *wanted,
                                      struct bat_error *error);
uint32_t bat_data_symbols_count(const struct bat_data_symbols *data);

/* The name of a numbered object; the caller frees it. NULL if there is no memory. */
char *bat_data_symbols_name(const struct bat_data_symbols *data, uint32_t index);
