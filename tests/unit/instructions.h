/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Instructions as tests write them: bytes in a string, and kinds by short names. */
#pragma once

#include "binary/code/instructions.h"
#include "unit_test.h"

#define ADDRESS 0x401000u

#define BYTES(string) (const uint8_t *)(string), sizeof(string) - 1

enum {
    OTHER = BAT_INSTRUCTION_OTHER,
    NOP = BAT_INSTRUCTION_NOP,
    CONDITIONAL = BAT_INSTRUCTION_CONDITIONAL,
    JUMP = BAT_INSTRUCTION_JUMP,
    INDIRECT_JUMP = BAT_INSTRUCTION_INDIRECT_JUMP,
    CALL = BAT_INSTRUCTION_CALL,
    INDIRECT_CALL = BAT_INSTRUCTION_INDIRECT_CALL,
    RETURN = BAT_INSTRUCTION_RETURN,
    TRAP = BAT_INSTRUCTION_TRAP,
};
