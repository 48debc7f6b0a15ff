/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds the secondary entry points that other code gives the wanted functions: addresses inside
 * them that other functions branch to or call, and those that the loader or the linker writes into
 * data or instructions.
 *
 * Compilers make no branches into other functions, except between the parts of a split function;
 * assembly code does. Decoding all code to find them would take long. Instead, all code is searched
 * for byte sequences that would be such a branch if an instruction started there. Few sequences
 * match by chance, and only functions that have a match are decoded.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elfnote/symbol_table.h"
#include "reader.h"
#include "spec/little_endian.h"
#include "support/parallel.h"

/* The search in one function, the source. Each thread has its own. */
struct search {
    const struct bat_code_reader *reader;
    const uint8_t *bytes; /* of the source */
    uint64_t size;
    uint64_t address;
    uint32_t source;
    enum bat_code code;
    struct code_addresses found;
    struct bat_error error;
};

/* True if address lies behind the start of a wanted function other than the source. */
static bool enters_wanted(const struct search *search, uint64_t address)
{
    /* Nearly all branches and calls go on in the source, or go to a function's start. */
    if (address - search->address < search->size || !code_may_be_wanted(search->reader, address))
        return false;
    uint32_t index = bat_functions_find(search->reader->functions, address);
    if (index == BAT_NONE || index == search->source)
        return false;
    const struct bat_function_symbol *function = &search->reader->all[index];
    return address != function->address && code_contains(function, address) &&
           code_find_wanted(search->reader, index);
}

/* --- x86-64 ------------------------------------------------------------------------------- */

/* Sixteen bytes are tested at once: compilers have vector instructions for these operations. */
#define WORD_SIZE 16u
typedef uint8_t word_bytes __attribute__((vector_size(WORD_SIZE)));

/* Farther than this from a function's ends, no branch with a distance of one byte leaves it. */
#define SHORT_REACH 129u

/*
 * CALL (e8), JMP (e9), Jcc (0f 80 to 0f 8f): in halves the highest bit of each byte where one may
 * start; all other bits are clear. False if there is none. WORD_SIZE + 1 bytes are read.
 */
static inline bool find_long_branches(const uint8_t *bytes, uint64_t halves[2])
{
    word_bytes word;
    word_bytes behind;
    memcpy(&word, bytes, sizeof(word));
    memcpy(&behind, bytes + 1, sizeof(behind));
    word_bytes found = (word_bytes)((word & 0xfe) == 0xe8) |
                       ((word_bytes)(word == 0x0f) & (word_bytes)((behind & 0xf0) == 0x80));
    memcpy(halves, &found, sizeof(found));
    halves[0] &= UINT64_C(0x8080808080808080);
    halves[1] &= UINT64_C(0x8080808080808080);
    return (halves[0] | halves[1]) != 0;
}

/*
 * True if the bytes at `at` are a branch with a distance of four bytes that enters a wanted
 * function, should an instruction start there. All its bytes must be in the function.
 */
static inline bool may_enter(const struct search *search, uint64_t at)
{
    const uint8_t *bytes = search->bytes + at;
    uint64_t opcode_size = 1;
    if (bytes[0] == 0x0f) {
        if ((bytes[1] & 0xf0) != 0x80)
            return false;
        opcode_size = 2;
    }
    int32_t distance = (int32_t)bat_load32(bytes + opcode_size);
    uint64_t next = search->address + at + opcode_size + sizeof(distance);
    return enters_wanted(search, next + (uint64_t)(int64_t)distance);
}

static bool may_enter_far(const struct search *search)
{
    uint64_t end = search->size < 6 ? 0 : search->size - 5;
    uint64_t at = 0;
    for (; at + WORD_SIZE <= end; at += WORD_SIZE) {
        uint64_t halves[2];
        if (!find_long_branches(search->bytes + at, halves))
            continue;
        for (unsigned half = 0; half < 2; half++)
            for (uint64_t found = halves[half]; found; found &= found - 1)
                if (may_enter(search, at + half * 8 + (unsigned)__builtin_ctzll(found) / 8))
                    return true;
    }
    for (; at < end; at++) {
        uint8_t byte = search->bytes[at];
        if (((byte & 0xfe) == 0xe8 || byte == 0x0f) && may_enter(search, at))
            return true;
    }
    /* The last 5 bytes may be a call or jump. */
    if (search->size < 5 || (search->bytes[search->size - 5] & 0xfe) != 0xe8)
        return false;
    return may_enter(search, search->size - 5);
}

/* True if a branch with a distance of one byte may reach a wanted function. */
static bool is_near_wanted(const struct search *search)
{
    uint64_t start = search->address;
    uint64_t end = start + search->size;
    for (uint64_t step = 0; step <= SHORT_REACH; step += CODE_GRANULE_MIN)
        if (code_may_be_wanted(search->reader, start - 1 - step) ||
            code_may_be_wanted(search->reader, end + step))
            return true;
    return code_may_be_wanted(search->reader, start - 1 - SHORT_REACH) ||
           code_may_be_wanted(search->reader, end + SHORT_REACH);
}

/* True if bytes look like JMP, Jcc, LOOP or JRCXZ, by one byte, into a wanted function. */
static bool may_enter_near(const struct search *search)
{
    for (uint64_t at = 0; at + 2 <= search->size; at++) {
        if (at == SHORT_REACH && search->size > 2 * SHORT_REACH)
            at = search->size - SHORT_REACH;
        const uint8_t *bytes = search->bytes + at;
        if (bytes[0] != 0xeb && (bytes[0] & 0xf0) != 0x70 && (bytes[0] & 0xfc) != 0xe0)
            continue;
        uint64_t distance = (uint64_t)(int64_t)(int8_t)bytes[1];
        if (enters_wanted(search, search->address + at + 2 + distance))
            return true;
    }
    return false;
}

/* Decode the function, and keep where its branches and calls enter wanted functions. */
static enum bat_code search_branches(struct search *search)
{
    struct bat_instruction instruction;
    for (uint64_t at = 0; at < search->size; at += instruction.length) {
        if (!bat_instruction_decode(search->reader->machine, search->bytes + at, search->size - at,
                                    search->address + at, &instruction))
            break;
        if (!bat_kind_has_target(instruction.kind) || !enters_wanted(search, instruction.target))
            continue;
        BAT_TRY(code_addresses_add(&search->found, instruction.target, &search->error));
    }
    return BAT_OK;
}

/* Decode the function if it may enter wanted functions. */
static enum bat_code search_x86(struct search *search)
{
    if (!may_enter_far(search) && !(is_near_wanted(search) && may_enter_near(search)))
        return BAT_OK;
    return search_branches(search);
}

/* --- AArch64 ------------------------------------------------------------------------------ */

/* A cheap test for every word: true for branches, ADR and loads of literals. */
static inline bool may_name_address(uint32_t word)
{
    return (word & 0x7c000000) == 0x14000000 || (word & 0x7c000000) == 0x34000000 ||
           (word & 0xfe000000) == 0x54000000 || (word & 0x7e000000) == 0x74000000 ||
           (word & 0x9f000000) == 0x10000000 || (word & 0x3b000000) == 0x18000000;
}

/* Addresses that a function takes count, too: perf2bolt disassembles all AArch64 code. */
static enum bat_code search_aarch64(struct search *search)
{
    for (uint64_t at = 0; at + 4 <= search->size; at += 4) {
        uint32_t word = bat_load32(search->bytes + at);
        struct bat_instruction instruction;
        if (!may_name_address(word) ||
            !instruction_decode_aarch64(search->bytes + at, 4, search->address + at, &instruction))
            continue;
        uint64_t target = instruction.has_reference ? instruction.reference : instruction.target;
        uint64_t here = search->address + at;
        if (!enters_wanted(search, target) || code_is_data(search->reader, here) ||
            (instruction.has_reference && code_is_data(search->reader, target)))
            continue;
        BAT_TRY(code_addresses_add(&search->found, target, &search->error));
    }
    return BAT_OK;
}

/* --- Relocations -------------------------------------------------------------------------- */

static uint32_t relative_type(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return R_X86_64_RELATIVE;
    case EM_AARCH64:
        return R_AARCH64_RELATIVE;
    default:
        return R_RISCV_RELATIVE;
    }
}

/*
 * A relocation of the loader may put an address of code into data, for example a label's. Packed
 * relocations (SHT_RELR) are not searched, because perf2bolt does not read them.
 */
static enum bat_code search_relocations(struct search *search, const struct bat_section *section)
{
    const uint32_t relative = relative_type(search->reader->machine);
    uint64_t size;
    const uint8_t *bytes = bat_elf_section_bytes(search->reader->elf, section, &size);
    for (uint64_t at = 0; bytes && size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes + at, sizeof(relocation));
        uint64_t address = (uint64_t)relocation.r_addend;
        if (ELF64_R_TYPE(relocation.r_info) != relative || !enters_wanted(search, address))
            continue;
        BAT_TRY(code_addresses_add(&search->found, address, &search->error));
    }
    return BAT_OK;
}

/* The bytes of an absolute address that the linker wrote for a relocation; 0 for others. */
static unsigned absolute_size(uint16_t machine, uint64_t type)
{
    if (machine == EM_X86_64)
        return type == R_X86_64_64 ? 8 : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : 0;
    if (machine == EM_RISCV)
        return type == R_RISCV_64 ? 8 : type == R_RISCV_32 ? 4 : 0;
    return type == R_AARCH64_ABS64 ? 8 : type == R_AARCH64_ABS32 ? 4 : 0;
}

/*
 * True for relocations by which BOLT knows labels. RISC-V's linkers leave the entries of jump
 * tables to pairs of relocations: a label is added, the table's start is subtracted. On AArch64 two
 * instructions make an address.
 */
static bool names_label(uint16_t machine, uint64_t type)
{
    if (machine == EM_AARCH64)
        return type == R_AARCH64_ADD_ABS_LO12_NC;
    return machine == EM_RISCV && (type == R_RISCV_ADD32 || type == R_RISCV_ADD64);
}

/* Add the labels that relocations name by their symbols. */
static void search_labels(struct search *search, const struct bat_section *section)
{
    const struct bat_elf *elf = search->reader->elf;
    size_t count;
    const struct bat_section *sections = bat_elf_sections(elf, &count);
    struct symbol_table symbols;
    uint64_t size;
    const uint8_t *bytes = bat_elf_section_bytes(elf, section, &size);
    if (section->link >= count || sections[section->link].type != SHT_SYMTAB ||
        symbol_table_read(&symbols, elf, &sections[section->link], NULL) != BAT_OK)
        return;
    for (uint64_t at = 0; bytes && size - at >= sizeof(Elf64_Rela) && search->code == BAT_OK;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes + at, sizeof(relocation));
        const uint64_t symbol = ELF64_R_SYM(relocation.r_info);
        if (!names_label(search->reader->machine, ELF64_R_TYPE(relocation.r_info)) ||
            symbol >= symbols.count)
            continue;
        const uint64_t address =
            symbol_table_at(&symbols, (uint32_t)symbol).st_value + (uint64_t)relocation.r_addend;
        if (enters_wanted(search, address))
            search->code = code_addresses_add(&search->found, address, &search->error);
    }
}

/*
 * The linker's own relocations, which --emit-relocs keeps, tell which data are addresses of code:
 * labels of a program that is loaded where it was linked have no others. Distances are those of
 * jump tables.
 */
static void search_linker_relocations(struct search *search, const struct bat_section *section)
{
    const struct bat_code_reader *reader = search->reader;
    uint64_t size;
    const uint8_t *bytes = bat_elf_section_bytes(reader->elf, section, &size);
    for (uint64_t at = 0; bytes && size - at >= sizeof(Elf64_Rela) && search->code == BAT_OK;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes + at, sizeof(relocation));
        uint64_t address = 0;
        uint64_t left = absolute_size(reader->machine, ELF64_R_TYPE(relocation.r_info));
        const uint64_t wanted = left;
        const uint8_t *data = left ? code_bytes(reader, relocation.r_offset, &left) : NULL;
        if (!data || left < wanted)
            continue;
        memcpy(&address, data, wanted);
        if (enters_wanted(search, address))
            search->code = code_addresses_add(&search->found, address, &search->error);
    }
}

/* True for the linker's relocations of code. */
static bool is_of_code(const struct bat_section *section, const struct bat_section *target)
{
    return section->type == SHT_RELA && !(section->flags & SHF_ALLOC) &&
           (target->flags & SHF_EXECINSTR);
}

/*
 * True if BOLT looks for absolute addresses in code, as only programs that are loaded where they
 * were linked have them. Distances are the decoder's.
 */
static bool may_be_absolute(const struct bat_code_reader *reader)
{
    return reader->machine == EM_X86_64 && bat_elf_type(reader->elf) == ET_EXEC;
}

/* True for relocations of loaded data in which BOLT looks for references. */
static bool is_of_data(const struct bat_section *section, const struct bat_section *target)
{
    return section->type == SHT_RELA && !(section->flags & SHF_ALLOC) &&
           (target->flags & SHF_ALLOC) && !(target->flags & SHF_EXECINSTR) &&
           strcmp(target->name, ".eh_frame") != 0 &&
           strcmp(target->name, ".gcc_except_table") != 0 && strcmp(target->name, ".got.plt") != 0;
}

/* --- The whole file ----------------------------------------------------------------------- */

static enum bat_code search_function(struct search *search, uint32_t index)
{
    const struct bat_function_symbol *function = &search->reader->all[index];
    search->bytes = NULL;
    if (function->flags & BAT_FUNCTION_PLT)
        return BAT_OK;
    search->source = index;
    search->address = function->address;
    search->size = function->size;
    if (index + 1 < search->reader->function_count) { /* overlapping code is searched once */
        uint64_t left = function[1].address - function->address;
        search->size = search->size < left ? search->size : left;
    }
    search->bytes = code_bytes(search->reader, function->address, &search->size);
    switch (search->reader->machine) {
    case EM_X86_64:
        return search_x86(search);
    case EM_AARCH64:
        return search_aarch64(search);
    default:
        return search_branches(search);
    }
}

/* Code is read once, so its pages are released behind the search. */
#define RELEASE_EVERY (UINT64_C(4) << 20)

/* Search the functions first to end - 1, in the thread of that number. */
static void search_functions(void *context, size_t first, size_t end, unsigned thread)
{
    struct search *search = (struct search *)context + thread;
    const uint8_t *unreleased = NULL;
    for (size_t i = first; i < end && search->code == BAT_OK; i++) {
        search->code = search_function(search, (uint32_t)i);
        if (!search->bytes)
            continue;
        if (!unreleased || search->bytes < unreleased)
            unreleased = search->bytes;
        uint64_t size = (uint64_t)(search->bytes - unreleased);
        if (size >= RELEASE_EVERY || i + 1 == end) {
            bat_elf_release(search->reader->elf, unreleased, size);
            unreleased = search->bytes;
        }
    }
}

static void search_all_relocations(struct search *search)
{
    const struct bat_code_reader *reader = search->reader;
    search->source = BAT_NONE;
    search->size = 0;
    for (size_t i = 0; i < reader->sections.count && search->code == BAT_OK; i++)
        if (reader->sections.all[i]->type == SHT_RELA)
            search->code = search_relocations(search, reader->sections.all[i]);
}

/*
 * What instructions refer to becomes an entry point at once, what data refers to is kept apart; so
 * are addresses of two instructions, which are mostly of the function's own code.
 */
static enum bat_code find_references(struct bat_code_reader *reader, struct bat_error *error)
{
    struct search of_data = {.reader = reader, .source = BAT_NONE};
    struct search of_code = {.reader = reader, .source = BAT_NONE, .found = reader->entries};
    size_t count;
    const struct bat_section *sections = bat_elf_sections(reader->elf, &count);
    for (size_t i = 0; i < count && of_data.code == BAT_OK && of_code.code == BAT_OK; i++) {
        if (sections[i].info >= count)
            continue;
        const bool is_data = is_of_data(&sections[i], &sections[sections[i].info]);
        const bool is_code = is_of_code(&sections[i], &sections[sections[i].info]);
        if ((is_data && reader->machine == EM_RISCV) || (is_code && reader->machine == EM_AARCH64))
            search_labels(&of_data, &sections[i]);
        if (is_data && of_data.code == BAT_OK)
            search_linker_relocations(&of_data, &sections[i]);
        if (is_code && may_be_absolute(reader))
            search_linker_relocations(&of_code, &sections[i]);
    }
    reader->references = of_data.found;
    reader->entries = of_code.found;
    code_addresses_sort(&reader->references);
    code_addresses_sort(&reader->entries);
    const struct search *failed = of_data.code != BAT_OK ? &of_data : &of_code;
    if (failed->code != BAT_OK && error)
        *error = failed->error;
    return failed->code;
}

/* Functions that a thread searches at a time, some megabytes of code. */
#define STRETCH 16384u

enum bat_code code_find_entries(struct bat_code_reader *reader, struct bat_error *error)
{
    struct search searches[BAT_PARALLEL_MAX];
    unsigned threads = bat_parallel_threads(reader->threads, reader->function_count / STRETCH);
    for (unsigned i = 0; i < threads; i++)
        searches[i] = (struct search){.reader = reader};
    bat_parallel_run(reader->function_count, STRETCH, threads, search_functions, searches);
    search_all_relocations(&searches[0]);
    enum bat_code code = BAT_OK;
    for (unsigned i = 0; i < threads; i++) {
        if (code == BAT_OK && searches[i].code != BAT_OK) {
            code = searches[i].code;
            if (error)
                *error = searches[i].error;
        }
        for (uint32_t j = 0; j < searches[i].found.count && code == BAT_OK; j++)
            code = code_addresses_add(&reader->entries, searches[i].found.all[j], error);
        free(searches[i].found.all);
    }
    return code ? code : find_references(reader, error);
}
