/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes what a machine instruction does to the flow of control, for x86-64, AArch64 and RISC-V.
 *
 * The kinds follow BOLT's rules for basic blocks: a call does not end a block, UD2 and HLT do,
 * SYSCALL and INT3 are like any other instruction, and a LOCK prefix at the beginning is an
 * instruction by itself. x86-64 is decoded by a table of the common opcodes, otherwise with Zydis.
 * Of AArch64 only branches and instructions that name an address relative to their own are told
 * apart, of RISC-V (with compressed instructions) only branches.
 *
 * All functions are safe on any bytes and hold no state. They take constant time unless they say
 * otherwise.
 */
#pragma once

#include "bat.h"

enum bat_instruction_kind {
    BAT_INSTRUCTION_OTHER,
    BAT_INSTRUCTION_NOP,
    BAT_INSTRUCTION_CONDITIONAL,   /* a branch that may fall through; to target */
    BAT_INSTRUCTION_JUMP,          /* to target */
    BAT_INSTRUCTION_INDIRECT_JUMP, /* see the field jump */
    BAT_INSTRUCTION_CALL,          /* to target */
    BAT_INSTRUCTION_INDIRECT_CALL,
    BAT_INSTRUCTION_RETURN, /* from a function or an exception */
    BAT_INSTRUCTION_TRAP,   /* control does not go on: UD1, UD2, HLT; UDF, BRK; EBREAK */
};

/* True for branches whose target the instruction names. */
static inline bool bat_kind_is_branch(uint8_t kind)
{
    return kind == BAT_INSTRUCTION_JUMP || kind == BAT_INSTRUCTION_CONDITIONAL;
}

static inline bool bat_kind_is_call(uint8_t kind)
{
    return kind == BAT_INSTRUCTION_CALL || kind == BAT_INSTRUCTION_INDIRECT_CALL;
}

static inline bool bat_kind_has_target(uint8_t kind)
{
    return bat_kind_is_branch(kind) || kind == BAT_INSTRUCTION_CALL;
}

/* What an x86-64 indirect jump takes its target from. */
enum bat_indirect_jump {
    BAT_JUMP_UNKNOWN,  /* other memory; always so for AArch64 and RISC-V */
    BAT_JUMP_REGISTER, /* register register_number, 0 (RAX) to 15 (R15) */
    BAT_JUMP_SLOT,     /* the 8 bytes at the constant address slot */
    BAT_JUMP_TABLE,    /* the 8 bytes at slot + 8 * a register */
};

struct bat_instruction {
    uint64_t target;    /* CONDITIONAL, JUMP, CALL */
    uint64_t reference; /* if has_reference */
    uint64_t immediate; /* x86-64: the last operand's constant, extended to 64 bits; else 0 */
    uint64_t slot;      /* INDIRECT_JUMP by BAT_JUMP_SLOT or BAT_JUMP_TABLE */
    uint8_t length;     /* bytes */
    uint8_t kind;       /* enum bat_instruction_kind */
    uint8_t jump;       /* enum bat_indirect_jump, for INDIRECT_JUMP */
    uint8_t register_number;
    bool has_reference;   /* an operand names an address relative to the instruction's own:
                             memory on x86-64; ADR and literal loads on AArch64 */
    bool is_short_branch; /* LOOP, JRCXZ: BOLT gives up functions with these */
};

/*
 * Decode the instruction at the start of size bytes, for the machine EM_X86_64, EM_AARCH64 or
 * EM_RISCV; address is that of the instruction. False if it is invalid, truncated, or of another
 * machine; *instruction is unchanged then.
 */
bool bat_instruction_decode(uint16_t machine, const uint8_t *bytes, size_t size, uint64_t address,
                            struct bat_instruction *instruction);

/*
 * The size of instructions at the start of size bytes after which control goes on, one after
 * another: those that bat_instruction_decode() tells to be of the kinds OTHER, NOP, CALL and
 * INDIRECT_CALL. It may be less than there are: only common ones are skipped. Linear.
 */
size_t bat_instructions_skip(uint16_t machine, const uint8_t *bytes, size_t size);

/* The same, up to the first call. */
size_t bat_instructions_skip_plain(uint16_t machine, const uint8_t *bytes, size_t size);

/*
 * True if the instruction at bytes is a return: RET (with prefixes, near or far, with or without
 * an operand), IRET; AArch64's RET, RETAA, RETAB, ERET, ERETAA, ERETAB, DRPS; RISC-V's JALR and
 * C.JR through RA or T0 that keep no address, SRET, MRET.
 */
bool bat_is_return(uint16_t machine, const uint8_t *bytes, size_t size);

/* bat_instruction_decode() for one machine. */
bool instruction_decode_x86(const uint8_t *bytes, size_t size, uint64_t address,
                            struct bat_instruction *instruction);
size_t instructions_skip_x86(const uint8_t *bytes, size_t size);
size_t instructions_skip_plain_x86(const uint8_t *bytes, size_t size);
bool instruction_decode_aarch64(const uint8_t *bytes, size_t size, uint64_t address,
                                struct bat_instruction *instruction);
bool instruction_decode_riscv(const uint8_t *bytes, size_t size, uint64_t address,
                              struct bat_instruction *instruction);

/*
 * AArch64: the target of an indirect jump if the instructions before load its register with a
 * constant, as in BOLT's jumps over long distances; otherwise 0. The code is at address start; `at`
 * is the jump's offset there.
 */
uint64_t bat_long_jump_target(const uint8_t *bytes, uint64_t at, uint64_t start);
