/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which blocks of two builds are the same, and what their counts say: each rule by itself. */
#include <elf.h>

#include "binary/code/conditions.h"
#include "next/infer.h"
#include "next/instruction_aarch64.h"
#include "next/loops.h"
#include "next/match_blocks.h"
#include "unit_test.h"

#define NODES_MAX 8u
#define LINKS_MAX 16u
#define CODE_MAX 64u

KEPT(kept_side, struct flooding_side, flooding_free)
KEPT_COPY(kept_match, struct next_match, next_match_free)
KEPT_COPY(kept_inferred, struct flow_counts, next_inferred_free)

/* One function, each block a node. */
struct made {
    struct next_program program;
    struct next_unit unit;
    struct next_unit *units[1];
    struct next_block blocks[NODES_MAX];
    struct next_instruction code[CODE_MAX];
    struct next_table table;
    uint32_t targets[NODES_MAX];
    struct next_graph graph;
    struct next_node nodes[NODES_MAX];
    struct next_segment segments[NODES_MAX];
    struct next_link links[LINKS_MAX];
    uint32_t out[NODES_MAX + 2];
    uint32_t into[NODES_MAX + 2];
    uint32_t by_target[LINKS_MAX];
    uint32_t taken[NODES_MAX];
    uint32_t on[NODES_MAX];
    uint32_t tested[NODES_MAX];
    struct flooding_side side;
};

static void begin(struct made *made)
{
    *made = (struct made){.unit = {.blocks = made->blocks,
                                   .instructions = made->code,
                                   .tables = &made->table,
                                   .targets = made->targets,
                                   .is_read = true},
                          .graph = {.nodes = made->nodes,
                                    .segments = made->segments,
                                    .links = made->links,
                                    .out = made->out,
                                    .into = made->into,
                                    .by_target = made->by_target,
                                    .taken = made->taken,
                                    .on = made->on,
                                    .tested = made->tested}};
    made->units[0] = &made->unit;
    made->program.units = made->units;
}

/* Add a block of instructions that no other block has, if their seeds differ. Its node. */
static uint32_t add_block(struct made *made, uint32_t seed, uint32_t size, double count)
{
    uint32_t index = made->graph.node_count++;
    uint32_t first = made->unit.instruction_count;
    assert_true(index < NODES_MAX && first + size <= CODE_MAX);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t hash = (seed * CODE_MAX + i) * 3;
        made->code[first + i] = (struct next_instruction){
            .kind = hash + 1, .shape = hash + 2, .exact = hash + 3, .callee = BAT_NONE};
    }
    made->unit.instruction_count += size;
    made->unit.block_count++;
    made->blocks[index] = (struct next_block){.first_instruction = first,
                                              .instruction_count = size,
                                              .table = BAT_NONE,
                                              .end = NEXT_END_RETURN};
    made->segments[index] = (struct next_segment){
        .block = index, .first = first, .end = first + size, .begins = true, .ends = true};
    made->nodes[index] = (struct next_node){.first = index,
                                            .end = index + 1,
                                            .code = made->code + first,
                                            .code_count = size,
                                            .is_reached = true,
                                            .count = count};
    return index;
}

/* Add a link; those of a node together, nodes in their order. */
static void add_link(struct made *made, uint32_t from, uint32_t to, enum next_edge_kind kind,
                     double count)
{
    assert_true(made->graph.link_count < LINKS_MAX);
    made->links[made->graph.link_count++] = (struct next_link){
        .from = from, .to = to, .kind = (uint8_t)kind, .count = count, .whole = count};
    made->blocks[from].end = NEXT_END_ON;
}

/* Fill what follows from nodes and links. */
static void finish(struct made *made)
{
    struct next_graph *graph = &made->graph;
    uint32_t incoming = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        made->taken[i] = made->on[i] = BAT_NONE;
        made->into[i] = incoming;
        for (uint32_t k = 0; k < graph->link_count; k++) {
            const struct next_link *link = &made->links[k];
            made->out[i + 1] += link->from <= i;
            if (link->to == i)
                made->by_target[incoming++] = k;
            if (link->from == i && link->kind == NEXT_EDGE_TAKEN)
                made->taken[i] = link->to;
            else if (link->from == i && link->kind == NEXT_EDGE_ON)
                made->on[i] = link->to;
        }
    }
    made->into[graph->node_count] = incoming;
    assert_ok(flooding_open(&made->program, graph, &made->side, NULL));
}

static void close_made(struct made *made)
{
    flooding_free(&made->side);
}

/* Two builds, the old one first, which are begun, and closed when the test ends. */
static struct made *begin_both(void)
{
    struct made *sides = kept_memory(NULL, 2 * sizeof(*sides));
    for (unsigned side = 0; side < 2; side++)
        begin(&sides[side]);
    return sides;
}

static void finish_both(struct made *sides)
{
    for (unsigned side = 0; side < 2; side++) {
        finish(&sides[side]);
        kept_side(&sides[side].side);
    }
}

/* Finish both, and match their blocks. */
static struct next_match *match_both(struct made *sides)
{
    finish_both(sides);
    struct next_match match;
    assert_ok(next_match_blocks(&sides[0].side, &sides[1].side, false, &match, NULL));
    return kept_match(match);
}

/* Infer the counts of the new build, where the old function was entered 100 times. */
static const struct flow_counts *infer_with(const struct made *sides,
                                            const struct next_match *match, bool is_brief)
{
    float shares[LINKS_MAX];
    const struct next_inference inference = {.old_side = &sides[0].side,
                                             .new_side = &sides[1].side,
                                             .match = match,
                                             .shares = shares,
                                             .scale = 1,
                                             .entries = 100,
                                             .is_brief = is_brief};
    struct flow_counts inferred;
    assert_ok(next_static_shares(&sides[1].side, NULL, shares, NULL));
    assert_ok(next_infer(&inference, &inferred, NULL));
    return kept_inferred(inferred);
}

static const struct flow_counts *infer(const struct made *sides, const struct next_match *match)
{
    return infer_with(sides, match, false);
}

/* --- Jump tables ---------------------------------------------------------------------------- */

/* Give node 0 a table of these cases. */
static void set_table(struct made *made, const uint32_t *cases, uint32_t count)
{
    memcpy(made->targets, cases, count * sizeof(*cases));
    made->table = (struct next_table){.first = 0, .count = count};
    made->blocks[0].table = 0;
}

/*
 * Cases 1, 2, 3; the new build has one more, 4, behind the first. By its code case 2 is nothing
 * known, or most like the first. As sequences they are 1-1, 2-2, 3-3: all else leaves out more.
 * Nodes 4 (old) and 5 (new) are only reached through case 2.
 */
static void check_tables(bool with_regions)
{
    struct made *sides = begin_both();
    for (uint32_t side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 5 + side; i++)
            add_block(&sides[side], i, 1, 0);
        for (uint32_t i = 1; i < 4 + side; i++)
            add_link(&sides[side], 0, i, NEXT_EDGE_TABLE, 0);
        add_link(&sides[side], 2, 4 + side, NEXT_EDGE_ON, 0);
    }
    set_table(&sides[0], (uint32_t[]){1, 2, 3}, 3);
    set_table(&sides[1], (uint32_t[]){1, 4, 2, 3}, 4);
    finish_both(sides);

    uint32_t first[7];
    uint32_t old_of[30];
    float content[30] = {0};
    float base[30] = {0};
    float value[30] = {0};
    struct likeness likeness = {.old_count = 5,
                                .new_count = 6,
                                .is_dense = true,
                                .first = first,
                                .old_of = old_of,
                                .content = content,
                                .base = base,
                                .value = value,
                                .pair_count = 30};
    for (uint32_t j = 0; j <= 6; j++)
        first[j] = j * 5;
    for (uint32_t i = 0; i < 30; i++)
        old_of[i] = i % 5;
    value[likeness_pair(&likeness, 0, 0)] = 0.5f;
    value[likeness_pair(&likeness, 1, 1)] = 0.6f;
    value[likeness_pair(&likeness, 2, 1)] = 0.55f;
    value[likeness_pair(&likeness, 2, 2)] = 0.01f;
    value[likeness_pair(&likeness, 3, 3)] = 0.6f;
    assert_ok(flooding_align_tables(&sides[0].side, &sides[1].side, &likeness, with_regions, NULL));
    for (uint32_t j = 0; j < 6; j++)
        for (uint32_t i = 0; i < 5; i++) {
            bool is_case = i == j && i >= 1 && i <= 3;
            bool is_in_case_2 = (i == 2 || i == 4) && (j == 2 || j == 5);
            assert_int_equal(base[likeness_pair(&likeness, i, j)] > 0,
                             is_case || (with_regions && is_in_case_2));
        }
}

TEST(test_aligned_tables)
{
    check_tables(false);
    check_tables(true);
}

/* --- Constants ------------------------------------------------------------------------------ */

static uint32_t constant_of(const char *bytes)
{
    struct next_program program = {0};
    struct next_instruction instruction;
    uint32_t length;
    assert_true(
        next_describe_x86(&program, (const uint8_t *)bytes, 2, 0x401000, &instruction, &length));
    assert_int_equal(length, 2);
    return instruction.constant;
}

/* To add -1 is to subtract 1. */
TEST(test_size_of_constants)
{
    uint32_t one = constant_of("\x2c\x01"); /* sub $1, %al */
    assert_int_not_equal(one, 0);
    assert_int_equal(constant_of("\x04\xff"), one); /* add $-1, %al */
    assert_int_equal(constant_of("\x04\x01"), one);
    assert_int_not_equal(constant_of("\x04\x02"), one);
    assert_int_equal(constant_of("\x04\xfe"), constant_of("\x2c\x02"));
    assert_int_equal(constant_of("\x04\x00"), 0);
}

/* --- Zeros ---------------------------------------------------------------------------------- */

/* A block's match with the old one of this number, from beginning to end. */
static struct next_matched match_whole(uint32_t old_node, float confidence)
{
    return (struct next_matched){.old_of = old_node,
                                 .begins_as = old_node,
                                 .ends_as = old_node,
                                 .piece_of = BAT_NONE,
                                 .copy_of = BAT_NONE,
                                 .confidence = confidence};
}

/* Counts of a branch's two ways, where the old function was entered 100 times. */
static void infer_ways(const double counts[2], bool is_first_reached, const float confidence[2],
                       uint64_t result[2])
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        add_block(&sides[side], 0, 1, 100);
        add_block(&sides[side], 1, 1, counts[0]);
        add_block(&sides[side], 2, 1, counts[1]);
        add_link(&sides[side], 0, 1, NEXT_EDGE_TAKEN, counts[0]);
        add_link(&sides[side], 0, 2, NEXT_EDGE_ON, counts[1]);
        sides[side].nodes[1].is_reached = is_first_reached;
    }
    finish_both(sides);
    struct next_matched all[3];
    for (uint32_t i = 0; i < 3; i++)
        all[i] = match_whole(i, i == 0 ? 0.2f : confidence[i - 1]);
    const struct flow_counts *inferred = infer(sides, &(struct next_match){.all = all, .count = 3});
    assert_int_equal(inferred->nodes[0], 100);
    result[0] = inferred->nodes[1];
    result[1] = inferred->nodes[2];
}

/*
 * The old branch was always taken. Where the new one is taken to, there is code that never ran; the
 * other way leads to what is alike a little. How often the branch is taken.
 */
static uint64_t infer_taken(const uint32_t tested[2])
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 4; i++)
            add_block(&sides[side], i, 1, i == 0 ? 100 : 0);
        if (side == 0)
            add_block(&sides[side], 4, 1, 100);
        add_link(&sides[side], 0, side ? 2 : 4, NEXT_EDGE_TAKEN, 100);
        add_link(&sides[side], 0, 1, NEXT_EDGE_ON, 0);
        if (side == 1)
            add_link(&sides[side], 2, 3, NEXT_EDGE_ON, 0);
        sides[side].nodes[1].is_reached = false;
        sides[side].tested[0] = tested[side];
        sides[side].blocks[0].condition = condition_in(EM_X86_64, (const uint8_t[]){0x74, 0}, 2);
    }
    finish_both(sides);
    struct next_matched all[4];
    for (uint32_t i = 0; i < 4; i++) {
        all[i] = match_whole(i, (const float[]){1, 0.1f, 0.875f, 0.875f}[i]);
        all[i].margin = i > 1 ? 0.05f : 0;
        all[i].content = i == 0;
    }
    const struct flow_counts *inferred = infer(sides, &(struct next_match){.all = all, .count = 4});
    assert_int_equal(inferred->nodes[0], 100);
    return inferred->nodes[2];
}

/* A branch that tests the same value as the old one goes its way, whatever that leads to now. */
TEST(test_same_test)
{
    assert_int_equal(infer_taken((const uint32_t[]){5, 5}), 100);
    assert_int_equal(infer_taken((const uint32_t[]){5, 0}), 0);
    assert_int_equal(infer_taken((const uint32_t[]){0, 0}), 0);
}

/* Samples were lost: 50 of 100 are nowhere. The way that never ran gets them, though it is known
 * a little better: zero says less than 50 does. */
TEST(test_weak_zeros)
{
    uint64_t result[2];
    infer_ways((double[]){0, 50}, true, (float[]){1, 0.95f}, result);
    assert_int_equal(result[0], 50);
    assert_int_equal(result[1], 50);
    infer_ways((double[]){50, 0}, true, (float[]){0.95f, 1}, result);
    assert_int_equal(result[0], 50);
    assert_int_equal(result[1], 50);
}

/* Both ways have zero; that of a call that was never made says nothing. */
TEST(test_zeros_of_calls_never_made)
{
    uint64_t result[2];
    infer_ways((double[]){0, 0}, false, (float[]){1, 0.9f}, result);
    assert_int_equal(result[0], 100);
    assert_int_equal(result[1], 0);
}

/* The old function branched past 2, which goes on to 3; the new one does not, so that 2 runs, if
 * that are more than a few times, and 2 is surely the same. What is behind both ran: a zero there
 * tells something. */
TEST(test_zeros_behind_branches_that_are_gone)
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 6; i++)
            add_block(&sides[side], i, 1, (double[]){100, 100, 0, 0, 100, 0}[i]);
        add_link(&sides[side], 0, 1, NEXT_EDGE_TAKEN, 100);
        add_link(&sides[side], 0, 2, NEXT_EDGE_ON, 0);
        add_link(&sides[side], 1, 4, NEXT_EDGE_ON, 100);
        add_link(&sides[side], 2, 3, NEXT_EDGE_ON, 0);
        add_link(&sides[side], 3, 4, NEXT_EDGE_ON, 0);
        add_link(&sides[side], 4, 5, NEXT_EDGE_ON, 0);
    }
    finish_both(sides);
    struct next_matched all[6];
    const struct next_match match = {.all = all, .count = 6};
    const struct {
        uint64_t count;
        float confidence;
        bool wakes;
    } cases[] = {{19, 0.3f, false}, {20, 0.29f, false}, {20, 0.3f, true}};
    for (unsigned k = 0; k < 3; k++) {
        const uint64_t counts[6] = {100, 100, cases[k].count, 0, 100, 0};
        for (uint32_t i = 0; i < 6; i++)
            all[i] = (struct next_matched){.old_of = i, .confidence = cases[k].confidence};
        assert_ok(next_wake(&sides[0].graph, sides[0].side.dominators, &match, counts, NULL));
        for (uint32_t i = 0; i < 6; i++)
            assert_int_equal(sides[0].nodes[i].is_reached, !cases[k].wakes || (i != 2 && i != 3));
    }
}

/* --- Entries -------------------------------------------------------------------------------- */

/* How often block 1 is entered from elsewhere: it is an entry point, and ran more often than what
 * leads to it. */
static uint64_t infer_entries(bool is_called)
{
    struct made *sides = begin_both();
    struct next_context contexts[2] = {{0}, {.entry = 1}};
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 3; i++)
            add_block(&sides[side], i, 1, (double[]){100, 200, 200}[i]);
        for (uint32_t i = 0; i < 2; i++)
            add_link(&sides[side], i, i + 1, NEXT_EDGE_ON, 100);
        sides[side].blocks[1].is_entered = true;
        sides[side].segments[1].context = is_called;
        sides[side].graph.contexts = contexts;
        sides[side].graph.context_count = 2;
    }
    finish_both(sides);
    struct next_matched all[3];
    for (uint32_t i = 0; i < 3; i++)
        all[i] = match_whole(i, 1);
    return infer(sides, &(struct next_match){.all = all, .count = 3})->entries[1];
}

/* What is in place of a call is entered by that call alone. */
TEST(test_entries_in_place_of_calls)
{
    assert_int_equal(infer_entries(false), 100);
    assert_int_equal(infer_entries(true), 0);
}

/* --- Weak matches --------------------------------------------------------------------------- */

#define SIZE 5u /* instructions */

/* Match two blocks that nothing leads to, which have one number in common, or nothing. */
static struct next_matched match_unlike(bool has_common)
{
    struct made *sides = begin_both();
    for (uint32_t side = 0; side < 2; side++) {
        add_block(&sides[side], 0, 1, side == 0);
        add_block(&sides[side], 1 + side, SIZE, side == 0);
        sides[side].code[1].constant = side == 0 || has_common ? 77 : 78;
    }
    return match_both(sides)->all[1];
}

/*
 * Of 21 features of each, the number is the only one of both. It weighs 2 ln(3)^2, the others
 * 5 (0.5 + 1.5 + 0.5 + 0.6) ln(5)^2: 5.7% of the content. Nothing is before the blocks, behind
 * them, or around them; that alone is 0.24 alike, and counts for about a half. Both together are
 * between 0.1 and 0.2, and no other block is as likely.
 */
TEST(test_weak_match)
{
    struct next_matched found = match_unlike(true);
    assert_int_equal(found.old_of, 1);
    assert_true(found.content > 0.05f && found.content < 0.06f);
    assert_true(found.confidence > 0.1f && found.confidence < 0.2f);
    found = match_unlike(false);
    assert_int_equal(found.old_of, BAT_NONE);
}

/* Two blocks that are the same by code and place: their counts tell which is which. */
TEST(test_match_again)
{
    struct made *sides = begin_both();
    for (uint32_t i = 0; i < 3; i++) {
        add_block(&sides[0], i > 0, 4, i == 2 ? 1000 : 0);
        add_block(&sides[1], i > 0, 4, 0);
    }
    finish_both(sides);
    for (uint32_t hot = 1; hot < 3; hot++) {
        uint64_t counts[3] = {0};
        counts[hot] = 500;
        struct next_match match;
        assert_ok(next_match_blocks(&sides[0].side, &sides[1].side, false, &match, NULL));
        assert_ok(next_match_again(&sides[0].side, &sides[1].side, counts, 0.5, &match, NULL));
        kept_match(match);
        assert_int_equal(match.all[hot].old_of, 2);
        assert_int_equal(match.all[3 - hot].old_of, 1);
    }
}

/* With less work, blocks have the same matches where their code tells them apart, and counts are a
 * flow. */
TEST(test_brief)
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        const uint32_t middle = side ? 2 : 1; /* the new build has them the other way round */
        add_block(&sides[side], 1, 4, 100);
        add_block(&sides[side], side ? 3 : 2, 4, side ? 10 : 90);
        add_block(&sides[side], side ? 2 : 3, 4, side ? 90 : 10);
        add_link(&sides[side], 0, middle, NEXT_EDGE_ON, 90);
        add_link(&sides[side], 0, 3 - middle, NEXT_EDGE_TAKEN, 10);
    }
    finish_both(sides);
    struct next_match match;
    assert_ok(next_match_blocks(&sides[0].side, &sides[1].side, true, &match, NULL));
    kept_match(match);
    assert_int_equal(match.all[0].old_of, 0);
    assert_int_equal(match.all[1].old_of, 2);
    assert_int_equal(match.all[2].old_of, 1);
    const struct flow_counts *inferred = infer_with(sides, &match, true);
    assert_int_equal(inferred->nodes[0], 100);
    assert_int_equal(inferred->nodes[1], 10);
    assert_int_equal(inferred->nodes[2], 90);
}

/*
 * A block between two others has the place of the one that was between them, though it has the code
 * of one that nothing leads to. It is no surer than without them.
 */
TEST(test_match_by_place)
{
    struct made *sides = begin_both();
    const uint32_t seeds[2][4] = {{0, 1, 2, 3}, {0, 3, 2, 4}};
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 4; i++)
            add_block(&sides[side], seeds[side][i], SIZE, 10);
        for (uint32_t i = 0; i < 2; i++)
            add_link(&sides[side], i, i + 1, NEXT_EDGE_ON, 10);
    }
    struct next_match *match = match_both(sides);
    assert_int_equal(match->all[1].old_of, 3);
    const float before[2] = {match->all[0].confidence, match->all[2].confidence};
    const uint64_t counts[4] = {10, 10, 10, 10};
    assert_ok(next_match_again(&sides[0].side, &sides[1].side, counts, 1, match, NULL));
    assert_int_equal(match->all[1].old_of, 1);
    assert_true(match->all[0].confidence == before[0] && match->all[2].confidence == before[1]);
}

/* An old block that three lead to is divided: the piece that has more of its code is its match,
 * not the one that has more links. */
TEST(test_match_divided)
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < 4; i++)
            add_block(&sides[side], i, SIZE, 10);
    add_block(&sides[0], 4, 2 * SIZE, 10);
    add_block(&sides[0], 5, SIZE, 10);
    add_block(&sides[1], 4, SIZE - 1, 10);
    add_block(&sides[1], 4, SIZE + 1, 10);
    add_block(&sides[1], 5, SIZE, 10);
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 3; i++) {
            add_link(&sides[side], i, i + 1, NEXT_EDGE_ON, 10);
            add_link(&sides[side], i, 4, NEXT_EDGE_TAKEN, 10);
        }
        add_link(&sides[side], 4, 5, NEXT_EDGE_ON, 10);
    }
    add_link(&sides[1], 5, 6, NEXT_EDGE_ON, 10);
    struct next_match *match = match_both(sides);
    const uint64_t counts[7] = {10, 10, 10, 10, 10, 10, 10};
    assert_ok(next_match_again(&sides[0].side, &sides[1].side, counts, 1, match, NULL));
    assert_int_equal(match->all[5].old_of, 4);
}

/* Two builds of blocks in this order, each leading to the next one but for those in sets 8 and 9.
 */
static struct next_match *match_in_order(const char *olds, const char *news)
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        uint32_t last = BAT_NONE;
        for (const char *seed = side ? news : olds; *seed; seed++) {
            uint32_t node = add_block(&sides[side], (uint32_t)(*seed - '0'), SIZE, 10);
            if (*seed >= '8')
                continue;
            if (last != BAT_NONE)
                add_link(&sides[side], last, node, NEXT_EDGE_ON, 10);
            last = node;
        }
    }
    return match_both(sides);
}

/* Of equal blocks that one is the match which has the place in the order. */
TEST(test_match_in_order)
{
    assert_int_equal(match_in_order("0192394", "012394")->all[4].old_of, 5);
    assert_int_equal(match_in_order("0192394", "019234")->all[2].old_of, 2);
}

/* --- Conditions ----------------------------------------------------------------------------- */

/* JL, JGE, JLE, JG. */
static bool holds(uint8_t opcode, int a, int b)
{
    bool is_lower = opcode == 0x7c || opcode == 0x7d ? a < b : a <= b;
    return is_lower != (opcode & 1);
}

/* Count whether two branches agree on all numbers, or on none. */
static enum flooding_condition try_all(uint8_t left, uint8_t right, bool is_exchanged, int more)
{
    unsigned same = 0;
    unsigned all = 0;
    for (int a = -3; a <= 3; a++)
        for (int b = -3; b <= 3; b++) {
            bool right_holds = is_exchanged ? holds(right, b, a) : holds(right, a, b + more);
            same += holds(left, a, b) == right_holds;
            all++;
        }
    return same == all ? CONDITION_SAME : same == 0 ? CONDITION_INVERSE : CONDITION_OTHER;
}

/* Two values may be exchanged, and a constant may be one more or one less. */
TEST(test_orders)
{
    for (uint8_t left = 0x7c; left <= 0x7f; left++)
        for (uint8_t right = 0x7c; right <= 0x7f; right++) {
            uint32_t a = condition_in(EM_X86_64, (const uint8_t[]){left, 0}, 2);
            uint32_t b = condition_in(EM_X86_64, (const uint8_t[]){right, 0}, 2);
            enum flooding_condition plain = try_all(left, right, false, 0);
            enum flooding_condition exchanged = try_all(left, right, true, 0);
            enum flooding_condition more = try_all(left, right, false, 1);
            enum flooding_condition less = try_all(left, right, false, -1);
            assert_int_equal(flooding_compare(a, b), plain);
            assert_int_equal(flooding_compare(a | FLOODING_TESTS_VALUES, b | FLOODING_TESTS_VALUES),
                             plain ? plain : exchanged);
            assert_int_equal(
                flooding_compare(a | FLOODING_TESTS_CONSTANT, b | FLOODING_TESTS_CONSTANT),
                plain  ? plain
                : more ? more
                       : less);
            assert_int_equal(
                flooding_compare(a | FLOODING_TESTS_CONSTANT, b | FLOODING_TESTS_VALUES), plain);
        }
    uint32_t below = condition_in(EM_X86_64, (const uint8_t[]){0x72, 0}, 2);
    uint32_t greater = condition_in(EM_X86_64, (const uint8_t[]){0x7f, 0}, 2);
    assert_int_equal(
        flooding_compare(below | FLOODING_TESTS_VALUES, greater | FLOODING_TESTS_VALUES),
        CONDITION_OTHER);
}

/* To be equal to 0 and to be equal to another number tells nothing of each other. */
TEST(test_numbers)
{
    const uint32_t equal = condition_in(EM_X86_64, (const uint8_t[]){0x74, 0}, 2);
    const uint32_t other = condition_in(EM_X86_64, (const uint8_t[]){0x75, 0}, 2);
    static const uint32_t tests[] = {0, FLOODING_TESTS_ZERO, FLOODING_TESTS_NUMBER};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++) {
            const bool is_known = i == 0 || k == 0 || i == k;
            assert_int_equal(flooding_compare(equal | tests[i], equal | tests[k]),
                             is_known ? CONDITION_SAME : CONDITION_OTHER);
            assert_int_equal(flooding_compare(equal | tests[i], other | tests[k]),
                             is_known ? CONDITION_INVERSE : CONDITION_OTHER);
        }
}

/* --- Code that is there more than once ------------------------------------------------------- */

/* Old code that is there twice, too little to be told from other code: the one new block has the
 * counts of both. */
TEST(test_twins)
{
    struct made *sides = begin_both();
    add_block(&sides[0], 0, SIZE, 100);
    add_block(&sides[0], 1, 2, 30);
    add_block(&sides[0], 1, 2, 70);
    add_block(&sides[0], 2, SIZE, 100);
    add_link(&sides[0], 0, 1, NEXT_EDGE_TAKEN, 30);
    add_link(&sides[0], 0, 2, NEXT_EDGE_ON, 70);
    add_link(&sides[0], 1, 3, NEXT_EDGE_ON, 30);
    add_link(&sides[0], 2, 3, NEXT_EDGE_ON, 70);
    for (uint32_t i = 0; i < 3; i++)
        add_block(&sides[1], i, i == 1 ? 2 : SIZE, 0);
    add_link(&sides[1], 0, 1, NEXT_EDGE_ON, 0);
    add_link(&sides[1], 1, 2, NEXT_EDGE_ON, 0);
    const struct next_matched *found = &match_both(sides)->all[1];
    assert_true(found->old_of == 1 || found->old_of == 2);
    assert_true(sides[0].nodes[found->old_of].count + found->extra == 100);
}

/* 0 leads to the branch 1, which leads to 2 and 3; the new build may have a way from 0 to 2, too.
 */
static bool may_run_less(bool is_threaded)
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 4; i++)
            add_block(&sides[side], i, SIZE, side ? 0 : 10);
        if (side == 1 && is_threaded)
            add_link(&sides[side], 0, 2, NEXT_EDGE_TAKEN, 0);
        add_link(&sides[side], 0, 1, NEXT_EDGE_ON, side ? 0 : 10);
        add_link(&sides[side], 1, 2, NEXT_EDGE_TAKEN, side ? 0 : 9);
        add_link(&sides[side], 1, 3, NEXT_EDGE_ON, side ? 0 : 1);
    }
    const struct next_match *match = match_both(sides);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(match->all[i].old_of, i);
        assert_true(i == 1 || !match->all[i].is_copied);
    }
    return match->all[1].is_copied;
}

TEST(test_threaded_jump)
{
    assert_true(may_run_less(true));
    assert_false(may_run_less(false));
}

/*
 * The new build has the test at the end of 1, without the code before it, in 4, too, and branches
 * there on the opposite condition: it goes on to 2, where 1 branches to, or leads to others only.
 * What 4 ends as.
 */
static uint32_t find_copied_test(bool is_same_way)
{
    const uint32_t conditions[2] = {condition_in(EM_X86_64, (const uint8_t[]){0x74, 0}, 2),
                                    condition_in(EM_X86_64, (const uint8_t[]){0x75, 0}, 2)};
    struct made *sides = begin_both();
    struct made *made = &sides[1];
    for (unsigned side = 0; side < 2; side++) {
        for (uint32_t i = 0; i < 4; i++)
            add_block(&sides[side], i, 8, 100);
        for (uint32_t i = 4; i < 7 && side == 1; i++)
            add_block(&sides[side], i, i == 4 ? 2 : 8, 0);
        add_link(&sides[side], 0, 1, NEXT_EDGE_ON, 100);
        if (side == 1)
            add_link(&sides[side], 0, 4, NEXT_EDGE_TAKEN, 0);
        add_link(&sides[side], 1, 2, NEXT_EDGE_TAKEN, 90);
        add_link(&sides[side], 1, 3, NEXT_EDGE_ON, 10);
        sides[side].blocks[1].condition = conditions[0];
        sides[side].blocks[1].end = NEXT_END_BRANCH;
    }
    add_link(made, 4, 5, NEXT_EDGE_TAKEN, 0);
    add_link(made, 4, is_same_way ? 2 : 6, NEXT_EDGE_ON, 0);
    for (uint32_t i = 0; i < 2; i++)
        made->code[made->segments[4].first + i] = made->code[made->segments[1].end - 2 + i];
    made->blocks[4].condition = conditions[1];
    made->blocks[4].end = NEXT_END_BRANCH;
    const struct next_match *match = match_both(sides);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(match->all[i].old_of, i);
    assert_int_equal(match->all[1].is_copied, is_same_way);
    return match->all[4].ends_as;
}

/* A test that the new build has twice, before the same block, is the old one in both places. */
TEST(test_copied_test)
{
    assert_int_equal(find_copied_test(true), 1);
    assert_int_equal(find_copied_test(false), BAT_NONE);
}

/* --- What is behind a branch ----------------------------------------------------------------- */

/*
 * Blocks 1 and 2 behind the branch 0 have one instruction in common with all of the other build.
 * What is 1 in the old build is the result.
 */
static uint32_t find_behind(uint32_t old_condition, uint32_t new_condition)
{
    struct made *sides = begin_both();
    for (unsigned side = 0; side < 2; side++) {
        sides[side].blocks[add_block(&sides[side], 0, SIZE, 10)].condition =
            side ? new_condition : old_condition;
        for (uint32_t i = 1; i < 3; i++) {
            uint32_t node = add_block(&sides[side], 2 * i + side, SIZE, 5);
            sides[side].code[sides[side].segments[node].first + 1] = (struct next_instruction){
                .kind = 1u << 20, .shape = 2u << 20, .exact = 3u << 20, .callee = BAT_NONE};
        }
        add_link(&sides[side], 0, 1, NEXT_EDGE_TAKEN, 5);
        add_link(&sides[side], 0, 2, NEXT_EDGE_ON, 5);
        sides[side].blocks[0].end = NEXT_END_BRANCH;
    }
    const struct next_matched *all = match_both(sides)->all;
    assert_int_equal(all[0].old_of, 0);
    assert_int_equal(all[2].old_of, all[1].old_of == BAT_NONE ? BAT_NONE : 3 - all[1].old_of);
    return all[1].old_of;
}

/* Blocks that are like none are those where the same branch leads. */
TEST(test_behind_branch)
{
    uint32_t lower = condition_in(EM_X86_64, (const uint8_t[]){0x7c, 0}, 2);
    uint32_t not_lower = condition_in(EM_X86_64, (const uint8_t[]){0x7d, 0}, 2);
    uint32_t equal = condition_in(EM_X86_64, (const uint8_t[]){0x74, 0}, 2);
    assert_int_equal(find_behind(lower, lower), 1);
    assert_int_equal(find_behind(lower, not_lower), 2);
    assert_int_equal(find_behind(lower, equal), BAT_NONE);
}

/* --- Loops ---------------------------------------------------------------------------------- */

static void check_depths(struct made *made, const uint8_t *expected)
{
    finish(made);
    assert_memory_equal(made->side.loops.depths, expected, made->graph.node_count);
    close_made(made);
}

TEST(test_loops)
{
    static struct made made;
    /* 0, then a loop of 1 to 3 with a loop of 2 alone in it, then 4. */
    begin(&made);
    for (uint32_t i = 0; i < 5; i++)
        add_block(&made, i, 1, 0);
    add_link(&made, 0, 1, NEXT_EDGE_ON, 0);
    add_link(&made, 1, 2, NEXT_EDGE_ON, 0);
    add_link(&made, 2, 3, NEXT_EDGE_ON, 0);
    add_link(&made, 2, 2, NEXT_EDGE_TAKEN, 0);
    add_link(&made, 3, 4, NEXT_EDGE_ON, 0);
    add_link(&made, 3, 1, NEXT_EDGE_TAKEN, 0);
    finish(&made);
    const struct next_loops *loops = &made.side.loops;
    assert_int_equal(loops->count, 2);
    assert_int_equal(loops->inner[0], BAT_NONE);
    assert_int_equal(loops->inner[1], loops->inner[3]);
    assert_int_equal(loops->around[loops->inner[2]], loops->inner[1]);
    assert_int_equal(loops->around[loops->inner[1]], BAT_NONE);
    assert_memory_equal(loops->depths, ((const uint8_t[]){0, 1, 2, 1, 0}), 5);
    close_made(&made);
    /* An interpreter with a jump by a table at the end of each case is one loop, not three. */
    begin(&made);
    for (uint32_t i = 0; i < 4; i++)
        add_block(&made, i, 1, 0);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 1; k < 4; k++)
            add_link(&made, i, k, NEXT_EDGE_TABLE, 0);
    check_depths(&made, (const uint8_t[]){0, 1, 1, 1});
    /* A loop that ran and never went round is none; one round makes it one. */
    for (unsigned rounds = 0; rounds < 2; rounds++) {
        begin(&made);
        for (uint32_t i = 0; i < 3; i++)
            add_block(&made, i, 1, 10);
        add_link(&made, 0, 1, NEXT_EDGE_ON, 10);
        add_link(&made, 1, 2, NEXT_EDGE_ON, 10);
        add_link(&made, 1, 1, NEXT_EDGE_TAKEN, rounds);
        check_depths(&made, (const uint8_t[]){0, (uint8_t)rounds, 0});
    }
}

/* --- Shares by the code alone ---------------------------------------------------------------- */

/* The share of a link of a graph that is finished. */
static float static_share(struct made *made, uint32_t link)
{
    float shares[LINKS_MAX];
    finish(made);
    assert_ok(next_static_shares(&made->side, NULL, shares, NULL));
    for (uint32_t i = 0; i < made->graph.node_count; i++) {
        float sum = 0;
        for (uint32_t k = made->out[i]; k < made->out[i + 1]; k++)
            sum += shares[k];
        assert_true(made->out[i] == made->out[i + 1] || (sum > 0.999f && sum < 1.001f));
    }
    close_made(made);
    return shares[link];
}

/* Node 0 branches to 2, or goes on to 1, and both to 3. */
static void begin_branch(struct made *made, enum next_test test, uint8_t opcode)
{
    begin(made);
    for (uint32_t i = 0; i < 4; i++)
        add_block(made, i, 4, 0);
    add_link(made, 0, 1, NEXT_EDGE_ON, 0);
    add_link(made, 0, 2, NEXT_EDGE_TAKEN, 0);
    add_link(made, 1, 3, NEXT_EDGE_ON, 0);
    add_link(made, 2, 3, NEXT_EDGE_ON, 0);
    made->code[2].test = (uint8_t)test;
    made->blocks[0].condition = condition_in(EM_X86_64, (const uint8_t[]){opcode, 0}, 2);
}

/* Numbers are seldom equal, pointers seldom null, few numbers are negative; bits are
 * seldom set, sums seldom too large, and numbers seldom none. Nothing is known of a condition
 * without what it tests. */
TEST(test_share_of_condition)
{
    static const struct {
        enum next_test test;
        uint8_t likelier; /* Jcc: more often taken than its opposite */
    } cases[] = {{NEXT_TEST_NULL, 0x75},   {NEXT_TEST_CONSTANT, 0x75}, {NEXT_TEST_VALUES, 0x75},
                 {NEXT_TEST_RESULT, 0x75}, {NEXT_TEST_BITS, 0x74},     {NEXT_TEST_ZERO, 0x7d},
                 {NEXT_TEST_ZERO, 0x79},   {NEXT_TEST_CONSTANT, 0x7c}, {NEXT_TEST_CONSTANT, 0x72},
                 {NEXT_TEST_SUM, 0x73},    {NEXT_TEST_SUM, 0x71},      {NEXT_TEST_RESULT, 0x71},
                 {NEXT_TEST_VALUES, 0x7b}};
    static struct made made;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        begin_branch(&made, cases[i].test, cases[i].likelier);
        float taken = static_share(&made, 1);
        begin_branch(&made, cases[i].test, cases[i].likelier ^ 1);
        float opposite = static_share(&made, 1);
        assert_true(taken > 0.5f && opposite < 0.5f);
        assert_true(taken + opposite > 0.999f && taken + opposite < 1.001f);
    }
    begin_branch(&made, NEXT_TEST_NONE, 0x75);
    assert_true(static_share(&made, 1) == 0.5f);
}

/*
 * 0 tests a field, and goes on to 1, which tests one, too, and goes on to 3, or branches to 4. How
 * often it goes on.
 */
static float share_behind(uint32_t field, uint8_t opcode)
{
    static struct made made;
    begin(&made);
    for (uint32_t i = 0; i < 5; i++)
        add_block(&made, i, 4, 0);
    add_link(&made, 0, 1, NEXT_EDGE_ON, 0);
    add_link(&made, 0, 2, NEXT_EDGE_TAKEN, 0);
    add_link(&made, 1, 3, NEXT_EDGE_ON, 0);
    add_link(&made, 1, 4, NEXT_EDGE_TAKEN, 0);
    for (uint32_t i = 0; i < 2; i++) {
        made.code[4 * i + 1].field = i ? field : 7;
        made.code[4 * i + 2].test = NEXT_TEST_ZERO;
        made.code[4 * i + 2].shape = 5;
        made.blocks[i].condition =
            condition_in(EM_X86_64, (const uint8_t[]){i ? opcode : 0x74, 0}, 2);
    }
    return static_share(&made, 2);
}

/* What a branch has tested before goes the same way again. */
TEST(test_share_of_repeated_test)
{
    assert_true(share_behind(7, 0x74) > 0.8f);
    assert_true(share_behind(7, 0x75) < 0.2f);
    assert_true(share_behind(8, 0x74) == share_behind(8, 0x75) && share_behind(8, 0x74) == 0.5f);
}

/* What several branches lead to is an error, also where they go on to it; and what ends, and what
 * leads only there. */
TEST(test_share_of_errors)
{
    static struct made made;
    begin(&made);
    for (uint32_t i = 0; i < 5; i++)
        add_block(&made, i, 4, 0);
    for (uint32_t i = 0; i < 3; i++) {
        add_link(&made, i, 4, NEXT_EDGE_ON, 0);
        add_link(&made, i, i + 1, NEXT_EDGE_TAKEN, 0);
    }
    assert_true(static_share(&made, 0) < 0.4f);
    for (unsigned is_later = 0; is_later < 2; is_later++) {
        begin(&made);
        for (uint32_t i = 0; i < 4; i++)
            add_block(&made, i, 4, 0);
        add_link(&made, 0, 1 + is_later, NEXT_EDGE_ON, 0);
        add_link(&made, 0, 3, NEXT_EDGE_TAKEN, 0);
        add_link(&made, 2, 1, NEXT_EDGE_ON, 0);
        made.blocks[1].end = NEXT_END_TRAP;
        assert_true(static_share(&made, 0) < 0.2f);
    }
}

/* Loops go on; what is far away, behind a branch that is taken, is unlikely. */
TEST(test_share_of_ways)
{
    static struct made made;
    begin(&made);
    for (uint32_t i = 0; i < 3; i++)
        add_block(&made, i, 4, 0);
    add_link(&made, 0, 1, NEXT_EDGE_ON, 0);
    add_link(&made, 1, 2, NEXT_EDGE_ON, 0);
    add_link(&made, 1, 1, NEXT_EDGE_TAKEN, 0);
    assert_true(static_share(&made, 2) > 0.6f);
    float before = 0.5f;
    for (uint32_t distance = 100; distance < 10000; distance *= 20) {
        begin_branch(&made, NEXT_TEST_NONE, 0x75);
        made.blocks[2].start = distance;
        float share = static_share(&made, 1);
        assert_true(share < before);
        before = share;
    }
}
