/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "references.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "binary/functions/loaded_sections.h"
#include "spec/array.h"
#include "spec/little_endian.h"
#include "spec/order.h"

/* A datum with a symbol, or a slot of the GOT. */
struct named {
    uint64_t address;
    uint64_t size;
    uint32_t name; /* hash */
    bool is_slot;
};

/* An instruction of AArch64 with a part of an address, or where one of x86-64 has the distance of a
 * thread's variable. */
struct linked {
    uint64_t instruction;
    uint64_t address;
};

/* 8 bytes that the loader replaces by an address of the program. */
struct replaced {
    uint64_t address;
    uint64_t value;
};

struct next_references {
    struct loaded_sections sections;
    struct replaced *replaced; /* those that have another value in the file; ascending by address */
    size_t replaced_count;
    size_t replaced_capacity;
    struct named *all; /* ascending by address */
    size_t count;
    size_t capacity;
    struct linked *linked; /* ascending by instruction */
    size_t linked_count;
    size_t linked_capacity;
    uint64_t *absolutes; /* x86-64: addresses of constants with a relocation, ascending */
    size_t absolute_count;
    size_t absolute_capacity;
    bool has_absolutes; /* the linker's relocations of code are there */
    bool is_fixed;      /* the program has fixed addresses */
};

#define STRING_MIN 2u
#define STRING_SURE 4u /* shorter ones may be numbers */
#define STRING_MAX 256u
#define CONSTANT_SIZE 8u
#define SEED_DATUM 1u
#define SEED_STRING 2u
#define SEED_CONSTANT 3u
#define SEED_SECTION 4u
#define SEED_TABLE 5u

static bool add(struct next_references *references, const struct named *named)
{
    return BAT_APPEND(references->all, references->count, references->capacity, *named);
}

static enum bat_code add_symbols(struct next_references *references, const struct bat_elf *elf,
                                 struct bat_error *error)
{
    const struct bat_symbol *symbols;
    size_t count;
    BAT_TRY(bat_elf_symbols((struct bat_elf *)elf, false, &symbols, &count, error));
    for (size_t i = 0; i < count; i++) {
        const struct bat_symbol *symbol = &symbols[i];
        if (symbol->type != STT_OBJECT || symbol->section == BAT_SECTION_UNDEFINED)
            continue;
        const struct named named = {
            .address = symbol->address,
            .size = symbol->size,
            .name = next_hash(symbol->name, next_plain_name_length(symbol->name), SEED_DATUM)};
        if (!add(references, &named))
            return bat_fail_memory(error, "for %zu symbols", count);
    }
    return BAT_OK;
}

/* What the loader puts somewhere, if the file has something else there. */
static bool add_replaced(struct next_references *references, const struct bat_elf *elf,
                         const struct replaced *replaced)
{
    uint64_t size;
    const uint8_t *bytes = bat_elf_at_address(elf, replaced->address, &size);
    return !bytes || size < sizeof(replaced->value) || bat_load64(bytes) == replaced->value ||
           BAT_APPEND(references->replaced, references->replaced_count,
                      references->replaced_capacity, *replaced);
}

/* What the loader fills: slots of the GOT with a symbol's address, and others. */
static enum bat_code add_slots(struct next_references *references, const struct bat_elf *elf,
                               struct bat_error *error)
{
    const struct bat_symbol *symbols;
    size_t symbol_count;
    BAT_TRY(bat_elf_symbols((struct bat_elf *)elf, true, &symbols, &symbol_count, error));
    const uint32_t relative =
        bat_elf_machine(elf) == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    for (size_t i = 0; i < count; i++) {
        if (sections[i].type != SHT_RELA || !(sections[i].flags & SHF_ALLOC))
            continue;
        uint64_t size;
        const uint8_t *bytes = bat_elf_section_bytes(elf, &sections[i], &size);
        for (uint64_t at = 0; bytes && at + sizeof(Elf64_Rela) <= size; at += sizeof(Elf64_Rela)) {
            uint64_t info = bat_load64(bytes + at + offsetof(Elf64_Rela, r_info));
            uint32_t order = (uint32_t)(info >> 32);
            const struct replaced replaced = {
                .address = bat_load64(bytes + at),
                .value = bat_load64(bytes + at + offsetof(Elf64_Rela, r_addend))};
            if ((uint32_t)info == relative && !add_replaced(references, elf, &replaced))
                return bat_fail_memory(error, "for addresses in data");
            size_t found = BAT_COUNT_BELOW(symbols, symbol_count, order, order);
            if (order == 0 || found == symbol_count || symbols[found].order != order)
                continue;
            const struct named named = {
                .address = bat_load64(bytes + at),
                .size = CONSTANT_SIZE,
                .name = next_hash(symbols[found].name, strlen(symbols[found].name), 0),
                .is_slot = true};
            if (!add(references, &named))
                return bat_fail_memory(error, "for slots of the GOT");
        }
    }
    BAT_SORT_BY_TWO(references->replaced, references->replaced_count, address, value);
    return BAT_OK;
}

/* --- Relocations of AArch64's code ------------------------------------------------------------ */

/* True for instructions with a page or its lower 12 bits, of data or of the GOT. */
static bool has_part_of_address(uint32_t type)
{
    switch (type) {
    case R_AARCH64_ADR_PREL_LO21:
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADR_PREL_PG_HI21_NC:
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
    case R_AARCH64_LDST16_ABS_LO12_NC:
    case R_AARCH64_LDST32_ABS_LO12_NC:
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LDST128_ABS_LO12_NC:
    case R_AARCH64_ADR_GOT_PAGE:
    case R_AARCH64_LD64_GOT_LO12_NC:
        return true;
    default:
        return false;
    }
}

/*
 * How far behind the place of a relocation the distance of a thread's variable from the thread's
 * pointer is, in the code that linkers make of it; UINT64_MAX for other relocations. The distance
 * depends on the other variables.
 */
static uint64_t thread_distance(uint32_t type)
{
    switch (type) {
    case R_X86_64_TPOFF32:
    case R_X86_64_DTPOFF32:
    case R_X86_64_GOTTPOFF:
    case R_X86_64_GOTPC32_TLSDESC:
        return 0;
    case R_X86_64_TLSGD: /* LEA and CALL become MOV and LEA */
        return 8;
    default:
        return UINT64_MAX;
    }
}

static bool add_thread_distances(struct next_references *references, const uint8_t *bytes,
                                 uint64_t size)
{
    for (uint64_t at = 0; size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
        const uint64_t info = bat_load64(bytes + at + offsetof(Elf64_Rela, r_info));
        const uint64_t distance = thread_distance((uint32_t)info);
        if (distance != UINT64_MAX &&
            !BAT_APPEND(references->linked, references->linked_count, references->linked_capacity,
                        (struct linked){.instruction = bat_load64(bytes + at) + distance}))
            return false;
    }
    return true;
}

/* True for relocations that leave an absolute address in an instruction, or may: linkers make one
 * of a distance to a slot of the GOT. */
static bool is_absolute(uint32_t type)
{
    return type == R_X86_64_32 || type == R_X86_64_32S || type == R_X86_64_64 ||
           type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
           type == R_X86_64_REX_GOTPCRELX;
}

static bool add_absolutes(struct next_references *references, const uint8_t *bytes, uint64_t size)
{
    references->has_absolutes = true;
    for (uint64_t at = 0; size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela))
        if (is_absolute((uint32_t)bat_load64(bytes + at + offsetof(Elf64_Rela, r_info))) &&
            !BAT_APPEND(references->absolutes, references->absolute_count,
                        references->absolute_capacity, bat_load64(bytes + at)))
            return false;
    return true;
}

static bool has_thread_variables(const struct bat_section *sections, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sections[i].flags & SHF_TLS)
            return true;
    return false;
}

/* The value of a symbol in a table of them; false if there is none. */
static bool symbol_value(const uint8_t *symbols, uint64_t size, uint64_t index, uint64_t *value)
{
    if (!symbols || index >= size / sizeof(Elf64_Sym))
        return false;
    const uint8_t *symbol = symbols + index * sizeof(Elf64_Sym);
    *value = bat_load64(symbol + offsetof(Elf64_Sym, st_value));
    return *value != 0;
}

static bool add_section_linked(struct next_references *references, const uint8_t *bytes,
                               uint64_t size, const uint8_t *symbols, uint64_t symbols_size)
{
    for (uint64_t at = 0; size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
        const uint8_t *entry = bytes + at;
        uint64_t info = bat_load64(entry + offsetof(Elf64_Rela, r_info));
        struct linked linked = {.instruction = bat_load64(entry)};
        if (!has_part_of_address((uint32_t)info) ||
            !symbol_value(symbols, symbols_size, info >> 32, &linked.address))
            continue;
        linked.address += bat_load64(entry + offsetof(Elf64_Rela, r_addend));
        if (!BAT_APPEND(references->linked, references->linked_count, references->linked_capacity,
                        linked))
            return false;
    }
    return true;
}

static enum bat_code add_linked(struct next_references *references, const struct bat_elf *elf,
                                struct bat_error *error)
{
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    const bool is_aarch64 = bat_elf_machine(elf) == EM_AARCH64;
    if (!is_aarch64 && !references->is_fixed && !has_thread_variables(sections, count))
        return BAT_OK;
    for (size_t i = 0; i < count; i++) {
        if (sections[i].type != SHT_RELA || (sections[i].flags & SHF_ALLOC) ||
            sections[i].info >= count || sections[i].link >= count ||
            !(sections[sections[i].info].flags & SHF_EXECINSTR))
            continue;
        uint64_t size;
        uint64_t symbols_size;
        const uint8_t *bytes = bat_elf_section_bytes(elf, &sections[i], &size);
        const uint8_t *symbols =
            bat_elf_section_bytes(elf, &sections[sections[i].link], &symbols_size);
        if (!bytes)
            continue;
        if (is_aarch64 ? !add_section_linked(references, bytes, size, symbols, symbols_size)
                       : !add_thread_distances(references, bytes, size) ||
                             (references->is_fixed && !add_absolutes(references, bytes, size)))
            return bat_fail_memory(error, "for relocations of code");
    }
    BAT_SORT_BY_TWO(references->linked, references->linked_count, instruction, address);
    if (references->absolute_count > 1)
        qsort(references->absolutes, references->absolute_count, sizeof(*references->absolutes),
              bat_compare_u64);
    return BAT_OK;
}

bool next_linked(const struct next_program *program, uint64_t instruction, uint64_t *address)
{
    const struct next_references *references = program->references;
    size_t i = references ? BAT_COUNT_BELOW(references->linked, references->linked_count,
                                            instruction, instruction)
                          : 0;
    if (!references || i == references->linked_count ||
        references->linked[i].instruction != instruction)
        return false;
    *address = references->linked[i].address;
    return true;
}

bool next_has_linked(const struct next_program *program)
{
    return program->references->linked_count != 0 || program->references->has_absolutes;
}

bool next_is_linked(const struct next_program *program, uint64_t instruction, uint32_t length)
{
    const struct next_references *all = program->references;
    const size_t linked = BAT_COUNT_BELOW(all->linked, all->linked_count, instruction, instruction);
    const size_t absolute = BAT_NUMBERS_BELOW(all->absolutes, all->absolute_count, instruction);
    return (linked < all->linked_count && all->linked[linked].instruction - instruction < length) ||
           (absolute < all->absolute_count && all->absolutes[absolute] - instruction < length);
}

/* --- All of it -------------------------------------------------------------------------------- */

enum bat_code next_references_open(struct next_program *program, struct bat_error *error)
{
    struct next_references *references = calloc(1, sizeof(*references));
    if (!references)
        return bat_fail_memory(error, "for what code refers to");
    program->references = references;
    references->is_fixed = bat_elf_type(program->elf) == ET_EXEC;
    enum bat_code code = loaded_sections_read(&references->sections, program->elf, false, error);
    code = code ? code : add_symbols(references, program->symbols, error);
    code = code ? code : add_slots(references, program->elf, error);
    code = code ? code : add_linked(references, program->elf, error);
    BAT_SORT(references->all, references->count, BAT_ASCENDING(struct named, address),
             BAT_DESCENDING(struct named, size));
    return code;
}

void next_references_free(struct next_references *references)
{
    if (!references)
        return;
    loaded_sections_free(&references->sections);
    BAT_FREE_ALL(references->all, references->linked, references->replaced, references->absolutes,
                 references);
}

bool next_is_address(const struct next_program *program, uint64_t at, uint64_t value)
{
    const struct next_references *references = program->references;
    if (references->has_absolutes) {
        const size_t i = BAT_NUMBERS_BELOW(references->absolutes, references->absolute_count, at);
        if (i == references->absolute_count || references->absolutes[i] != at)
            return false;
    }
    return references->is_fixed && value >= bat_elf_base_address(program->elf) &&
           loaded_section_at(&references->sections, value) != NULL;
}

/* The datum that holds an address, or NULL. */
static const struct named *find_named(const struct next_references *references, uint64_t address)
{
    size_t count = BAT_COUNT_UP_TO(references->all, references->count, address, address);
    if (count == 0)
        return NULL;
    const struct named *found = &references->all[count - 1];
    while (found > references->all && found[-1].address == found->address)
        found--;
    uint64_t size = found->size ? found->size : 1;
    return address - found->address < size ? found : NULL;
}

uint64_t next_read_word(const struct next_program *program, uint64_t address, const uint8_t *bytes)
{
    const struct next_references *references = program->references;
    size_t i = references ? BAT_COUNT_BELOW(references->replaced, references->replaced_count,
                                            address, address)
                          : 0;
    return references && i < references->replaced_count &&
                   references->replaced[i].address == address
               ? references->replaced[i].value
               : bat_load64(bytes);
}

bool next_read_slot(const struct next_program *program, uint64_t *address)
{
    const struct bat_section *section = loaded_section_at(&program->references->sections, *address);
    uint64_t size;
    const uint8_t *bytes = bat_elf_at_address(program->elf, *address, &size);
    if (!section || strcmp(section->name, ".got") != 0 || !bytes || size < CONSTANT_SIZE ||
        find_named(program->references, *address))
        return false;
    *address = next_read_word(program, *address, bytes);
    return true;
}

bool next_is_slot(const struct next_program *program, uint64_t address)
{
    const struct named *found = find_named(program->references, address);
    return found && found->is_slot && found->address == address;
}

/* The length of a string at bytes; 0 if there is none. */
static size_t string_length(const uint8_t *bytes, uint64_t size)
{
    size_t length = 0;
    while (length < size && length < STRING_MAX &&
           ((bytes[length] >= ' ' && bytes[length] < 0x7f) ||
            (bytes[length] >= '\t' && bytes[length] <= '\r')))
        length++;
    bool has_end = length == STRING_MAX || (length < size && bytes[length] == 0);
    return has_end && length >= STRING_MIN ? length : 0;
}

static bool is_code(const struct next_program *program, uint64_t address)
{
    const struct bat_section *section = loaded_section_at(&program->references->sections, address);
    return section && (section->flags & SHF_EXECINSTR);
}

/* True for addresses of code, or two distances to code: a jump table, the same in no two builds. */
static bool is_table(const struct next_program *program, uint64_t address, const uint8_t *bytes,
                     uint64_t size)
{
    if (size < CONSTANT_SIZE)
        return false;
    if (is_code(program, bat_load64(bytes)))
        return true;
    uint64_t first = address + (uint64_t)(int64_t)(int32_t)bat_load32(bytes);
    uint64_t second = address + (uint64_t)(int64_t)(int32_t)bat_load32(bytes + sizeof(uint32_t));
    return is_code(program, first) && is_code(program, second);
}

static uint32_t hash_data(const struct next_program *program, uint64_t address, bool *is_plain)
{
    uint64_t size;
    const uint8_t *bytes = bat_elf_at_address(program->elf, address, &size);
    size_t length = bytes ? string_length(bytes, size) : 0;
    *is_plain = length < STRING_SURE;
    if (!bytes)
        return 0;
    if (*is_plain && is_table(program, address, bytes, size))
        return SEED_TABLE;
    if (length != 0)
        return next_hash(bytes, length, SEED_STRING);
    return next_hash(bytes, size < CONSTANT_SIZE ? size : CONSTANT_SIZE, SEED_CONSTANT);
}

uint32_t next_reference(const struct next_program *program, uint64_t address, bool *is_plain)
{
    *is_plain = false;
    uint32_t function = bat_functions_find(program->functions, address);
    if (function != BAT_NONE) {
        if (program->all[function].address == address)
            return program->name_of[function];
        *is_plain = true;
        return SEED_SECTION;
    }
    const struct named *found = find_named(program->references, address);
    if (found) {
        const uint32_t offset = (uint32_t)(address - found->address);
        return found->is_slot || offset == 0 ? found->name
                                             : next_hash_pair(found->name, offset, SEED_DATUM);
    }
    const struct bat_section *section = loaded_section_at(&program->references->sections, address);
    if (!section)
        return 0;
    if (section->flags & SHF_WRITE) {
        *is_plain = true;
        return next_hash(section->name, strlen(section->name), SEED_SECTION);
    }
    return hash_data(program, address, is_plain);
}
