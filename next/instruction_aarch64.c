/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "instruction_aarch64.h"

#include "binary/code/instructions.h"
#include "encodings_aarch64.h"
#include "references.h"

#define NO_OPERATION 0xd503201fu
#include "spec/little_endian.h"

#include <elf.h>

#define WORD_SIZE 4u
#define ZERO 31u                  /* the number of the zero register and of the stack pointer */
#define FRAME_POINTER 29u         /* compilers keep it for that */
#define CALLEE_WRITES 0x0007ffffu /* x0 to x18 */
#define PAIR_MAX 16u              /* instructions between both halves of an address in a block */
#define WIDE_MAX 4u               /* ... between the parts of a number */

/* What is gathered of one instruction. */
struct description {
    const struct next_program *program;
    struct next_pages *pages;
    const struct aarch64_encoding *encoding;
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    uint32_t word;
    struct next_instruction *instruction;
    bool is_reference; /* the number is part of an address, which has a name instead */
    bool is_stack;     /* ... says where something is on the stack */
    bool is_move;      /* the mnemonic is MOV */
    uint64_t number;   /* the number in the word; of its kind if that is not compared as it is */
};

static bool is_stack_register(uint32_t number)
{
    return number == ZERO || number == FRAME_POINTER;
}

/* --- What is referred to ---------------------------------------------------------------------- */

static void refer(struct description *description, uint64_t address)
{
    bool is_plain;
    uint32_t name = next_reference(description->program, address, &is_plain);
    description->instruction->name = name;
    description->instruction->flags |= is_plain || name == 0 ? 0 : NEXT_NAMES;
    description->is_reference = true;
}

/* The bytes behind its base that an instruction uses; false if it has no such number. */
static bool lower_bits(const struct aarch64_encoding *encoding, uint32_t word, uint64_t *offset)
{
    *offset = word >> 10 & AARCH64_PAGE_MASK;
    if (encoding->number == AARCH64_NUMBER_SCALED) {
        *offset <<= aarch64_access_scale(encoding, word);
        return true;
    }
    /* ADD without a shift */
    return encoding->number == AARCH64_NUMBER_ADDED && (word & 0x60400000) == 0;
}

/* The first instruction behind in the block that completes a page's address. False if there is
 * none, or the register is another's by then. */
static bool find_lower(const struct description *description, uint64_t page, uint64_t *address)
{
    uint32_t reg = AARCH64_D(description->word);
    for (size_t at = WORD_SIZE; at + WORD_SIZE <= description->size && at <= PAIR_MAX * WORD_SIZE;
         at += WORD_SIZE) {
        uint32_t word = bat_load32(description->bytes + at);
        const struct aarch64_encoding *encoding = aarch64_encoding_of(word);
        uint64_t offset;
        if (AARCH64_N(word) == reg && lower_bits(encoding, word, &offset)) {
            *address = page + offset;
            return true;
        }
        if (encoding->number == AARCH64_NUMBER_ADDRESS && AARCH64_D(word) == reg)
            return false;
    }
    return false;
}

/* ADR and ADRP. An ADR of a page may be an ADRP that the linker replaced. */
static void describe_address(struct description *description)
{
    uint64_t address;
    uint64_t target = aarch64_address(description->word, description->address);
    bool is_page = (target & AARCH64_PAGE_MASK) == 0;
    description->is_reference = true;
    if (next_linked(description->program, description->address, &address) ||
        (is_page && find_lower(description, target, &address)))
        refer(description, address);
    else if (!is_page)
        refer(description, target);
    if (is_page) /* its other half tells as much */
        description->instruction->flags &= (uint16_t)~NEXT_NAMES;
}

/* True if an instruction's number is the lower half of an address, which is named. */
static bool describe_lower(struct description *description)
{
    uint64_t address;
    uint64_t offset;
    uint32_t base = AARCH64_N(description->word);
    if (!lower_bits(description->encoding, description->word, &offset))
        return false;
    if (!next_linked(description->program, description->address, &address)) {
        if (!(description->pages->known >> base & 1))
            return false;
        address = description->pages->page[base] + offset;
        /* Relocations tell no address of what is in another object. */
        if (next_has_linked(description->program) && !next_is_slot(description->program, address))
            return false;
    }
    refer(description, address);
    return true;
}

/* A literal in the code: an address, or a number. */
static void describe_literal(struct description *description)
{
    uint32_t word = description->word;
    uint64_t address = description->address + (uint64_t)aarch64_signed(word, 5, 19) * WORD_SIZE;
    uint64_t size;
    const uint8_t *bytes = bat_elf_at_address(description->program->elf, address, &size);
    bool is_long = description->encoding->d == AARCH64_GENERAL && word >> 30 == 1;
    if (!bytes || size < (is_long ? sizeof(uint64_t) : WORD_SIZE))
        return;
    uint64_t value = is_long ? bat_load64(bytes) : bat_load32(bytes);
    description->is_reference = true;
    if (is_long && next_is_address(description->program, 0, value))
        refer(description, value);
    else
        description->instruction->constant = next_hash(&value, sizeof(value), 2);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* To subtract 1 is to add -1. */
static void set_constant(struct description *description, uint64_t value)
{
    uint64_t size = (int64_t)value < 0 ? -value : value;
    if (size != 0)
        description->instruction->constant = next_hash(&size, sizeof(size), 2);
}

static void describe_added(struct description *description)
{
    uint32_t word = description->word;
    bool sets_flags = word >> 29 & 1;
    uint32_t base = AARCH64_N(word);
    if (describe_lower(description))
        return;
    description->number = (uint64_t)(word >> 10 & AARCH64_PAGE_MASK) << (word >> 22 & 1 ? 12 : 0);
    description->is_stack = !sets_flags && is_stack_register(base);
    description->is_move = (word & 0x607ffc00) == 0 && (base == ZERO || AARCH64_D(word) == ZERO);
    if (!description->is_stack)
        set_constant(description, description->number);
}

/* MOVZ and MOVN with the MOVK behind them. */
static void describe_moved(struct description *description)
{
    uint32_t word = description->word;
    const struct aarch64_encoding *encoding = description->encoding;
    unsigned shift = 16 * (word >> 21 & 3);
    uint64_t number = (uint64_t)(word >> 5 & 0xffff) << shift;
    if (encoding->family == AARCH64_MOVE) {
        if (!(word >> 30 & 1)) /* MOVN */
            number = ~number;
        for (size_t at = WORD_SIZE;
             at + WORD_SIZE <= description->size && at <= WIDE_MAX * WORD_SIZE; at += WORD_SIZE) {
            uint32_t other = bat_load32(description->bytes + at);
            if ((other & 0xff800000) != (0x72800000 | (word & 0x80000000)) ||
                AARCH64_D(other) != AARCH64_D(word))
                continue;
            shift = 16 * (other >> 21 & 3);
            number &= ~(UINT64_C(0xffff) << shift);
            number |= (uint64_t)(other >> 5 & 0xffff) << shift;
        }
        if (!(word >> 31)) /* 4 bytes */
            number = (uint64_t)(int64_t)(int32_t)(uint32_t)number;
        set_constant(description, number);
    }
    description->number = number;
}

static void describe_mask(struct description *description)
{
    uint32_t word = description->word;
    if (!aarch64_mask_number(word, &description->number))
        description->number = word;
    uint64_t value = description->number;
    set_constant(description, word >> 31 ? value : (uint64_t)(int64_t)(int32_t)(uint32_t)value);
    description->is_move = (word >> 29 & 3) == 1 && AARCH64_N(word) == ZERO;
}

/* Shifts by a number are UBFM and SBFM with certain numbers; so are extensions. The result tells
 * their mnemonics apart. */
static uint32_t describe_bits(struct description *description)
{
    uint32_t word = description->word;
    uint32_t first = word >> 16 & 63;
    uint32_t last = word >> 10 & 63;
    uint32_t highest = word >> 31 ? 63 : 31;
    bool is_signed = (word >> 29 & 3) == 0;
    bool is_unsigned = (word >> 29 & 3) == 2;
    if (last == highest && (is_signed || is_unsigned)) {
        set_constant(description, first);
        return 1; /* LSR, ASR */
    }
    if (is_unsigned && last + 1 == first) {
        set_constant(description, highest - last);
        return 2; /* LSL */
    }
    if (last < first)
        return 3; /* BFI, UBFIZ, SBFIZ */
    if (first == 0 && (is_signed || is_unsigned) &&
        (last == 7 || last == 15 || (last == 31 && is_signed)))
        return 4 + last; /* UXTB, SXTH and so on */
    return 0;
}

/* An offset from a base register. */
static void describe_offset(struct description *description)
{
    uint32_t word = description->word;
    const struct aarch64_encoding *encoding = description->encoding;
    bool is_after = false; /* it is added to the base afterwards */
    if (describe_lower(description))
        return;
    if (encoding->number == AARCH64_NUMBER_SCALED) {
        description->number = (uint64_t)(word >> 10 & AARCH64_PAGE_MASK)
                              << aarch64_access_scale(encoding, word);
    } else if (encoding->number == AARCH64_NUMBER_PAIR) {
        uint64_t scale = UINT64_C(1) << aarch64_access_scale(encoding, word);
        description->number = (uint64_t)aarch64_signed(word, 15, 7) * scale;
        is_after = (word >> 23 & 3) == 1;
    } else {
        description->number = (uint64_t)aarch64_signed(word, 12, 9);
        is_after = encoding->family == AARCH64_MEMORY && (word >> 10 & 3) == 1;
    }
    description->is_stack = is_stack_register(AARCH64_N(word));
    if (description->is_stack || description->number == 0)
        return;
    if (is_after)
        set_constant(description, description->number);
    else
        description->instruction->field =
            next_hash(&description->number, sizeof(description->number), 1);
}

/* MOV from a register is ORR with zero. */
static bool is_register_move(uint32_t word)
{
    return (word & 0x7fe0ffe0) == 0x2a0003e0;
}

/* What the instruction's number is and means. The result belongs to the mnemonic. */
static uint32_t describe_number(struct description *description)
{
    uint32_t word = description->word;
    switch (description->encoding->number) {
    case AARCH64_NUMBER_ADDED:
        describe_added(description);
        break;
    case AARCH64_NUMBER_MASK:
        describe_mask(description);
        break;
    case AARCH64_NUMBER_MOVED:
        describe_moved(description);
        break;
    case AARCH64_NUMBER_BITS:
        return describe_bits(description);
    case AARCH64_NUMBER_COMPARED:
        description->number = AARCH64_M(word);
        set_constant(description, description->number);
        break;
    case AARCH64_NUMBER_NEAR:
    case AARCH64_NUMBER_SCALED:
    case AARCH64_NUMBER_PAIR:
        describe_offset(description);
        break;
    case AARCH64_NUMBER_ADDRESS:
        describe_address(description);
        break;
    case AARCH64_NUMBER_LITERAL:
        describe_literal(description);
        break;
    case AARCH64_TARGET_BIT: /* as a test with a mask */
        set_constant(description, UINT64_C(1) << ((word >> 31) << 5 | (word >> 19 & 31)));
        break;
    default:
        break;
    }
    return 0;
}

/* --- Branches --------------------------------------------------------------------------------- */

/* Where a direct call or jump leads; only calls and tail calls have a name. */
static void describe_branch(struct description *description)
{
    struct bat_instruction decoded;
    struct next_instruction *instruction = description->instruction;
    if (!bat_instruction_decode(EM_AARCH64, description->bytes, WORD_SIZE, description->address,
                                &decoded))
        return;
    bool is_call = bat_kind_is_call(decoded.kind);
    if (is_call)
        instruction->flags |= NEXT_IS_CALL;
    if (decoded.kind == BAT_INSTRUCTION_NOP &&
        description->word == bat_load32(description->bytes)) /* no linker has made it */
        instruction->flags |= NEXT_IS_NOP;
    if (decoded.kind == BAT_INSTRUCTION_INDIRECT_CALL ||
        decoded.kind == BAT_INSTRUCTION_INDIRECT_JUMP)
        instruction->flags |= NEXT_IS_INDIRECT;
    if (!bat_kind_is_branch(decoded.kind) && decoded.kind != BAT_INSTRUCTION_CALL)
        return;
    uint32_t function = bat_functions_at(description->program->functions, decoded.target);
    if (function == BAT_NONE)
        return;
    instruction->callee = function;
    instruction->name = next_called_name(description->program, function);
    instruction->flags |= is_call ? NEXT_NAMES : 0;
}

/* What a condition behind an instruction tells; or its own, of CBZ and TBZ. By Arm's encodings. */
static enum next_test test_of(uint32_t word)
{
    bool is_wide = word >> 31;
    enum next_test zero = is_wide ? NEXT_TEST_NULL : NEXT_TEST_ZERO;
    bool has_result = AARCH64_D(word) != ZERO;
    if ((word & 0x7e000000) == 0x34000000) /* CBZ, CBNZ */
        return zero;
    if ((word & 0x7e000000) == 0x36000000) /* TBZ, TBNZ: of the sign, or of another bit */
        return (word >> 31 << 5 | (word >> 19 & 31)) == (is_wide ? 63u : 31u) ? zero
                                                                              : NEXT_TEST_BITS;
    if ((word & 0x1f800000) == 0x11000000 && word >> 29 & 1) /* ADDS, SUBS with a number */
        return has_result                              ? NEXT_TEST_RESULT
               : (word >> 10 & AARCH64_PAGE_MASK) == 0 ? zero
                                                       : NEXT_TEST_CONSTANT;
    if ((word & 0x1f000000) == 0x0b000000 && word >> 29 & 1) /* ADDS, SUBS with a register */
        return has_result ? NEXT_TEST_RESULT : NEXT_TEST_VALUES;
    if ((word & 0x7f800000) == 0x72000000) /* ANDS with a number */
        return NEXT_TEST_BITS;
    if ((word & 0x7f000000) == 0x6a000000) /* ANDS, BICS with a register */
        return AARCH64_N(word) == (word >> 16 & 31) ? zero : NEXT_TEST_BITS;
    if ((word & 0x3fe00000) == 0x3a400000) /* CCMN, CCMP */
        return word >> 11 & 1 ? NEXT_TEST_CONSTANT : NEXT_TEST_VALUES;
    if ((word & 0xff203c00) == 0x1e202000 || (word & 0xff200c00) == 0x1e200400) /* FCMP, FCCMP */
        return NEXT_TEST_VALUES;
    return NEXT_TEST_NONE;
}

/* --- Registers -------------------------------------------------------------------------------- */

/* A register's class: all are alike but for zero, the stack pointer and those of vectors. */
static uint32_t register_class(uint8_t kind, uint32_t number)
{
    if (kind == AARCH64_NONE || kind == AARCH64_VECTOR)
        return kind;
    if (number != ZERO)
        return AARCH64_GENERAL;
    return kind == AARCH64_STACK ? AARCH64_STACK : AARCH64_VECTOR + 1;
}

struct registers {
    uint32_t bits;    /* of the word that name registers */
    uint32_t classes; /* of all four */
    uint32_t zeros;   /* which are zero and tell the mnemonic */
};

static void add_register(struct registers *registers, uint8_t kind, uint32_t word, unsigned low)
{
    uint32_t number = word >> low & 31;
    registers->classes = registers->classes * 8 + register_class(kind, number);
    registers->zeros = registers->zeros * 2 + (kind == AARCH64_ALIAS && number == ZERO);
    if (kind != AARCH64_NONE)
        registers->bits |= UINT32_C(31) << low;
}

static struct registers registers_of(const struct aarch64_encoding *encoding, uint32_t word)
{
    struct registers registers = {0};
    add_register(&registers, encoding->d, word, 0);
    add_register(&registers, encoding->n, word, 5);
    add_register(&registers, encoding->a, word, 10);
    add_register(&registers, encoding->m, word, 16);
    return registers;
}

/* --- Pages ------------------------------------------------------------------------------------ */

/* Behind a call, or where control does not go on, what is in the callee's registers is unknown. */
static bool loses_registers(uint32_t word)
{
    return (word & 0x7c000000) == 0x14000000 || (word & 0xfe000000) == 0xd6000000;
}

/* Keep in mind the page that ADRP writes, forget what other instructions write. */
static void follow_pages(const struct description *description)
{
    struct next_pages *pages = description->pages;
    uint32_t word = description->word;
    pages->known &= ~(aarch64_written(word) | (loses_registers(word) ? CALLEE_WRITES : 0));
    if (description->encoding->number != AARCH64_NUMBER_ADDRESS)
        return;
    uint64_t target = aarch64_address(word, description->address);
    if ((target & AARCH64_PAGE_MASK) != 0)
        return;
    pages->page[AARCH64_D(word)] = target;
    pages->known |= UINT32_C(1) << AARCH64_D(word);
}

/* --- The hashes ------------------------------------------------------------------------------- */

static uint32_t kind_of(const struct description *description, const struct registers *registers,
                        uint32_t more)
{
    const struct aarch64_encoding *encoding = description->encoding;
    if (description->is_move || encoding->family == AARCH64_MOVE ||
        is_register_move(description->word)) {
        const uint32_t move = AARCH64_MOVE;
        return next_hash(&move, sizeof(move), 0);
    }
    uint32_t opcode = encoding->family == AARCH64_MEMORY ? aarch64_access(description->word)
                                                         : description->word & encoding->opcode;
    bool has_family = encoding->family != AARCH64_NO_FAMILY;
    const uint32_t words[] = {encoding->family,
                              has_family ? 0 : encoding->mask,
                              has_family ? 0 : encoding->value,
                              opcode,
                              registers->zeros,
                              more};
    return next_hash(words, sizeof(words), 0);
}

static void set_hashes(struct description *description, uint32_t more)
{
    struct next_instruction *instruction = description->instruction;
    const struct aarch64_encoding *encoding = description->encoding;
    const struct registers registers = registers_of(encoding, description->word);
    uint32_t number_bits = aarch64_number_bits(encoding->number);
    uint32_t fixed =
        description->is_reference ? number_bits : aarch64_target_bits(encoding->number);
    bool is_compared = !description->is_reference && !description->is_stack;
    instruction->kind = kind_of(description, &registers, more);
    const uint32_t shape[] = {instruction->kind,
                              description->word & ~(registers.bits | number_bits),
                              registers.classes, is_compared ? (uint32_t)description->number : 0,
                              is_compared ? (uint32_t)(description->number >> 32) : 0};
    instruction->shape = next_hash(shape, sizeof(shape), 0);
    const uint32_t exact[] = {instruction->shape, description->word & ~fixed};
    instruction->exact = next_hash(exact, sizeof(exact), 0);
}

static bool is_adr(uint32_t word)
{
    return (word & 0x9f000000) == 0x10000000;
}

/*
 * Linkers make ADRP and ADD of ADRP and a load of the GOT, and a no-operation and ADR of ADRP and
 * ADD. The instruction that there was in place of a word.
 */
static uint32_t before_relaxation(const struct next_program *program,
                                  const struct next_pages *pages, const uint8_t *bytes, size_t size,
                                  uint64_t address)
{
    uint32_t word = bat_load32(bytes);
    uint64_t available;
    if (word == NO_OPERATION && size >= 2 * WORD_SIZE && is_adr(bat_load32(bytes + WORD_SIZE))) {
        uint32_t adr = bat_load32(bytes + WORD_SIZE);
        uint64_t page = (aarch64_address(adr, address + WORD_SIZE) >> 12) - (address >> 12);
        return 0x90000000 | (uint32_t)(page & 3) << 29 | (uint32_t)(page >> 2 & 0x7ffff) << 5 |
               AARCH64_D(adr);
    }
    const uint8_t *before =
        is_adr(word) ? bat_elf_at_address(program->elf, address - WORD_SIZE, &available) : NULL;
    if (before && available >= WORD_SIZE && bat_load32(before) == NO_OPERATION)
        return 0x91000000 | (uint32_t)(aarch64_address(word, address) & AARCH64_PAGE_MASK) << 10 |
               AARCH64_D(word) << 5 | AARCH64_D(word);
    uint32_t base = AARCH64_N(word);
    bool is_load = (word & 0xffc00000) == 0xf9400000; /* LDR Xt, [Xn, #imm] */
    uint64_t slot = pages->page[base] + (uint64_t)(word >> 10 & AARCH64_PAGE_MASK) * 8;
    if (is_load && pages->known >> base & 1 && next_read_slot(program, &slot))
        return 0x91000000 | base << 5 | AARCH64_D(word);
    return word;
}

bool next_describe_aarch64(const struct next_program *program, struct next_pages *pages,
                           const uint8_t *bytes, size_t size, uint64_t address,
                           struct next_instruction *instruction, uint32_t *length)
{
    if (size < WORD_SIZE)
        return false;
    uint32_t word = before_relaxation(program, pages, bytes, size, address);
    *length = WORD_SIZE;
    *instruction = (struct next_instruction){.callee = BAT_NONE};
    struct description description = {.program = program,
                                      .pages = pages,
                                      .encoding = aarch64_encoding_of(word),
                                      .bytes = bytes,
                                      .size = size,
                                      .address = address,
                                      .word = word,
                                      .instruction = instruction};
    uint32_t more = describe_number(&description);
    describe_branch(&description);
    instruction->test = (uint8_t)test_of(word);
    set_hashes(&description, more);
    follow_pages(&description);
    return true;
}
