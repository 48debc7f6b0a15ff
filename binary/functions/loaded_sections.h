/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The sections that a program has in memory, by address. Internal to binary/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bat_elf.h"

struct loaded_sections {
    const struct bat_section **all; /* ascending by address, then by index */
    size_t count;
};

/* True for .tbss, which has an address but no memory there. */
bool section_is_thread_local_zero(const struct bat_section *section);

/* Collects the sections, with or without empty ones. Free them with loaded_sections_free(). */
enum bat_code loaded_sections_read(struct loaded_sections *sections, const struct bat_elf *elf,
                                   bool with_empty, struct bat_error *error);
void loaded_sections_free(struct loaded_sections *sections);

/* True if the section holds the address. An empty section holds its own. */
bool section_holds(const struct bat_section *section, uint64_t address);

/* The section that holds the address, or NULL. Logarithmic. */
const struct bat_section *loaded_section_at(const struct loaded_sections *sections,
                                            uint64_t address);

/* The same for many addresses, most of which are in one section with the one before: constant time
 * for these. *place is 0 at first. */
const struct bat_section *loaded_section_near(const struct loaded_sections *sections,
                                              uint64_t address, size_t *place);
