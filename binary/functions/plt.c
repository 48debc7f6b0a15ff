/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "plt.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elfnote/symbol_table.h"
#include "plt_slots.h"
#include "spec/array.h"
#include "spec/order.h"

bool bat_plt_is_section(const struct bat_elf *elf, const struct bat_section *section)
{
    uint16_t machine = bat_elf_machine(elf);
    if (!(section->flags & SHF_ALLOC) || (machine != EM_X86_64 && machine != EM_AARCH64))
        return false;
    return strcmp(section->name, ".plt") == 0 || strcmp(section->name, ".plt.got") == 0 ||
           strcmp(section->name, ".iplt") == 0 ||
           (machine == EM_X86_64 && strcmp(section->name, ".plt.sec") == 0);
}

/* --- Slots -------------------------------------------------------------------------------- */

/* In a sound file sections share no bytes, so together they are not larger than the file; sections
 * beyond that are left out. */
static void collect_slots(const struct bat_elf *elf, struct plt_slots *slots)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    uint64_t left;
    bat_elf_bytes(elf, &left);
    for (size_t i = 0; i < count; i++) {
        if (!bat_plt_is_section(elf, &sections[i]))
            continue;
        uint64_t size;
        const uint8_t *bytes = bat_elf_section_bytes(elf, &sections[i], &size);
        if (!bytes || size > left)
            continue;
        left -= size;
        if (bat_elf_machine(elf) == EM_X86_64)
            plt_slots_x86(slots, &sections[i], bytes, size);
        else
            plt_slots_aarch64(slots, &sections[i], bytes, size);
    }
}

/* The first of the sorted slots at this address; slots->count if there is none. */
static size_t first_slot(const struct plt_slots *slots, uint64_t address)
{
    size_t found = BAT_COUNT_BELOW(slots->slots, slots->count, slot, address);
    return found < slots->count && slots->slots[found].slot == address ? found : slots->count;
}

/* --- Relocations -------------------------------------------------------------------------- */

/* A table of relocations. */
struct relocations {
    const uint8_t *bytes; /* NULL if the file has no such table */
    uint64_t count;
};

static struct relocations relocations_at(const struct bat_elf *elf, uint64_t address, uint64_t size)
{
    uint64_t available = 0;
    const uint8_t *bytes = address ? bat_elf_at_address(elf, address, &available) : NULL;
    if (size > available)
        size = available;
    return (struct relocations){.bytes = bytes, .count = size / sizeof(Elf64_Rela)};
}

/*
 * First the relocations of the PLT's slots (DT_JMPREL), then all others (DT_RELA). A static
 * executable has no .dynamic section; then only .rela.dyn is used.
 */
static void find_relocations(const struct bat_elf *elf, struct relocations tables[2])
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    const struct bat_section *dynamic = NULL;
    for (size_t i = 0; i < count && !dynamic; i++)
        if (sections[i].type == SHT_DYNAMIC)
            dynamic = &sections[i];
    uint64_t size = 0;
    const uint8_t *bytes = dynamic ? bat_elf_section_bytes(elf, dynamic, &size) : NULL;
    tables[0] = tables[1] = (struct relocations){0};
    if (!bytes) {
        const struct bat_section *section = bat_elf_section(elf, ".rela.dyn");
        if (section && section->type == SHT_RELA)
            tables[1] = relocations_at(elf, section->address, section->size);
        return;
    }
    uint64_t values[DT_NUM] = {0};
    for (; size >= sizeof(Elf64_Dyn); bytes += sizeof(Elf64_Dyn), size -= sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, bytes, sizeof(entry));
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag > 0 && entry.d_tag < DT_NUM)
            values[entry.d_tag] = entry.d_un.d_val;
    }
    tables[0] = relocations_at(elf, values[DT_JMPREL], values[DT_PLTRELSZ]);
    tables[1] = relocations_at(elf, values[DT_RELA], values[DT_RELASZ]);
}

static bool is_irelative(const struct bat_elf *elf, uint32_t type)
{
    return type == (bat_elf_machine(elf) == EM_X86_64 ? (uint32_t)R_X86_64_IRELATIVE
                                                      : (uint32_t)R_AARCH64_IRELATIVE);
}

/* Set entry's symbol and target to what the relocation puts into its slot; false if not known. */
static bool relocation_target(const struct bat_elf *elf, const struct symbol_table *symbols,
                              const Elf64_Rela *relocation, struct bat_plt_entry *entry)
{
    uint64_t index = ELF64_R_SYM(relocation->r_info);
    if (index == 0) {
        entry->symbol = NULL;
        entry->target = (uint64_t)relocation->r_addend;
        return entry->target != 0 && is_irelative(elf, ELF64_R_TYPE(relocation->r_info));
    }
    if (index >= symbols->count)
        return false;
    Elf64_Sym symbol = symbol_table_at(symbols, (uint32_t)index);
    if (symbol.st_name >= symbols->strings_size)
        return false;
    entry->symbol = symbols->strings + symbol.st_name;
    entry->target = symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
    return true;
}

/* --- Entries ------------------------------------------------------------------------------ */

/*
 * Fill the entries of the slot that the relocation sets, unless an earlier relocation did. done is
 * used only for the first entry of each slot.
 */
static void apply(const struct bat_elf *elf, const struct symbol_table *symbols,
                  const struct plt_slots *slots, const Elf64_Rela *relocation,
                  struct bat_plt_entry *entries, bool *done)
{
    size_t first = first_slot(slots, relocation->r_offset);
    if (first == slots->count || done[first] ||
        ELF64_R_TYPE(relocation->r_info) == 0) /* R_X86_64_NONE, R_AARCH64_NONE */
        return;
    done[first] = true;
    for (size_t i = first; i < slots->count && slots->slots[i].slot == relocation->r_offset; i++) {
        struct bat_plt_entry entry = {.address = slots->slots[i].address, .in = slots->slots[i].in};
        if (relocation_target(elf, symbols, relocation, &entry))
            entries[i] = entry;
    }
}

/* Fill entries[i] for slots[i]; entries without a known target keep a NULL section. */
static void resolve(const struct bat_elf *elf, const struct plt_slots *slots,
                    struct bat_plt_entry *entries, bool *done)
{
    struct relocations tables[2];
    find_relocations(elf, tables);
    struct symbol_table symbols;
    symbol_table_open(&symbols, elf, SHT_DYNSYM, NULL); /* empty if it cannot be read */
    for (size_t table = 0; table < 2; table++) {
        for (uint64_t i = 0; i < tables[table].count; i++) {
            Elf64_Rela relocation;
            memcpy(&relocation, tables[table].bytes + i * sizeof(relocation), sizeof(relocation));
            apply(elf, &symbols, slots, &relocation, entries, done);
        }
    }
}

enum bat_code bat_plt_entries(const struct bat_elf *elf, struct bat_plt_entry **entries,
                              size_t *count, struct bat_error *error)
{
    *entries = NULL;
    *count = 0;
    struct plt_slots slots = {0};
    collect_slots(elf, &slots);
    if (slots.count == 0 && !slots.out_of_memory)
        return BAT_OK;
    if (slots.count == 0)
        return bat_fail_memory(error, "for the entries of the PLT");

    bool *done = calloc(slots.count, sizeof(*done));
    *entries = calloc(slots.count, sizeof(**entries));
    if (slots.out_of_memory || !done || !*entries) {
        BAT_FREE_ALL(slots.slots, done, *entries);
        *entries = NULL;
        return bat_fail_memory(error, "for the entries of the PLT");
    }
    BAT_SORT_BY(slots.slots, slots.count, slot);
    resolve(elf, &slots, *entries, done);
    for (size_t i = 0; i < slots.count; i++)
        if ((*entries)[i].in)
            (*entries)[(*count)++] = (*entries)[i];
    BAT_SORT_BY(*entries, *count, address);
    BAT_FREE_ALL(slots.slots, done);
    return BAT_OK;
}
