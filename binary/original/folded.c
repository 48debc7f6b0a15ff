/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds folded functions (folded.h) and compares their code instruction by instruction. */
#include "folded.h"
#include "binary/functions/plt.h"
#include "spec/array.h"
#include "spec/order.h"

#include <elf.h>
#include <stdlib.h>

/* --- What was folded -------------------------------------------------------------------------- */

/* An input function and the one that its code was folded into. */
struct folding {
    uint32_t kept;
    uint32_t input;
};

/* The function whose code an input function runs in the output: itself if it was not folded. */
static uint32_t kept_for(const struct bat_original *original, uint32_t input)
{
    uint32_t kept = input;
    for (uint32_t i = original->first_home[input]; i < original->first_home[input + 1]; i++) {
        uint32_t of_home = original->input_of[original->homes[i]];
        if (of_home == input)
            return input;
        if (of_home != BAT_NONE && kept == input)
            kept = of_home;
    }
    return kept;
}

/* Collect foldings, sorted by kept function. kept_of has an item for each input function. */
static uint32_t collect_foldings(const struct bat_original *original, uint32_t *kept_of,
                                 struct folding *foldings)
{
    uint32_t count = 0;
    for (uint32_t input = 0; input < original->input_count; input++)
        kept_of[input] = kept_for(original, input);
    for (uint32_t input = 0; input < original->input_count; input++) {
        uint32_t kept = kept_of[input];
        if (kept != input && kept_of[kept] == kept)
            foldings[count++] = (struct folding){kept, input};
    }
    BAT_SORT_BY_TWO(foldings, count, kept, input);
    return count;
}

/* The size of a function up to the next symbol inside it. */
static uint64_t size_of(const struct bat_original *original, uint32_t input)
{
    const struct bat_function_symbol *function = &original->inputs[input];
    uint64_t size = function->size;
    if (input + 1 < original->input_count && function[1].address - function->address < size)
        size = function[1].address - function->address;
    return size;
}

static void add_member(struct folded *folded, uint32_t body, uint32_t input, uint32_t *count)
{
    folded->member_of[input] = *count;
    folded->members[(*count)++] = (struct folded_member){
        .start = folded->original->inputs[input].address,
        .size = size_of(folded->original, input),
        .body = body,
    };
    folded->bodies[body].member_count++;
}

static void add_foldings(struct folded *folded, const struct folding *foldings, uint32_t count)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || foldings[i].kept != foldings[i - 1].kept) {
            folded->bodies[folded->body_count++] = (struct folded_body){.first_member = members};
            add_member(folded, folded->body_count - 1, foldings[i].kept, &members);
            folded->members[members - 1].fit = FOLDED_EQUAL;
        }
        add_member(folded, folded->body_count - 1, foldings[i].input, &members);
    }
}

enum bat_code folded_open(struct folded *folded, const struct bat_original *original)
{
    *folded = (struct folded){.original = original};
    if (original->counters.folded == 0)
        return BAT_OK;
    struct folding *foldings = malloc(((size_t)original->input_count + 1) * sizeof(*foldings));
    folded->member_of = malloc(((size_t)original->input_count + 1) * sizeof(*folded->member_of));
    if (!foldings || !folded->member_of) {
        free(foldings);
        return BAT_ERR_MEMORY;
    }
    uint32_t count = collect_foldings(original, folded->member_of, foldings);
    folded->bodies = malloc(((size_t)count + 1) * sizeof(*folded->bodies));
    folded->members = malloc((2 * (size_t)count + 1) * sizeof(*folded->members));
    for (uint32_t i = 0; i < original->input_count; i++)
        folded->member_of[i] = BAT_NONE;
    if (folded->bodies && folded->members)
        add_foldings(folded, foldings, count);
    free(foldings);
    if (!folded->bodies || !folded->members)
        return BAT_ERR_MEMORY;
    return bat_plt_entries(original->elf, &folded->plt, &folded->plt_count, NULL);
}

void folded_close(struct folded *folded)
{
    BAT_FREE_ALL(folded->plt, folded->pointers);
    for (uint32_t i = 0; i < folded->body_count; i++) {
        const struct folded_body *body = &folded->bodies[i];
        for (uint32_t j = 0; j < body->member_count; j++)
            free(folded->members[body->first_member + j].offsets);
        free(body->places);
    }
    BAT_FREE_ALL(folded->bodies, folded->members, folded->member_of);
}

/* The member whose code holds an input address, or BAT_NONE. */
static uint32_t member_at(const struct folded *folded, uint64_t address)
{
    if (folded->body_count == 0)
        return BAT_NONE;
    uint32_t input = bat_functions_find(folded->original->input_functions, address);
    return input == BAT_NONE ? BAT_NONE : folded->member_of[input];
}

uint32_t folded_body_at(const struct folded *folded, uint64_t address)
{
    uint32_t member = member_at(folded, address);
    if (member == BAT_NONE)
        return BAT_NONE;
    uint32_t body = folded->members[member].body;
    return folded->bodies[body].first_member == member ? body : BAT_NONE;
}

/* --- A body's code ---------------------------------------------------------------------------- */

/* Decode an instruction. On AArch64, constants in the code count as instructions of kind OTHER. */
static bool decode(const struct bat_original *original, uint64_t address,
                   struct bat_instruction *instruction)
{
    if (bat_original_decode(original->elf, address, instruction))
        return true;
    *instruction = (struct bat_instruction){.length = 4, .kind = BAT_INSTRUCTION_OTHER};
    return bat_elf_machine(original->elf) == EM_AARCH64;
}

enum bat_code folded_read(struct folded *folded, uint32_t number)
{
    struct folded_body *body = &folded->bodies[number];
    const struct folded_member *kept = &folded->members[body->first_member];
    if (body->places)
        return BAT_OK;
    size_t capacity = 0;
    struct bat_instruction instruction;
    for (uint64_t at = 0; at < kept->size && at < UINT32_MAX; at += instruction.length) {
        if (!decode(folded->original, kept->start + at, &instruction))
            return BAT_OK;
        if (!BAT_APPEND(body->places, body->place_count, capacity,
                        (struct folded_place){(uint32_t)at, instruction.length, instruction.kind}))
            return BAT_ERR_MEMORY;
    }
    return BAT_OK;
}

const struct folded_place *folded_place_at(const struct folded *folded, uint32_t number,
                                           uint64_t address)
{
    const struct folded_body *body = &folded->bodies[number];
    uint64_t offset = address - folded->members[body->first_member].start;
    uint32_t found = BAT_COUNT_BELOW(body->places, body->place_count, offset, offset);
    bool is_there = found < body->place_count && body->places[found].offset == offset;
    return is_there ? &body->places[found] : NULL;
}

/* --- Members' code ---------------------------------------------------------------------------- */

/*
 * Find the member's instruction for each place of the body, no-operations aside; false if the code
 * differs. Fills offsets, one for each place.
 */
static bool align(const struct folded *folded, const struct folded_member *member,
                  uint32_t *offsets, bool *is_shifted)
{
    const struct folded_body *body = &folded->bodies[member->body];
    uint64_t at = 0;
    for (uint32_t i = 0; i < body->place_count; i++) {
        const struct folded_place *place = &body->places[i];
        struct bat_instruction own = {.kind = BAT_INSTRUCTION_OTHER};
        bool is_nop = place->kind == BAT_INSTRUCTION_NOP;
        bool is_code = false;
        while (at < member->size && decode(folded->original, member->start + at, &own)) {
            is_code = true;
            if (own.kind != BAT_INSTRUCTION_NOP || is_nop)
                break;
            at += own.length;
            is_code = false;
        }
        offsets[i] = BAT_NONE;
        if (is_nop && (!is_code || own.kind != BAT_INSTRUCTION_NOP)) {
            *is_shifted = true;
            continue;
        }
        if (!is_code || own.kind != place->kind ||
            (own.length != place->length && !is_nop && !bat_kind_is_branch(own.kind)))
            return false;
        offsets[i] = (uint32_t)at;
        *is_shifted |= offsets[i] != place->offset || own.length != place->length;
        at += own.length;
    }
    return true;
}

#define MOST_JUMPS 16u

static uint64_t start_of_body(const struct folded *folded, const struct folded_member *member)
{
    return folded->members[folded->bodies[member->body].first_member].start;
}

/* True if a member's code is jumps alone, to the start of the body's function. */
static bool leads_to_body(const struct folded *folded, const struct folded_member *member)
{
    const uint64_t goal = start_of_body(folded, member);
    struct bat_instruction jump;
    uint64_t at = member->start;
    for (uint32_t i = 0; i < MOST_JUMPS && at != goal; i++, at = jump.target)
        if (!bat_original_decode(folded->original->elf, at, &jump) ||
            jump.kind != BAT_INSTRUCTION_JUMP)
            return false;
    return at == goal;
}

enum bat_code folded_compare(struct folded *folded, uint32_t number)
{
    struct folded_member *member = &folded->members[number];
    if (member->fit != FOLDED_UNREAD)
        return BAT_OK;
    uint32_t place_count = folded->bodies[member->body].place_count;
    uint32_t *offsets = malloc(((size_t)place_count + 1) * sizeof(*offsets));
    if (!offsets)
        return BAT_ERR_MEMORY;
    bool is_shifted = false;
    bool fits = align(folded, member, offsets, &is_shifted);
    if (fits)
        member->fit = is_shifted ? FOLDED_SHIFTED : FOLDED_EQUAL;
    else
        member->fit = leads_to_body(folded, member) ? FOLDED_LEADS : FOLDED_DIFFERS;
    if (fits && is_shifted)
        member->offsets = offsets;
    else
        free(offsets);
    return BAT_OK;
}

bool folded_move(const struct folded *folded, uint32_t number, uint64_t address, uint64_t *moved)
{
    const struct folded_member *member = &folded->members[number];
    const struct folded_body *body = &folded->bodies[member->body];
    const struct folded_place *place = folded_place_at(folded, member->body, address);
    if (!place || member->fit == FOLDED_DIFFERS || member->fit == FOLDED_UNREAD)
        return false;
    uint32_t offset = member->offsets ? member->offsets[place - body->places] : place->offset;
    *moved = member->fit == FOLDED_LEADS ? address : member->start + offset;
    return offset != BAT_NONE;
}

const struct folded_pointer *folded_by_slot(const struct folded *folded, uint64_t branch)
{
    size_t i = BAT_COUNT_BELOW(folded->pointers, folded->pointer_count, place, branch);
    bool found = i < folded->pointer_count && folded->pointers[i].place == branch;
    return found ? &folded->pointers[i] : NULL;
}

/* The function that a PLT entry jumps to, by its relocation; the address itself elsewhere. */
static uint64_t behind_plt(const struct folded *folded, uint64_t address)
{
    const struct bat_original *original = folded->original;
    uint32_t input = bat_functions_find(original->input_functions, address);
    if (input == BAT_NONE || !(original->inputs[input].flags & BAT_FUNCTION_PLT))
        return address;
    uint64_t start = original->inputs[input].address;
    size_t found = BAT_COUNT_BELOW(folded->plt, folded->plt_count, address, start);
    return found < folded->plt_count && folded->plt[found].address == start
               ? folded->plt[found].target
               : address;
}

/* Where the input's branch or call leads; 0 if it does not say. */
static uint64_t target_of(const struct folded *folded, uint64_t branch)
{
    struct bat_instruction instruction;
    if (!bat_original_decode(folded->original->elf, branch, &instruction))
        return 0;
    if (bat_kind_has_target(instruction.kind))
        return behind_plt(folded, instruction.target);
    const struct folded_pointer *slot = folded_by_slot(folded, branch);
    const uint64_t target = slot ? folded->members[slot->member].start : behind_plt(folded, branch);
    return slot || (instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP && target != branch) ? target
                                                                                           : 0;
}

enum bat_code folded_named(struct folded *folded, uint64_t branch, uint64_t to, uint32_t *member)
{
    uint64_t moved;
    *member = BAT_NONE;
    const uint64_t target = target_of(folded, branch);
    uint32_t named = target == 0 ? BAT_NONE : member_at(folded, target);
    if (named == BAT_NONE || folded->members[named].body != folded_body_at(folded, to))
        return BAT_OK;
    enum bat_code code = folded_compare(folded, named);
    if (code != BAT_OK || !folded_move(folded, named, to, &moved))
        return code;
    const struct folded_member *found = &folded->members[named];
    if (found->fit == FOLDED_LEADS ? to == start_of_body(folded, found) : moved == target)
        *member = named;
    return BAT_OK;
}
