/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code_blocks_reader.h"

/*
 * Which places inside the wanted functions do other functions branch to or call, and which does
 * the loader write addresses of? Compilers make no
 * such branches, except between the parts of a split function; assembly code does. To decode all
 * code for it would take long. So it is searched for byte sequences that would be such a branch if
 * an instruction began there. There are hardly any others, and only functions that have one are
 * decoded.
 */

/* --- Where wanted functions are ------------------------------------------------------------- */

/*
 * A bit is set for each granule of addresses that holds a byte of a wanted function. Sizes are the
 * file's word: what of a function lies behind the last one's end is left out.
 */
struct granules {
    uint64_t start;
    uint64_t size;
    unsigned shift;
    uint8_t *bits;
};

#define GRANULE_SHIFT_MIN 5u
#define GRANULES_MAX (UINT64_C(1) << 22)

static const struct bat_function_symbol *wanted_function(const struct bat_code_reader *reader,
                                                         uint32_t position)
{
    return &reader->all[reader->wanted[position].function];
}

static enum bat_code mark_granules(const struct bat_code_reader *reader, struct granules *granules,
                                   struct bat_error *error)
{
    const struct bat_function_symbol *last = wanted_function(reader, reader->wanted_count - 1);
    granules->start = wanted_function(reader, 0)->address;
    granules->size = last->address - granules->start;
    granules->size += last->size < UINT64_MAX - granules->size ? last->size : 0;
    granules->shift = GRANULE_SHIFT_MIN;
    while (granules->size >> granules->shift >= GRANULES_MAX)
        granules->shift++;
    uint64_t count = (granules->size >> granules->shift) + 1;
    granules->bits = calloc((size_t)(count / 8 + 1), 1);
    if (!granules->bits)
        return bat_fail(error, BAT_ERR_MEMORY, "out of memory for a map of the code");
    for (uint32_t i = 0; i < reader->wanted_count; i++) {
        const struct bat_function_symbol *function = wanted_function(reader, i);
        uint64_t start = function->address - granules->start;
        uint64_t left = granules->size - start;
        uint64_t end = start + (function->size < left ? function->size : left);
        for (uint64_t granule = start >> granules->shift; granule << granules->shift < end;
             granule++)
            granules->bits[granule / 8] |= (uint8_t)(1u << granule % 8);
    }
    return BAT_OK;
}

static inline bool granules_hold(const struct granules *granules, uint64_t address)
{
    uint64_t offset = address - granules->start;
    if (offset >= granules->size)
        return false;
    uint64_t granule = offset >> granules->shift;
    return granules->bits[granule / 8] >> granule % 8 & 1;
}

/* The search, and the function that it is in. */
struct search {
    struct bat_code_reader *reader;
    struct granules granules;
    uint32_t source;
    const uint8_t *bytes; /* of that function */
    uint64_t size;
    uint64_t address;
};

/* True if address lies behind the start of a wanted function other than the source. */
static bool enters_wanted(const struct search *search, uint64_t address)
{
    if (!granules_hold(&search->granules, address))
        return false;
    uint32_t index = bat_functions_find(search->reader->functions, address);
    if (index == BAT_NONE || index == search->source)
        return false;
    const struct bat_function_symbol *function = &search->reader->all[index];
    return address != function->address && code_contains(function, address) &&
           code_find_wanted(search->reader, index);
}

/* --- x86-64 ------------------------------------------------------------------------------- */

/* Farther than this from a function's ends, no branch with a distance of one byte leaves it. */
#define SHORT_REACH 129u

static inline uint64_t distance_at(const uint8_t *bytes)
{
    int32_t distance;
    memcpy(&distance, bytes, sizeof(distance));
    return (uint64_t)(int64_t)distance;
}

/* CALL, JMP, Jcc with a distance of four bytes, if an instruction begins here. */
static inline bool may_enter(const struct search *search, uint64_t at)
{
    const uint8_t *bytes = search->bytes + at;
    uint64_t opcode_size;
    if ((bytes[0] & 0xfe) == 0xe8)
        opcode_size = 1;
    else if (bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80)
        opcode_size = 2;
    else
        return false;
    uint64_t next = search->address + at + opcode_size + 4;
    return enters_wanted(search, next + distance_at(bytes + opcode_size));
}

/* JMP, Jcc, LOOP, JRCXZ with a distance of one byte, if an instruction begins here. */
static bool may_enter_near(const struct search *search, uint64_t at)
{
    const uint8_t *bytes = search->bytes + at;
    if (bytes[0] != 0xeb && (bytes[0] & 0xf0) != 0x70 && (bytes[0] & 0xfc) != 0xe0)
        return false;
    return enters_wanted(search, search->address + at + 2 + (uint64_t)(int64_t)(int8_t)bytes[1]);
}

static bool may_enter_any_x86(const struct search *search)
{
    for (uint64_t at = 0; at + 6 <= search->size; at++)
        if (may_enter(search, at))
            return true;
    if (search->size >= 5 && search->bytes[search->size - 5] != 0x0f &&
        may_enter(search, search->size - 5))
        return true;
    for (uint64_t at = 0; at + 2 <= search->size; at++) {
        if (at == SHORT_REACH && search->size > 2 * SHORT_REACH)
            at = search->size - SHORT_REACH;
        if (may_enter_near(search, at))
            return true;
    }
    return false;
}

/* Decode the function; keep what enters wanted functions. */
static enum bat_code search_x86(const struct search *search, struct bat_error *error)
{
    if (!may_enter_any_x86(search))
        return BAT_OK;
    struct bat_instruction instruction;
    for (uint64_t at = 0; at < search->size; at += instruction.length) {
        if (!instruction_decode_x86(search->bytes + at, search->size - at, search->address + at,
                                    &instruction))
            break;
        bool has_target = instruction.kind == BAT_INSTRUCTION_CONDITIONAL ||
                          instruction.kind == BAT_INSTRUCTION_JUMP ||
                          instruction.kind == BAT_INSTRUCTION_CALL;
        if (!has_target || !enters_wanted(search, instruction.target))
            continue;
        enum bat_code code =
            code_addresses_add(&search->reader->entries, instruction.target, error);
        if (code)
            return code;
    }
    return BAT_OK;
}

/* --- AArch64 ------------------------------------------------------------------------------ */

/* Cheap to ask of every word: branches, ADR and loads of literals. */
static inline bool may_name_address(uint32_t word)
{
    return (word & 0x7c000000) == 0x14000000 || (word & 0x7c000000) == 0x34000000 ||
           (word & 0xfe000000) == 0x54000000 || (word & 0x7e000000) == 0x74000000 ||
           (word & 0x9f000000) == 0x10000000 || (word & 0x3b000000) == 0x18000000;
}

/* Here also addresses count that a function takes: perf2bolt disassembles all AArch64 code. */
static enum bat_code search_aarch64(const struct search *search, struct bat_error *error)
{
    for (uint64_t at = 0; at + 4 <= search->size; at += 4) {
        uint32_t word;
        memcpy(&word, search->bytes + at, sizeof(word));
        struct bat_instruction instruction;
        if (!may_name_address(word) ||
            !instruction_decode_aarch64(search->bytes + at, 4, search->address + at, &instruction))
            continue;
        uint64_t target = instruction.has_reference ? instruction.reference : instruction.target;
        uint64_t here = search->address + at;
        if (!enters_wanted(search, target) ||
            code_skip_data(search->reader, here, here + 1) != here ||
            (instruction.has_reference &&
             code_skip_data(search->reader, target, target + 1) != target))
            continue;
        enum bat_code code = code_addresses_add(&search->reader->entries, target, error);
        if (code)
            return code;
    }
    return BAT_OK;
}

/* --- Relocations -------------------------------------------------------------------------- */

/*
 * A relocation of the loader may put an address of code into data: a label's, for example. Tables
 * of packed ones (SHT_RELR) perf2bolt does not look at.
 */
static enum bat_code search_relocations(const struct search *search,
                                        const struct bat_section *section, struct bat_error *error)
{
    uint32_t relative =
        search->reader->machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
    uint64_t size;
    const uint8_t *bytes = bat_elf_section_bytes(search->reader->elf, section, &size);
    for (uint64_t at = 0; bytes && size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes + at, sizeof(relocation));
        uint64_t address = (uint64_t)relocation.r_addend;
        if (ELF64_R_TYPE(relocation.r_info) != relative || !enters_wanted(search, address))
            continue;
        enum bat_code code = code_addresses_add(&search->reader->entries, address, error);
        if (code)
            return code;
    }
    return BAT_OK;
}

/* --- The whole file ----------------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void sort_and_unite(struct code_addresses *addresses)
{
    uint32_t kept = 0;
    if (addresses->count > 1)
        qsort(addresses->all, addresses->count, sizeof(*addresses->all), by_value);
    for (uint32_t i = 0; i < addresses->count; i++)
        if (i == 0 || addresses->all[i] != addresses->all[i - 1])
            addresses->all[kept++] = addresses->all[i];
    addresses->count = kept;
}

static enum bat_code search_function(struct search *search, uint32_t index, struct bat_error *error)
{
    const struct bat_function_symbol *function = &search->reader->all[index];
    if (function->flags & BAT_FUNCTION_PLT)
        return BAT_OK;
    search->source = index;
    search->address = function->address;
    search->size = function->size;
    if (index + 1 < search->reader->function_count) { /* what overlaps is searched once */
        uint64_t left = function[1].address - function->address;
        search->size = search->size < left ? search->size : left;
    }
    search->bytes = code_bytes(search->reader, function->address, &search->size);
    return search->reader->machine == EM_X86_64 ? search_x86(search, error)
                                                : search_aarch64(search, error);
}

/* The code passes by once: it is not kept in memory behind the search. */
#define RELEASE_EVERY (UINT64_C(4) << 20)

static enum bat_code search_functions(struct search *search, struct bat_error *error)
{
    const uint8_t *kept = NULL;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < search->reader->function_count && !code; i++) {
        search->bytes = NULL;
        code = search_function(search, i, error);
        if (!search->bytes)
            continue;
        if (!kept || search->bytes < kept)
            kept = search->bytes;
        uint64_t passed = (uint64_t)(search->bytes - kept);
        if (passed >= RELEASE_EVERY) {
            bat_elf_release(search->reader->elf, kept, passed);
            kept = search->bytes;
        }
    }
    return code;
}

enum bat_code code_find_entries(struct bat_code_reader *reader, struct bat_error *error)
{
    struct search search = {.reader = reader};
    enum bat_code code = mark_granules(reader, &search.granules, error);
    if (!code)
        code = search_functions(&search, error);
    search.source = BAT_NONE;
    for (size_t i = 0; i < reader->section_count && !code; i++)
        if (reader->sections[i]->type == SHT_RELA)
            code = search_relocations(&search, reader->sections[i], error);
    sort_and_unite(&reader->entries);
    free(search.granules.bits);
    return code;
}
