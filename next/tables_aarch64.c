/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tables_aarch64.h"

#include <elf.h>
#include <stdlib.h>

#include "binary/code/instructions.h"
#include "binary/code/reader.h"
#include "encodings_aarch64.h"
#include "references.h"
#include "spec/array.h"
#include "spec/little_endian.h"

/*
 * A jump by a table has one of these forms, with any instructions in between:
 *
 *     cmp  w0, #last                cmp  w0, #last
 *     b.hi ...                      b.hi ...
 *     adrp x1, table                adrp x1, table
 *     add  x1, x1, :lo12:table      add  x1, x1, :lo12:table
 *     ldrb w1, [x1, w0, uxtw]       ldr  x1, [x1, x0, lsl #3]
 *     adr  x2, base                 br   x1
 *     add  x1, x2, w1, sxtb #2
 *     br   x1
 *
 * An entry of the left form has 1, 2 or 4 bytes, and is a distance from base, in instructions or
 * bytes. One of the right form is an address; such a table may end with the first one that is none.
 */

#define WORD_SIZE 4u
#define SPILLS_MAX 4u /* of an address to the stack and back */
#define COMPARISONS_MAX 8u
#define ENTRIES_MAX 4096u

/* The code before the jump. */
struct code_before {
    const struct next_program *program;
    const struct bat_function_symbol *function;
    const uint8_t *bytes;
    uint32_t size;
    uint32_t
        *sources;   /* for each word: the offset of a branch before that leads to it, or BAT_NONE */
    uint64_t steps; /* instructions that may still be looked at */
    uint64_t entries; /* of all tables together that may still be read */
};

/* How the entries of a table become addresses. */
struct form {
    uint64_t table;
    uint64_t base;
    unsigned size;  /* bytes of an entry */
    unsigned shift; /* of a distance */
    bool is_signed;
    uint32_t index;    /* register with the entry's number */
    uint32_t index_at; /* offset of the instruction that loads the entry */
};

static uint32_t word_at(const struct code_before *before, uint32_t offset)
{
    return bat_load32(before->bytes + offset);
}

/* --- Ways back -------------------------------------------------------------------------------- */

/* Set the sources: the last branch before the place that it leads to. */
static void find_sources(struct code_before *before)
{
    uint64_t address = before->function->address;
    for (uint32_t i = 0; i < before->size; i += WORD_SIZE)
        before->sources[i / WORD_SIZE] = BAT_NONE;
    for (uint32_t i = 0; i < before->size; i += WORD_SIZE) {
        struct bat_instruction decoded;
        if (!bat_instruction_decode(EM_AARCH64, before->bytes + i, WORD_SIZE, address + i,
                                    &decoded) ||
            !bat_kind_is_branch(decoded.kind) || decoded.target - address >= before->size)
            continue;
        uint32_t target = (uint32_t)(decoded.target - address);
        if (i < target)
            before->sources[target / WORD_SIZE] = i;
    }
}

/* True for jumps, returns and traps: the code behind is reached from elsewhere. */
static bool ends_path(uint32_t word)
{
    return (word & 0xfc000000) == 0x14000000 || (word & 0xfe9f0000) == 0xd61f0000 ||
           (word & 0xffe0001f) == 0xd4200000;
}

/* Go from an offset to that of the instruction before it on a path there; false at the start.
 * Where only tables or branches back lead to, the order of the code is as good as another: what is
 * computed before a loop stands before it. */
static bool step_back(struct code_before *before, uint32_t *offset)
{
    if (*offset < WORD_SIZE || before->steps == 0)
        return false;
    before->steps--;
    uint32_t source = before->sources[*offset / WORD_SIZE];
    bool is_behind = ends_path(word_at(before, *offset - WORD_SIZE));
    *offset = is_behind && source != BAT_NONE ? source : *offset - WORD_SIZE;
    return true;
}

static bool is_call(uint32_t word)
{
    return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;
}

/* The registers that an instruction writes. Of those that a call may write, only its result is
 * used behind: the compiler knows which others the called function leaves alone. */
static uint32_t written_by(uint32_t word)
{
    return is_call(word) ? 1 : aarch64_written(word);
}

/* The last instruction before an offset that writes a register; false if there is none. *at is its
 * offset. */
static bool find_writer(struct code_before *before, uint32_t reg, uint32_t end, uint32_t *at)
{
    for (uint32_t offset = end; step_back(before, &offset);) {
        if (written_by(word_at(before, offset)) >> reg & 1) {
            *at = offset;
            return true;
        }
    }
    return false;
}

/* The register that was stored last at a place of the stack before an offset; *at is where. */
static bool find_spilled(struct code_before *before, uint32_t place, uint32_t end, uint32_t *reg,
                         uint32_t *at)
{
    for (*at = end; step_back(before, at);) {
        uint32_t word = word_at(before, *at);
        uint32_t first = (word >> 15 & 0x7f) * 8; /* of STP */
        bool is_pair = (word & 0xffc003e0) == 0xa90003e0;
        if (((word & 0xffc003e0) == 0xf90003e0 && (word >> 10 & 0xfff) * 8 == place) ||
            (is_pair && first == place)) {
            *reg = AARCH64_D(word);
            return true;
        }
        if (is_pair && first + 8 == place) {
            *reg = AARCH64_A(word);
            return true;
        }
    }
    return false;
}

/* The last instruction before an offset that computed a register's value, through copies in other
 * registers and on the stack. */
static bool find_origin(struct code_before *before, uint32_t reg, uint32_t end, uint32_t *at)
{
    for (unsigned i = 0; i <= SPILLS_MAX; i++) {
        if (!find_writer(before, reg, end, at))
            return false;
        uint32_t word = word_at(before, *at);
        end = *at;
        if ((word & 0xffe0ffe0) == 0xaa0003e0) /* MOV */
            reg = AARCH64_M(word);
        else if ((word & 0xffc003e0) != 0xf94003e0) /* LDR from the stack */
            return true;
        else if (!find_spilled(before, (word >> 10 & 0xfff) * 8, *at, &reg, &end))
            return false;
    }
    return false;
}

/* --- The form --------------------------------------------------------------------------------- */

/* The address that a register has, of ADR, or ADRP and ADD. */
static bool find_address(struct code_before *before, uint32_t reg, uint32_t end, uint64_t *address)
{
    uint32_t at;
    if (!find_origin(before, reg, end, &at))
        return false;
    uint32_t word = word_at(before, at);
    uint64_t here = before->function->address + at;
    if ((word & 0x9f000000) == 0x10000000) { /* ADR */
        *address = aarch64_address(word, here);
        return true;
    }
    if ((word & 0xffc00000) != 0x91000000) /* ADD */
        return false;
    if (next_linked(before->program, here, address))
        return true;
    uint32_t page_at;
    if (!find_writer(before, AARCH64_N(word), at, &page_at))
        return false;
    uint32_t page = word_at(before, page_at);
    if ((page & 0x1f000000) != 0x10000000) /* ADRP, or ADR in its place */
        return false;
    *address = aarch64_address(page, before->function->address + page_at) +
               (word >> 10 & AARCH64_PAGE_MASK);
    return true;
}

/* A load of an entry by its number: its size and sign. */
static bool read_load(uint32_t word, uint32_t at, struct form *form)
{
    if ((word & 0x3f200c00) != 0x38200800) /* with a register as the offset */
        return false;
    unsigned kind = word >> 22 & 3;
    form->size = 1u << (word >> 30);
    form->is_signed = kind != 1;
    form->index = AARCH64_M(word);
    form->index_at = at;
    bool is_scaled = word >> 12 & 1;
    return kind != 0 && (is_scaled || form->size == 1);
}

/* ADD of a base and an entry: the registers of both, and what it does with the entry. */
static bool read_sum(uint32_t word, struct form *form, uint32_t *base, uint32_t *entry,
                     bool *extends)
{
    *base = AARCH64_N(word);
    *entry = AARCH64_M(word);
    form->shift = word >> 10 & 7;
    *extends = (word & 0xffe00000) == 0x8b200000;
    if (*extends) {
        form->is_signed = word >> 15 & 1;
        form->size = 1u << (word >> 13 & 3);
        return form->size <= 4;
    }
    return (word & 0xffe0e000) == 0x8b000000; /* LSL by up to 7 */
}

/* Find how the register that the jump at offset end leads to was computed. */
static bool find_form(struct code_before *before, uint32_t reg, uint32_t end, struct form *form)
{
    uint32_t at;
    uint32_t base;
    uint32_t entry;
    bool extends;
    if (!find_writer(before, reg, end, &at))
        return false;
    uint32_t word = word_at(before, at);
    if (read_load(word, at, form) && form->size == 8)
        return find_address(before, AARCH64_N(word), at, &form->table);
    if (!read_sum(word, form, &base, &entry, &extends) ||
        !find_address(before, base, at, &form->base))
        return false;
    struct form loaded;
    uint32_t sum = at;
    if (!find_writer(before, entry, sum, &at) || !read_load(word_at(before, at), at, &loaded) ||
        loaded.size > 4 || (extends && loaded.size != form->size) ||
        !find_address(before, AARCH64_N(word_at(before, at)), at, &form->table))
        return false;
    form->size = loaded.size;
    form->is_signed = extends ? form->is_signed : loaded.is_signed;
    form->index = loaded.index;
    form->index_at = loaded.index_at;
    return true;
}

/* --- Entries ---------------------------------------------------------------------------------- */

/* Comparisons of registers with numbers behind the place that is looked at, the last ones first. */
struct comparisons {
    uint32_t registers[COMPARISONS_MAX];
    uint32_t numbers[COMPARISONS_MAX];
    uint32_t count;
};

/* The number that a register was compared with; false if it was not. */
static bool compared_with(const struct comparisons *comparisons, uint32_t reg, uint32_t *number)
{
    for (uint32_t i = 0; i < comparisons->count; i++)
        if (comparisons->registers[i] == reg) {
            *number = comparisons->numbers[i];
            return true;
        }
    return false;
}

/* Keep a comparison; forget those of registers that get their value here. */
static void note_comparison(struct comparisons *comparisons, uint32_t word)
{
    uint32_t written = written_by(word);
    uint32_t kept = 0;
    if ((word & 0x7fc0001f) == 0x7100001f) { /* CMP */
        if (comparisons->count < COMPARISONS_MAX) {
            comparisons->registers[comparisons->count] = AARCH64_N(word);
            comparisons->numbers[comparisons->count++] = word >> 10 & (uint32_t)AARCH64_PAGE_MASK;
        }
        return;
    }
    for (uint32_t i = 0; i < comparisons->count; i++)
        if (!(written >> comparisons->registers[i] & 1)) {
            comparisons->registers[kept] = comparisons->registers[i];
            comparisons->numbers[kept++] = comparisons->numbers[i];
        }
    comparisons->count = kept;
}

/* The number of values that an instruction's result can have; 0: many. */
static uint32_t count_values(uint32_t word)
{
    uint64_t mask;
    if ((word & 0x7f800000) == 0x12000000) /* AND */
        return aarch64_mask_number(word, &mask) && mask < ENTRIES_MAX ? (uint32_t)mask + 1 : 0;
    uint32_t first = word >> 16 & 63;
    uint32_t last = word >> 10 & 63;
    if ((word & 0x7f800000) == 0x53000000 && last >= first && last - first < 12)
        return UINT32_C(2) << (last - first); /* UBFX, UXTB, LSR */
    return 0;
}

/* The number of entries, from what is known of the index; 0 if that is nothing. */
static uint32_t count_entries(struct code_before *before, const struct form *form)
{
    struct comparisons comparisons = {.count = 0};
    uint32_t index = form->index;
    for (uint32_t offset = form->index_at; step_back(before, &offset);) {
        uint32_t number;
        uint32_t word = word_at(before, offset);
        bool is_written = written_by(word) >> index & 1;
        bool is_move = (word & 0x7fe0ffe0) == 0x2a0003e0;
        bool is_extension = (word & 0xfffffc00) == 0xd3407c00 || /* UXTW, SXTW */
                            (word & 0xfffffc00) == 0x93407c00;
        if (is_written && !is_move && !is_extension)
            return count_values(word);
        if (is_written)
            index = is_move ? AARCH64_M(word) : AARCH64_N(word);
        note_comparison(&comparisons, word);
        if (compared_with(&comparisons, index, &number))
            return number + 1;
    }
    return 0;
}

static uint64_t entry_of(const struct next_program *program, const struct form *form,
                         uint64_t address, const uint8_t *bytes)
{
    if (form->size == 8)
        return next_read_word(program, address, bytes);
    uint64_t entry = form->size == 1   ? bytes[0]
                     : form->size == 2 ? (uint64_t)(bytes[0] | bytes[1] << 8)
                                       : bat_load32(bytes);
    unsigned unused = 64 - 8 * form->size;
    if (form->is_signed)
        entry = (uint64_t)((int64_t)(entry << unused) >> unused);
    return form->base + (entry << form->shift);
}

/* True if an address is in any part of the unit. */
static bool is_in_unit(const struct code_before *before, uint64_t address)
{
    const struct next_program *program = before->program;
    uint32_t function = bat_functions_find(program->functions, address);
    return function != BAT_NONE &&
           address - program->all[function].address < program->all[function].size &&
           program->unit_of[function] == program->unit_of[before->function - program->all];
}

/* Read count entries, or those of addresses up to the first that is none of the function. */
static bool read_entries(struct code_before *before, const struct form *form, uint32_t count,
                         struct next_read_table *table)
{
    uint64_t size;
    const uint8_t *bytes = bat_elf_at_address(before->program->elf, form->table, &size);
    if (!bytes)
        return true;
    if (form->size == 8 && count == 0)
        count = ENTRIES_MAX;
    if (count > size / form->size)
        count = (uint32_t)(size / form->size);
    if (count > ENTRIES_MAX || count == 0 || before->entries == 0)
        return true;
    table->targets = malloc(count * sizeof(*table->targets));
    if (!table->targets)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t address = entry_of(before->program, form, form->table + (uint64_t)i * form->size,
                                    bytes + (size_t)i * form->size);
        uint64_t offset = address - before->function->address;
        bool is_inside = offset < before->function->size;
        bool is_end = !is_inside && !is_in_unit(before, address);
        if (is_end && form->size == 8)
            break;
        if (is_end || before->entries == 0) { /* no table, or too many of them */
            table->count = 0;
            break;
        }
        before->entries--;
        table->targets[table->count++] = is_inside ? (uint32_t)offset : BAT_NONE;
    }
    uint32_t *shrunk = realloc(table->targets, (table->count + 1) * sizeof(*shrunk));
    table->targets = shrunk ? shrunk : table->targets;
    return true;
}

/* Read the table of one jump; false without memory. */
static bool read_table(struct code_before *before, uint32_t jump, struct next_read_table *table)
{
    struct form form = {.size = 0};
    *table = (struct next_read_table){.jump = jump};
    if (jump % WORD_SIZE != 0 || jump >= before->size)
        return true;
    uint32_t word = word_at(before, jump);
    if ((word & 0xfffffc1f) != 0xd61f0000 || /* BR */
        !find_form(before, AARCH64_N(word), jump, &form))
        return true;
    return read_entries(before, &form, count_entries(before, &form), table);
}

bool next_read_tables_aarch64(const struct next_program *program, uint32_t function,
                              const struct code_sweep *sweep, struct next_read_tables *tables)
{
    struct code_before before = {.program = program, .function = &program->all[function]};
    uint64_t size = sweep->size;
    before.bytes = code_bytes(program->reader, before.function->address, &size);
    if (!before.bytes)
        return true;
    before.size = (uint32_t)size / WORD_SIZE * WORD_SIZE;
    /* What a jump needs is near, and tables have few entries; this limits the time for a malicious
     * file. */
    before.steps = 4096 + UINT64_C(64) * size;
    before.entries = ENTRIES_MAX + UINT64_C(4) * size;
    before.sources = malloc((size / WORD_SIZE + 1) * sizeof(*before.sources));
    bool is_fine = before.sources != NULL;
    if (is_fine)
        find_sources(&before);
    for (uint32_t i = 0; i < sweep->count && is_fine; i++) {
        struct next_read_table table;
        if (sweep->all[i].kind != BAT_INSTRUCTION_INDIRECT_JUMP)
            continue;
        is_fine = read_table(&before, sweep->all[i].offset, &table) &&
                  BAT_GROW(tables->all, tables->count, tables->capacity);
        if (is_fine)
            tables->all[tables->count++] = table;
        else
            free(table.targets);
    }
    free(before.sources);
    return is_fine;
}

void next_read_tables_free(struct next_read_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++)
        free(tables->all[i].targets);
    free(tables->all);
    *tables = (struct next_read_tables){.count = 0};
}
