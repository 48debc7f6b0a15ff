/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "draft.h"
#include "spec/little_endian.h"

#include <Zydis/Zydis.h>

/* --- x86-64 ------------------------------------------------------------------------------- */

enum kind {
    KIND_OTHER,
    KIND_NOP,
    KIND_BREAKPOINT,
    KIND_JUMP_FORWARD, /* past its own end, at most to the end of the bytes */
};

/* Opcodes 90 and 0F 1F, with any prefixes and operands. */
static bool is_nop(const ZydisDecodedInstruction *decoded)
{
    return decoded->mnemonic == ZYDIS_MNEMONIC_NOP &&
           (decoded->opcode == 0x90 || decoded->opcode == 0x1f);
}

static enum kind decode(const ZydisDecoder *decoder, const uint8_t *bytes, uint64_t left,
                        uint64_t *length)
{
    ZydisDecodedInstruction decoded;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, left, &decoded)))
        return KIND_OTHER;
    *length = decoded.length;
    if (is_nop(&decoded))
        return KIND_NOP;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_INT3)
        return KIND_BREAKPOINT;
    if (decoded.mnemonic == ZYDIS_MNEMONIC_JMP && decoded.raw.imm[0].is_relative) {
        uint64_t distance = decoded.raw.imm[0].value.u; /* one backwards is huge */
        if (distance <= left - decoded.length)
            return KIND_JUMP_FORWARD;
    }
    return KIND_OTHER;
}

static bool is_padding_x86(const uint8_t *bytes, uint64_t size)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    uint64_t at = 0;
    uint64_t length = 0;
    while (at < size && decode(&decoder, bytes + at, size - at, &length) == KIND_BREAKPOINT)
        at += length;
    while (at < size) {
        if (bytes[at] == 0) {
            at++;
            continue;
        }
        enum kind kind = decode(&decoder, bytes + at, size - at, &length);
        if (kind != KIND_NOP && kind != KIND_JUMP_FORWARD)
            return false;
        at += length;
    }
    return true;
}

/* --- AArch64 ------------------------------------------------------------------------------ */

#define AARCH64_NOP 0xd503201fu
#define AARCH64_BRK 0xd4200000u
#define AARCH64_BRK_MASK 0xffe0001fu

static bool is_padding_aarch64(const uint8_t *bytes, uint64_t size)
{
    uint64_t at = 0;
    if (size % 4 != 0)
        return false;
    while (at < size && (bat_load32(bytes + at) & AARCH64_BRK_MASK) == AARCH64_BRK)
        at += 4;
    while (at < size && (bat_load32(bytes + at) == AARCH64_NOP || bat_load32(bytes + at) == 0))
        at += 4;
    return at == size;
}

/* ------------------------------------------------------------------------------------------ */

bool draft_is_padding(const struct bat_elf *elf, uint64_t address, uint64_t size)
{
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &available);
    if (!bytes || available < size)
        return false;
    switch (bat_elf_machine(elf)) {
    case EM_X86_64:
        return is_padding_x86(bytes, size);
    case EM_AARCH64:
        return is_padding_aarch64(bytes, size);
    default:
        return true;
    }
}
