/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Capstone, for the machines that Zydis does not know. It knows RISC-V from version 5 on. */
#define CAPSTONE_AARCH64_COMPAT_HEADER /* Capstone 6, too, then says CS_ARCH_ARM64 */
#include <capstone.h>
#include <elf.h>
#include <stdio.h>

#include "disassembler.h"

enum bat_code capstone_begin(struct disassembler *disassembler)
{
    cs_err failed = CS_ERR_ARCH;
    if (disassembler->machine == EM_AARCH64)
        failed = cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &disassembler->handle);
#if CS_API_MAJOR >= 5
    if (disassembler->machine == EM_RISCV)
        failed = cs_open(CS_ARCH_RISCV, CS_MODE_RISCV64 | CS_MODE_RISCVC, &disassembler->handle);
#endif
    if (failed == CS_ERR_MEM)
        return BAT_ERR_MEMORY;
    return failed ? BAT_ERR_UNSUPPORTED : BAT_OK;
}

void disassembler_end(struct disassembler *disassembler)
{
    if (disassembler->handle != 0)
        cs_close(&disassembler->handle);
}

uint8_t capstone_text(const struct disassembler *disassembler, const uint8_t *bytes, uint64_t size,
                      uint64_t address, char *text, size_t text_size)
{
    cs_insn instruction = {0};
    size_t left = (size_t)size;
    if (!cs_disasm_iter(disassembler->handle, &bytes, &left, &address, &instruction))
        return 0;
    snprintf(text, text_size, "%s%s%s", instruction.mnemonic, *instruction.op_str ? " " : "",
             instruction.op_str);
    return (uint8_t)instruction.size;
}
