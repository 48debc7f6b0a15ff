/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes x86-64 instructions with Zydis, and chooses between that and the opcode maps. */

#include "instructions_x86.h"

static uint8_t branch_kind(const ZydisDecodedInstruction *decoded)
{
    bool is_direct = decoded->raw.imm[0].is_relative;
    switch (decoded->meta.category) {
    case ZYDIS_CATEGORY_COND_BR: /* includes XEND, which does not branch */
        return is_direct ? BAT_INSTRUCTION_CONDITIONAL : BAT_INSTRUCTION_OTHER;
    case ZYDIS_CATEGORY_UNCOND_BR: /* includes XABORT, which may go on to the next instruction */
        if (decoded->mnemonic != ZYDIS_MNEMONIC_JMP)
            return BAT_INSTRUCTION_OTHER;
        return is_direct ? BAT_INSTRUCTION_JUMP : BAT_INSTRUCTION_INDIRECT_JUMP;
    case ZYDIS_CATEGORY_CALL:
        return is_direct ? BAT_INSTRUCTION_CALL : BAT_INSTRUCTION_INDIRECT_CALL;
    case ZYDIS_CATEGORY_RET:
        return BAT_INSTRUCTION_RETURN;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
        return BAT_INSTRUCTION_NOP;
    default:
        return BAT_INSTRUCTION_OTHER;
    }
}

static bool is_short_branch(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
        return true;
    default:
        return false;
    }
}

static uint8_t kind_of(const ZydisDecodedInstruction *decoded)
{
    switch (decoded->mnemonic) {
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return BAT_INSTRUCTION_TRAP;
    default:
        return branch_kind(decoded);
    }
}

/* Fill what an indirect jump takes its target from. */
static void read_jump(const ZydisDecodedInstruction *decoded, uint64_t next,
                      struct bat_instruction *instruction)
{
    uint8_t mod = decoded->raw.modrm.mod;
    uint8_t rm = decoded->raw.modrm.rm;
    uint64_t displacement = (uint64_t)decoded->raw.disp.value;
    instruction->jump = BAT_JUMP_UNKNOWN;
    if (decoded->meta.branch_type != ZYDIS_BRANCH_TYPE_NEAR)
        return;
    if (mod == X86_MOD_REGISTER) {
        instruction->jump = BAT_JUMP_REGISTER;
        instruction->register_number = (uint8_t)(rm | decoded->raw.rex.B << 3);
    } else if (x86_has_segment_prefix(decoded)) {
        return;
    } else if (mod == 0 && rm == X86_RM_RIP) {
        instruction->jump = BAT_JUMP_SLOT;
        instruction->slot = next + displacement;
    } else if (mod == 0 && rm == X86_RM_SIB && decoded->raw.sib.base == X86_SIB_NO_BASE) {
        bool has_index = decoded->raw.sib.index != X86_SIB_NO_INDEX || decoded->raw.rex.X;
        if (has_index && 1u << decoded->raw.sib.scale != X86_SIB_SCALE_8)
            return;
        instruction->jump = has_index ? BAT_JUMP_TABLE : BAT_JUMP_SLOT;
        instruction->slot = displacement;
    }
}

bool x86_decode_by_zydis(const uint8_t *bytes, size_t size, uint64_t address,
                         struct bat_instruction *instruction)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction decoded;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &decoded)))
        return false;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_UD0 || decoded.mnemonic == ZYDIS_MNEMONIC_INT1)
        return false; /* LLVM does not decode these */
    uint64_t next = address + decoded.length;
    *instruction = (struct bat_instruction){
        .length = decoded.length,
        .kind = kind_of(&decoded),
        .is_short_branch = is_short_branch(decoded.mnemonic),
    };
    if (decoded.raw.imm[0].is_relative)
        instruction->target = next + (uint64_t)decoded.raw.imm[0].value.s;
    else
        instruction->immediate = decoded.raw.imm[0].value.u;
    if ((decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) && decoded.raw.modrm.mod == 0 &&
        decoded.raw.modrm.rm == X86_RM_RIP && decoded.address_width == 64) {
        instruction->has_reference = true;
        instruction->reference = next + (uint64_t)decoded.raw.disp.value;
    }
    if (instruction->kind == BAT_INSTRUCTION_INDIRECT_JUMP)
        read_jump(&decoded, next, instruction);
    return true;
}

bool instruction_decode_x86(const uint8_t *bytes, size_t size, uint64_t address,
                            struct bat_instruction *instruction)
{
    if (size > 0 && bytes[0] == X86_LOCK_PREFIX) {
        *instruction = (struct bat_instruction){.length = 1};
        return true;
    }
    return x86_decode_by_table(bytes, size, address, instruction) ||
           x86_decode_by_zydis(bytes, size, address, instruction);
}

bool x86_is_pop(const uint8_t *bytes, size_t size)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction decoded;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, size, &decoded)))
        return false;
    return decoded.meta.category == ZYDIS_CATEGORY_POP || decoded.mnemonic == ZYDIS_MNEMONIC_LEAVE;
}
