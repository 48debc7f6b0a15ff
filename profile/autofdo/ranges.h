/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ranges of instructions and the branches that a profile's traces executed, with counts. */
#pragma once

#include "bat_autofdo.h"
#include "bat_elf.h"
#include "support/counts.h"

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
 * True if an instruction starts at the address. Outside of code that code_map_sweep() has decoded,
 * every address is taken for the start of one.
 */
bool code_map_starts(struct code_map *map, uint64_t address);

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

/* The source of branches from outside of the program, as llvm-profgen writes it. */
#define RANGES_OUTSIDE 1u

struct ranges {
    struct bat_counts ranges;   /* first instruction, last instruction: count, 0 */
    struct bat_counts branches; /* source, target: count, 0 */
};

/*
 * Collect the ranges and branches of a profile's traces in two sorted tables. Leaves out ranges
 * that execution cannot fall through, and traces whose target is not code. Counts samples, invalid,
 * outside, ranges and branches of counters. Free *ranges with ranges_free(). Fails with
 * BAT_ERR_RANGE (the counts add up to 2^64 or more) or BAT_ERR_MEMORY.
 */
enum bat_code ranges_collect(struct ranges *ranges, const struct bat_profile *profile,
                             struct code_map *code, struct bat_autofdo_counters *counters,
                             struct bat_error *error);
void ranges_free(struct ranges *ranges);

/* The addresses [first, last] were executed count times. last can be inside an instruction. */
struct range_run {
    uint64_t first;
    uint64_t last;
    uint64_t count;
};

/*
 * Split ranges that overlap into runs that do not, ascending, each with the sum of the counts of
 * its ranges. The caller frees *runs with free(). Fails with BAT_ERR_MEMORY. Time n log n.
 */
enum bat_code ranges_cut(const struct range_run *ranges, size_t count, struct range_run **runs,
                         size_t *run_count, struct bat_error *error);
