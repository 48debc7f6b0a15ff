/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs through the code of functions with a table, long ones added up. See spec/profiles.md 2,
 * "Edges". */
#include "flow_steps.h"
#include "spec/order.h"

/* Find out what the steps up to end do, without doing them. */
static enum bat_code try_steps(struct translation *translation, uint32_t function,
                               const struct bat_output_flow *flow, uint32_t end)
{
    struct long_runs *runs = &translation->long_runs;
    const struct trace nothing = {.count = 0};
    const unsigned outcome = translation->outcome;
    enum bat_code code = BAT_OK;
    translation->is_trial = true;
    for (uint32_t i = runs->tried; i < end && code == BAT_OK; runs->tried = ++i) {
        struct run_step *step = &runs->steps[i];
        struct place_in_code place;
        if (i != runs->low) {
            step->recorded = step[-1].recorded;
            step->left_out = step[-1].left_out;
            step->irregular = step[-1].irregular;
        }
        translation->outcome = 0;
        flow_begin_at(translation, function, flow, i, &nothing, &place);
        if (flow->all[i].falls_through)
            code = flow_fall_through(translation, &place, i + 1);
        if (translation->outcome & OUTCOME_RECORDED)
            step->recorded = i + 1;
        if (translation->outcome & OUTCOME_LEFT_OUT)
            step->left_out = i + 1;
        if (!flow->all[i].falls_through || !flow_is_as_begun(&place))
            step->irregular = i + 1;
    }
    translation->is_trial = false;
    translation->outcome = outcome;
    return code;
}

/*
 * Add up the steps of a run from a block to another, as far as they do not depend on those before.
 * *block becomes where control is then.
 */
static enum bat_code add_up(struct translation *translation, uint32_t function,
                            const struct bat_output_flow *flow, uint32_t *block, uint32_t end,
                            uint64_t count)
{
    const uint32_t first = *block;
    enum bat_code code = translation_begin_long_run(translation, function, flow->count, first);
    BAT_TRY(code);
    BAT_TRY(try_steps(translation, function, flow, end));
    const struct run_step *steps = translation->long_runs.steps + first;
    const uint32_t regular = BAT_COUNT_UP_TO(steps, end - first, irregular, first);
    if (regular == 0)
        return BAT_OK;
    const unsigned outcome = (steps[regular - 1].recorded > first ? OUTCOME_RECORDED : 0) |
                             (steps[regular - 1].left_out > first ? OUTCOME_LEFT_OUT : 0) |
                             OUTCOME_WITHIN | translation->outcome;
    *block = first + regular;
    code = translation_add_long_run(translation, function, flow->count, first, *block, count);
    translation->outcome = outcome;
    return code;
}

/* The block that a run to an address ends in, if the run is long; otherwise 0. */
static uint32_t end_of_long_run(const struct bat_output_flow *flow, uint32_t block, uint64_t to)
{
    const uint32_t least = flow->count - block > LONG_RUN ? block + LONG_RUN : flow->count - 1;
    const uint32_t begins =
        flow->all[least].first_begin - flow->all[block].first_begin + flow->all[least].begin_count;
    const bool is_long =
        begins > LONG_RUN || (least == block + LONG_RUN && flow->all[least].start <= to);
    return is_long ? BAT_COUNT_UP_TO(flow->all, flow->count, start, to) - 1 : 0;
}

enum bat_code translation_flow_run(struct translation *translation, uint32_t function,
                                   uint64_t from, const struct trace *trace)
{
    const struct bat_output_flow *flow;
    enum bat_code code = flow_of(translation, function, &flow);
    if (code != BAT_OK || from >= trace->to)
        return code;
    uint32_t block = translation_block_from(translation, flow, from);
    if (block == BAT_NONE)
        flow_leave_out(translation, trace->count);
    if (block == BAT_NONE)
        return BAT_OK;
    struct place_in_code place;
    flow_begin_at(translation, function, flow, block, trace, &place);
    const uint32_t end = end_of_long_run(flow, block, trace->to);
    while (block + 1 < flow->count && flow->all[block + 1].start <= trace->to && code == BAT_OK) {
        const uint32_t before = block;
        if (block < end && flow_is_as_begun(&place))
            code = add_up(translation, function, flow, &block, end, trace->count);
        if (block != before) {
            flow_begin_at(translation, function, flow, block, trace, &place);
        } else if (!flow->all[block].falls_through) {
            flow_leave_out(translation, trace->count);
            break;
        } else if (code == BAT_OK) {
            code = flow_fall_through(translation, &place, ++block);
        }
    }
    return code;
}
