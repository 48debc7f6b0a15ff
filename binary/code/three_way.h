/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Undoes llvm-bolt's -three-way-branch by the note alone. Internal to the library.
 *
 * Two conditional branches on one comparison have three targets: one of the first branch, two of
 * the second branch, which is a block by itself. The pass exchanges these targets. The note tells
 * which target the first branch had in the input: the second block's hash names its condition,
 * offsets say which block follows and how long a branch is, and the hashes of the targets name the
 * block that leads to them.
 */
#pragma once

#include "bat_decoder.h"

/* The result of a comparison. */
enum bat_outcome {
    BAT_OUTCOME_LESS,
    BAT_OUTCOME_EQUAL,
    BAT_OUTCOME_GREATER,
    BAT_OUTCOMES,
};

/* Which branch of the input led to a target. */
enum bat_three_way_place {
    BAT_THREE_WAY_UNKNOWN,
    BAT_THREE_WAY_FIRST,
    BAT_THREE_WAY_SECOND,
};

struct bat_three_way {
    uint32_t first; /* blocks of the input, as indices */
    uint32_t second;
    uint32_t branch;                 /* input offset of the first block's conditional branch */
    uint32_t targets[BAT_OUTCOMES];  /* blocks of the input */
    bool is_only_here[BAT_OUTCOMES]; /* only the pair leads to the target */
    bool is_unsigned;                /* the output's branches compare unsigned numbers */
    uint8_t places[BAT_OUTCOMES];    /* the result: enum bat_three_way_place of each target */
};

/*
 * The outcomes for which x86-64's condition, 0 (JO) to 15 (JG), is true: bit i for outcome i; 0 for
 * conditions that do not compare by order. Sets *is_unsigned for conditions on unsigned numbers and
 * *is_signed for those on signed ones; JE and JNE are neither.
 */
uint8_t bat_condition_outcomes(uint32_t condition, bool *is_signed, bool *is_unsigned);

/*
 * True if a hash (BAT.md 5.3) is that of a block of one x86-64 conditional branch; its condition.
 */
bool bat_hash_is_branch(uint64_t hash, uint32_t *condition);

/*
 * Fill pair->places from the input's blocks (bat_map_blocks()). False, with nothing filled, if the
 * pass cannot have changed these two branches. Constant time.
 */
bool bat_three_way_decide(const struct bat_block *blocks, uint32_t block_count,
                          struct bat_three_way *pair);
