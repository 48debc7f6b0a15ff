/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Split DWARF that was not found. */
#ifndef BAT_SPLIT_UNITS_H
#define BAT_SPLIT_UNITS_H

#include <stdint.h>

/* Warn that of so many units read so many lack their split debug information, if any does. */
void split_units_warn(const char *path, uint64_t missing, uint64_t read);

#endif
