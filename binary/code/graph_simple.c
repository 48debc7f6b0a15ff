/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decides which functions are not simple for llvm-bolt: it knows their blocks, but not where all of
 * their indirect jumps and entries lead, and does not optimize them.
 */
#include <elf.h>
#include <stdlib.h>

#include "graph.h"
#include "instructions_x86.h"
#include "spec/little_endian.h"
#include "sweep.h"

/* --- Blocks that take down a stack frame ---------------------------------------------------- */

/* What an AArch64 instruction does with LR on the stack. */
enum link { LINK_NONE, LINK_SAVED, LINK_LOADED };

static enum link link_of(uint32_t word)
{
    const uint32_t link_register = 30;
    const uint32_t stack_pointer = 31;
    uint32_t base = word >> 5 & 31;
    bool is_pair = (word & 0xfe000000) == 0xa8000000;      /* LDP, STP */
    bool is_single = (word & 0xff800000) == 0xf9000000     /* LDR, STR with an offset */
                     || (word & 0xffa00000) == 0xf8000000; /* ... that is added to the base */
    bool has_link = (word & 31) == link_register || (is_pair && (word >> 10 & 31) == link_register);
    if ((!is_pair && !is_single) || !has_link || base != stack_pointer)
        return LINK_NONE;
    return word & 0x00400000 ? LINK_LOADED : LINK_SAVED;
}

static bool is_aarch64_epilogue(const uint8_t *bytes, size_t size)
{
    bool is_loaded = false;
    for (size_t at = 0; at + sizeof(uint32_t) <= size; at += sizeof(uint32_t)) {
        enum link link = link_of(bat_load32(bytes + at));
        if (link == LINK_SAVED)
            return false;
        is_loaded |= link == LINK_LOADED;
    }
    return is_loaded;
}

static bool is_x86_epilogue(const struct code_sweep *sweep, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i < last; i++) {
        uint32_t offset = sweep->all[i].offset;
        if (x86_is_pop(sweep->bytes + offset, sweep->size - offset))
            return true;
    }
    return false;
}

/* True if the block takes down the stack frame: an indirect jump at its end is a tail call. */
static bool is_epilogue(const struct code_sweep *sweep, uint32_t first, uint32_t last)
{
    if (sweep->reader->machine == EM_X86_64)
        return is_x86_epilogue(sweep, first, last);
    if (sweep->reader->machine != EM_AARCH64)
        return false;
    return is_aarch64_epilogue(sweep->bytes + sweep->all[first].offset,
                               sweep->all[last].offset - sweep->all[first].offset);
}

/* --- Jumps ---------------------------------------------------------------------------------- */

/* True for a jump by a slot that is filled at run time, or constant (to another function). */
static bool is_slot_call(const struct code_sweep *sweep, const struct code_instruction *jump)
{
    struct bat_instruction instruction;
    if (!bat_instruction_decode(sweep->reader->machine, sweep->bytes + jump->offset,
                                sweep->size - jump->offset, sweep->function->address + jump->offset,
                                &instruction))
        return false;
    const struct bat_section *section = code_section_at(sweep->reader, instruction.slot);
    return !section || section->type == SHT_NOBITS || !(section->flags & SHF_WRITE);
}

bool code_knows_jump(const struct code_sweep *sweep, uint32_t first, uint32_t last)
{
    const struct code_instruction *jump = &sweep->all[last];
    if (jump->kind != BAT_INSTRUCTION_INDIRECT_JUMP)
        return true;
    /* All instructions that the table's address is taken from must be in the block. */
    if (jump->table != 0)
        return sweep->tables[jump->table - 1].first >= first;
    if (jump->jump == BAT_JUMP_TABLE)
        return true;
    if (jump->jump == BAT_JUMP_SLOT && is_slot_call(sweep, jump))
        return true;
    return is_epilogue(sweep, first, last);
}

/* --- A block by itself ---------------------------------------------------------------------- */

/* True if the block's last instruction, a jump through a register, uses a table. */
static enum bat_code find_table(struct code_sweep *sweep, bool *is_found, struct bat_error *error)
{
    enum bat_code code = code_find_register_tables(sweep, error);
    *is_found = false;
    for (uint32_t i = 0; i < sweep->table_count; i++)
        *is_found |= sweep->tables[i].jump != CODE_NO_JUMP;
    return code;
}

static enum bat_code tells_x86_jump(struct code_sweep *sweep, bool *tells, struct bat_error *error)
{
    uint32_t offset = 0;
    struct bat_instruction decoded = {.length = 1};
    sweep->all = malloc(sweep->size * sizeof(*sweep->all));
    BAT_TRY_MEMORY(sweep->all, error, "for a block of code");
    for (; offset < sweep->size; offset += decoded.length) {
        if (!bat_instruction_decode(EM_X86_64, sweep->bytes + offset, sweep->size - offset,
                                    sweep->function->address + offset, &decoded))
            return BAT_OK;
        sweep->all[sweep->count++] =
            (struct code_instruction){.offset = offset, .kind = decoded.kind, .jump = decoded.jump};
    }
    if (decoded.kind != BAT_INSTRUCTION_INDIRECT_JUMP || decoded.jump == BAT_JUMP_TABLE ||
        decoded.jump == BAT_JUMP_SLOT || is_x86_epilogue(sweep, 0, sweep->count - 1))
        return BAT_OK;
    *tells = false;
    return decoded.jump == BAT_JUMP_REGISTER ? find_table(sweep, tells, error) : BAT_OK;
}

enum bat_code bat_code_tells_jump(uint16_t machine, const uint8_t *bytes, uint32_t size,
                                  uint64_t address, bool *tells, struct bat_error *error)
{
    *tells = true;
    if (machine == EM_X86_64) {
        const struct bat_function_symbol block = {.address = address, .size = size};
        struct code_sweep sweep = {.function = &block, .bytes = bytes, .size = size};
        enum bat_code code = tells_x86_jump(&sweep, tells, error);
        code_sweep_free(&sweep);
        return code;
    }
    struct bat_instruction last;
    if (machine == EM_AARCH64 && size >= 4 &&
        bat_instruction_decode(machine, bytes + size - 4, 4, address + size - 4, &last))
        *tells = last.kind != BAT_INSTRUCTION_INDIRECT_JUMP || is_aarch64_epilogue(bytes, size - 4);
    return BAT_OK;
}

/* --- Functions ------------------------------------------------------------------------------ */

bool code_can_be_simple(const struct code_sweep *sweep, const struct bat_code_blocks *blocks)
{
    if (sweep->has_own_reference || (sweep->has_fixed_jump && blocks->count > 1))
        return false;
    if (sweep->reader->has_relocations)
        return true;
    for (uint32_t i = 1; i < blocks->count; i++)
        if (blocks->all[i].flags & BAT_BLOCK_ENTRY)
            return false;
    return true;
}
