/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Indexes functions by their beginning, to find those that the code of a caller may be a copy of. A
 * beginning is the first instructions up to a conditional branch, the branch's condition, and the
 * first instruction on both ways behind it; or only MOST_INSTRUCTIONS if they have no branch.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "conditions.h"
#include "inlined_parts.h"
#include "spec/array.h"
#include "spec/order.h"

#define MOST_INSTRUCTIONS 8u /* of a beginning */

struct bat_beginnings {
    struct bat_sort_key *memory;
    const struct bat_sort_key *sorted; /* value: hot table */
    size_t count;
};

struct beginning {
    uint64_t hash;      /* of the instructions before the branch */
    uint64_t condition; /* without its lowest bit, which negates; 0 if there is no branch */
    uint64_t ways[2];   /* hash of the first instruction where the even [0] or the odd [1] condition
                           holds; 0 if that leaves the function */
};

/* The code whose beginning is read: that of a function, or code of a caller. */
struct code {
    const struct bat_program *program;
    const struct bat_spots *spots; /* the caller's; NULL for a function's own code */
    size_t hint;
    uint32_t table; /* the function, for its own code */
    struct bat_known_code known;
    uint64_t start;
    struct bat_spot decoded;
};

static bool is_inside(struct code *code, uint64_t address)
{
    return code->spots ? bat_spots_at(code->spots, address, &code->hint) != NULL
                       : bat_program_is_in(code->program, code->table, address, &code->known);
}

/* The instruction at an address if it may belong to the beginning, else NULL. */
static const struct bat_spot *read_one(struct code *code, uint64_t address)
{
    if (code->spots) {
        const struct bat_spot *spot = bat_spots_at(code->spots, address, &code->hint);
        return spot && (!spot->has_entry || address == code->start) ? spot : NULL;
    }
    struct bat_code_at at;
    if (!is_inside(code, address) || !bat_code_read(code->program->elf, address, &at))
        return NULL;
    code->decoded = (struct bat_spot){
        .address = address,
        .target = at.instruction.target,
        .hash = bat_code_hash(bat_elf_machine(code->program->elf), &at),
        .kind = at.instruction.kind,
        .length = at.instruction.length,
    };
    return &code->decoded;
}

/* The first instruction from an address on that is no no-operation and no jump inside. */
static const struct bat_spot *read_next(struct code *code, uint64_t address)
{
    for (unsigned hops = 0; hops < MOST_JUMPS; hops++) {
        const struct bat_spot *spot = read_one(code, address);
        if (!spot)
            return NULL;
        if (spot->kind == BAT_INSTRUCTION_NOP)
            address += spot->length;
        else if (spot->kind == BAT_INSTRUCTION_JUMP && is_inside(code, spot->target))
            address = spot->target;
        else
            return spot;
    }
    return NULL;
}

/* The hash of an instruction that control always passes; 0 for others. */
static uint64_t plain_hash(const struct bat_spot *spot)
{
    bool is_plain = spot->kind == BAT_INSTRUCTION_OTHER || spot->kind == BAT_INSTRUCTION_CALL ||
                    spot->kind == BAT_INSTRUCTION_INDIRECT_CALL;
    return is_plain ? spot->hash | 1 : 0;
}

static uint64_t way_hash(struct code *code, uint64_t address)
{
    const struct bat_spot *spot = read_next(code, address);
    return spot ? plain_hash(spot) : 0;
}

static bool read_branch(struct code *code, const struct bat_spot *branch,
                        struct beginning *beginning)
{
    uint32_t condition = condition_at(code->program->elf, branch->address);
    if (condition == CONDITION_UNKNOWN || branch->has_entry)
        return false;
    bool is_odd = condition & 1;
    uint64_t target = branch->target;
    uint64_t next = branch->address + branch->length;
    beginning->condition = condition >> 1;
    beginning->ways[is_odd] = way_hash(code, target);
    beginning->ways[!is_odd] = way_hash(code, next);
    return true;
}

static bool read_beginning(struct code *code, struct beginning *beginning)
{
    uint64_t address = code->start;
    *beginning = (struct beginning){0};
    for (unsigned i = 0; i < MOST_INSTRUCTIONS; i++) {
        const struct bat_spot *spot = read_next(code, address);
        if (!spot)
            return false;
        if (spot->kind == BAT_INSTRUCTION_CONDITIONAL)
            return read_branch(code, spot, beginning);
        uint64_t both[2] = {beginning->hash, plain_hash(spot)};
        if (both[1] == 0)
            return false;
        beginning->hash = XXH3_64bits(both, sizeof(both));
        address = spot->address + spot->length;
    }
    return true;
}

static uint64_t key_of(const struct beginning *beginning)
{
    return XXH3_64bits(beginning, sizeof(*beginning));
}

unsigned bat_beginning_keys(const struct bat_program *program, const struct bat_spots *spots,
                            size_t spot, uint64_t keys[BEGINNING_KEYS])
{
    struct beginning beginning;
    struct code code = {
        .program = program, .spots = spots, .hint = spot, .start = spots->all[spot].address};
    if (!read_beginning(&code, &beginning))
        return 0;
    /* Where the function returns, the caller has other code: try keys without these ways. */
    unsigned count = 0;
    for (unsigned left_out = 0; left_out < BEGINNING_KEYS; left_out++) {
        struct beginning variant = beginning;
        bool is_new = true;
        for (unsigned i = 0; i < 2; i++) {
            if (!(left_out >> i & 1))
                continue;
            is_new &= variant.ways[i] != 0;
            variant.ways[i] = 0;
        }
        if (is_new)
            keys[count++] = key_of(&variant);
    }
    return count;
}

enum bat_code bat_beginnings_create(const struct bat_program *program,
                                    struct bat_beginnings **beginnings)
{
    size_t capacity = (size_t)program->map->hot_count + 1;
    *beginnings = calloc(1, sizeof(**beginnings));
    struct bat_sort_key *keys = malloc(2 * capacity * sizeof(*keys));
    if (!*beginnings || !keys) {
        BAT_FREE_ALL(*beginnings, keys);
        *beginnings = NULL;
        return BAT_ERR_MEMORY;
    }
    size_t count = 0;
    for (uint32_t table = 0; table < program->map->hot_count; table++) {
        struct beginning beginning;
        struct code code = {
            .program = program, .table = table, .start = program->map->tables[table].address};
        if (read_beginning(&code, &beginning))
            keys[count++] = (struct bat_sort_key){.key = key_of(&beginning), .value = table};
    }
    (*beginnings)->memory = keys;
    (*beginnings)->count = count;
    (*beginnings)->sorted = bat_sort_keys(keys, keys + capacity, count);
    return BAT_OK;
}

void bat_beginnings_free(struct bat_beginnings *beginnings)
{
    if (!beginnings)
        return;
    BAT_FREE_ALL(beginnings->memory, beginnings);
}

const struct bat_sort_key *bat_beginnings_find(const struct bat_beginnings *beginnings,
                                               uint64_t key, size_t *count)
{
    size_t first = BAT_COUNT_BELOW(beginnings->sorted, beginnings->count, key, key);
    *count = BAT_COUNT_UP_TO(beginnings->sorted, beginnings->count, key, key) - first;
    return beginnings->sorted + first;
}
