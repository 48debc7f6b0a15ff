/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Look-ups in the flow of an output function (output_flow.h), and the owners of its blocks. */
#include "output_flow.h"
#include "spec/binary_search.h"

#include <stdlib.h>
#include <string.h>

/* --- Look-ups ----------------------------------------------------------------------------- */

uint32_t bat_output_flow_at(const struct bat_output_flow *flow, uint64_t address)
{
    uint32_t up_to = BAT_COUNT_UP_TO(flow->all, flow->count, start, address);
    return up_to != 0 && address < flow->all[up_to - 1].end ? up_to - 1 : BAT_NONE;
}

void bat_output_flow_next(const struct bat_output_flow *flow, uint32_t block, uint32_t next[2])
{
    const struct bat_output_block *from = &flow->all[block];
    next[0] = BAT_NONE;
    if (from->falls_through && block + 1 < flow->count && from[1].start == from->end)
        next[0] = block + 1;
    next[1] = from->target;
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

/*
 * Code without entries gets the owner of the code that leads to it, if all of that has the same
 * one. The owner of a block changes at most twice.
 */
static bool spread_owners(struct bat_output_flow *flow)
{
    uint32_t *waiting = malloc(((size_t)flow->count + 1) * 3 * sizeof(*waiting));
    uint8_t *is_free = calloc((size_t)flow->count + 1, 1);
    size_t count = 0;
    if (waiting && is_free) {
        for (uint32_t i = 0; i < flow->count; i++) {
            is_free[i] = flow->all[i].owner == BAT_OWNER_UNKNOWN;
            if (!is_free[i])
                waiting[count++] = i;
        }
        while (count != 0) {
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
    }
    for (uint32_t i = 0; i < flow->count; i++)
        if (flow->all[i].owner == BAT_OWNER_SEVERAL)
            flow->all[i].owner = BAT_NONE;
    bool is_done = waiting && is_free;
    free(waiting);
    free(is_free);
    return is_done;
}

/* True if a block directly follows one that begins the same input block and falls through to it. */
static bool goes_on(const struct bat_output_flow *flow, uint32_t i)
{
    const struct bat_output_block *block = &flow->all[i];
    const struct bat_output_block *before = i ? block - 1 : NULL;
    return before && before->end == block->start && before->falls_through &&
           before->begin_count == 1 &&
           flow->begins[before->first_begin] == flow->begins[block->first_begin];
}

/*
 * BOLT may give several output blocks the entry of one input block (a call that it promoted, and
 * the code behind it). The input block begins where other blocks lead to, or where no block is
 * known to lead to. Code that BOLT puts on an edge behind a block (restored registers, a jump) has
 * the block's entry too, and other blocks' branches to the same target may share it.
 */
static bool find_true_begins(struct bat_output_flow *flow)
{
    uint32_t *times = calloc((size_t)flow->block_count + 1, sizeof(*times));
    uint8_t *from_self = calloc((size_t)flow->count + 1, 1);
    uint8_t *from_others = calloc((size_t)flow->count + 1, 1);
    bool is_done = times && from_self && from_others;
    bool is_any = false;
    for (uint32_t i = 0; i < flow->count && is_done; i++)
        for (uint32_t j = 0; j < flow->all[i].begin_count; j++)
            is_any |= ++times[flow->begins[flow->all[i].first_begin + j]] > 1;
    for (uint32_t i = 0; i < flow->count && is_done && is_any; i++) {
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
    for (uint32_t i = flow->count; i-- > 0 && is_done && is_any;) {
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
    free(times);
    free(from_self);
    free(from_others);
    return is_done;
}

bool bat_output_flow_find_owners(struct bat_output_flow *flow)
{
    return spread_owners(flow) && find_true_begins(flow);
}

void bat_output_flow_free(struct bat_output_flow *flow)
{
    if (!flow)
        return;
    free(flow->blocks);
    free(flow->all);
    free(flow->begins);
    free(flow->inlined);
    free(flow->copies);
    free(flow->pairs);
    free(flow->pair_of);
    free(flow);
}

bool bat_output_may_have_option(const struct bat_elf *elf, const char *option)
{
    const char *info = bat_elf_bolt_info(elf);
    return !info || strchr(info, '@') || strstr(info, option);
}
