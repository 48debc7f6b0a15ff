/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Descriptions of instructions of x86-64, by their bytes: most are there several times.
 * Threads may look and add at the same time. Internal to next/.
 */
#pragma once

#include "unit.h"

struct next_known;

/* For a program with so many bytes of code. NULL without memory. The caller frees it; NULL, too. */
struct next_known *next_known_new(uint64_t code_size);
void next_known_free(struct next_known *known);

/* False if an instruction of these bytes, with zeros behind it, is not known; its offset is not
 * set. Constant time. */
bool next_known_find(const struct next_known *known, const uint64_t bytes[2],
                     struct next_instruction *instruction);

/* Keep a description, if there is room. What is kept stays. Constant time. */
void next_known_add(struct next_known *known, const uint64_t bytes[2],
                    const struct next_instruction *instruction);
