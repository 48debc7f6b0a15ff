/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The text of instructions: x86-64's by Zydis, those of other machines by Capstone. */
#pragma once

#include <Zydis/Zydis.h>

#include "bat.h"

struct disassembler {
    uint16_t machine;
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    size_t handle; /* Capstone's, or 0 */
};

/*
 * Begin with a machine of the ELF header. BAT_ERR_UNSUPPORTED if there is no disassembler for it:
 * this Capstone does not know it, or batkit was built without; else BAT_OK or BAT_ERR_MEMORY.
 * disassembler_end() is called in any case.
 */
enum bat_code disassembler_begin(struct disassembler *disassembler, uint16_t machine);
void disassembler_end(struct disassembler *disassembler);

/*
 * Write the text of the instruction at the start of size bytes, cut to text_size; returns its
 * length in bytes, 0 without a text if the library does not know it.
 */
uint8_t disassembler_text(const struct disassembler *disassembler, const uint8_t *bytes,
                          uint64_t size, uint64_t address, char *text, size_t text_size);

/* The same by Capstone. */
enum bat_code capstone_begin(struct disassembler *disassembler);
uint8_t capstone_text(const struct disassembler *disassembler, const uint8_t *bytes, uint64_t size,
                      uint64_t address, char *text, size_t text_size);
