/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Where instructions start in a program, decoded when they are first asked for. */
#ifndef BAT_AUTOFDO_CODE_MAP_H
#define BAT_AUTOFDO_CODE_MAP_H

#include "bat_elf.h"

struct code_segment {
    uint64_t address;
    uint64_t size;
    const uint8_t *bytes;
    uint8_t *marks; /* for each address what is known of an instruction that starts there */
};

struct code_map {
    uint16_t machine;
    struct code_segment *segments; /* executable ones, ascending by address */
    size_t count;
};

struct code_instruction {
    uint8_t length;  /* bytes; 0: none starts there */
    bool is_barrier; /* a jump, call or return: what stands behind it is not executed next */
};

/* Addresses [start, end). */
struct code_range {
    uint64_t start;
    uint64_t end;
};

/* Fails with BAT_ERR_ELF where segments share so much that they have more code than the file. */
enum bat_code code_map_create(struct code_map *map, const struct bat_elf *elf,
                              struct bat_error *error);
void code_map_free(struct code_map *map);

/* True if the program has code at the address. */
bool code_map_has(const struct code_map *map, uint64_t address);

/*
 * The instruction at an address. Inside of what code_map_sweep() has decoded it is known whether
 * one starts there; elsewhere that is taken for granted.
 */
struct code_instruction code_map_at(struct code_map *map, uint64_t address);

/*
 * Decode functions, each from its start to its end one instruction after the other. What several
 * have is decoded once. Sorts ranges; linear in the code.
 */
void code_map_sweep(struct code_map *map, struct code_range *ranges, size_t count);

/*
 * True if what is executed from start on can fall through to the instruction at end. Linear in the
 * instructions between.
 */
bool code_map_falls_through(struct code_map *map, uint64_t start, uint64_t end);

#endif
