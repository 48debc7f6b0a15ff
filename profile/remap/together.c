/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Goes through code of the output and of the input together (followed_function.h). */
#include "followed_function.h"

#include <elf.h>
#include <string.h>

#include "binary/code/instructions_x86.h"
#include "binary/code/same_code.h"

bool input_shares_function(const struct input_followed *function, uint64_t left, uint64_t right)
{
    const struct bat_functions *functions = function->flow->original->input_functions;
    return bat_functions_find(functions, left) == bat_functions_find(functions, right);
}

static void jump(const struct input_followed *function, struct input_state *state,
                 struct input_state to, struct input_path_draft *path)
{
    if (path)
        input_draft_append(&function->flow->paths, path, (struct input_jump){state->at, to.at});
    *state = to;
}

bool input_pass_silent(const struct input_followed *function, struct input_state *state,
                       struct input_path_draft *path)
{
    struct bat_instruction instruction;
    const struct input_frame *frame = &function->flow->frames[state->frame];
    if (!input_flow_decode(function->flow, state->at, &instruction))
        return false;
    switch (instruction.kind) {
    case BAT_INSTRUCTION_NOP:
        if (!input_shares_function(function, state->at, state->at + instruction.length))
            return false;
        state->at += instruction.length;
        return true;
    case BAT_INSTRUCTION_RETURN:
        if (frame->returns_to == 0)
            return false;
        jump(function, state, (struct input_state){frame->returns_to, frame->caller}, path);
        return true;
    case BAT_INSTRUCTION_JUMP:
        if (state->frame == INPUT_ROOT_FRAME ||
            !input_shares_function(function, state->at, instruction.target))
            return false;
        jump(function, state, (struct input_state){instruction.target, state->frame}, path);
        return true;
    default:
        return false;
    }
}

void input_skip_silent(const struct input_followed *function, struct input_state *state,
                       struct input_path_draft *path)
{
    for (uint32_t i = 0; i < INPUT_MOST_SILENT && input_pass_silent(function, state, path); i++) {
    }
}

static bool has_equal_bytes(const struct bat_original *original, uint64_t output, uint64_t input,
                            uint64_t size)
{
    uint64_t left_size;
    uint64_t right_size;
    const uint8_t *left = bat_elf_at_address(original->binary->elf, output, &left_size);
    const uint8_t *right = bat_elf_at_address(original->elf, input, &right_size);
    return left && right && left_size >= size && right_size >= size &&
           memcmp(left, right, (size_t)size) == 0;
}

bool input_step_together(const struct input_followed *function, const struct input_node *node,
                         struct input_state *state, struct input_path_draft *path)
{
    const struct bat_original *original = function->flow->original;
    const uint16_t machine = bat_elf_machine(original->elf);
    struct bat_code_at output;
    struct bat_code_at input;
    uint64_t at = node->address;
    /* Most code names no address. */
    if (!path && has_equal_bytes(original, at, state->at, node[1].address - at)) {
        state->at += node[1].address - at;
        return true;
    }
    for (; at < node[1].address; at += output.instruction.length) {
        if (!bat_code_read(original->binary->elf, at, &output))
            return false;
        if (output.instruction.kind == BAT_INSTRUCTION_NOP)
            continue;
        bool is_read = bat_code_read(original->elf, state->at, &input);
        if (is_read && input.instruction.kind != BAT_INSTRUCTION_OTHER) {
            input_skip_silent(function, state, path);
            is_read = bat_code_read(original->elf, state->at, &input);
        }
        if (output.instruction.kind != BAT_INSTRUCTION_OTHER || !is_read ||
            !bat_code_alike(machine, &output, &input))
            return false;
        if (path)
            path->last = state->at;
        state->at += input.instruction.length;
    }
    return at == node[1].address;
}

#define MOST_NOPS 16u

/* The first instruction of the output from an address on that is no no-operation. */
static bool read_output(const struct bat_elf *elf, uint64_t address, struct bat_code_at *code)
{
    for (uint32_t i = 0; i < MOST_NOPS && bat_code_read(elf, address, code); i++) {
        if (code->instruction.kind != BAT_INSTRUCTION_NOP)
            return true;
        address += code->instruction.length;
    }
    return false;
}

bool input_is_idle(const struct input_followed *function, const struct input_node *node)
{
    struct bat_code_at code;
    return read_output(function->flow->original->binary->elf, node->address, &code) &&
           code.address >= node[1].address;
}

/* The same of the input, or NULL. */
static const struct bat_code_at *read_input(struct input_flow *flow, uint64_t address)
{
    const struct bat_code_at *code = input_flow_code(flow, address);
    for (uint32_t i = 1; i < MOST_NOPS && code && code->instruction.kind == BAT_INSTRUCTION_NOP;
         i++)
        code = input_flow_code(flow, code->address + code->instruction.length);
    return code && code->instruction.kind != BAT_INSTRUCTION_NOP ? code : NULL;
}

/* True if the output calls where the input jumps: a tail call of inlined code. */
static bool is_tail_call(uint8_t output, uint8_t input)
{
    return (output == BAT_INSTRUCTION_CALL && input == BAT_INSTRUCTION_JUMP) ||
           (output == BAT_INSTRUCTION_INDIRECT_CALL && input == BAT_INSTRUCTION_INDIRECT_JUMP);
}

#define MOST_SAVES 7u /* one less: the registers that a function has to save */

/* The bytes after which an instruction of x86-64 has the offset from RSP: a SIB byte. */
#define SIB_RSP 0x24u
#define OPCODE_STORE 0x89u
#define OPCODE_LOAD 0x8bu

/* True if an instruction moves a register to the stack or back: -frame-opt puts such before blocks.
 */
static bool is_save(uint16_t machine, const struct bat_code_at *code)
{
    const uint8_t *bytes = code->bytes;
    return machine == EM_X86_64 && code->instruction.length > 4 && (bytes[0] & 0xfb) == 0x48 &&
           (bytes[1] == OPCODE_STORE || bytes[1] == OPCODE_LOAD) && (bytes[2] & 7) == X86_RM_SIB &&
           bytes[2] >> 6 != 3 && bytes[3] == SIB_RSP;
}

bool input_begins_alike(const struct input_followed *function, const struct input_node *node,
                        uint64_t input, bool *is_plain)
{
    const struct bat_original *original = function->flow->original;
    const struct bat_code_at *right = read_input(function->flow, input);
    struct bat_code_at left;
    *is_plain = false;
    if (!right)
        return false;
    if (bat_kind_has_target(node->kind))
        return node->kind == right->instruction.kind ||
               is_tail_call(node->kind, right->instruction.kind);
    const uint16_t machine = bat_elf_machine(original->elf);
    bool is_alike = false;
    bool is_read = read_output(original->binary->elf, node->address, &left);
    for (uint32_t i = 0; is_read && !is_alike && i < MOST_SAVES; i++) {
        is_alike = bat_code_alike(machine, &left, right) ||
                   is_tail_call(left.instruction.kind, right->instruction.kind);
        is_read = is_alike || (is_save(machine, &left) &&
                               read_output(original->binary->elf,
                                           left.address + left.instruction.length, &left));
    }
    *is_plain = is_alike && left.instruction.kind == BAT_INSTRUCTION_OTHER;
    return is_alike;
}
