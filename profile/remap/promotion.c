/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Follows comparisons of promoted indirect calls and jumps (promotion.h). */
#include "promotion.h"

#include "binary/code/conditions.h"
#include "followed_function.h"
#include "spec/little_endian.h"

/*
 * The start of the input function that the code before a branch compares with; 0 if none. A part of
 * a function is a block of it, which a table leads to (-icp-jump-tables-targets).
 */
static uint64_t compared_function(const struct input_followed *function,
                                  const struct input_node *node)
{
    const struct bat_original *original = function->flow->original;
    uint64_t found = 0;
    struct bat_instruction instruction;
    for (uint64_t at = node->is_first ? node->address : node[-1].address; at < node->address;
         at += instruction.length) {
        if (!bat_original_decode(original->binary->elf, at, &instruction))
            return 0;
        uint64_t constant =
            instruction.has_reference ? instruction.reference : instruction.immediate;
        uint32_t output = bat_functions_find(original->output_functions, constant);
        if (output != BAT_NONE && original->outputs[output].address == constant &&
            !(original->outputs[output].flags & BAT_FUNCTION_FRAGMENT) &&
            original->input_of[output] != BAT_NONE)
            found = original->inputs[original->input_of[output]].address;
    }
    return found;
}

bool input_calls_next(const struct input_followed *function, const struct input_node *node,
                      uint64_t callee)
{
    node = input_nodes_next_branch(function->nodes, node);
    return node && (bat_kind_is_call(node->kind) || node->kind == BAT_INSTRUCTION_JUMP) &&
           input_flow_calls_same(function->flow, node->target, callee);
}

/* True if the code from a node on calls a PLT entry by its slot (-plt). */
static bool calls_by_slot(const struct input_followed *function, const struct input_node *node,
                          uint64_t callee)
{
    uint64_t ignored;
    node = input_nodes_next_branch(function->nodes, node);
    return node && node->kind == BAT_INSTRUCTION_INDIRECT_CALL &&
           input_flow_is_outside(function->flow, callee, &ignored) &&
           input_flow_may_replace(function->flow, node->address, callee);
}

/* The constant of the last instruction before a branch, which compares with it; 0 if none. */
static uint64_t compared_number(const struct bat_elf *elf, const struct input_node *node)
{
    struct bat_instruction instruction = {0};
    for (uint64_t at = node->is_first ? node->address : node[-1].address; at < node->address;
         at += instruction.length)
        if (!bat_original_decode(elf, at, &instruction))
            return 0;
    return instruction.immediate;
}

#define ENTRY_SIZE 8u

/* The entry of a jump table of addresses that a branch compares the index of; 0 if unknown. */
static uint64_t compared_entry(const struct input_followed *function, const struct input_node *node,
                               const struct input_walk *walk)
{
    const struct bat_original *original = function->flow->original;
    const struct bat_instruction *jump = &walk->instruction;
    const uint64_t index = compared_number(original->binary->elf, node);
    uint64_t size;
    if (jump->kind != BAT_INSTRUCTION_INDIRECT_JUMP || jump->jump != BAT_JUMP_TABLE ||
        index > UINT32_MAX)
        return 0;
    const uint8_t *entry =
        bat_elf_at_address(original->elf, jump->slot + ENTRY_SIZE * index, &size);
    const uint64_t to = entry && size >= ENTRY_SIZE ? bat_load64(entry) : 0;
    return to != 0 && input_shares_function(function, walk->state.at, to) ? to : 0;
}

/* The promotion of the input's jump or call is taken: the input goes to a state. */
static void promote(struct input_node *node, const struct input_walk *walk, bool is_equal,
                    struct input_state to)
{
    *(is_equal ? &node->taken : &node->fall) = to;
    node->jump = walk->state.at;
    node->jumps_if_taken = is_equal;
    node->jumps_if_not = !is_equal;
}

enum bat_code input_promotion_follow(const struct input_followed *function, struct input_node *node,
                                     const struct input_walk *walk)
{
    uint64_t callee = compared_function(function, node);
    bool is_equal = (condition_at(function->flow->original->binary->elf, node->address) & 15u) == 4;
    struct input_node *next = is_equal      ? input_nodes_target(function->nodes, node)
                              : node->falls ? node + 1
                                            : NULL;
    struct input_flow *flow = function->flow;
    const uint64_t entry = compared_entry(function, node, walk);
    if (next && entry != 0) {
        promote(node, walk, is_equal, (struct input_state){entry, walk->state.frame});
        return BAT_OK;
    }
    if (!next || callee == 0 ||
        (!input_flow_has_code(flow, callee) && !calls_by_slot(function, next, callee)) ||
        input_calls_next(function, next, callee))
        return BAT_OK;
    /* A function that is called by a jump returns to where the code with the jump would. */
    bool is_call = walk->instruction.kind == BAT_INSTRUCTION_INDIRECT_CALL;
    uint32_t frame = walk->state.frame;
    uint64_t returns_to = is_call ? walk->state.at + walk->instruction.length : 0;
    enum bat_code code = BAT_OK;
    if (is_call || frame == INPUT_ROOT_FRAME)
        code = input_flow_enter(flow, walk->state.frame, returns_to, &frame);
    if (code != BAT_OK || frame == BAT_NONE)
        return code;
    promote(node, walk, is_equal, (struct input_state){callee, frame});
    return BAT_OK;
}
