/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Zydis, for x86-64; it knows more of its vector instructions than Capstone (disassembler.h). */
#include "disassembler.h"

#include <elf.h>

enum bat_code disassembler_begin(struct disassembler *disassembler, uint16_t machine)
{
    *disassembler = (struct disassembler){.machine = machine};
    if (machine != EM_X86_64)
        return capstone_begin(disassembler);
    ZydisDecoderInit(&disassembler->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&disassembler->formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    static const ZydisFormatterProperty plain[] = {
        ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
        ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        ZydisFormatterSetProperty(&disassembler->formatter, plain[i], ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&disassembler->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, 0);
    return BAT_OK;
}

uint8_t disassembler_text(const struct disassembler *disassembler, const uint8_t *bytes,
                          uint64_t size, uint64_t address, char *text, size_t text_size)
{
    if (disassembler->machine != EM_X86_64)
        return capstone_text(disassembler, bytes, size, address, text, text_size);
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&disassembler->decoder, bytes, (size_t)size, &decoded,
                                             operands)))
        return 0;
    ZydisFormatterFormatInstruction(&disassembler->formatter, &decoded, operands,
                                    decoded.operand_count_visible, text, text_size, address, NULL);
    return decoded.length;
}
