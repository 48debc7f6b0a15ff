/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds which branch of a pair had which target in the input: three_way.h. */
#include "three_way.h"

#include <stdint.h>
#include <xxhash.h>

#define OUTCOME(o) (1u << BAT_OUTCOME_##o)
#define ALL_OUTCOMES ((1u << BAT_OUTCOMES) - 1)

#define X86_CONDITIONS 16u
#define SHORT_BRANCH 2u /* bytes of a conditional branch with a distance of 8 bits */
#define LONG_BRANCH 6u

uint8_t bat_condition_outcomes(uint32_t condition, bool *is_signed, bool *is_unsigned)
{
    static const uint8_t outcomes[X86_CONDITIONS] = {
        [0x2] = OUTCOME(LESS),                     /* JB */
        [0x3] = OUTCOME(EQUAL) | OUTCOME(GREATER), /* JAE */
        [0x4] = OUTCOME(EQUAL),                    /* JE */
        [0x5] = OUTCOME(LESS) | OUTCOME(GREATER),  /* JNE */
        [0x6] = OUTCOME(LESS) | OUTCOME(EQUAL),    /* JBE */
        [0x7] = OUTCOME(GREATER),                  /* JA */
        [0xc] = OUTCOME(LESS),                     /* JL */
        [0xd] = OUTCOME(EQUAL) | OUTCOME(GREATER), /* JGE */
        [0xe] = OUTCOME(LESS) | OUTCOME(EQUAL),    /* JLE */
        [0xf] = OUTCOME(GREATER),                  /* JG */
    };
    if (condition >= X86_CONDITIONS)
        return 0;
    *is_signed |= condition >= 0xc;
    *is_unsigned |= condition == 0x2 || condition == 0x3 || condition == 0x6 || condition == 0x7;
    return outcomes[condition];
}

/* --- Hashes ------------------------------------------------------------------------------- */

/*
 * The parts of a block's hash, from the lowest bits: offset, opcodes, instructions, predecessors,
 * successors. LLVM hashes the names of opcodes ("JMP" for a conditional branch), and instructions
 * with their operands (for a branch only the condition).
 */
static uint16_t opcode_part(uint64_t hash)
{
    return (uint16_t)(hash >> 16);
}

static uint16_t instruction_part(uint64_t hash)
{
    return (uint16_t)(hash >> 32);
}

static uint8_t predecessor_part(uint64_t hash)
{
    return (uint8_t)(hash >> 48);
}

static uint64_t branch_opcode_hash(void)
{
    return XXH3_64bits("JMP", 3);
}

bool bat_hash_is_branch(uint64_t hash, uint32_t *condition)
{
    if (opcode_part(hash) != (uint16_t)branch_opcode_hash())
        return false;
    for (uint8_t i = 0; i < X86_CONDITIONS; i++) {
        const uint8_t text[] = {'J', 'C', 'C', '_', '1', i};
        if (instruction_part(hash) != (uint16_t)XXH3_64bits(text, sizeof(text)))
            continue;
        *condition = i;
        return true;
    }
    return false;
}

/* The predecessor part of a block whose only predecessor is a block of one conditional branch. */
static uint8_t only_branch_leads(void)
{
    /* LLVM's hash of 16 bytes, of which the first half is zero. */
    const uint64_t multiplier = UINT64_C(0x9ddfea08eb382d69);
    uint64_t branch = branch_opcode_hash();
    uint64_t low = branch * multiplier;
    low ^= low >> 47;
    uint64_t high = (branch ^ low) * multiplier;
    high ^= high >> 47;
    return (uint8_t)(high * multiplier);
}

/* --- Facts of the input --------------------------------------------------------------------- */

/* The number of bytes of a block from offset on; 0 if that is not known. */
static uint32_t bytes_left(const struct bat_block *blocks, uint32_t block_count, uint32_t block,
                           uint32_t offset)
{
    if (block + 1 >= block_count || blocks[block + 1].index != blocks[block].index + 1 ||
        blocks[block + 1].input_offset <= offset)
        return 0;
    return blocks[block + 1].input_offset - offset;
}

/* True if the last `bytes` of a block are just one conditional branch. */
static bool is_branch_alone(const struct bat_block *next, uint32_t bytes)
{
    /* A short branch, a short jump and padding to the next block are six bytes, too. */
    return bytes == SHORT_BRANCH || (bytes == LONG_BRANCH && next->input_offset % 8 != 0);
}

static bool reaches_short(uint32_t branch_end, uint32_t target)
{
    int64_t distance = (int64_t)target - (int64_t)branch_end;
    return distance >= INT8_MIN && distance <= INT8_MAX;
}

struct facts {
    const struct bat_block *blocks;
    const struct bat_three_way *pair;
    uint8_t condition; /* the outcomes for which the input's second branch is taken, as bits */
    uint32_t follows;  /* the block that the second branch falls through to; BAT_NONE: not known */
    uint32_t second_bytes; /* size of the second block */
    uint32_t first_bytes;  /* size from the first branch to its block's end */
    bool first_alone;      /* the first branch is the last instruction of its block */
};

/*
 * True if the predecessors in the targets' hashes allow the outcome `direct` for the first branch.
 */
static bool fits_predecessors(const struct facts *facts, unsigned direct)
{
    const struct bat_three_way *pair = facts->pair;
    uint8_t by_first = predecessor_part(facts->blocks[pair->second].hash);
    uint8_t by_second = only_branch_leads();
    for (unsigned i = 0; i < BAT_OUTCOMES && by_first != by_second; i++) {
        uint8_t by = predecessor_part(facts->blocks[pair->targets[i]].hash);
        if (pair->is_only_here[i] &&
            ((i == direct && by == by_second) || (i != direct && by == by_first)))
            return false;
    }
    return true;
}

/* True if the first branch can have led to the target for the outcome `direct`. */
static bool is_possible(const struct facts *facts, unsigned direct)
{
    const struct bat_block *blocks = facts->blocks;
    const struct bat_three_way *pair = facts->pair;
    unsigned taken = facts->condition & ~(1u << direct);
    unsigned falls = ALL_OUTCOMES & ~taken & ~(1u << direct);
    /* The second branch must be able to go both ways. */
    if (taken == 0 || falls == 0)
        return false;
    uint32_t target = pair->targets[(unsigned)__builtin_ctz(taken)];
    uint32_t next = pair->targets[(unsigned)__builtin_ctz(falls)];
    if (facts->follows != BAT_NONE && facts->follows != next)
        return false;
    if (facts->second_bytes == SHORT_BRANCH &&
        !reaches_short(blocks[pair->second].input_offset + SHORT_BRANCH,
                       blocks[target].input_offset))
        return false;
    uint32_t other = pair->targets[direct];
    if (facts->first_alone && pair->first + 1 != pair->second) {
        if (other != pair->first + 1)
            return false;
    } else if (facts->first_bytes == SHORT_BRANCH &&
               !reaches_short(pair->branch + SHORT_BRANCH, blocks[other].input_offset)) {
        return false;
    }
    return fits_predecessors(facts, direct);
}

bool bat_three_way_decide(const struct bat_block *blocks, uint32_t block_count,
                          struct bat_three_way *pair)
{
    uint32_t condition;
    bool is_signed = !pair->is_unsigned;
    bool is_unsigned = pair->is_unsigned;
    struct facts facts = {.blocks = blocks, .pair = pair, .follows = BAT_NONE};
    if (!bat_hash_is_branch(blocks[pair->second].hash, &condition))
        return false;
    facts.condition = bat_condition_outcomes(condition, &is_signed, &is_unsigned);
    if (facts.condition == 0 || is_signed == is_unsigned)
        return false;
    facts.second_bytes =
        bytes_left(blocks, block_count, pair->second, blocks[pair->second].input_offset);
    if (facts.second_bytes && is_branch_alone(&blocks[pair->second + 1], facts.second_bytes))
        facts.follows = pair->second + 1;
    facts.first_bytes = bytes_left(blocks, block_count, pair->first, pair->branch);
    facts.first_alone =
        facts.first_bytes && is_branch_alone(&blocks[pair->first + 1], facts.first_bytes);
    unsigned possible = 0;
    for (unsigned i = 0; i < BAT_OUTCOMES; i++)
        if (is_possible(&facts, i))
            possible |= 1u << i;
    for (unsigned i = 0; i < BAT_OUTCOMES; i++) {
        if (possible == 0 || (possible >> i & 1 && possible != 1u << i))
            pair->places[i] = BAT_THREE_WAY_UNKNOWN;
        else
            pair->places[i] = possible >> i & 1 ? BAT_THREE_WAY_FIRST : BAT_THREE_WAY_SECOND;
    }
    return true;
}
