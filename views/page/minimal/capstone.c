/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In a build without Capstone: pages have no instructions of other machines than x86-64. */
#include "views/page/disassembler.h"

enum bat_code capstone_begin(struct disassembler *disassembler)
{
    (void)disassembler;
    return BAT_ERR_UNSUPPORTED;
}

void disassembler_end(struct disassembler *disassembler)
{
    (void)disassembler;
}

uint8_t capstone_text(const struct disassembler *disassembler, const uint8_t *bytes, uint64_t size,
                      uint64_t address, char *text, size_t text_size)
{
    (void)disassembler;
    (void)bytes;
    (void)size;
    (void)address;
    (void)text;
    (void)text_size;
    return 0;
}
