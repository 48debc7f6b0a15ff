/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Compares code of a caller with a function (the origin), to decide whether it is a copy: follows
 * both side by side, on all paths, until the function returns. BOLT lays out each by its own
 * counts, so jumps and no-operations may be anywhere, and conditions may be inverted. A tail call
 * of the function is a call in the caller, unless the inlined call was a tail call itself.
 */
#include <stdlib.h>
#include <string.h>

#include "conditions.h"
#include "inlined_parts.h"
#include "spec/array.h"

#define LEAST_INSTRUCTIONS 3u /* a copy of fewer may be chance */

#define NO_ORIGIN UINT64_MAX

/* Two addresses whose code is compared. */
struct pair {
    uint64_t here;   /* in the caller */
    uint64_t origin; /* in the function */
};

/* A slot of the hash table of pairs that were compared. */
struct slot {
    struct pair pair;
    uint32_t round; /* number of the comparison; the slot is free in others */
};

/* A pair that is still to compare. */
struct waiting {
    struct pair pair;
    uint64_t from; /* the function's instruction before it */
};

/* How control leaves the copy. It must be the same on all paths. */
enum leaves {
    LEAVES_NOT_YET,
    LEAVES_TO_PLACE, /* to one address of the caller */
    LEAVES_CALLER,   /* out of the caller, too: it returns, or makes a tail call */
};

struct bat_comparison {
    const struct bat_program *program;
    const struct bat_spots *spots;
    size_t hint; /* index of the last spot; see bat_spots_at() */
    struct bat_known_code known_origin;
    struct slot *slots;
    size_t slot_count; /* a power of two */
    size_t used;
    uint32_t round;
    struct waiting *waiting;
    size_t waiting_count;
    size_t waiting_capacity;
    struct bat_copied_run *runs;
    size_t run_count;
    size_t run_capacity;

    /* Of the current comparison. */
    uint64_t start;
    uint32_t table;
    uint64_t *budget;
    uint32_t instructions;
    enum leaves leaves;
    uint64_t destination; /* with LEAVES_TO_PLACE: address in the caller */
    bool is_out_of_memory;
};

struct bat_comparison *bat_comparison_new(const struct bat_program *program,
                                          const struct bat_spots *spots)
{
    struct bat_comparison *comparison = calloc(1, sizeof(*comparison));
    if (!comparison)
        return NULL;
    comparison->program = program;
    comparison->spots = spots;
    comparison->slot_count = 256;
    comparison->slots = calloc(comparison->slot_count, sizeof(*comparison->slots));
    if (comparison->slots)
        return comparison;
    free(comparison);
    return NULL;
}

void bat_comparison_free(struct bat_comparison *comparison)
{
    if (!comparison)
        return;
    BAT_FREE_ALL(comparison->slots, comparison->waiting, comparison->runs, comparison);
}

/* --- Compared pairs --------------------------------------------------------------------------- */

static size_t slot_of(const struct bat_comparison *comparison, const struct pair *pair)
{
    uint64_t hash =
        (pair->here ^ pair->origin << 32 ^ pair->origin >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (comparison->slot_count - 1);
}

/* The slot of a pair, or the free slot for it. Linear probing; slots of earlier rounds are free. */
static struct slot *find_slot(const struct bat_comparison *comparison, const struct pair *pair)
{
    for (size_t i = slot_of(comparison, pair);; i = (i + 1) & (comparison->slot_count - 1)) {
        struct slot *slot = &comparison->slots[i];
        if (slot->round != comparison->round ||
            (slot->pair.here == pair->here && slot->pair.origin == pair->origin))
            return slot;
    }
}

static bool grow_slots(struct bat_comparison *comparison)
{
    struct slot *old = comparison->slots;
    size_t old_count = comparison->slot_count;
    struct slot *grown = calloc(2 * old_count, sizeof(*grown));
    if (!grown)
        return false;
    comparison->slots = grown;
    comparison->slot_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].round == comparison->round)
            *find_slot(comparison, &old[i].pair) = old[i];
    free(old);
    return true;
}

/* True if a pair is new in this comparison; then adds it. */
static bool is_new(struct bat_comparison *comparison, struct pair pair)
{
    if (2 * comparison->used >= comparison->slot_count && !grow_slots(comparison)) {
        comparison->is_out_of_memory = true;
        return false;
    }
    struct slot *slot = find_slot(comparison, &pair);
    if (slot->round == comparison->round)
        return false;
    *slot = (struct slot){pair, comparison->round};
    comparison->used++;
    return true;
}

static void wait(struct bat_comparison *comparison, uint64_t here, uint64_t origin, uint64_t from)
{
    if (!BAT_GROW(comparison->waiting, comparison->waiting_count, comparison->waiting_capacity)) {
        comparison->is_out_of_memory = true;
        return;
    }
    comparison->waiting[comparison->waiting_count++] = (struct waiting){{here, origin}, from};
}

/* Add a run, unless the caller's code at its start is in one already. */
static void add_run(struct bat_comparison *comparison, const struct bat_copied_run *run)
{
    if (!is_new(comparison, (struct pair){run->start, NO_ORIGIN}))
        return;
    struct bat_copied_run *last =
        comparison->run_count ? &comparison->runs[comparison->run_count - 1] : NULL;
    if (last && !run->is_jump && !last->is_jump && last->end == run->start &&
        last->origin_end == run->origin && last->end - last->start == run->origin - last->origin) {
        last->end = run->end;
        last->origin_end = run->origin_end;
        return;
    }
    if (!BAT_APPEND(comparison->runs, comparison->run_count, comparison->run_capacity, *run))
        comparison->is_out_of_memory = true;
}

/* Add a jump of the caller, or a call in place of one, behind an instruction of the function. */
static void add_jump(struct bat_comparison *comparison, const struct bat_spot *here, uint64_t from)
{
    add_run(comparison, &(struct bat_copied_run){.start = here->address,
                                                 .end = here->address + here->length,
                                                 .origin = from,
                                                 .is_jump = true});
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* The instruction of the caller at an address, or NULL. */
static const struct bat_spot *spot_at(struct bat_comparison *comparison, uint64_t address)
{
    return bat_spots_at(comparison->spots, address, &comparison->hint);
}

/* The same, but NULL for one with an entry: it is not inlined, except at the start. */
static const struct bat_spot *read_here(struct bat_comparison *comparison, uint64_t address)
{
    const struct bat_spot *spot = spot_at(comparison, address);
    return spot && (!spot->has_entry || address == comparison->start) ? spot : NULL;
}

static bool is_in_function(struct bat_comparison *comparison, uint64_t address)
{
    return bat_program_is_in(comparison->program, comparison->table, address,
                             &comparison->known_origin);
}

static bool spend(struct bat_comparison *comparison)
{
    if (*comparison->budget == 0)
        return false;
    --*comparison->budget;
    return true;
}

static bool leave(struct bat_comparison *comparison, enum leaves leaves, uint64_t destination)
{
    if (comparison->leaves != LEAVES_NOT_YET)
        return comparison->leaves == leaves && comparison->destination == destination;
    comparison->leaves = leaves;
    comparison->destination = destination;
    return true;
}

/* The function returns: control goes on at an address of the caller. False if paths disagree. */
static bool leave_to(struct bat_comparison *comparison, uint64_t destination)
{
    for (unsigned hops = 0; hops < MOST_JUMPS; hops++) {
        const struct bat_spot *spot = spot_at(comparison, destination);
        if (!spot)
            return false;
        if (spot->kind == BAT_INSTRUCTION_RETURN)
            return leave(comparison, LEAVES_CALLER, 0);
        if (spot->kind == BAT_INSTRUCTION_NOP)
            destination += spot->length;
        else if (spot->kind == BAT_INSTRUCTION_JUMP && spot_at(comparison, spot->target))
            destination = spot->target;
        else
            return leave(comparison, LEAVES_TO_PLACE, destination);
    }
    return false;
}

/* A conditional branch leaves the function (a tail call): the caller has a call or jump for it. */
static bool compare_leaving_branch(struct bat_comparison *comparison, uint64_t here,
                                   uint64_t target, uint64_t from)
{
    if (here == target) /* the caller's branch leads there, too */
        return leave(comparison, LEAVES_CALLER, 0);
    for (unsigned hops = 0; hops < MOST_JUMPS && spend(comparison); hops++) {
        const struct bat_spot *spot = read_here(comparison, here);
        if (!spot)
            return false;
        here += spot->length;
        if (spot->kind == BAT_INSTRUCTION_NOP)
            continue;
        bool is_call = spot->kind == BAT_INSTRUCTION_CALL;
        if (!is_call && spot->kind != BAT_INSTRUCTION_JUMP)
            return false;
        add_jump(comparison, spot, from);
        if (spot->target == target)
            return is_call ? leave_to(comparison, here) : leave(comparison, LEAVES_CALLER, 0);
        if (is_call)
            return false;
        here = spot->target;
    }
    return false;
}

static bool compare_branches(struct bat_comparison *comparison, const struct bat_spot *here,
                             const struct bat_code_at *origin)
{
    const struct bat_elf *elf = comparison->program->elf;
    if (here->kind != BAT_INSTRUCTION_CONDITIONAL)
        return false;
    uint32_t condition = condition_at(elf, here->address);
    uint32_t other = condition_at(elf, origin->address);
    uint64_t next = here->address + here->length;
    uint64_t origin_next = origin->address + origin->instruction.length;
    bool is_inverted = condition == CONDITION_OPPOSITE(other);
    if (condition == CONDITION_UNKNOWN || (condition != other && !is_inverted))
        return false;
    wait(comparison, here->target, is_inverted ? origin_next : origin->instruction.target,
         origin->address);
    wait(comparison, next, is_inverted ? origin->instruction.target : origin_next, origin->address);
    return true;
}

static bool is_same(const struct bat_comparison *comparison, const struct bat_spot *here,
                    const struct bat_code_at *origin)
{
    const struct bat_elf *elf = comparison->program->elf;
    uint16_t machine = bat_elf_machine(elf);
    struct bat_code_at at;
    return here->hash == bat_code_hash(machine, origin) && bat_code_read(elf, here->address, &at) &&
           bat_code_same(machine, &at, origin);
}

/* The result for two instructions. */
enum verdict {
    VERDICT_DIFFERENT,
    VERDICT_SAME, /* control goes on behind both */
    VERDICT_END,  /* the same, and the path ends here or its successors wait */
};

static enum verdict verdict_of(bool is_copy)
{
    return is_copy ? VERDICT_END : VERDICT_DIFFERENT;
}

static enum verdict compare_instructions(struct bat_comparison *comparison,
                                         const struct bat_spot *here,
                                         const struct bat_code_at *origin)
{
    uint64_t next = here->address + here->length;
    uint8_t kind = origin->instruction.kind;
    switch (kind) {
    case BAT_INSTRUCTION_CONDITIONAL:
        return verdict_of(compare_branches(comparison, here, origin));
    case BAT_INSTRUCTION_JUMP: /* to another function */
        if (here->target != origin->instruction.target)
            return VERDICT_DIFFERENT;
        if (here->kind == BAT_INSTRUCTION_CALL)
            return verdict_of(leave_to(comparison, next));
        return verdict_of(here->kind == kind && leave(comparison, LEAVES_CALLER, 0));
    case BAT_INSTRUCTION_INDIRECT_JUMP:
        if (here->kind == BAT_INSTRUCTION_INDIRECT_CALL)
            return verdict_of(leave_to(comparison, next));
        return verdict_of(here->kind == kind && leave(comparison, LEAVES_CALLER, 0));
    case BAT_INSTRUCTION_TRAP:
        return verdict_of(here->kind == kind);
    default:
        return is_same(comparison, here, origin) ? VERDICT_SAME : VERDICT_DIFFERENT;
    }
}

/*
 * Read the function's next instruction, past no-operations and jumps. False if control leaves it.
 */
static bool read_origin(struct bat_comparison *comparison, uint64_t *origin,
                        struct bat_code_at *code)
{
    while (spend(comparison) && is_in_function(comparison, *origin) &&
           bat_code_read(comparison->program->elf, *origin, code)) {
        if (code->instruction.kind == BAT_INSTRUCTION_NOP)
            *origin += code->instruction.length;
        else if (code->instruction.kind == BAT_INSTRUCTION_JUMP &&
                 is_in_function(comparison, code->instruction.target))
            *origin = code->instruction.target;
        else
            return true;
    }
    return false;
}

/* Follow one path from a pair of addresses. False if the code differs. */
static bool follow(struct bat_comparison *comparison, const struct waiting *way)
{
    uint64_t here = way->pair.here;
    uint64_t origin = way->pair.origin;
    uint64_t from = way->from;
    struct bat_code_at there;
    if (!read_origin(comparison, &origin, &there))
        return compare_leaving_branch(comparison, here, origin, from);
    while (spend(comparison) && !comparison->is_out_of_memory) {
        if (there.instruction.kind == BAT_INSTRUCTION_RETURN)
            return leave_to(comparison, here);
        const struct bat_spot *spot = read_here(comparison, here);
        if (!spot)
            return false;
        if (spot->kind == BAT_INSTRUCTION_NOP) {
            here += spot->length;
            continue;
        }
        if (spot->kind == BAT_INSTRUCTION_JUMP && spot_at(comparison, spot->target)) {
            add_jump(comparison, spot, from);
            here = spot->target;
            continue;
        }
        if (!is_new(comparison, (struct pair){here, origin}))
            return !comparison->is_out_of_memory;
        add_run(comparison,
                &(struct bat_copied_run){.start = spot->address,
                                         .end = spot->address + spot->length,
                                         .origin = there.address,
                                         .origin_end = there.address + there.instruction.length});
        comparison->instructions++;
        enum verdict verdict = compare_instructions(comparison, spot, &there);
        if (verdict != VERDICT_SAME)
            return verdict == VERDICT_END;
        from = origin;
        here += spot->length;
        origin += there.instruction.length;
        if (!read_origin(comparison, &origin, &there))
            return false;
    }
    return false;
}

enum bat_code bat_compare(struct bat_comparison *comparison, uint64_t start, uint32_t table,
                          uint64_t *budget, struct bat_copy *copy)
{
    uint64_t origin = comparison->program->map->tables[table].address;
    if (++comparison->round == 0) {
        memset(comparison->slots, 0, comparison->slot_count * sizeof(*comparison->slots));
        comparison->round = 1;
    }
    comparison->used = 0;
    comparison->waiting_count = 0;
    comparison->run_count = 0;
    comparison->start = start;
    comparison->table = table;
    comparison->budget = budget;
    comparison->instructions = 0;
    comparison->leaves = LEAVES_NOT_YET;
    wait(comparison, start, origin, origin);
    bool is_same = true;
    while (is_same && comparison->waiting_count != 0) {
        struct waiting way = comparison->waiting[--comparison->waiting_count];
        is_same = follow(comparison, &way);
    }
    *copy = (struct bat_copy){.runs = comparison->runs, .run_count = comparison->run_count};
    if (is_same && comparison->leaves != LEAVES_NOT_YET &&
        comparison->instructions >= LEAST_INSTRUCTIONS)
        copy->instructions = comparison->instructions;
    return comparison->is_out_of_memory ? BAT_ERR_MEMORY : BAT_OK;
}
