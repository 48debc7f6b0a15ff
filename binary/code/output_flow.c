/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups in the flow of an output function (output_flow.h), and the owners of its blocks. */
#include "output_flow.h"
#include "spec/array.h"
#include "spec/order.h"

#include <stdlib.h>
#include <string.h>

/* --- Look-ups ----------------------------------------------------------------------------- */

uint32_t bat_output_flow_at(const struct bat_output_flow *flow, uint64_t address)
{
    uint32_t up_to = BAT_COUNT_UP_TO(flow->all, flow->count, start, address);
    return up_to != 0 && address < bat_output_block_end(&flow->all[up_to - 1]) ? up_to - 1
                                                                               : BAT_NONE;
}

uint32_t bat_output_flow_through(const struct bat_output_flow *flow, uint32_t block)
{
    for (unsigned hops = 0; hops < 4; hops++) {
        const struct bat_output_block *at = &flow->all[block];
        if (at->begin_count != 0)
            return block;
        uint32_t next[2];
        bat_output_flow_next(flow, block, next);
        if (at->owner != BAT_NONE || (next[0] == BAT_NONE) == (next[1] == BAT_NONE) ||
            (at->has_target && next[1] == BAT_NONE))
            return BAT_NONE;
        block = next[0] == BAT_NONE ? next[1] : next[0];
    }
    return BAT_NONE;
}

bool bat_output_block_is_jump(const struct bat_output_block *block)
{
    return block->begin_count == 0 && !block->falls_through && block->has_target &&
           bat_output_block_last(block) == block->start;
}

uint32_t bat_output_flow_return(const struct bat_output_flow *flow, uint32_t block)
{
    uint32_t found = BAT_NONE;
    uint32_t ways[2];
    bat_output_flow_next(flow, block, ways);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned hops = 0;
             hops < 4 && ways[i] != BAT_NONE && bat_output_block_is_jump(&flow->all[ways[i]]);
             hops++) {
            uint32_t next[2];
            bat_output_flow_next(flow, ways[i], next);
            ways[i] = next[1];
        }
        if (ways[i] == BAT_NONE || !flow->all[ways[i]].is_return || ways[i] == found)
            continue;
        if (found != BAT_NONE)
            return BAT_NONE;
        found = ways[i];
    }
    return found;
}

/* --- Owners ------------------------------------------------------------------------------- */

/* Memory while owners are searched, for each output block or, times, for each input block. */
struct owner_search {
    uint32_t *waiting; /* three for each */
    uint32_t *times;
    uint8_t *is_free;
    uint8_t *from_self;
    uint8_t *from_others;
};

/*
 * Code without entries gets the owner of the code that leads to it, if all of that has the same
 * one. The owner of a block changes at most twice.
 */
static void spread_owners(struct bat_output_flow *flow, const struct owner_search *search)
{
    uint32_t *waiting = search->waiting;
    uint8_t *is_free = search->is_free;
    size_t count = 0;
    for (uint32_t i = 0; i < flow->count; i++) {
        is_free[i] = flow->all[i].owner == BAT_OWNER_UNKNOWN;
        if (!is_free[i])
            waiting[count++] = i;
    }
    /* Mostly every block has an owner. */
    const bool is_any = count != flow->count;
    while (is_any && count != 0) {
        uint32_t from = waiting[--count];
        uint32_t next[2];
        bat_output_flow_next(flow, from, next);
        for (unsigned i = 0; i < 2; i++) {
            if (next[i] == BAT_NONE || !is_free[next[i]])
                continue;
            uint32_t *owner = &flow->all[next[i]].owner;
            uint32_t found = flow->all[from].owner;
            uint32_t both =
                *owner == BAT_OWNER_UNKNOWN || *owner == found ? found : BAT_OWNER_SEVERAL;
            if (both == *owner)
                continue;
            *owner = both;
            waiting[count++] = next[i];
        }
    }
    for (uint32_t i = 0; i < flow->count; i++)
        if (flow->all[i].owner == BAT_OWNER_SEVERAL)
            flow->all[i].owner = BAT_NONE;
}

/* True if a block directly follows one that begins the same input block and falls through to it. */
static bool goes_on(const struct bat_output_flow *flow, uint32_t i)
{
    const struct bat_output_block *block = &flow->all[i];
    const struct bat_output_block *before = i ? block - 1 : NULL;
    return before && bat_output_block_end(before) == block->start && before->falls_through &&
           before->begin_count == 1 &&
           flow->begins[before->first_begin] == flow->begins[block->first_begin];
}

/*
 * BOLT may give several output blocks the entry of one input block (a call that it promoted, and
 * the code behind it). The input block begins where other blocks lead to, or where no block is
 * known to lead to. Code that BOLT puts on an edge behind a block (restored registers, a jump) has
 * the block's entry too, and other blocks' branches to the same target may share it.
 */
static void find_true_begins(struct bat_output_flow *flow, const struct owner_search *search)
{
    uint32_t *times = search->times;
    uint8_t *from_self = search->from_self;
    uint8_t *from_others = search->from_others;
    bool is_any = false;
    memset(times, 0, flow->block_count * sizeof(*times));
    for (uint32_t i = 0; i < flow->count; i++)
        for (uint32_t j = 0; j < flow->all[i].begin_count; j++)
            is_any |= ++times[flow->begins[flow->all[i].first_begin + j]] > 1;
    if (!is_any)
        return;
    memset(from_self, 0, flow->count);
    memset(from_others, 0, flow->count);
    for (uint32_t i = 0; i < flow->count; i++) {
        uint32_t next[2];
        bat_output_flow_next(flow, i, next);
        for (unsigned j = 0; j < 2; j++) {
            if (next[j] == BAT_NONE)
                continue;
            bool is_self = flow->all[i].owner == flow->all[next[j]].owner;
            (is_self ? from_self : from_others)[next[j]] = 1;
        }
    }
    /* Each input block keeps at least one beginning: times counts those that are left. */
    for (uint32_t i = flow->count; i-- > 0;) {
        struct bat_output_block *block = &flow->all[i];
        if (block->begin_count != 1 || !from_self[i] || (from_others[i] && !goes_on(flow, i)))
            continue;
        uint32_t *left = &times[flow->begins[block->first_begin]];
        if (*left > 1) {
            --*left;
            block->begin_count = 0;
            /* Branches of other blocks go where this code goes. */
            if (from_others[i])
                block->owner = BAT_NONE;
        }
    }
}

bool bat_output_flow_find_owners(struct bat_output_flow *flow, void **memory, size_t *capacity)
{
    const size_t count = flow->count;
    const size_t words = 3 * count + flow->block_count;
    if (!bat_reserve(memory, capacity, 0, words * sizeof(uint32_t) + 3 * count, 1))
        return false;
    if (count == 0)
        return true;
    struct owner_search search = {.waiting = *memory};
    search.times = search.waiting + 3 * count;
    search.is_free = (uint8_t *)(search.waiting + words);
    search.from_self = search.is_free + count;
    search.from_others = search.from_self + count;
    spread_owners(flow, &search);
    find_true_begins(flow, &search);
    return true;
}

void bat_output_flow_free_parts(struct bat_output_flow *flow)
{
    BAT_FREE_ALL(flow->inlined, flow->copies, flow->pairs, flow->pair_of);
}

void bat_output_flow_free(struct bat_output_flow *flow)
{
    if (!flow)
        return;
    bat_output_flow_free_parts(flow);
    if (!flow->is_in_arena)
        free(flow);
}

bool bat_output_may_have_option(const struct bat_elf *elf, const char *option)
{
    const char *info = bat_elf_bolt_info(elf);
    return !info || strchr(info, '@') || strstr(info, option);
}
