/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Mutations of fields: counts, sizes, offsets and lengths get numbers at limits. For custom
 * mutators that know where fields are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mutated {
    uint8_t *bytes;
    size_t size;
    uint64_t random;
};

/* Bytes of what is mutated. None of the functions leaves a part that is in it. */
struct mutated_part {
    size_t start;
    size_t size;
};

/* A number below count; 0 for 0. */
uint32_t mutated_draw(struct mutated *file, size_t count);

/* A number of size bytes. */
uint64_t mutated_load(const uint8_t *data, size_t size);

/* Replace a field of width bytes by a number at a limit: of itself, of the part, of all bytes. */
void mutate_field(struct mutated *file, struct mutated_part part, size_t at, size_t width);

/* Replace a number of any width that begins in the `within` bytes from start on. */
void mutate_somewhere(struct mutated *file, struct mutated_part part, size_t within, size_t start);

/*
 * Replace a field of one of the units that start with their length: .debug_info, .debug_line,
 * .debug_addr, .debug_rnglists and the like, and the entries of .eh_frame. Most fields are near a
 * unit's start.
 */
void mutate_unit(struct mutated *file, struct mutated_part part);

/* A LEB128 number, or a byte like an attribute's form, becomes another one of the same length. */
void mutate_number(struct mutated *file, struct mutated_part part);
