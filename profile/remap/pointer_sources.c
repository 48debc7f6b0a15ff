/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Follows what the registers of straight code hold, up to an indirect call (pointer_sources.h). */
#include "pointer_sources.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"

#define REGISTERS 16u
#define NO_REGISTER REGISTERS
#define POINTER_SIZE 8u

enum holding {
    HOLDS_NOTHING, /* that is known */
    HOLDS_ADDRESS,
    HOLDS_POINTER, /* loaded from address */
    HOLDS_ENTRY,   /* loaded from the table at address */
};

struct held {
    enum holding holding;
    uint64_t address;
};

struct following {
    ZydisDecoder decoder;
    const struct bat_data_symbols *data;
    struct held registers[REGISTERS];
    struct held kept[REGISTERS]; /* addresses that these registers have in the whole function */
    bool is_written[REGISTERS];
    uint64_t *labels; /* targets of direct branches in the function, ascending */
    uint32_t label_count;
    size_t label_capacity;
};

/* --- Registers -------------------------------------------------------------------------------- */

static unsigned number_of(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    bool is_general = whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15;
    return is_general ? (unsigned)(whole - ZYDIS_REGISTER_RAX) : NO_REGISTER;
}

/* What a load of eight bytes from memory gives. */
static struct held load(const struct following *following, const ZydisDecodedOperand *operand,
                        uint64_t next)
{
    const ZydisDecodedOperandMem *memory = &operand->mem;
    uint64_t address = (uint64_t)memory->disp.value;
    const unsigned base = number_of(memory->base);
    if (operand->size != 8 * POINTER_SIZE || memory->segment == ZYDIS_REGISTER_FS ||
        memory->segment == ZYDIS_REGISTER_GS)
        return (struct held){HOLDS_NOTHING, 0};
    if (memory->base == ZYDIS_REGISTER_RIP)
        address += next;
    else if (base != NO_REGISTER && following->registers[base].holding == HOLDS_ADDRESS)
        address += following->registers[base].address;
    else if (memory->base != ZYDIS_REGISTER_NONE)
        return (struct held){HOLDS_NOTHING, 0};
    if (memory->index == ZYDIS_REGISTER_NONE)
        return (struct held){HOLDS_POINTER, address};
    return (struct held){memory->scale == POINTER_SIZE ? HOLDS_ENTRY : HOLDS_NOTHING, address};
}

/* What an instruction writes to its first operand. */
static struct held result_of(const struct following *following,
                             const ZydisDecodedInstruction *decoded,
                             const ZydisDecodedOperand *operands, uint64_t next)
{
    const ZydisDecodedOperand *source = &operands[1];
    if (decoded->mnemonic == ZYDIS_MNEMONIC_LEA && source->mem.base == ZYDIS_REGISTER_RIP)
        return (struct held){HOLDS_ADDRESS, next + (uint64_t)source->mem.disp.value};
    if (decoded->mnemonic != ZYDIS_MNEMONIC_MOV)
        return (struct held){HOLDS_NOTHING, 0};
    if (source->type == ZYDIS_OPERAND_TYPE_MEMORY)
        return load(following, source, next);
    if (source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return (struct held){HOLDS_ADDRESS, source->imm.value.u};
    unsigned copied = number_of(source->reg.value);
    return copied == NO_REGISTER || source->size != 8 * POINTER_SIZE
               ? (struct held){HOLDS_NOTHING, 0}
               : following->registers[copied];
}

/* The general register that an operand writes, whole or in part, or NO_REGISTER. */
static unsigned written_register(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                   (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
               ? number_of(operand->reg.value)
               : NO_REGISTER;
}

/* --- A first look ----------------------------------------------------------------------------- */

static bool decode(const struct following *following, const uint8_t *bytes, uint64_t size,
                   ZydisDecodedInstruction *decoded, ZydisDecodedOperand *operands)
{
    return ZYAN_SUCCESS(
        ZydisDecoderDecodeFull(&following->decoder, bytes, (size_t)size, decoded, operands));
}

/* Take what an instruction writes for what the function keeps in these registers. */
static void keep_written(struct following *following, const ZydisDecodedInstruction *decoded,
                         const ZydisDecodedOperand *operands, uint64_t next)
{
    /* A function's end gives its caller's registers back. */
    if (decoded->mnemonic == ZYDIS_MNEMONIC_POP)
        return;
    const struct held result = result_of(following, decoded, operands, next);
    for (ZyanU8 i = 0; i < decoded->operand_count; i++) {
        unsigned number = written_register(&operands[i]);
        if (number == NO_REGISTER)
            continue;
        struct held *kept = &following->kept[number];
        const bool is_same = i == 0 && result.holding == HOLDS_ADDRESS &&
                             (!following->is_written[number] ||
                              (kept->holding == HOLDS_ADDRESS && kept->address == result.address));
        *kept = is_same ? result : (struct held){HOLDS_NOTHING, 0};
        following->is_written[number] = true;
    }
}

/* Find the labels of a function, and the addresses that registers have in all of it. */
static enum bat_code look_at_function(struct following *following, const uint8_t *bytes,
                                      uint64_t size, uint64_t address)
{
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    following->label_count = 0;
    for (unsigned i = 0; i < REGISTERS; i++) {
        following->kept[i].holding = HOLDS_NOTHING;
        following->is_written[i] = false;
    }
    for (uint64_t at = 0; at < size && decode(following, bytes + at, size - at, &decoded, operands);
         at += decoded.length) {
        const uint64_t next = address + at + decoded.length;
        keep_written(following, &decoded, operands, next);
        const uint64_t target = next + (uint64_t)decoded.raw.imm[0].value.s;
        if (!decoded.raw.imm[0].is_relative || target - address >= size)
            continue;
        if (!BAT_APPEND(following->labels, following->label_count, following->label_capacity,
                        target))
            return BAT_ERR_MEMORY;
    }
    if (following->label_count > 1)
        qsort(following->labels, following->label_count, sizeof(*following->labels),
              bat_compare_u64);
    return BAT_OK;
}

static bool is_label(const struct following *following, uint64_t address)
{
    uint32_t found = BAT_NUMBERS_BELOW(following->labels, following->label_count, address);
    return found < following->label_count && following->labels[found] == address;
}

/* --- Straight code ---------------------------------------------------------------------------- */

/* Called functions keep RBX, RSP, RBP and R12 to R15. */
static bool is_kept_by_calls(unsigned number)
{
    return (number >= 3 && number <= 5) || number >= 12;
}

static void lose_all(struct following *following)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        following->registers[i] =
            is_kept_by_calls(i) ? following->kept[i] : (struct held){HOLDS_NOTHING, 0};
}

static void lose_at_call(struct following *following)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        if (!is_kept_by_calls(i))
            following->registers[i].holding = HOLDS_NOTHING;
}

static void write_registers(struct following *following, const ZydisDecodedInstruction *decoded,
                            const ZydisDecodedOperand *operands, uint64_t next)
{
    const struct held result = result_of(following, decoded, operands, next);
    for (ZyanU8 i = 0; i < decoded->operand_count; i++) {
        unsigned number = written_register(&operands[i]);
        if (number != NO_REGISTER)
            following->registers[number] = i == 0 ? result : (struct held){HOLDS_NOTHING, 0};
    }
    if (decoded->meta.category == ZYDIS_CATEGORY_CALL)
        lose_at_call(following);
    if (decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
        decoded->meta.category == ZYDIS_CATEGORY_RET)
        lose_all(following);
}

/* --- Sites ------------------------------------------------------------------------------------ */

/* Fill the data of a site whose pointer is the instruction's first operand. */
static void fill_site(const struct following *following, const ZydisDecodedOperand *operand,
                      uint64_t next, struct pointer_site *site)
{
    struct held held = {HOLDS_NOTHING, 0};
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
        held = load(following, operand, next);
    else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
             number_of(operand->reg.value) != NO_REGISTER)
        held = following->registers[number_of(operand->reg.value)];
    site->first = held.address;
    if (held.holding == HOLDS_POINTER)
        site->end = held.address + POINTER_SIZE;
    if (held.holding != HOLDS_ENTRY)
        return;
    uint32_t datum = bat_data_symbols_find(following->data, held.address);
    if (datum != BAT_NONE && datum + 1 < bat_data_symbols_count(following->data))
        site->end = bat_data_symbols_address(following->data, datum + 1);
}

/* Fill the sites in one function; returns their number. */
static uint32_t follow_function(struct following *following, const uint8_t *bytes, uint64_t size,
                                uint64_t address, struct pointer_site *sites, uint32_t count)
{
    uint32_t done = 0;
    lose_all(following);
    for (uint64_t at = 0; at < size && done < count && sites[done].branch < address + size;) {
        ZydisDecodedInstruction decoded;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        if (!decode(following, bytes + at, size - at, &decoded, operands))
            break;
        if (is_label(following, address + at))
            lose_all(following);
        const uint64_t next = address + at + decoded.length;
        for (; done < count && sites[done].branch < next; done++)
            if (sites[done].branch == address + at)
                fill_site(following, &operands[0], next, &sites[done]);
        write_registers(following, &decoded, operands, next);
        at += decoded.length;
    }
    while (done < count && sites[done].branch < address + size)
        done++;
    return done;
}

enum bat_code input_pointer_sources(const struct bat_original *original,
                                    const struct bat_data_symbols *data, struct pointer_site *sites,
                                    uint32_t count)
{
    struct following following = {.data = data};
    enum bat_code code = BAT_OK;
    if (bat_elf_machine(original->elf) != EM_X86_64)
        return BAT_OK;
    ZydisDecoderInit(&following.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (uint32_t done = 0; done < count && code == BAT_OK;) {
        uint32_t input = bat_functions_find(original->input_functions, sites[done].branch);
        uint64_t size = 0;
        const uint8_t *bytes =
            input == BAT_NONE
                ? NULL
                : bat_elf_at_address(original->elf, original->inputs[input].address, &size);
        if (bytes && size > bat_function_extent(&original->inputs[input]))
            size = bat_function_extent(&original->inputs[input]);
        uint32_t found = 0;
        if (bytes) {
            code = look_at_function(&following, bytes, size, original->inputs[input].address);
            found = follow_function(&following, bytes, size, original->inputs[input].address,
                                    sites + done, count - done);
        }
        done += found == 0 ? 1 : found;
    }
    free(following.labels);
    return code;
}
