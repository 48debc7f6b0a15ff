/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds the pointers to folded functions that the input's relocations make (folded.h). */
#include <elf.h>
#include <string.h>

#include "folded.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/counts.h"

/* What a relocation adds to its symbol's address and addend to give the address that it names. */
struct naming {
    bool is_pointer; /* false for branches, calls and all others */
    uint8_t opcode;  /* bytes of a call or jump by a slot of the GOT before its distance, or 0 */
    uint64_t added;
};

/* x86-64: distances are from the instruction's end, four bytes behind them. */
#define DISTANCE_SIZE 4u

/* The bytes of a distance's instruction are tested: assemblers may give CALL, JMP and Jcc the type
 * of data's. */
static struct naming naming_distance(const struct bat_elf *elf, uint64_t place)
{
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, place - 2, &available);
    struct naming naming = {.is_pointer = true, .added = DISTANCE_SIZE};
    if (!bytes || available < 2)
        return naming;
    if (bytes[0] == 0xff && (bytes[1] == 0x15 || bytes[1] == 0x25))
        naming.opcode = 2;
    naming.is_pointer = naming.opcode == 0 && (bytes[1] & 0xfe) != 0xe8 &&
                        (bytes[0] != 0x0f || (bytes[1] & 0xf0) != 0x80);
    return naming;
}

static struct naming naming_x86(const struct bat_elf *elf, uint32_t type, uint64_t place)
{
    switch (type) {
    case R_X86_64_64:
    case R_X86_64_32:
    case R_X86_64_32S:
        return (struct naming){.is_pointer = true};
    case R_X86_64_PC32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return naming_distance(elf, place);
    default:
        return (struct naming){0};
    }
}

/* AArch64: the second one of two instructions that make an address. */
static struct naming naming_aarch64(uint32_t type)
{
    return (struct naming){
        .is_pointer = type == R_AARCH64_ABS64 || type == R_AARCH64_ADD_ABS_LO12_NC ||
                      type == R_AARCH64_LD64_GOT_LO12_NC || type == R_AARCH64_ADR_PREL_LO21};
}

struct counting {
    struct folded *folded;
    struct bat_counts by_start; /* start of a member: its index */
    const struct bat_section *sections;
    size_t section_count;
    uint64_t bytes_left; /* to read: sections of a damaged file may share their bytes */
};

static enum bat_code count_relocation(struct counting *counting, const Elf64_Rela *relocation,
                                      const uint8_t *symbols, uint64_t symbol_count)
{
    const struct bat_elf *elf = counting->folded->original->elf;
    uint32_t type = ELF64_R_TYPE(relocation->r_info);
    uint64_t number = ELF64_R_SYM(relocation->r_info);
    struct naming naming = bat_elf_machine(elf) == EM_X86_64
                               ? naming_x86(elf, type, relocation->r_offset)
                               : naming_aarch64(type);
    if ((!naming.is_pointer && naming.opcode == 0) || number >= symbol_count)
        return BAT_OK;
    Elf64_Sym symbol;
    memcpy(&symbol, symbols + number * sizeof(symbol), sizeof(symbol));
    uint64_t start = symbol.st_value + (uint64_t)relocation->r_addend + naming.added;
    const uint64_t *found = bat_counts_find(&counting->by_start, &start);
    struct folded *folded = counting->folded;
    struct folded_member *member = found ? &folded->members[found[1]] : NULL;
    if (member && naming.is_pointer && member->references != UINT32_MAX)
        member->references++;
    if (!member || (type != R_X86_64_64 && type != R_AARCH64_ABS64 && naming.opcode == 0))
        return BAT_OK;
    return BAT_APPEND(
               folded->pointers, folded->pointer_count, folded->pointer_capacity,
               (struct folded_pointer){relocation->r_offset - naming.opcode, (uint32_t)found[1]})
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

/* True for relocations of loaded code or data that the linker has kept from its input. */
static bool is_kept(const struct counting *counting, const struct bat_section *section)
{
    return section->type == SHT_RELA && !(section->flags & SHF_ALLOC) &&
           section->info < counting->section_count && section->link < counting->section_count &&
           counting->sections[section->info].flags & SHF_ALLOC;
}

static enum bat_code count_section(struct counting *counting, const struct bat_section *section)
{
    const struct bat_elf *elf = counting->folded->original->elf;
    uint64_t size;
    uint64_t symbols_size;
    const uint8_t *bytes = bat_elf_section_bytes(elf, section, &size);
    const uint8_t *symbols =
        bat_elf_section_bytes(elf, &counting->sections[section->link], &symbols_size);
    if (!bytes || !symbols || size > counting->bytes_left)
        return BAT_OK;
    counting->bytes_left -= size;
    enum bat_code code = BAT_OK;
    for (uint64_t at = 0; size - at >= sizeof(Elf64_Rela) && code == BAT_OK;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes + at, sizeof(relocation));
        code = count_relocation(counting, &relocation, symbols, symbols_size / sizeof(Elf64_Sym));
    }
    bat_elf_release(elf, bytes, size);
    return code;
}

static enum bat_code add_starts(struct counting *counting)
{
    const struct folded *folded = counting->folded;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < folded->body_count && code == BAT_OK; i++) {
        const struct folded_body *body = &folded->bodies[i];
        for (uint32_t j = 0; j < body->member_count && code == BAT_OK; j++) {
            uint32_t member = body->first_member + j;
            const uint64_t *start = &folded->members[member].start;
            if (!bat_counts_find(&counting->by_start, start))
                code = bat_counts_add(&counting->by_start, start, member, 0);
        }
    }
    return code;
}

/* The end of the last section in the file: more bytes than all sections have if none share bytes.
 */
static uint64_t end_of_sections(const struct counting *counting)
{
    uint64_t end = 0;
    for (size_t i = 0; i < counting->section_count; i++) {
        uint64_t size;
        bat_elf_section_bytes(counting->folded->original->elf, &counting->sections[i], &size);
        if (counting->sections[i].offset + size > end)
            end = counting->sections[i].offset + size;
    }
    return end;
}

enum bat_code folded_find_pointers(struct folded *folded)
{
    struct counting counting = {.folded = folded, .by_start = bat_counts_new(1)};
    const struct bat_elf *elf = folded->original->elf;
    uint16_t machine = bat_elf_machine(elf);
    if (machine != EM_X86_64 && machine != EM_AARCH64)
        return BAT_OK;
    counting.sections = bat_elf_sections(elf, &counting.section_count);
    counting.bytes_left = end_of_sections(&counting);
    enum bat_code code = add_starts(&counting);
    for (size_t i = 0; i < counting.section_count && code == BAT_OK; i++)
        if (is_kept(&counting, &counting.sections[i]))
            code = count_section(&counting, &counting.sections[i]);
    BAT_SORT_BY_TWO(folded->pointers, folded->pointer_count, place, member);
    bat_counts_free(&counting.by_start);
    return code;
}
