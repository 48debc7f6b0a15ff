/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Decodes one function and marks where its blocks start (sweep.h): at targets of
 * branches, entry points, and landing pads of exceptions.
 */
#include "sweep.h"

#include <elf.h>
#include <stdlib.h>

#include "exceptions.h"
#include "spec/array.h"
#include "spec/order.h"

/* --- Decoding ----------------------------------------------------------------------------- */

/* Assembly functions may end in padding of zeros. */
static bool is_zero_padding(const struct code_sweep *sweep, uint32_t offset)
{
    for (uint32_t i = offset; i < sweep->size; i++)
        if (sweep->bytes[i] != 0)
            return false;
    return true;
}

static enum bat_code append(struct code_sweep *sweep, const struct code_instruction *instruction,
                            struct bat_error *error)
{
    if (sweep->count == sweep->capacity) {
        size_t capacity = sweep->capacity ? (size_t)sweep->capacity * 2 : sweep->size / 3 + 16;
        capacity = capacity < sweep->size ? capacity : sweep->size;
        struct code_instruction *all = realloc(sweep->all, capacity * sizeof(*all));
        BAT_TRY_MEMORY(all, error, "for %zu instructions", capacity);
        sweep->all = all;
        sweep->capacity = (uint32_t)capacity;
    }
    sweep->all[sweep->count++] = *instruction;
    return BAT_OK;
}

/* Set the target of a direct branch or call, and make it a label if it is in the function. */
static void read_target(struct code_sweep *sweep, const struct bat_instruction *decoded,
                        struct code_instruction *instruction)
{
    uint64_t offset = decoded->target - sweep->function->address;
    bool is_call = decoded->kind == BAT_INSTRUCTION_CALL;
    instruction->target = CODE_OUTSIDE;
    if (offset < sweep->size) {
        instruction->target = (uint32_t)offset;
        if (offset > 0 || !is_call) /* a recursive call enters nothing new */
            code_mark(sweep, offset, CODE_MARK_LABEL);
    } else if (offset == sweep->size && offset < bat_function_extent(sweep->function)) {
        /* A branch to the padding behind the function is what __builtin_unreachable() leaves. */
        instruction->kind = BAT_INSTRUCTION_NOP;
    }
}

/*
 * The function takes an address of its own code: the code there may be called from anywhere. On
 * AArch64 the address may also be in the padding behind the function, where no block can start.
 */
static void read_reference(struct code_sweep *sweep, uint64_t reference)
{
    uint64_t offset = reference - sweep->function->address;
    if (offset == 0 || code_is_data(sweep->reader, reference))
        return;
    sweep->has_own_reference |= offset < sweep->size;
    code_mark(sweep, offset, CODE_MARK_LABEL | CODE_MARK_ENTRY);
    if (sweep->reader->machine == EM_AARCH64 && offset > sweep->size &&
        offset < bat_function_extent(sweep->function))
        sweep->obstacle = BAT_CODE_MISALIGNED;
}

static enum bat_code read_jump(struct code_sweep *sweep, const struct bat_instruction *decoded,
                               struct code_instruction *instruction, struct bat_error *error)
{
    instruction->jump = decoded->jump;
    switch (decoded->jump) {
    case BAT_JUMP_REGISTER:
        sweep->has_register_jump = true;
        return BAT_OK;
    case BAT_JUMP_SLOT:
        code_read_slot(sweep, instruction, decoded->slot);
        return BAT_OK;
    case BAT_JUMP_TABLE: {
        const struct code_table table = {
            .address = decoded->slot, .first = sweep->count, .jump = sweep->count};
        return code_add_table(sweep, &table, error);
    }
    default:
        return BAT_OK;
    }
}

static enum bat_code add_instruction(struct code_sweep *sweep, uint32_t offset,
                                     const struct bat_instruction *decoded, struct bat_error *error)
{
    struct code_instruction instruction = {.offset = offset, .kind = decoded->kind};
    enum bat_code code = BAT_OK;
    sweep->marks[offset] |= CODE_MARK_INSTRUCTION;
    if (decoded->is_short_branch)
        sweep->obstacle = BAT_CODE_UNDECODABLE;
    switch (decoded->kind) {
    case BAT_INSTRUCTION_CONDITIONAL:
    case BAT_INSTRUCTION_JUMP:
    case BAT_INSTRUCTION_CALL:
        read_target(sweep, decoded, &instruction);
        break;
    case BAT_INSTRUCTION_INDIRECT_JUMP:
        code = read_jump(sweep, decoded, &instruction, error);
        break;
    default:
        break;
    }
    if (decoded->has_reference)
        read_reference(sweep, decoded->reference);
    return code ? code : append(sweep, &instruction, error);
}

/*
 * The offset behind the data at this one; the offset itself if there is no data. A function from a
 * symbol may begin with data, one from .eh_frame does not.
 */
static uint32_t skip_data(const struct code_sweep *sweep, uint32_t offset)
{
    uint64_t start = sweep->function->address;
    if (offset > 0)
        return (uint32_t)(code_skip_data(sweep->reader, start + offset, start + sweep->size) -
                          start);
    if ((sweep->function->flags & BAT_FUNCTION_FDE) || !code_is_data(sweep->reader, start))
        return 0;
    return (uint32_t)(code_end_of_data(sweep->reader, start, start + sweep->size) - start);
}

static enum bat_code decode(struct code_sweep *sweep, struct bat_error *error)
{
    uint32_t offset = 0;
    while (offset < sweep->size) {
        uint64_t address = sweep->function->address + offset;
        uint32_t behind_data = skip_data(sweep, offset);
        if (behind_data != offset) {
            offset = behind_data;
            continue;
        }
        struct bat_instruction decoded;
        if (!bat_instruction_decode(sweep->reader->machine, sweep->bytes + offset,
                                    sweep->size - offset, address, &decoded)) {
            if (!is_zero_padding(sweep, offset))
                sweep->obstacle = BAT_CODE_UNDECODABLE;
            return BAT_OK;
        }
        BAT_TRY(add_instruction(sweep, offset, &decoded, error));
        offset += decoded.length;
    }
    return BAT_OK;
}

/* --- Entry points and landing pads ---------------------------------------------------------- */

/*
 * Mark the entry points from symbols and from other functions' code. Both lists ascend by address,
 * so those of one function are next to each other.
 */
static void mark_entries(struct code_sweep *sweep)
{
    const uint64_t address = sweep->function->address;
    uint32_t count;
    uint32_t index = (uint32_t)(sweep->function - sweep->reader->all);
    const uint64_t *entries = bat_functions_entry_points(sweep->reader->functions, index, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = entries[i] - address;
        code_mark(sweep, offset, CODE_MARK_LABEL | CODE_MARK_ENTRY);
        if (offset >= sweep->size)
            sweep->obstacle = BAT_CODE_MISALIGNED;
    }
    const struct code_addresses *others = &sweep->reader->entries;
    uint32_t found = BAT_NUMBERS_BELOW(others->all, others->count, address);
    for (; found < others->count && others->all[found] - address < sweep->size; found++)
        code_mark(sweep, others->all[found] - address, CODE_MARK_LABEL | CODE_MARK_ENTRY);
}

/* Mark what data refers to; if not is_first, make what jump tables left of it labels. */
static void mark_references(struct code_sweep *sweep, bool is_first)
{
    const struct code_addresses *all = &sweep->reader->references;
    const uint64_t address = sweep->function->address;
    uint32_t i = BAT_NUMBERS_BELOW(all->all, all->count, address);
    for (; i < all->count && all->all[i] - address < sweep->size; i++) {
        const uint64_t offset = all->all[i] - address;
        if (is_first && (sweep->marks[offset] & CODE_MARK_INSTRUCTION))
            sweep->marks[offset] |= CODE_MARK_REFERENCE;
        else if (!is_first && (sweep->marks[offset] & CODE_MARK_REFERENCE))
            code_mark(sweep, offset, CODE_MARK_LABEL);
    }
}

/* The number of calls before each instruction and before the end; NULL without memory. */
static uint32_t *count_calls(const struct code_sweep *sweep)
{
    uint32_t *calls = malloc(((size_t)sweep->count + 1) * sizeof(*calls));
    if (!calls)
        return NULL;
    calls[0] = 0;
    for (uint32_t i = 0; i < sweep->count; i++) {
        const struct code_instruction *instruction = &sweep->all[i];
        calls[i + 1] = calls[i] + (bat_kind_is_call(instruction->kind) ||
                                   code_is_tail_call(instruction, BAT_INSTRUCTION_JUMP));
    }
    return calls;
}

/* The first instruction at or above offset. */
static uint32_t instruction_from(const struct code_sweep *sweep, uint64_t offset)
{
    return BAT_COUNT_BELOW(sweep->all, sweep->count, offset, offset);
}

/*
 * A block starts where exceptions land; it is a landing pad if any call may throw them. Call sites
 * do not overlap, so a function has at most one for each byte. More of them are a damaged table,
 * which other functions may share: without the limit it would be read for each of them.
 */
static void mark_landing_pads(struct code_sweep *sweep, struct bat_call_site_walk *walk,
                              const uint32_t *calls)
{
    struct bat_call_site site;
    for (uint32_t left = sweep->size; left > 0 && bat_call_site_next(walk, &site); left--) {
        if (site.landing_pad == BAT_NO_OFFSET)
            continue;
        if (site.landing_pad > sweep->size) /* in a fragment: perf2bolt stops here */
            return;
        if (site.landing_pad == sweep->size ||
            !(sweep->marks[site.landing_pad] & CODE_MARK_INSTRUCTION))
            continue;
        code_mark(sweep, site.landing_pad, CODE_MARK_LABEL);
        uint32_t first = instruction_from(sweep, site.start);
        uint32_t end = instruction_from(sweep, site.end);
        if (end > first && calls[end] > calls[first])
            code_mark(sweep, site.landing_pad, CODE_MARK_LANDING_PAD);
    }
}

static enum bat_code read_exceptions(struct code_sweep *sweep, struct bat_error *error)
{
    struct bat_call_site_walk walk;
    const uint32_t function = (uint32_t)(sweep->function - sweep->reader->all);
    if (!bat_code_exceptions(sweep->reader, function, &walk))
        return BAT_OK;
    uint32_t *calls = count_calls(sweep);
    BAT_TRY_MEMORY(calls, error, "for %u instructions", sweep->count);
    mark_landing_pads(sweep, &walk, calls);
    free(calls);
    return BAT_OK;
}

/* --- The whole function ------------------------------------------------------------------- */

/* True if an instruction starts at each label. */
static bool has_aligned_labels(const struct code_sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->size; i++) {
        const uint8_t both = CODE_MARK_LABEL | CODE_MARK_INSTRUCTION;
        if ((sweep->marks[i] & both) == CODE_MARK_LABEL)
            return false;
    }
    return true;
}

/* So many functions behind one are looked at, which limits the time for a malicious file. */
#define FOLLOWING_FUNCTIONS 16u

/*
 * The table of a function close behind may follow at once. Its entries are distances from its own
 * start; from that of the table before they may lead into the function before.
 */
static enum bat_code read_tables(struct code_sweep *sweep, struct bat_error *error)
{
    const struct bat_code_reader *reader = sweep->reader;
    const uint64_t highest = code_limit_tables(sweep);
    const uint32_t index = (uint32_t)(sweep->function - reader->all);
    enum bat_code code = BAT_OK;
    for (uint32_t i = index + 1;
         code == BAT_OK && i <= index + FOLLOWING_FUNCTIONS && i < reader->function_count &&
         reader->all[i].address - sweep->function->address <= highest;
         i++) {
        struct code_sweep other;
        code = code_sweep_begin(reader, i, &other, error);
        if (code == BAT_OK && !other.obstacle) {
            code_keep_tables(&other);
            code_end_tables(sweep, &other);
        }
        code_sweep_free(&other);
    }
    code_mark_tables(sweep);
    return code;
}

static enum bat_code find_labels(struct code_sweep *sweep, struct bat_error *error)
{
    mark_entries(sweep);
    mark_references(sweep, true);
    BAT_TRY(read_tables(sweep, error));
    mark_references(sweep, false);
    enum bat_code code = read_exceptions(sweep, error);
    if (!sweep->obstacle && !has_aligned_labels(sweep))
        sweep->obstacle = BAT_CODE_MISALIGNED;
    if (!sweep->obstacle && sweep->count == 0)
        sweep->obstacle = BAT_CODE_UNDECODABLE;
    return code;
}

enum bat_code code_sweep_begin(const struct bat_code_reader *reader, uint32_t function,
                               struct code_sweep *sweep, struct bat_error *error)
{
    *sweep = (struct code_sweep){.reader = reader, .function = &reader->all[function]};
    uint64_t size = sweep->function->size;
    if (sweep->function->flags & (BAT_FUNCTION_CONFLICT | BAT_FUNCTION_PLT))
        sweep->obstacle = BAT_CODE_CONFLICT;
    else
        sweep->bytes = code_bytes(reader, sweep->function->address, &size);
    if (!sweep->bytes || size == 0 || size != sweep->function->size || size >= CODE_OUTSIDE) {
        if (!sweep->obstacle)
            sweep->obstacle = BAT_CODE_UNDECODABLE;
        return BAT_OK;
    }
    sweep->size = (uint32_t)size;
    sweep->marks = calloc(sweep->size, 1);
    BAT_TRY_MEMORY(sweep->marks, error, "for %u bytes of code", sweep->size);
    enum bat_code code = decode(sweep, error);
    if (!code && !sweep->obstacle && sweep->has_register_jump && reader->machine == EM_X86_64)
        code = code_find_register_tables(sweep, error);
    return code;
}

enum bat_code code_sweep_function(const struct bat_code_reader *reader, uint32_t function,
                                  struct code_sweep *sweep, struct bat_error *error)
{
    *sweep = (struct code_sweep){.reader = reader};
    const struct code_wanted *wanted = code_find_wanted(reader, function);
    if (!wanted)
        return bat_fail(error, BAT_ERR_ARGUMENT,
                        "expected a function that bat_code_open() got, found function %u",
                        function);
    /* BOLT does not even decode these. */
    sweep->obstacle = wanted->is_split     ? BAT_CODE_SPLIT
                      : wanted->is_skipped ? BAT_CODE_SKIPPED
                                           : BAT_CODE_CLEAR;
    if (sweep->obstacle)
        return BAT_OK;
    enum bat_code code = code_sweep_begin(reader, function, sweep, error);
    return code || sweep->obstacle ? code : find_labels(sweep, error);
}

void code_sweep_free(struct code_sweep *sweep)
{
    BAT_FREE_ALL(sweep->marks, sweep->all, sweep->tables);
    *sweep = (struct code_sweep){0};
}

enum bat_code bat_code_blocks(const struct bat_code_reader *reader, uint32_t function,
                              struct bat_code_blocks *blocks, struct bat_error *error)
{
    *blocks = (struct bat_code_blocks){0};
    struct code_sweep sweep;
    enum bat_code code = code_sweep_function(reader, function, &sweep, error);
    code = code ? code : code_build_blocks(&sweep, blocks, error);
    code_sweep_free(&sweep);
    return code;
}

void bat_code_blocks_free(struct bat_code_blocks *blocks)
{
    free(blocks->all);
    *blocks = (struct bat_code_blocks){0};
}
