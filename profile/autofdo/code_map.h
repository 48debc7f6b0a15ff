/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The instructions of a program, decoded at the first look-up. */
#ifndef BAT_PROFILE_AUTOFDO_CODE_MAP_H
#define BAT_PROFILE_AUTOFDO_CODE_MAP_H

#include "bat_elf.h"

struct code_segment {
    uint64_t address;
    uint64_t size;
    const uint8_t *bytes;
    uint8_t *marks; /* for each address, the instruction that starts there (code_map.c) */
};

struct code_map {
    uint16_t machine;
    struct code_segment *segments; /* executable ones, ascending by address */
    size_t count;
};

struct code_instruction {
    uint8_t length;  /* bytes; 0: no instruction starts there */
    bool is_barrier; /* a jump, call or return: execution does not fall through it */
};

/* Addresses [start, end). */
struct code_range {
    uint64_t start;
    uint64_t end;
};

/*
 * Fails with BAT_ERR_UNSUPPORTED (neither x86-64 nor AArch64), BAT_ERR_MEMORY, or BAT_ERR_ELF
 * (executable segments share bytes, so that they are larger together than the file).
 */
enum bat_code code_map_create(struct code_map *map, const struct bat_elf *elf,
                              struct bat_error *error);
void code_map_free(struct code_map *map);

/* True if the program has code at the address. */
bool code_map_has(const struct code_map *map, uint64_t address);

/*
 * The instruction at an address. In code that code_map_sweep() has decoded, length is 0 where no
 * instruction starts; elsewhere every address is taken for the start of one.
 */
struct code_instruction code_map_at(struct code_map *map, uint64_t address);

/* Instructions whose first bytes are in a run of addresses. */
struct code_span {
    uint64_t next; /* behind the last instruction */
    uint64_t count;
    uint64_t size; /* of all, in bytes */
};

/* The instructions that start from address on and before end. next is address outside of code. */
struct code_span code_map_span(struct code_map *map, uint64_t address, uint64_t end);

/*
 * Decode the ranges of functions, each from its start to its end. Code that several ranges share is
 * decoded once. Sorts ranges; linear in the code.
 */
void code_map_sweep(struct code_map *map, struct code_range *ranges, size_t count);

/*
 * True if execution can fall through from start to the instruction at end. Linear in the
 * instructions between.
 */
bool code_map_falls_through(struct code_map *map, uint64_t start, uint64_t end);

#endif
