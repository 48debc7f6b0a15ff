/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds pairs of branches in the output whose targets llvm-bolt's -three-way-branch may have
 * exchanged, and describes them for three_way.h.
 */
#include <stdlib.h>
#include <string.h>

#include "conditions.h"
#include "output_flow.h"

#define MOST_JUMPS 4u /* in a row */

struct search {
    struct bat_output_flow *flow;
    const struct bat_elf *elf;
    uint32_t *leads;      /* for each block: a block that leads to it */
    uint32_t *lead_count; /* for each block: number of branches and fall-throughs that do */
};

/* One of the two ways out of a branch. */
struct way {
    uint32_t target;  /* input block */
    uint32_t block;   /* the output block where the target begins */
    uint8_t outcomes; /* bits of enum bat_outcome for which execution goes this way */
};

/* The way out of a block: by its branch or by fall-through. False if it leads to no input block. */
static bool find_way(const struct search *search, uint32_t block, bool is_branch, struct way *way)
{
    const struct bat_output_flow *flow = search->flow;
    bool jumps = is_branch;
    for (unsigned hops = 0; hops < MOST_JUMPS; hops++) {
        uint32_t next[2];
        bat_output_flow_next(flow, block, next);
        block = next[is_branch];
        if (block == BAT_NONE)
            return false;
        const struct bat_output_block *at = &flow->all[block];
        if (at->begin_count != 0) {
            way->block = block;
            way->target = flow->begins[at->first_begin + (jumps ? at->begin_count - 1 : 0)];
            return true;
        }
        if (!bat_output_block_is_jump(at))
            return false;
        is_branch = jumps = true;
    }
    return false;
}

/* The only block that leads to `block`, directly or through single jumps; BAT_NONE if none. */
static uint32_t find_first(const struct search *search, uint32_t block)
{
    for (unsigned hops = 0; hops < MOST_JUMPS && search->lead_count[block] == 1; hops++) {
        block = search->leads[block];
        if (!bat_output_block_is_jump(&search->flow->all[block]))
            return block;
    }
    return BAT_NONE;
}

static bool is_input_branch(const struct bat_output_block *block)
{
    return block->falls_through && block->has_target && block->last_size &&
           block->branch != BAT_NONE && block->owner != BAT_NONE;
}

/* The ways out of a block that ends with a branch of the input. For *is_signed see three_way.h. */
static bool find_ways(const struct search *search, uint32_t block, struct way ways[2],
                      bool *is_signed, bool *is_unsigned)
{
    const struct bat_output_block *at = &search->flow->all[block];
    uint32_t condition = condition_number_x86(condition_at(search->elf, bat_output_block_last(at)));
    ways[1].outcomes = bat_condition_outcomes(condition, is_signed, is_unsigned);
    ways[0].outcomes = ways[1].outcomes ^ ((1u << BAT_OUTCOMES) - 1);
    return ways[1].outcomes != 0 && find_way(search, block, false, &ways[0]) &&
           find_way(search, block, true, &ways[1]);
}

/* Set the target of a way, if just one of the outcomes that are left leads there. */
static bool set_target(const struct search *search, const struct way *way, unsigned left,
                       struct bat_three_way *pair)
{
    unsigned outcomes = way->outcomes & left;
    if (outcomes == 0 || (outcomes & (outcomes - 1)) != 0)
        return false;
    unsigned outcome = (unsigned)__builtin_ctz(outcomes);
    pair->targets[outcome] = way->target;
    pair->is_only_here[outcome] =
        search->flow->all[way->block].begin_count == 1 && search->lead_count[way->block] == 1;
    return true;
}

/* Fill the pair whose second branch is output block `second`, a single branch. */
static bool find_pair(const struct search *search, uint32_t second, struct bat_three_way *pair)
{
    const struct bat_output_flow *flow = search->flow;
    uint32_t first = find_first(search, second);
    if (first == BAT_NONE || !is_input_branch(&flow->all[first]))
        return false;
    *pair = (struct bat_three_way){.first = flow->all[first].owner,
                                   .second = flow->all[second].owner,
                                   .branch = flow->all[first].branch};
    struct way first_ways[2];
    struct way second_ways[2];
    bool is_signed = false;
    if (pair->first == pair->second ||
        !find_ways(search, first, first_ways, &is_signed, &pair->is_unsigned) ||
        !find_ways(search, second, second_ways, &is_signed, &pair->is_unsigned) ||
        is_signed == pair->is_unsigned)
        return false;
    bool takes_second = first_ways[1].block == second;
    if (!takes_second && first_ways[0].block != second)
        return false;
    const struct way *direct = &first_ways[!takes_second];
    unsigned left = first_ways[takes_second].outcomes;
    return set_target(search, direct, direct->outcomes, pair) &&
           set_target(search, &second_ways[0], left, pair) &&
           set_target(search, &second_ways[1], left, pair) &&
           pair->targets[0] != pair->targets[1] && pair->targets[1] != pair->targets[2] &&
           pair->targets[0] != pair->targets[2] &&
           bat_three_way_decide(flow->blocks, flow->block_count, pair);
}

/* Fill leads and lead_count. */
static void find_leads(const struct search *search)
{
    for (uint32_t i = 0; i < search->flow->count; i++) {
        uint32_t next[2];
        bat_output_flow_next(search->flow, i, next);
        for (unsigned j = 0; j < 2; j++) {
            if (next[j] == BAT_NONE)
                continue;
            search->leads[next[j]] = i;
            search->lead_count[next[j]]++;
        }
    }
}

/* True if an output block is a single branch, and so was its input block. */
static bool is_second(const struct bat_output_flow *flow, uint32_t block)
{
    const struct bat_output_block *at = &flow->all[block];
    uint32_t condition;
    return at->begin_count == 1 && bat_output_block_last(at) == at->start && is_input_branch(at) &&
           bat_hash_is_branch(flow->blocks[at->owner].hash, &condition);
}

static void keep_pair(struct bat_output_flow *flow, const struct bat_three_way *pair)
{
    if (flow->pair_of[pair->first] != BAT_NONE || flow->pair_of[pair->second] != BAT_NONE)
        return;
    flow->pair_of[pair->first] = flow->pair_of[pair->second] = flow->pair_count;
    flow->pairs[flow->pair_count++] = *pair;
}

static bool find_pairs(const struct search *search, uint32_t seconds)
{
    struct bat_output_flow *flow = search->flow;
    flow->pairs = malloc(seconds * sizeof(*flow->pairs));
    flow->pair_of = malloc(((size_t)flow->block_count + 1) * sizeof(*flow->pair_of));
    if (!search->leads || !search->lead_count || !flow->pairs || !flow->pair_of)
        return false;
    memset(flow->pair_of, 0xff, ((size_t)flow->block_count + 1) * sizeof(*flow->pair_of));
    find_leads(search);
    struct bat_three_way pair;
    for (uint32_t i = 0; i < flow->count; i++)
        if (is_second(flow, i) && find_pair(search, i, &pair))
            keep_pair(flow, &pair);
    return true;
}

bool bat_output_flow_find_pairs(struct bat_output_flow *flow, const struct bat_elf *elf)
{
    uint32_t seconds = 0;
    for (uint32_t i = 0; i < flow->count; i++)
        seconds += is_second(flow, i);
    if (seconds == 0)
        return true;
    struct search search = {
        .flow = flow,
        .elf = elf,
        .leads = malloc(flow->count * sizeof(*search.leads)),
        .lead_count = calloc(flow->count, sizeof(*search.lead_count)),
    };
    bool is_done = find_pairs(&search, seconds);
    free(search.leads);
    free(search.lead_count);
    return is_done;
}
