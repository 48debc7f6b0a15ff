/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* binary/code/three_way.c: which targets two branches had before llvm-bolt exchanged them. */
#include "binary/code/three_way.h"
#include "unit_test.h"

/* Parts of hashes that llvm-bolt-22 wrote for blocks of SQLite with one conditional branch. */
#define OPCODES_BRANCH UINT64_C(0x011b0000)
#define LED_TO_BY_BRANCH UINT64_C(0x0082000000000000)
static const uint16_t instructions[16] = {
    [0x3] = 0x9a71, [0x4] = 0xe72d, [0x5] = 0x3aec, [0x6] = 0x0f74, [0x7] = 0xe932, [0x8] = 0xbcb4,
    [0x9] = 0xa79d, [0xc] = 0x5a64, [0xd] = 0x9403, [0xe] = 0xcd2f, [0xf] = 0x9223,
};

#define LED_TO_BY_FIRST UINT64_C(0x0055000000000000)

static uint64_t branch_hash(unsigned condition)
{
    return (uint64_t)instructions[condition] << 32 | OPCODES_BRANCH;
}

TEST(test_conditions)
{
    for (unsigned i = 0; i < 16; i++) {
        uint32_t condition = 99;
        bool is_branch = bat_hash_is_branch(branch_hash(i) | 0xff00000000000077, &condition);
        assert_int_equal(is_branch, instructions[i] != 0);
        assert_int_equal(condition, is_branch ? i : 99);
    }
    uint32_t condition;
    assert_false(bat_hash_is_branch(branch_hash(4) ^ 0x10000, &condition));
    assert_false(bat_hash_is_branch(0, &condition));
}

TEST(test_outcomes)
{
    bool is_signed = false;
    bool is_unsigned = false;
    assert_int_equal(bat_condition_outcomes(4, &is_signed, &is_unsigned), 1 << BAT_OUTCOME_EQUAL);
    assert_false(is_signed || is_unsigned);
    assert_int_equal(bat_condition_outcomes(0xe, &is_signed, &is_unsigned),
                     1 << BAT_OUTCOME_LESS | 1 << BAT_OUTCOME_EQUAL);
    assert_true(is_signed && !is_unsigned);
    assert_int_equal(bat_condition_outcomes(7, &is_signed, &is_unsigned), 1 << BAT_OUTCOME_GREATER);
    assert_true(is_unsigned);
    /* JS tests no order; there is no condition 16. */
    assert_int_equal(bat_condition_outcomes(8, &is_signed, &is_unsigned), 0);
    assert_int_equal(bat_condition_outcomes(16, &is_signed, &is_unsigned), 0);
    /* A condition and its opposite have all outcomes together. */
    for (unsigned i = 0; i < 16; i += 2) {
        unsigned both = bat_condition_outcomes(i, &is_signed, &is_unsigned) ^
                        bat_condition_outcomes(i + 1, &is_signed, &is_unsigned);
        assert_int_equal(both, i == 2 || i == 4 || i == 6 || i >= 12 ? 7 : 0);
    }
}

/*
 * The first block at 0x10, its branch at 0x18; the second one at 0x1a, its branch short; what it
 * falls through to at 0x1c. Others begin at 0x40 and 0x80.
 */
struct scene {
    struct bat_block blocks[6];
    struct bat_three_way pair;
};

enum { START, FIRST, SECOND, NEXT, MIDDLE, FAR };

static struct scene scene_of(unsigned condition, uint32_t less, uint32_t equal, uint32_t greater)
{
    struct scene scene = {
        .blocks = {[START] = {.input_offset = 0},
                   [FIRST] = {.input_offset = 0x10, .index = 1},
                   [SECOND] = {.input_offset = 0x1a, .index = 2},
                   [NEXT] = {.input_offset = 0x1c, .index = 3},
                   [MIDDLE] = {.input_offset = 0x40, .index = 4},
                   [FAR] = {.input_offset = 0x80, .index = 5}},
        .pair = {.first = FIRST,
                 .second = SECOND,
                 .branch = 0x18,
                 .targets = {less, equal, greater}},
    };
    scene.blocks[SECOND].hash = branch_hash(condition) | LED_TO_BY_FIRST;
    return scene;
}

static void expect(struct scene *scene, int less, int equal, int greater)
{
    assert_true(bat_three_way_decide(scene->blocks, 6, &scene->pair));
    assert_int_equal(scene->pair.places[BAT_OUTCOME_LESS], less);
    assert_int_equal(scene->pair.places[BAT_OUTCOME_EQUAL], equal);
    assert_int_equal(scene->pair.places[BAT_OUTCOME_GREATER], greater);
}

enum { UNKNOWN = BAT_THREE_WAY_UNKNOWN, ON_1 = BAT_THREE_WAY_FIRST, ON_2 = BAT_THREE_WAY_SECOND };

/* JE, else the next block: what is neither equal nor next was the first branch's. */
TEST(test_exact_condition)
{
    struct scene scene = scene_of(4, NEXT, MIDDLE, FAR);
    expect(&scene, ON_2, ON_2, ON_1);
    scene = scene_of(4, FAR, MIDDLE, NEXT);
    expect(&scene, ON_1, ON_2, ON_2);
    scene = scene_of(0xc, MIDDLE, FAR, NEXT); /* JL */
    expect(&scene, ON_2, ON_1, ON_2);
    /* JE takes equal, so it falls through to another: no order of the branches fits. */
    scene = scene_of(4, MIDDLE, NEXT, FAR);
    expect(&scene, UNKNOWN, UNKNOWN, UNKNOWN);
}

/* JLE, else the next block: behind JL as well as behind JE. */
TEST(test_inexact_condition)
{
    struct scene scene = scene_of(0xe, MIDDLE, FAR, NEXT);
    expect(&scene, UNKNOWN, UNKNOWN, ON_2);
    /* What only one branch leads to tells by its predecessors' hash. */
    scene.pair.is_only_here[BAT_OUTCOME_EQUAL] = true;
    scene.blocks[FAR].hash = LED_TO_BY_FIRST;
    expect(&scene, ON_2, ON_1, ON_2);
    scene.blocks[FAR].hash = LED_TO_BY_BRANCH;
    expect(&scene, ON_1, ON_2, ON_2);
    scene.pair.is_only_here[BAT_OUTCOME_EQUAL] = false;
    expect(&scene, UNKNOWN, UNKNOWN, ON_2);
    /* Both have the same hash if the first block is one branch, too. */
    scene.pair.is_only_here[BAT_OUTCOME_EQUAL] = true;
    scene.blocks[SECOND].hash = branch_hash(0xe) | LED_TO_BY_BRANCH;
    expect(&scene, UNKNOWN, UNKNOWN, ON_2);
}

/* Short branches reach 127 bytes: from 0x1a to 0x99, from 0x1c to 0x9b. */
TEST(test_distances)
{
    struct scene scene = scene_of(0xe, MIDDLE, FAR, NEXT);
    scene.blocks[FAR].input_offset = 0x99;
    expect(&scene, UNKNOWN, UNKNOWN, ON_2);
    scene.blocks[FAR].input_offset = 0x9a;
    expect(&scene, ON_1, ON_2, ON_2);
    scene.blocks[FAR].input_offset = 0x9b;
    expect(&scene, ON_1, ON_2, ON_2);
    /* Neither of them reaches this. */
    scene.blocks[FAR].input_offset = 0x9c;
    expect(&scene, UNKNOWN, UNKNOWN, UNKNOWN);
}

/* The second block stands elsewhere: what stands behind the first one is its other target. */
TEST(test_layout)
{
    struct scene scene = scene_of(0xe, MIDDLE, SECOND, FAR);
    scene.pair.second = NEXT;
    scene.blocks[SECOND].hash = 0;
    scene.blocks[NEXT].hash = branch_hash(0xe);
    scene.blocks[NEXT].input_offset = 0x1e;
    scene.blocks[MIDDLE].input_offset = 0x20;
    scene.pair.targets[BAT_OUTCOME_LESS] = FAR;
    scene.pair.targets[BAT_OUTCOME_GREATER] = MIDDLE;
    expect(&scene, ON_2, ON_1, ON_2);
    /* A block is missing in the note. */
    for (unsigned i = SECOND; i <= FAR; i++)
        scene.blocks[i].index++;
    expect(&scene, UNKNOWN, UNKNOWN, ON_2);
}

/* Six bytes may be a short branch, a short jump and padding up to the next block. */
TEST(test_padding)
{
    struct scene scene = scene_of(4, NEXT, MIDDLE, FAR);
    scene.blocks[NEXT].input_offset = 0x20;
    expect(&scene, UNKNOWN, ON_2, UNKNOWN);
    scene.blocks[SECOND].input_offset = 0x1b;
    scene.blocks[NEXT].input_offset = 0x21;
    expect(&scene, ON_2, ON_2, ON_1);
    /* A jump follows the branch. */
    scene.blocks[NEXT].input_offset = 0x1f;
    expect(&scene, UNKNOWN, ON_2, UNKNOWN);
}

TEST(test_no_pair)
{
    /* Signed and unsigned. */
    struct scene scene = scene_of(0xe, MIDDLE, FAR, NEXT);
    scene.pair.is_unsigned = true;
    assert_false(bat_three_way_decide(scene.blocks, 6, &scene.pair));
    scene = scene_of(4, NEXT, MIDDLE, FAR);
    scene.pair.is_unsigned = true;
    expect(&scene, ON_2, ON_2, ON_1);
    /* JS; no branch at all. */
    scene = scene_of(8, MIDDLE, FAR, NEXT);
    assert_false(bat_three_way_decide(scene.blocks, 6, &scene.pair));
    scene.blocks[SECOND].hash = 0;
    assert_false(bat_three_way_decide(scene.blocks, 6, &scene.pair));
}

/* Nothing stands behind the last block. */
TEST(test_ends)
{
    struct scene scene = scene_of(4, START, MIDDLE, NEXT);
    assert_true(bat_three_way_decide(scene.blocks, SECOND + 1, &scene.pair));
    assert_int_equal(scene.pair.places[BAT_OUTCOME_EQUAL], ON_2);
    assert_int_equal(scene.pair.places[BAT_OUTCOME_LESS], UNKNOWN);
}
