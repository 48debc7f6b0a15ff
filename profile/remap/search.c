/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Breadth-first search for a path through the input's blocks (search.h). */
#include "search.h"

#include "spec/array.h"

/*
 * Of a search. A row of inlined calls is long, but has few other ways: their code may take further
 * steps, and what is beyond FREE_PLACES is taken off the sum of all long walks.
 */
#define FREE_PLACES 192u
#define MOST_WAYS 64u   /* places, without starts and returns of called functions */
#define MOST_STEPS 256u /* instructions, or stretches of straight code */
#define STEPS_OF_CALL 4u
#define PLACES_OF_STEP 16u /* that are looked through in the time of a step */

/* A block, or the rest of one, that the search has reached. */
struct input_place {
    struct input_state state;
    uint64_t from;   /* the jump that leads here, or the last instruction before it */
    uint32_t parent; /* index of the place before it */
    bool is_jump;
    bool goes_on;     /* the rest of a block, behind a call */
    uint64_t outside; /* the PLT entry, if `from` is a call out of the binary; or 0 */
    uint64_t leaves;  /* ... and the entry's jump out of the binary */
};

struct search {
    struct input_flow *flow;
    const struct input_function *function;
    uint32_t hot;
    uint64_t start; /* of the function */
    uint64_t end;
    struct input_state goal;
    uint32_t count; /* of flow->places */
    uint32_t calls; /* places that are starts or returns of called functions */
    uint32_t steps;
    uint64_t most_steps; /* with all code of called functions */
    bool is_limited;     /* the search was given up: it was too much work */
    bool passes_branches;
    bool found; /* the goal, as the last place */
    enum bat_code code;
};

static bool is_known(const struct search *search, struct input_state state)
{
    /* Without the first place: a block may jump to itself. */
    for (uint32_t i = 1; i < search->count; i++)
        if (input_is_same_state(search->flow->places[i].state, state))
            return true;
    return false;
}

/* Take work off the sum of all long walks; false if nothing is left of it. */
static bool spend(struct search *search, uint64_t work)
{
    uint64_t *left = &search->flow->steps_left;
    search->is_limited |= *left == 0;
    *left -= work < *left ? work : *left;
    return !search->is_limited;
}

static void arrive(struct search *search, const struct input_place *place)
{
    struct input_flow *flow = search->flow;
    if (search->found || search->count - search->calls == MOST_WAYS ||
        (search->count >= FREE_PLACES && !spend(search, search->count / PLACES_OF_STEP)) ||
        is_known(search, place->state))
        return;
    if (!BAT_APPEND(flow->places, search->count, flow->place_capacity, *place)) {
        search->code = BAT_ERR_MEMORY;
        return;
    }
    search->found = input_is_same_state(place->state, search->goal);
}

/* The same for the start, or the return, of a called function. */
static void arrive_by_call(struct search *search, const struct input_place *place)
{
    const uint32_t count = search->count;
    arrive(search, place);
    search->calls += search->count - count;
}

/* The size of the function at an input address. */
static uint64_t size_at(const struct search *search, uint64_t address)
{
    const struct bat_original *original = search->flow->original;
    return original->inputs[bat_functions_find(original->input_functions, address)].size;
}

/* Enter the function that is called; false if the call is stepped over. */
static bool enter_call(struct search *search, struct input_place *to, uint64_t target,
                       uint64_t next)
{
    uint32_t frame = BAT_NONE;
    if (next != 0 && input_flow_is_outside(search->flow, target, &to->leaves)) {
        to->state.at = next;
        to->is_jump = true;
        to->goes_on = true;
        to->outside = target;
        arrive(search, to);
        return true;
    }
    if (!input_flow_has_code(search->flow, target))
        return false;
    search->code = input_flow_enter(search->flow, to->state.frame, next, &frame);
    if (search->code != BAT_OK || frame == BAT_NONE)
        return false;
    to->state = (struct input_state){target, frame};
    to->is_jump = true;
    search->most_steps += size_at(search, target);
    arrive_by_call(search, to);
    return true;
}

static void leave_frame(struct search *search, struct input_place *to)
{
    const struct input_frame *frame = &search->flow->frames[to->state.frame];
    if (frame->returns_to == 0)
        return;
    to->state = (struct input_state){frame->returns_to, frame->caller};
    to->is_jump = true;
    to->goes_on = true;
    arrive_by_call(search, to);
}

static void jump(struct search *search, struct input_place to, uint64_t target)
{
    to.state.at = target;
    to.state.frame = input_flow_frame_behind(search->flow, to.state.frame, to.from, target,
                                             search->start, search->end);
    to.is_jump = true;
    arrive(search, &to);
}

/* An indirect jump may lead to any block that the note lists. */
static void jump_anywhere(struct search *search, const struct input_place *to)
{
    if (to->state.frame == INPUT_ROOT_FRAME && search->goal.frame == INPUT_ROOT_FRAME &&
        input_block_at(search->function, search->goal.at))
        jump(search, *to, search->goal.at);
}

static bool is_inside(const struct search *search, struct input_state state)
{
    return state.frame != INPUT_ROOT_FRAME || (state.at >= search->start && state.at < search->end);
}

/* Follow one instruction; false if execution does not go on behind it. */
static bool pass(struct search *search, struct input_place *to,
                 const struct bat_instruction *instruction)
{
    uint64_t next = to->from + instruction->length;
    switch (instruction->kind) {
    case BAT_INSTRUCTION_JUMP:
        if (is_inside(search, (struct input_state){instruction->target, to->state.frame}) ||
            !enter_call(search, to, instruction->target, 0))
            jump(search, *to, instruction->target);
        return false;
    case BAT_INSTRUCTION_CONDITIONAL:
        jump(search, *to, instruction->target);
        return true;
    case BAT_INSTRUCTION_CALL:
        return !enter_call(search, to, instruction->target, next);
    case BAT_INSTRUCTION_RETURN:
        leave_frame(search, to);
        return false;
    case BAT_INSTRUCTION_INDIRECT_JUMP:
        jump_anywhere(search, to);
        return false;
    case BAT_INSTRUCTION_TRAP:
        return false;
    default:
        return true;
    }
}

/*
 * The first address from this one on where the search must stop and look: the goal, a block's start
 * or the function's end.
 */
static uint64_t next_event(const struct search *search, uint32_t frame, uint64_t address)
{
    uint64_t event = UINT64_MAX;
    if (frame == INPUT_ROOT_FRAME) {
        event = input_flow_next_block(search->flow, search->hot, address);
        event = search->end >= address && search->end < event ? search->end : event;
    }
    bool is_goal_ahead = frame == search->goal.frame && search->goal.at >= address;
    return is_goal_ahead && search->goal.at < event ? search->goal.at : event;
}

/* Pass straight code below the next event. False if it has no known end. */
static bool pass_straight_code(const struct search *search, uint64_t event,
                               struct input_state *state, uint64_t *before)
{
    struct input_run run;
    if (state->at >= event || event - state->at <= INPUT_RUN_PAYS)
        return true;
    bool has_end = input_flow_run(search->flow, state->at, event, &run);
    if (has_end && run.end <= event && run.end != run.start) {
        state->at = run.end;
        *before = run.last;
    }
    return has_end || event != UINT64_MAX;
}

/* True if the block ends at this event; then its end is a new place, unless it is outside. */
static bool ends_at_event(struct search *search, const struct input_place *to)
{
    struct bat_instruction ignored;
    bool is_end = input_is_same_state(to->state, search->goal);
    if (!is_end && !is_inside(search, to->state))
        return true;
    if (!is_end && to->state.frame == INPUT_ROOT_FRAME)
        is_end = input_block_at(search->function, to->state.at) &&
                 input_flow_decode(search->flow, to->state.at, &ignored);
    if (is_end)
        arrive(search, to);
    return is_end;
}

static bool may_go_on(struct search *search)
{
    if (search->found || search->code != BAT_OK)
        return false;
    return search->steps < MOST_STEPS + STEPS_OF_CALL * search->calls ||
           (search->steps < search->most_steps && spend(search, 1));
}

/* Follow a block's instructions to all places where it may lead. */
static void leave_block(struct search *search, uint32_t number)
{
    struct input_state state = search->flow->places[number].state;
    uint64_t before = state.at;
    uint64_t event = next_event(search, state.frame, state.at + 1);
    if (!is_inside(search, state))
        return;
    for (bool is_first = true; may_go_on(search); is_first = false) {
        search->steps++;
        struct bat_instruction instruction;
        struct input_place to = {.state = state, .from = before, .parent = number};
        if (state.at >= event) {
            if (ends_at_event(search, &to))
                return;
            event = next_event(search, state.frame, state.at + 1);
        }
        if (!input_flow_decode(search->flow, state.at, &instruction))
            return;
        to.from = state.at;
        if (!pass(search, &to, &instruction))
            return;
        before = state.at;
        state.at += instruction.length;
        bool is_new = is_first || input_kind_changes_flow(instruction.kind);
        if (is_new && !pass_straight_code(search, event, &state, &before))
            return;
    }
}

/* The kind of the first instruction of a block that is no no-operation. */
static uint8_t first_kind(const struct search *search, uint64_t address)
{
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_NOP};
    for (uint32_t i = 0; i < 4 && instruction.kind == BAT_INSTRUCTION_NOP; i++) {
        if (!input_flow_decode(search->flow, address, &instruction))
            return BAT_INSTRUCTION_OTHER;
        address += instruction.length;
    }
    return instruction.kind;
}

/* True if the output can run through a block without a trace of it. */
static bool is_transparent(const struct search *search, const struct input_place *place)
{
    if (!is_inside(search, place->state))
        return false;
    if (place->state.frame != INPUT_ROOT_FRAME || place->goes_on)
        return true;
    const struct input_block *block = input_block_at(search->function, place->state.at);
    if (!block || !block->is_live)
        return true;
    const uint8_t kind = first_kind(search, place->state.at);
    return kind == BAT_INSTRUCTION_JUMP ||
           (search->passes_branches && kind == BAT_INSTRUCTION_CONDITIONAL);
}

/* Add a jump before all others of the path. */
static void prepend(struct search *search, struct input_path_draft *path, uint64_t from,
                    uint64_t to)
{
    if (!input_draft_prepend(&search->flow->paths, path, (struct input_jump){from, to}))
        search->code = BAT_ERR_MEMORY;
}

/* Fill the path to the last place. */
static void trace_back(struct search *search, struct input_path_draft *path)
{
    const struct input_place *places = search->flow->places;
    path->last = places[search->count - 1].from;
    path->found = true;
    for (uint32_t i = search->count - 1; i != 0; i = places[i].parent) {
        const struct input_place *place = &places[i];
        if (place->outside) {
            prepend(search, path, BAT_ADDRESS_EXTERNAL, place->state.at);
            prepend(search, path, place->leaves, BAT_ADDRESS_EXTERNAL);
            prepend(search, path, place->from, place->outside);
        } else if (place->is_jump) {
            prepend(search, path, place->from, place->state.at);
        }
    }
}

static void search_path(struct search *search, struct input_state from,
                        struct input_path_draft *path)
{
    search->flow->places[0] = (struct input_place){.state = from, .from = from.at};
    search->count = 1;
    search->calls = 0;
    search->steps = 0;
    search->most_steps = MOST_STEPS;
    for (uint32_t i = 0; i < search->count && !search->found && search->code == BAT_OK; i++)
        if (i == 0 || is_transparent(search, &search->flow->places[i]))
            leave_block(search, i);
    if (search->found)
        trace_back(search, path);
}

enum bat_code input_search(struct input_flow *flow, uint32_t hot, struct input_state from,
                           struct input_state to, bool must_move, bool passes_branches,
                           struct input_path_draft *path)
{
    input_draft_begin(path);
    if (from.at == 0 || to.at == 0)
        return BAT_OK;
    if (!must_move && input_is_same_state(from, to)) {
        path->found = true;
        path->last = from.at;
        return BAT_OK;
    }
    BAT_TRY(input_flow_read(flow, hot));
    const struct bat_function_symbol *input =
        &flow->original->inputs[bat_original_input_of_table(flow->original, hot)];
    struct search search = {
        .flow = flow,
        .function = &flow->functions[hot],
        .hot = hot,
        .start = input->address,
        .end = input->address + bat_function_extent(input),
        .goal = to,
        .passes_branches = passes_branches,
    };
    if (!BAT_GROW(flow->places, 0, flow->place_capacity))
        return BAT_ERR_MEMORY;
    search_path(&search, from, path);
    flow->limited += search.is_limited;
    return search.code;
}
