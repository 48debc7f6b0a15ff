/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The warning about split DWARF that was not found. */
#ifndef BAT_SPLIT_UNITS_H
#define BAT_SPLIT_UNITS_H

#include <stdint.h>

/* If missing is not 0, warn that so many of the read units lack their split debug information. */
void split_units_warn(const char *path, uint64_t missing, uint64_t read);

#endif
