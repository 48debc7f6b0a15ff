/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the jump tables of x86-64 jumps through a register: what the register was loaded from. */
#include "instructions_x86.h"
#include "sweep.h"

/*
 * A jump through a register uses a table if the instructions before have one of these forms:
 *
 *     mov table(,%index,8), %r              lea table(%rip), %a
 *     jmp *%r                               movslq (%a,%index,4), %b
 *                                           add %a, %b   (or %b, %a)
 *                                           jmp *%b      (or %a)
 *
 * with any others in between that do not write the registers %r, %a, %b. perf2bolt searches
 * backwards from the jump, in the order of the code. Here one forward pass keeps what was last
 * written to each register, which takes linear time.
 */

#define REGISTERS 16u
#define NO_REGISTER 0xffu

enum meaning {
    MEANING_UNKNOWN,
    MEANING_TARGET,          /* mov table(,%index,8): an entry of the table */
    MEANING_ADDRESS,         /* lea table(%rip) */
    MEANING_DISTANCE,        /* movslq (%base,%index,4) */
    MEANING_RELATIVE_TARGET, /* the sum of the last two */
};

/* What a register was last written. */
struct content {
    enum meaning meaning;
    uint64_t table;   /* TARGET, ADDRESS, RELATIVE_TARGET, DISTANCE if base_is_table */
    uint32_t written; /* index of the instruction */
    uint32_t first;   /* index of the first instruction of the form */
    uint8_t base;     /* DISTANCE: register number */
    bool base_is_table;
};

struct tracker {
    ZydisDecoder decoder;
    struct content registers[REGISTERS];
};

/* The number of the 64-bit register that holds this one, or NO_REGISTER. */
static uint8_t number_of(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
        return NO_REGISTER;
    return (uint8_t)(whole - ZYDIS_REGISTER_RAX);
}

static bool is_whole_register(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operand->reg.value >= ZYDIS_REGISTER_RAX && operand->reg.value <= ZYDIS_REGISTER_R15;
}

/* --- The four instructions ---------------------------------------------------------------- */

static struct content content_of_mov(const ZydisDecodedInstruction *decoded,
                                     const ZydisDecodedOperand *memory)
{
    struct content content = {0};
    bool is_indexed = memory->mem.base == ZYDIS_REGISTER_NONE &&
                      memory->mem.index != ZYDIS_REGISTER_NONE && memory->mem.scale == 8;
    if (decoded->opcode == 0x8b && is_indexed && !x86_has_segment_prefix(decoded)) {
        content.meaning = MEANING_TARGET;
        content.table = (uint64_t)memory->mem.disp.value;
    }
    return content;
}

static struct content content_of_lea(const ZydisDecodedInstruction *decoded,
                                     const ZydisDecodedOperand *operands, uint64_t next)
{
    struct content content = {0};
    if (is_whole_register(&operands[0]) && operands[1].mem.base == ZYDIS_REGISTER_RIP &&
        !x86_has_segment_prefix(decoded)) {
        content.meaning = MEANING_ADDRESS;
        content.table = next + (uint64_t)operands[1].mem.disp.value;
    }
    return content;
}

static struct content content_of_movsxd(const struct tracker *tracker,
                                        const ZydisDecodedInstruction *decoded,
                                        const ZydisDecodedOperand *operands)
{
    struct content content = {0};
    const ZydisDecodedOperand *memory = &operands[1];
    if (!is_whole_register(&operands[0]) || memory->type != ZYDIS_OPERAND_TYPE_MEMORY ||
        memory->mem.index == ZYDIS_REGISTER_NONE || memory->mem.scale != 4 ||
        memory->mem.disp.value != 0 || decoded->address_width != 64 ||
        x86_has_segment_prefix(decoded))
        return content;
    content.base = number_of(memory->mem.base);
    if (content.base == NO_REGISTER)
        return content;
    content.meaning = MEANING_DISTANCE;
    const struct content *base = &tracker->registers[content.base];
    content.base_is_table = base->meaning == MEANING_ADDRESS;
    content.table = base->table;
    content.first = base->first;
    return content;
}

/* Of the two registers, the one written last must hold a distance from the other's address. */
static struct content content_of_add(const struct tracker *tracker,
                                     const ZydisDecodedInstruction *decoded,
                                     const ZydisDecodedOperand *operands)
{
    struct content content = {0};
    if (decoded->opcode != 0x01 || !is_whole_register(&operands[0]) ||
        !is_whole_register(&operands[1]))
        return content;
    uint8_t one = number_of(operands[0].reg.value);
    uint8_t other = number_of(operands[1].reg.value);
    if (one == other)
        return content;
    if (tracker->registers[one].written < tracker->registers[other].written) {
        uint8_t swapped = one;
        one = other;
        other = swapped;
    }
    const struct content *last = &tracker->registers[one];
    if (last->meaning != MEANING_DISTANCE || last->base != other || !last->base_is_table)
        return content;
    content.meaning = MEANING_RELATIVE_TARGET;
    content.table = last->table;
    content.first = last->first;
    return content;
}

static struct content content_of(const struct tracker *tracker,
                                 const ZydisDecodedInstruction *decoded,
                                 const ZydisDecodedOperand *operands, uint64_t next)
{
    switch (decoded->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        if (operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return content_of_mov(decoded, &operands[1]);
        break;
    case ZYDIS_MNEMONIC_LEA:
        return content_of_lea(decoded, operands, next);
    case ZYDIS_MNEMONIC_MOVSXD:
        return content_of_movsxd(tracker, decoded, operands);
    case ZYDIS_MNEMONIC_ADD:
        return content_of_add(tracker, decoded, operands);
    default:
        break;
    }
    return (struct content){0};
}

/* --- The pass through the function ---------------------------------------------------------- */

/* For LLVM a repeated instruction does not write RCX, and SYSCALL neither RCX nor R11. */
static bool is_overlooked(const ZydisDecodedInstruction *decoded,
                          const ZydisDecodedOperand *operand)
{
    if (decoded->mnemonic == ZYDIS_MNEMONIC_SYSCALL)
        return true;
    const ZydisInstructionAttributes repeats =
        ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    return (decoded->attributes & repeats) &&
           operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           number_of(operand->reg.value) == number_of(ZYDIS_REGISTER_RCX);
}

static void write_registers(struct tracker *tracker, const ZydisDecodedInstruction *decoded,
                            const ZydisDecodedOperand *operands, uint64_t next, uint32_t index)
{
    struct content content = content_of(tracker, decoded, operands, next);
    content.written = index;
    if (content.meaning != MEANING_RELATIVE_TARGET && content.meaning != MEANING_DISTANCE)
        content.first = index;
    for (ZyanU8 i = 0; i < decoded->operand_count; i++) {
        if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
            !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
            is_overlooked(decoded, &operands[i]))
            continue;
        uint8_t number = number_of(operands[i].reg.value);
        if (number != NO_REGISTER)
            tracker->registers[number] = content;
    }
}

static enum bat_code use_register(struct code_sweep *sweep, const struct content *content,
                                  uint32_t jump, struct bat_error *error)
{
    bool is_relative = content->meaning == MEANING_RELATIVE_TARGET;
    if (content->meaning != MEANING_TARGET && !is_relative)
        return BAT_OK;
    sweep->all[jump].jump = BAT_JUMP_TABLE;
    const struct code_table table = {.address = content->table,
                                     .first = content->first,
                                     .jump = jump,
                                     .is_relative = is_relative};
    return code_add_table(sweep, &table, error);
}

/* With relocations, BOLT takes data for a table whose address an instruction takes, also if it
 * finds no jump that uses it. */
static enum bat_code note_address(struct code_sweep *sweep, const struct content *content,
                                  uint32_t index, struct bat_error *error)
{
    const struct code_table table = {
        .address = content->table, .first = index, .jump = CODE_NO_JUMP, .is_relative = true};
    return sweep->reader && sweep->reader->has_relocations && content->meaning == MEANING_ADDRESS &&
                   content->written == index
               ? code_add_table(sweep, &table, error)
               : BAT_OK;
}

/* False if the instruction cannot be decoded. */
static bool pass_instruction(struct code_sweep *sweep, struct tracker *tracker, uint32_t index,
                             enum bat_code *code, struct bat_error *error)
{
    uint32_t offset = sweep->all[index].offset;
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&tracker->decoder, sweep->bytes + offset,
                                             sweep->size - offset, &decoded, operands)))
        return false;
    if (sweep->all[index].jump == BAT_JUMP_REGISTER &&
        operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
        uint8_t number = number_of(operands[0].reg.value);
        if (number != NO_REGISTER)
            *code = use_register(sweep, &tracker->registers[number], index, error);
    }
    write_registers(tracker, &decoded, operands, sweep->function->address + offset + decoded.length,
                    index);
    if (decoded.mnemonic == ZYDIS_MNEMONIC_LEA && number_of(operands[0].reg.value) != NO_REGISTER)
        *code = note_address(sweep, &tracker->registers[number_of(operands[0].reg.value)], index,
                             error);
    return true;
}

enum bat_code code_find_register_tables(struct code_sweep *sweep, struct bat_error *error)
{
    struct tracker tracker = {0};
    enum bat_code code = BAT_OK;
    ZydisDecoderInit(&tracker.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (uint32_t i = 0; i < sweep->count && code == BAT_OK; i++) {
        if (sweep->bytes[sweep->all[i].offset] != X86_LOCK_PREFIX &&
            !pass_instruction(sweep, &tracker, i, &code, error))
            break;
    }
    return code;
}
