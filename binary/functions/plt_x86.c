/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "plt_slots.h"

#include <Zydis/Zydis.h>
#include <string.h>

/* An instruction of a PLT section. */
struct instruction {
    uint64_t length;
    bool is_endbr;
    bool is_indirect_jump;
    bool has_slot; /* an indirect jump through memory at a constant address: slot */
    uint64_t slot;
};

static bool decode(const ZydisDecoder *decoder, const uint8_t *bytes, uint64_t size,
                   uint64_t address, struct instruction *result)
{
    ZydisDecodedInstruction decoded;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, size, &decoded)))
        return false;
    *result = (struct instruction){
        .length = decoded.length,
        .is_endbr = decoded.mnemonic == ZYDIS_MNEMONIC_ENDBR64 ||
                    decoded.mnemonic == ZYDIS_MNEMONIC_ENDBR32,
        .is_indirect_jump = decoded.mnemonic == ZYDIS_MNEMONIC_JMP && decoded.opcode == 0xff,
    };
    if (!result->is_indirect_jump || decoded.raw.modrm.mod != 0)
        return true;
    uint64_t displacement = (uint64_t)decoded.raw.disp.value;
    if (decoded.raw.modrm.rm == 5) { /* relative to the next instruction */
        result->has_slot = true;
        result->slot = address + decoded.length + displacement;
    } else if (decoded.raw.modrm.rm == 4 && decoded.raw.sib.base == 5 &&
               decoded.raw.sib.index == 4) { /* neither base nor index: absolute */
        result->has_slot = true;
        result->slot = displacement;
    }
    return true;
}

/*
 * Entries have a fixed size: 16 bytes in .plt and .iplt; 8 in .plt.got and .plt.sec, but 16 if
 * those begin with an ENDBR64. An entry in which no indirect jump ends (in the lazy half of a table
 * with .plt.sec) has no slot.
 */
void plt_slots_x86(struct plt_slots *slots, const struct bat_section *section, const uint8_t *bytes,
                   uint64_t size)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    bool is_small =
        strcmp(section->name, ".plt.got") == 0 || strcmp(section->name, ".plt.sec") == 0;
    uint64_t entry_size = is_small ? 8 : 16;
    for (uint64_t entry = 0; size - entry >= entry_size; entry += entry_size) {
        uint64_t at = entry;
        struct instruction instruction = {0};
        while (at < entry + entry_size) {
            if (!decode(&decoder, bytes + at, size - at, section->address + at, &instruction))
                return;
            if (at == 0 && instruction.is_endbr && is_small) {
                entry_size = 16;
                if (size < entry_size)
                    return;
            }
            if (instruction.is_indirect_jump)
                break;
            at += instruction.length;
        }
        if (instruction.is_indirect_jump && instruction.has_slot &&
            at + instruction.length <= entry + entry_size)
            plt_slots_add(slots, section, entry, instruction.slot);
    }
}
