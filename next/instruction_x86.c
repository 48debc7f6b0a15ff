/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "instruction_aarch64.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <string.h>

#include "binary/code/instructions.h"
#include "known_instructions.h"
#include "references.h"

/* Words that are hashed together. */
struct words {
    uint32_t all[64];
    uint32_t count;
};

static void put(struct words *words, uint64_t word)
{
    if (words->count + 2 <= sizeof(words->all) / sizeof(*words->all)) {
        words->all[words->count++] = (uint32_t)word;
        words->all[words->count++] = (uint32_t)(word >> 32);
    }
}

static uint32_t hash_words(const struct words *words)
{
    return next_hash(words->all, words->count * sizeof(*words->all), words->count);
}

/* What is gathered of one instruction. */
struct description {
    const struct next_program *program;
    const ZydisDecodedInstruction *decoded;
    uint64_t address;
    struct next_instruction *instruction;
    struct words shape;
    struct words exact;
    bool has_target;
    uint64_t target; /* where a branch leads, if that is one place */
};

/* Registers are alike but for the stack pointer and those of vectors. */
static uint32_t register_class(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (reg == ZYDIS_REGISTER_NONE || whole == ZYDIS_REGISTER_RSP)
        return whole;
    return (uint32_t)ZydisRegisterGetClass(reg) + 1000;
}

static void refer(struct description *description, uint64_t address)
{
    bool is_plain;
    uint32_t name = next_reference(description->program, address, &is_plain);
    description->instruction->name = name;
    description->instruction->flags |= is_plain || name == 0 ? 0 : NEXT_NAMES;
}

/* The address that an operand is, in whatever form; linkers make one form of another. False for
 * other operands. */
static bool is_address(const struct description *description, const ZydisDecodedOperand *operand,
                       uint64_t *address)
{
    const struct next_program *program = description->program;
    const ZydisDecodedInstruction *decoded = description->decoded;
    if (decoded->operand_width != 64)
        return false;
    if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        *address = operand->imm.value.u;
        return !operand->imm.is_relative &&
               next_is_address(program, description->address + decoded->raw.imm[0].offset,
                               *address);
    }
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.base != ZYDIS_REGISTER_RIP)
        return false;
    *address = description->address + decoded->length + (uint64_t)operand->mem.disp.value;
    return decoded->mnemonic == ZYDIS_MNEMONIC_LEA || next_read_slot(program, address);
}

/* Describe it as LEA has it. */
static void describe_address(struct description *description, uint64_t address)
{
    refer(description, address);
    put(&description->shape, ZYDIS_OPERAND_TYPE_MEMORY);
    put(&description->shape, 64);
}

/* True if the bytes at an offset of the instruction are the distance of a thread's variable. */
static bool is_distance(const struct description *description, uint64_t offset)
{
    uint64_t ignored;
    return next_linked(description->program, description->address + offset, &ignored);
}

static void describe_memory(struct description *description, const ZydisDecodedOperand *operand)
{
    const ZydisDecodedOperandMem *memory = &operand->mem;
    uint64_t displacement = memory->disp.has_displacement &&
                                    !is_distance(description, description->decoded->raw.disp.offset)
                                ? (uint64_t)memory->disp.value
                                : 0;
    bool is_reference =
        memory->base == ZYDIS_REGISTER_RIP ||
        (memory->disp.has_displacement &&
         next_is_address(description->program,
                         description->address + description->decoded->raw.disp.offset,
                         displacement));
    if (is_reference) {
        uint64_t target = displacement;
        if (memory->base == ZYDIS_REGISTER_RIP)
            target += description->address + description->decoded->length;
        refer(description, target);
        displacement = 0;
    }
    const ZydisRegister base =
        memory->base == ZYDIS_REGISTER_RIP ? ZYDIS_REGISTER_NONE : memory->base;
    put(&description->shape, register_class(base));
    put(&description->shape, register_class(memory->index));
    put(&description->shape, memory->scale);
    put(&description->exact, base);
    put(&description->exact, memory->index);
    put(&description->exact, memory->segment);
    /* Where things are on the stack changes with every other thing there. */
    bool is_stack = register_class(base) == ZYDIS_REGISTER_RSP;
    put(is_stack ? &description->exact : &description->shape, displacement);
    if (!is_stack && displacement != 0)
        description->instruction->field = next_hash(&displacement, sizeof(displacement), 1);
}

static void describe_immediate(struct description *description, const ZydisDecodedOperand *operand)
{
    if (operand->imm.is_relative)
        return;
    uint64_t value = operand->imm.value.u;
    if (is_distance(description, description->decoded->raw.imm[0].offset))
        value = 0;
    if (operand->size >= 32 &&
        next_is_address(description->program,
                        description->address + description->decoded->raw.imm[0].offset, value)) {
        refer(description, value);
        value = 0;
    }
    put(&description->shape, value);
    /* To subtract 1 is to add -1. */
    uint64_t size = operand->imm.is_signed && (int64_t)value < 0 ? -value : value;
    if (size != 0)
        description->instruction->constant = next_hash(&size, sizeof(size), 2);
}

static void describe_operand(struct description *description, const ZydisDecodedOperand *operand)
{
    uint64_t address;
    if (is_address(description, operand, &address)) {
        describe_address(description, address);
        return;
    }
    put(&description->shape, operand->type);
    put(&description->shape, operand->size);
    if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        put(&description->shape, register_class(operand->reg.value));
        put(&description->exact, operand->reg.value);
    } else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        describe_memory(description, operand);
    } else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        describe_immediate(description, operand);
    }
}

/* Find where a branch leads, if that is one place: also by a slot of the GOT with a function of the
 * program (-fno-plt), of which linkers make a direct branch. */
static bool find_target(struct description *description, const ZydisDecodedOperand *operand)
{
    uint64_t *target = &description->target;
    *target = description->address + description->decoded->length;
    if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        *target += (uint64_t)operand->imm.value.s;
        return true;
    }
    if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.base != ZYDIS_REGISTER_RIP)
        return false;
    *target += (uint64_t)operand->mem.disp.value;
    return next_read_slot(description->program, target) &&
           bat_functions_at(description->program->functions, *target) != BAT_NONE;
}

/* Where a direct call or jump leads; only calls and tail calls have a name. */
static void describe_target(const struct next_program *program, bool is_call, uint64_t target,
                            struct next_instruction *instruction)
{
    uint32_t function = bat_functions_at(program->functions, target);
    if (is_call)
        instruction->flags |= NEXT_IS_CALL;
    if (function == BAT_NONE)
        return;
    instruction->callee = function;
    instruction->name = program->name_of[function];
    instruction->flags |= is_call ? NEXT_NAMES : 0;
}

static void describe_operands(struct description *description, const ZydisDecodedOperand *operands)
{
    const ZydisDecodedInstruction *decoded = description->decoded;
    bool is_branch = decoded->meta.category == ZYDIS_CATEGORY_CALL ||
                     decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
                     decoded->meta.category == ZYDIS_CATEGORY_COND_BR;
    /* TEST has memory as its first operand, but an immediate as its second. */
    bool is_test = decoded->mnemonic == ZYDIS_MNEMONIC_TEST;
    bool is_exchanged = is_test && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
    description->has_target = is_branch && find_target(description, operands);
    if (description->has_target)
        return;
    for (ZyanU8 i = 0; i < decoded->operand_count_visible; i++)
        describe_operand(description, &operands[i ^ is_exchanged]);
    if (!is_branch)
        return;
    struct next_instruction *instruction = description->instruction;
    instruction->flags |= NEXT_IS_INDIRECT;
    if (decoded->meta.category == ZYDIS_CATEGORY_CALL)
        instruction->flags |= NEXT_IS_CALL;
}

/* What a condition behind an instruction tests; 0 if the instruction does not change it. */
static uint32_t compares(const struct description *description, const ZydisDecodedOperand *operands)
{
    const ZydisDecodedInstruction *decoded = description->decoded;
    uint64_t address;
    switch (decoded->mnemonic) {
    case ZYDIS_MNEMONIC_TEST:
        return NEXT_COMPARES_CONSTANT;
    case ZYDIS_MNEMONIC_CMP:
        return operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
                       is_address(description, &operands[1], &address)
                   ? NEXT_COMPARES_CONSTANT
                   : NEXT_COMPARES_VALUES;
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
        return NEXT_COMPARES_VALUES;
    default:
        return decoded->cpu_flags && decoded->cpu_flags->modified
                   ? NEXT_COMPARES_CONSTANT | NEXT_COMPARES_VALUES
                   : 0;
    }
}

/* What a condition behind an instruction tells. */
static enum next_test test_of(const struct description *description,
                              const ZydisDecodedOperand *operands)
{
    const ZydisDecodedInstruction *decoded = description->decoded;
    const ZydisDecodedOperand *second = &operands[1];
    enum next_test zero = decoded->operand_width == 64 ? NEXT_TEST_NULL : NEXT_TEST_ZERO;
    switch (decoded->mnemonic) {
    case ZYDIS_MNEMONIC_TEST:
        return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       second->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                       operands[0].reg.value == second->reg.value
                   ? zero
                   : NEXT_TEST_BITS;
    case ZYDIS_MNEMONIC_BT:
        return NEXT_TEST_BITS;
    case ZYDIS_MNEMONIC_CMP:
        return second->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ? NEXT_TEST_VALUES
               : second->imm.value.u == 0                   ? zero
                                                            : NEXT_TEST_CONSTANT;
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
        return NEXT_TEST_VALUES;
    case ZYDIS_MNEMONIC_ADD:
        /* Of a number and a constant it compares the two, as often as not. */
        return second->type != ZYDIS_OPERAND_TYPE_IMMEDIATE ? NEXT_TEST_SUM : NEXT_TEST_RESULT;
    default:
        return decoded->cpu_flags && decoded->cpu_flags->modified ? NEXT_TEST_RESULT
                                                                  : NEXT_TEST_NONE;
    }
}

/* --- Effects -------------------------------------------------------------------------------- */

#define OPERAND 63u /* all that an effect's operand may be */

/* The number of a general register; NEXT_NOTHING for others. */
static uint8_t register_number(ZydisRegister reg)
{
    const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole == ZYDIS_REGISTER_RSP)
        return NEXT_STACK;
    return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? (uint8_t)ZydisRegisterGetId(whole)
                                                                : NEXT_NOTHING;
}

static uint8_t memory_operand(struct description *description, const ZydisDecodedOperandMem *memory)
{
    struct next_effect *effect = &description->instruction->effect;
    const bool is_named = memory->base == ZYDIS_REGISTER_RIP ||
                          (memory->disp.has_displacement && description->instruction->name);
    effect->base = (is_named ? NEXT_IS_NAMED : register_number(memory->base)) & OPERAND;
    effect->index = register_number(memory->index) & OPERAND;
    effect->scale = memory->scale > 1 ? (unsigned)__builtin_ctz(memory->scale) & 3 : 0;
    effect->displacement =
        is_named || !memory->disp.has_displacement ? 0 : (int32_t)memory->disp.value;
    return NEXT_IN_MEMORY;
}

static uint8_t effect_operand(struct description *description, const ZydisDecodedOperand *operand)
{
    uint64_t address;
    if (is_address(description, operand, &address))
        return NEXT_IS_NAMED;
    switch (operand->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        return register_number(operand->reg.value);
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        description->instruction->effect.number = (int32_t)operand->imm.value.s;
        return NEXT_IS_NUMBER;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return memory_operand(description, &operand->mem);
    default:
        return NEXT_NOTHING;
    }
}

static enum next_effect_kind kind_of_effect(const ZydisDecodedInstruction *decoded)
{
    switch (decoded->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
        return NEXT_EFFECT_PUSH;
    case ZYDIS_MNEMONIC_POP:
        return NEXT_EFFECT_POP;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        return NEXT_EFFECT_MOVE;
    case ZYDIS_MNEMONIC_LEA:
        return NEXT_EFFECT_ADDRESS;
    case ZYDIS_MNEMONIC_CMP:
        return NEXT_EFFECT_COMPARE;
    case ZYDIS_MNEMONIC_TEST:
        return NEXT_EFFECT_TEST;
    case ZYDIS_MNEMONIC_AND:
        return NEXT_EFFECT_MASK;
    default:
        return NEXT_EFFECT_CALCULATE;
    }
}

/* The general registers that an instruction writes, but for its first operand. */
static enum next_clobbers other_writes(const ZydisDecodedInstruction *decoded,
                                       const ZydisDecodedOperand *operands)
{
    enum next_clobbers writes = NEXT_CLOBBERS_NONE;
    for (ZyanU8 i = 0; i < decoded->operand_count; i++) {
        const bool is_first = i == 0 && decoded->operand_count_visible > 0;
        if (is_first || operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        enum next_clobbers more = NEXT_CLOBBERS_ALL;
        switch (register_number(operands[i].reg.value)) {
        case NEXT_NOTHING:
        case NEXT_STACK:
            continue;
        case 0:
        case 2:
            more = NEXT_CLOBBERS_WIDE;
            break;
        case 1:
        case 6:
        case 7:
            more = NEXT_CLOBBERS_STRING;
            break;
        default:
            break;
        }
        writes = writes == NEXT_CLOBBERS_NONE || writes == more ? more : NEXT_CLOBBERS_ALL;
    }
    return writes;
}

static bool is_high_byte(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operand->reg.value >= ZYDIS_REGISTER_AH && operand->reg.value <= ZYDIS_REGISTER_BH;
}

/* What is not followed has no kind, but changes registers. */
static void describe_effect(struct description *description, const ZydisDecodedOperand *operands)
{
    const ZydisDecodedInstruction *decoded = description->decoded;
    struct next_effect *effect = &description->instruction->effect;
    const ZyanU8 visible = decoded->operand_count_visible;
    *effect = (struct next_effect){
        .to = NEXT_NOTHING, .from = NEXT_NOTHING, .base = NEXT_NOTHING, .index = NEXT_NOTHING};
    if (decoded->meta.category == ZYDIS_CATEGORY_CALL) {
        effect->kind = NEXT_EFFECT_CALL;
        effect->clobbers = NEXT_CLOBBERS_ALL;
        return;
    }
    if (decoded->meta.category == ZYDIS_CATEGORY_COND_BR ||
        decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
        decoded->meta.category == ZYDIS_CATEGORY_RET ||
        (description->instruction->flags & NEXT_IS_NOP))
        return;
    effect->kind = (unsigned)kind_of_effect(decoded) & 15;
    effect->clobbers = (unsigned)other_writes(decoded, operands) & 3;
    if (visible > 0)
        effect->to = effect_operand(description, &operands[0]) & OPERAND;
    if (visible > 1)
        effect->from = effect_operand(description, &operands[visible - 1]) & OPERAND;
    if (effect->kind == NEXT_EFFECT_PUSH)
        effect->from = effect->to;
    if (effect->kind == NEXT_EFFECT_ADDRESS && effect->from == NEXT_IS_NAMED)
        effect->kind = NEXT_EFFECT_MOVE;
    if (effect->kind == NEXT_EFFECT_TEST && is_high_byte(&operands[0]))
        effect->number = (int32_t)((uint32_t)effect->number << 8);
    if (decoded->mnemonic == ZYDIS_MNEMONIC_SUB && effect->to == NEXT_STACK)
        effect->number = (int32_t)(0 - (uint32_t)effect->number);
    if (effect->kind != NEXT_EFFECT_CALCULATE)
        return;
    if (effect->to == NEXT_NOTHING || !(operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
        effect->kind = NEXT_EFFECT_NONE;
    } else if (decoded->mnemonic == ZYDIS_MNEMONIC_XOR && effect->to == effect->from &&
               effect->to < NEXT_REGISTERS) {
        effect->kind = NEXT_EFFECT_MOVE;
        effect->from = NEXT_IS_NUMBER;
        effect->number = 0;
    }
}

/* Describe what Zydis has decoded. */
static void describe(struct description *description, const ZydisDecodedOperand *operands)
{
    const ZydisDecodedInstruction *decoded = description->decoded;
    struct next_instruction *instruction = description->instruction;
    if (decoded->meta.category == ZYDIS_CATEGORY_NOP ||
        decoded->meta.category == ZYDIS_CATEGORY_WIDENOP ||
        decoded->mnemonic == ZYDIS_MNEMONIC_INT3)
        instruction->flags |= NEXT_IS_NOP;
    /* A condition and its opposite are alike: which way is taken depends on the layout. */
    bool is_condition = decoded->meta.category == ZYDIS_CATEGORY_COND_BR;
    struct words kind = {0};
    uint64_t ignored;
    bool is_address_move = decoded->mnemonic == ZYDIS_MNEMONIC_MOV &&
                           operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                           is_address(description, &operands[1], &ignored);
    ZydisMnemonic mnemonic = is_address_move ? ZYDIS_MNEMONIC_LEA : decoded->mnemonic;
    put(&kind, is_condition ? ZYDIS_MNEMONIC_JNZ : mnemonic);
    put(&description->exact, mnemonic);
    describe_operands(description, operands);
    instruction->flags |= (uint16_t)compares(description, operands);
    instruction->test = (uint8_t)test_of(description, operands);
    instruction->kind = hash_words(&kind);
    describe_effect(description, operands);
    put(&description->shape, instruction->kind);
    instruction->shape = hash_words(&description->shape);
    put(&description->exact, instruction->shape);
    instruction->exact = hash_words(&description->exact);
}

/* --- Instructions that are known ------------------------------------------------------------- */

#define LINKED_MIN 5u /* bytes of an instruction that the linker fills a number of 32 bits in */

/* The bytes of the number at the end of a branch. */
static size_t target_size(const struct bat_instruction *plain)
{
    return plain->length < 4 ? 1 : 4;
}

/* True if the linker has filled a number in an instruction, other than a branch's target. */
static bool is_linked(const struct next_program *program, const struct bat_instruction *plain,
                      uint64_t address)
{
    return !bat_kind_has_target(plain->kind) && plain->length >= LINKED_MIN &&
           next_is_linked(program, address, plain->length);
}

/* True if the description of an instruction that the linker has not filled in, but for a branch's
 * target, is the same everywhere in the program. */
static bool is_same_everywhere(const ZydisDecodedInstruction *decoded,
                               const struct bat_instruction *plain)
{
    const bool has_target = bat_kind_has_target(plain->kind);
    return decoded->length == plain->length && has_target == decoded->raw.imm[0].is_relative &&
           (!has_target || decoded->raw.imm[0].size == 8 * target_size(plain));
}

/* Zydis takes ten times as long as to find the length and to look the bytes up. */
bool next_describe_x86(const struct next_program *program, const uint8_t *bytes, size_t size,
                       uint64_t address, struct next_instruction *instruction, uint32_t *length)
{
    struct bat_instruction plain;
    uint64_t key[2] = {0, 0};
    struct next_known *known = program->known;
    const bool is_plain = known &&
                          bat_instruction_decode(EM_X86_64, bytes, size, address, &plain) &&
                          !plain.has_reference && !is_linked(program, &plain, address);
    const bool has_target = is_plain && bat_kind_has_target(plain.kind);
    if (is_plain)
        memcpy(key, bytes, plain.length - (has_target ? target_size(&plain) : 0));
    if (is_plain && next_known_find(known, key, instruction)) {
        *length = plain.length;
        if (has_target)
            describe_target(program, plain.kind == BAT_INSTRUCTION_CALL, plain.target, instruction);
        return true;
    }
    ZydisDecoder decoder;
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &decoded, operands)))
        return false;
    *length = decoded.length;
    *instruction = (struct next_instruction){.callee = BAT_NONE};
    struct description description = {
        .program = program, .decoded = &decoded, .address = address, .instruction = instruction};
    describe(&description, operands);
    if (is_plain && is_same_everywhere(&decoded, &plain))
        next_known_add(known, key, instruction);
    if (description.has_target)
        describe_target(program, decoded.meta.category == ZYDIS_CATEGORY_CALL, description.target,
                        instruction);
    return true;
}
