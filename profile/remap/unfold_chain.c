/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unfold_chain.h"

#include <stdlib.h>

#include "binary/functions/data_symbols.h"
#include "pointer_sources.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/counts.h"

/* A function that is being executed, as seen from the call that entered it. */
struct level {
    uint64_t sampled; /* the caller's frame: its call's last byte; BAT_ADDRESS_EXTERNAL */
    uint64_t moved;
    uint32_t member; /* of the body that was executed last; BAT_NONE: of none yet */
};

/* A jump at the end of a function, to another one. */
struct jump {
    uint64_t source;
    uint64_t target; /* 0: not known */
};

/* A member that a call may have meant. */
struct choice {
    uint32_t member;
    uint32_t weight; /* pointers to it */
    double owed;     /* samples that it has not got yet */
};

struct chain_unfolding {
    struct folded folded;
    struct bat_data_symbols *data;
    struct bat_counts bodies; /* cache; address: body + 1 or 0, 0 */
    struct bat_counts read;   /* start of a function: first of its jumps, how many */
    struct bat_counts calls;  /* of these functions; a call's last byte: the call, 0 */
    struct jump *jumps;       /* out of these functions */
    size_t jump_count;
    size_t jump_capacity;
    struct bat_counts chosen; /* call, body: first of choices, how many */
    struct choice *choices;
    size_t choice_count;
    size_t choice_capacity;
    struct level *levels; /* of a sample: the first is of the outermost function */
    size_t level_count;
    size_t level_capacity;
};

/* --- Addresses ------------------------------------------------------------------------------ */

static bool is_place(uint64_t address)
{
    return address != BAT_ADDRESS_EXTERNAL && address < BAT_TRACE_EXTERNAL_RETURN;
}

static enum bat_code find_body(struct chain_unfolding *unfolding, uint64_t address, uint32_t *body)
{
    const uint64_t *found = bat_counts_find(&unfolding->bodies, &address);
    if (found) {
        *body = (uint32_t)found[1] - 1;
        return BAT_OK;
    }
    *body = is_place(address) ? folded_body_at(&unfolding->folded, address) : BAT_NONE;
    return bat_counts_add(&unfolding->bodies, &address, (uint32_t)(*body + 1), 0);
}

/* Read the calls of an input function, and its jumps to other ones, once. */
static enum bat_code read_function(struct chain_unfolding *unfolding,
                                   const struct bat_function_symbol *function,
                                   const uint64_t **jumps)
{
    const size_t first = unfolding->jump_count;
    struct bat_instruction found;
    enum bat_code code = BAT_OK;
    *jumps = bat_counts_find(&unfolding->read, &function->address);
    if (*jumps)
        return BAT_OK;
    for (uint64_t at = 0;
         at < bat_function_extent(function) && code == BAT_OK &&
         bat_original_decode(unfolding->folded.original->elf, function->address + at, &found);
         at += found.length) {
        const struct jump jump = {function->address + at, found.target};
        const uint64_t last = jump.source + found.length - 1;
        const bool leaves = found.kind == BAT_INSTRUCTION_INDIRECT_JUMP ||
                            (bat_kind_is_branch(found.kind) &&
                             found.target - function->address >= bat_function_extent(function));
        if (bat_kind_is_call(found.kind))
            code = bat_counts_add(&unfolding->calls, &last, jump.source, 0);
        else if (leaves && !BAT_APPEND(unfolding->jumps, unfolding->jump_count,
                                       unfolding->jump_capacity, jump))
            code = BAT_ERR_MEMORY;
    }
    if (code == BAT_OK)
        code = bat_counts_add(&unfolding->read, &function->address, first,
                              unfolding->jump_count - first);
    *jumps = bat_counts_find(&unfolding->read, &function->address);
    return code;
}

/* The call of the input whose last byte is at an address; 0 if there is none. */
static enum bat_code find_call(struct chain_unfolding *unfolding, uint64_t address, uint64_t *call)
{
    const struct bat_original *original = unfolding->folded.original;
    const uint32_t input =
        is_place(address) ? bat_functions_find(original->input_functions, address) : BAT_NONE;
    const uint64_t *jumps;
    *call = 0;
    if (input == BAT_NONE)
        return BAT_OK;
    enum bat_code code = read_function(unfolding, &original->inputs[input], &jumps);
    const uint64_t *found = bat_counts_find(&unfolding->calls, &address);
    *call = found ? found[1] : 0;
    return code;
}

/* --- Which function was called -------------------------------------------------------------- */

static enum bat_code add_choice(struct chain_unfolding *unfolding, uint32_t member, uint32_t weight)
{
    return BAT_APPEND(unfolding->choices, unfolding->choice_count, unfolding->choice_capacity,
                      (struct choice){.member = member, .weight = weight})
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

/* Functions that end with jumps are followed through so many, and so many are tried. */
#define JUMPS_MAX 8u
#define STEPS_MAX 256u

/* A search for the members of a body that functions jump to at their end. */
struct ways {
    uint64_t goal;   /* the start of the kept function */
    uint32_t member; /* BAT_NONE: none was found */
    bool are_several;
    uint32_t steps;
};

/* Search the jumps out of the function at an address. */
static enum bat_code search_ways(struct chain_unfolding *unfolding,
                                 uint64_t start, /* NOLINT: JUMPS_MAX */
                                 uint32_t depth, struct ways *ways)
{
    struct folded *folded = &unfolding->folded;
    const uint32_t input = bat_functions_find(folded->original->input_functions, start);
    const uint64_t *jumps;
    if (input == BAT_NONE)
        return BAT_OK;
    BAT_TRY(read_function(unfolding, &folded->original->inputs[input], &jumps));
    const size_t first = (size_t)jumps[1];
    const size_t end = first + (size_t)jumps[2];
    enum bat_code code = BAT_OK;
    for (size_t i = first; i < end && code == BAT_OK && ways->steps++ < STEPS_MAX; i++) {
        const struct jump jump = unfolding->jumps[i];
        uint32_t named;
        code = folded_named(folded, jump.source, ways->goal, &named);
        if (named != BAT_NONE) {
            ways->are_several |= ways->member != BAT_NONE && ways->member != named;
            ways->member = named;
        } else if (depth < JUMPS_MAX && code == BAT_OK) {
            code = search_ways(unfolding, jump.target, depth + 1, ways);
        }
    }
    return code;
}

#define POINTERS_MAX 256u /* of a table, or to a body: more of them say little */

/* Choose by the pointers that a call, or code elsewhere (0), may have taken. */
static enum bat_code choose_by_pointers(struct chain_unfolding *unfolding, uint64_t call,
                                        uint32_t number)
{
    struct folded *folded = &unfolding->folded;
    const struct folded_body *body = &folded->bodies[number];
    struct pointer_site site = {.branch = call};
    enum bat_code code = BAT_OK;
    if (call != 0 && unfolding->data)
        code = input_pointer_sources(folded->original, unfolding->data, &site, 1);
    const size_t first =
        BAT_COUNT_BELOW(folded->pointers, folded->pointer_count, place, site.first);
    const size_t end = BAT_COUNT_BELOW(folded->pointers, folded->pointer_count, place, site.end);
    const bool is_known = site.end != 0 && end - first <= POINTERS_MAX;
    for (uint32_t i = 0; i < body->member_count && code == BAT_OK; i++) {
        const uint32_t member = body->first_member + i;
        uint32_t weight = is_known ? 0 : folded->members[member].references;
        for (size_t k = first; is_known && k < end; k++)
            weight += folded->pointers[k].member == member;
        code = weight != 0 ? folded_compare(folded, member) : BAT_OK;
        if (weight != 0 && code == BAT_OK && folded->members[member].fit != FOLDED_DIFFERS)
            code = add_choice(unfolding, member, weight);
    }
    return code;
}

/* List the members that a call or a jump may have meant. */
static enum bat_code list_choices(struct chain_unfolding *unfolding, uint64_t call, uint32_t number)
{
    struct folded *folded = &unfolding->folded;
    const uint64_t start = folded->members[folded->bodies[number].first_member].start;
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_OTHER};
    uint32_t named = BAT_NONE;
    BAT_TRY(folded_read(folded, number));
    if (call != 0)
        bat_original_decode(folded->original->elf, call, &instruction);
    BAT_TRY(call != 0 ? folded_named(folded, call, start, &named) : BAT_OK);
    if (named != BAT_NONE)
        return add_choice(unfolding, named, 1);
    if (!bat_kind_has_target(instruction.kind))
        return choose_by_pointers(unfolding, call, number);
    struct ways ways = {.goal = start, .member = BAT_NONE};
    BAT_TRY(search_ways(unfolding, instruction.target, 0, &ways));
    return ways.member == BAT_NONE || ways.are_several || ways.steps >= STEPS_MAX
               ? BAT_OK
               : add_choice(unfolding, ways.member, 1);
}

/* Choose the member that a call or a jump meant: that which is owed most. */
static enum bat_code choose(struct chain_unfolding *unfolding, uint64_t call, uint32_t body,
                            uint64_t count, uint32_t *member)
{
    const uint64_t key[2] = {call, body};
    const uint64_t *found = bat_counts_find(&unfolding->chosen, key);
    size_t first = unfolding->choice_count;
    size_t number = 0;
    if (found) {
        first = (size_t)found[2];
        number = (size_t)found[3];
    } else {
        BAT_TRY(list_choices(unfolding, call, body));
        number = unfolding->choice_count - first;
        if (number > POINTERS_MAX)
            unfolding->choice_count -= number;
        number = unfolding->choice_count - first;
        BAT_TRY(bat_counts_add(&unfolding->chosen, key, first, number));
    }
    struct choice *choices = unfolding->choices + first;
    uint64_t weights = 0;
    size_t best = 0;
    for (size_t i = 0; i < number; i++)
        weights += choices[i].weight;
    for (size_t i = 0; i < number && number > 1; i++) {
        choices[i].owed += (double)count * choices[i].weight / (double)weights;
        best = choices[i].owed > choices[best].owed ? i : best;
    }
    *member = unfolding->folded.bodies[body].first_member;
    if (number == 0)
        return BAT_OK;
    choices[best].owed -= (double)count;
    *member = choices[best].member;
    return BAT_OK;
}

/* --- A sample ------------------------------------------------------------------------------- */

static struct level *top(struct chain_unfolding *unfolding)
{
    return &unfolding->levels[unfolding->level_count - 1];
}

static enum bat_code push(struct chain_unfolding *unfolding, uint64_t sampled, uint64_t moved)
{
    return BAT_APPEND(unfolding->levels, unfolding->level_count, unfolding->level_capacity,
                      (struct level){sampled, moved, BAT_NONE})
               ? BAT_OK
               : BAT_ERR_MEMORY;
}

/* Leave a function. The outermost one stays. */
static void pop(struct chain_unfolding *unfolding)
{
    unfolding->level_count -= unfolding->level_count > 1;
}

/* Move an address of the function that a level has entered. */
static enum bat_code move_in(struct chain_unfolding *unfolding, struct level *level, uint64_t count,
                             uint64_t *address)
{
    struct folded *folded = &unfolding->folded;
    uint32_t body;
    BAT_TRY(find_body(unfolding, *address, &body));
    if (body == BAT_NONE)
        return BAT_OK;
    if (level->member == BAT_NONE || folded->members[level->member].body != body) {
        uint64_t call = 0;
        BAT_TRY(find_call(unfolding, level->moved, &call));
        BAT_TRY(choose(unfolding, call, body, count, &level->member));
    }
    folded_move(folded, level->member, *address, address);
    return BAT_OK;
}

/* What a branch does to the stack of callers. */
enum step { STEP_NONE, STEP_JUMP, STEP_CALL, STEP_RETURN };

/* Find the step of a run's branch; of a call and of a return, the caller's frame. */
static enum bat_code find_step(struct chain_unfolding *unfolding, const struct bat_chain_run *run,
                               enum step *step, uint64_t *frame)
{
    struct bat_instruction branch = {.kind = BAT_INSTRUCTION_OTHER};
    const bool is_elsewhere =
        run->branch == BAT_ADDRESS_EXTERNAL && run->from == BAT_ADDRESS_EXTERNAL;
    *step = STEP_NONE;
    *frame = BAT_ADDRESS_EXTERNAL;
    if (run->branch == BAT_TRACE_FALLTHROUGH_ONLY || is_elsewhere)
        return BAT_OK;
    if (run->branch == BAT_ADDRESS_EXTERNAL) {
        uint64_t call;
        enum bat_code code = find_call(unfolding, run->from - 1, &call);
        *step = call ? STEP_RETURN : STEP_CALL;
        *frame = call ? run->from - 1 : BAT_ADDRESS_EXTERNAL;
        return code;
    }
    bat_original_decode(unfolding->folded.original->elf, run->branch, &branch);
    *step = bat_kind_is_call(branch.kind)           ? STEP_CALL
            : branch.kind == BAT_INSTRUCTION_RETURN ? STEP_RETURN
                                                    : STEP_JUMP;
    if (*step == STEP_CALL)
        *frame = run->branch + branch.length - 1;
    else if (*step == STEP_RETURN && run->from != BAT_ADDRESS_EXTERNAL)
        *frame = run->from - 1;
    return BAT_OK;
}

/* List the callers of the newest code, the outermost first. */
static enum bat_code list_callers(struct chain_unfolding *unfolding, const uint64_t *frames,
                                  size_t depth, const struct bat_chain_run *runs, size_t run_count)
{
    unfolding->level_count = 0;
    enum bat_code code = push(unfolding, BAT_ADDRESS_EXTERNAL, BAT_ADDRESS_EXTERNAL);
    for (size_t i = depth; i-- > 1 && code == BAT_OK;) {
        const uint64_t frame = is_place(frames[i]) ? frames[i] : BAT_ADDRESS_EXTERNAL;
        code = push(unfolding, frame, frame);
    }
    /* In a prologue or an epilogue the call stack lacks the caller; the branches may have it. */
    size_t inner = 0;
    for (size_t i = 0; i < run_count && code == BAT_OK; i++) {
        enum step step;
        uint64_t frame;
        code = find_step(unfolding, &runs[i], &step, &frame);
        if (step == STEP_CALL && inner == 0) {
            if (code == BAT_OK && frame != BAT_ADDRESS_EXTERNAL && frame != top(unfolding)->sampled)
                code = push(unfolding, frame, frame);
            break;
        }
        inner += step == STEP_RETURN;
        inner -= step == STEP_CALL;
    }
    return code;
}

/* Go back over all branches: the callers of the oldest code are left. */
static enum bat_code go_back(struct chain_unfolding *unfolding, const struct bat_chain_run *runs,
                             size_t run_count)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 0; i < run_count && code == BAT_OK; i++) {
        enum step step;
        uint64_t frame;
        code = find_step(unfolding, &runs[i], &step, &frame);
        if (step == STEP_RETURN && code == BAT_OK)
            code = push(unfolding, frame, frame);
        else if (step == STEP_CALL && top(unfolding)->sampled == frame)
            pop(unfolding);
    }
    return code;
}

/* Move the callers, each behind those around it. */
static enum bat_code move_callers(struct chain_unfolding *unfolding, uint64_t count)
{
    enum bat_code code = BAT_OK;
    for (size_t i = 1; i < unfolding->level_count && code == BAT_OK; i++) {
        struct level *level = &unfolding->levels[i];
        uint32_t body;
        uint64_t call = 0;
        code = find_body(unfolding, level->sampled, &body);
        if (body != BAT_NONE && code == BAT_OK)
            code = find_call(unfolding, level->sampled, &call);
        uint64_t moved = call;
        if (call != 0 && code == BAT_OK)
            code = move_in(unfolding, level - 1, count, &moved);
        level->moved += moved - call;
    }
    return code;
}

/* Go over a run's branch again, which is moved. */
static enum bat_code go_on(struct chain_unfolding *unfolding, const struct bat_chain_run *run,
                           uint64_t moved, uint64_t count)
{
    enum step step;
    uint64_t frame;
    BAT_TRY(find_step(unfolding, run, &step, &frame));
    if (step == STEP_CALL)
        return push(unfolding, frame,
                    frame == BAT_ADDRESS_EXTERNAL ? frame : moved + (frame - run->branch));
    if (step == STEP_RETURN)
        pop(unfolding);
    uint32_t before = BAT_NONE;
    uint32_t body = BAT_NONE;
    if (step == STEP_JUMP) {
        BAT_TRY(find_body(unfolding, run->branch, &before));
        BAT_TRY(find_body(unfolding, run->from, &body));
    }
    return body != before && body != BAT_NONE
               ? choose(unfolding, moved, body, count, &top(unfolding)->member)
               : BAT_OK;
}

/* Move all runs, the oldest first. */
static enum bat_code move_runs(struct chain_unfolding *unfolding, struct bat_chain_run *runs,
                               size_t run_count, uint64_t count)
{
    enum bat_code code = BAT_OK;
    for (size_t i = run_count; i-- > 0 && code == BAT_OK;) {
        struct bat_chain_run moved = runs[i];
        code = move_in(unfolding, top(unfolding), count, &moved.branch);
        code = code ? code : go_on(unfolding, &runs[i], moved.branch, count);
        code = code ? code : move_in(unfolding, top(unfolding), count, &moved.from);
        code = code ? code : move_in(unfolding, top(unfolding), count, &moved.to);
        runs[i] = moved;
    }
    return code;
}

/* True if a sample has an address in a folded function. */
static enum bat_code is_concerned(struct chain_unfolding *unfolding, const uint64_t *frames,
                                  size_t depth, const struct bat_chain_run *runs, size_t run_count,
                                  bool *concerned)
{
    uint32_t body = BAT_NONE;
    for (size_t i = 0; i < depth && body == BAT_NONE; i++)
        BAT_TRY(find_body(unfolding, frames[i], &body));
    for (size_t i = 0; i < run_count && body == BAT_NONE; i++) {
        BAT_TRY(find_body(unfolding, runs[i].branch, &body));
        if (body == BAT_NONE)
            BAT_TRY(find_body(unfolding, runs[i].from, &body));
    }
    *concerned = body != BAT_NONE;
    return BAT_OK;
}

enum bat_code chain_unfold(struct chain_unfolding *unfolding, uint64_t *frames, size_t depth,
                           struct bat_chain_run *runs, size_t run_count, uint64_t count)
{
    bool concerned;
    BAT_TRY(is_concerned(unfolding, frames, depth, runs, run_count, &concerned));
    if (!concerned)
        return BAT_OK;
    BAT_TRY(list_callers(unfolding, frames, depth, runs, run_count));
    BAT_TRY(go_back(unfolding, runs, run_count));
    BAT_TRY(move_callers(unfolding, count));
    BAT_TRY(move_runs(unfolding, runs, run_count, count));
    if (run_count != 0)
        frames[0] = runs[0].from;
    else
        BAT_TRY(move_in(unfolding, top(unfolding), count, &frames[0]));
    for (size_t i = 1; i < depth && i < unfolding->level_count; i++)
        if (frames[depth - i] == unfolding->levels[i].sampled)
            frames[depth - i] = unfolding->levels[i].moved;
    return BAT_OK;
}

/* --- All of it ------------------------------------------------------------------------------ */

enum bat_code chain_unfolding_new(const struct bat_original *original,
                                  struct chain_unfolding **unfolding)
{
    struct chain_unfolding *made = *unfolding = calloc(1, sizeof(*made));
    if (!made)
        return BAT_ERR_MEMORY;
    made->bodies = bat_counts_new(1);
    made->read = bat_counts_new(1);
    made->calls = bat_counts_new(1);
    made->chosen = bat_counts_new(2);
    enum bat_code code = folded_open(&made->folded, original);
    if (code == BAT_OK && made->folded.body_count != 0)
        code = folded_find_pointers(&made->folded);
    if (code == BAT_OK && made->folded.pointer_count != 0)
        code = bat_data_symbols_open(original->elf, &made->data, NULL);
    if (code == BAT_ERR_ELF)
        code = BAT_OK; /* without symbols all pointers count */
    if (code == BAT_OK && made->folded.body_count != 0)
        return BAT_OK;
    chain_unfolding_free(made);
    *unfolding = NULL;
    return code;
}

void chain_unfolding_free(struct chain_unfolding *unfolding)
{
    if (!unfolding)
        return;
    folded_close(&unfolding->folded);
    bat_data_symbols_free(unfolding->data);
    bat_counts_free(&unfolding->bodies);
    bat_counts_free(&unfolding->read);
    bat_counts_free(&unfolding->calls);
    bat_counts_free(&unfolding->chosen);
    BAT_FREE_ALL(unfolding->jumps, unfolding->choices, unfolding->levels, unfolding);
}
