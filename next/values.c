/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "values.h"

#include <stdlib.h>

#include "binary/code/conditions.h"
#include "spec/array.h"
#include "spec/order.h"

#define SLOTS 16u   /* of the stack: so many are known */
#define WORD 8      /* bytes of a register */
#define NO_VALUE 1u /* known to be none */

/* What a value is; others are made of it. */
enum value_kind {
    VALUE_NONE,
    VALUE_NUMBER,
    VALUE_NAME,     /* the address of something that has a name */
    VALUE_ARGUMENT, /* a register's at the entry */
    VALUE_PLACE,    /* an address */
    VALUE_LOADED,   /* what is there */
    VALUE_RETURNED,
    VALUE_SCALED,
    VALUE_CALCULATED,
    VALUE_OPERATION,
};

/* What was tested last: of two values or one. */
enum test_kind { TEST_NOTHING, TEST_ZERO, TEST_BITS, TEST_BOTH };

struct tested {
    enum test_kind kind;
    uint32_t first;
    uint32_t second;
};

struct slot {
    int32_t at;
    uint32_t value;
};

/* What is known at a place of the code: values, 0 for others. */
struct state {
    uint32_t registers[NEXT_REGISTERS]; /* of those that point to the stack, how far from its top */
    uint32_t is_frame;                  /* which do: a bit for each */
    struct tested tested;
    struct slot slots[SLOTS];
    uint32_t next_slot;
};

/* --- Values --------------------------------------------------------------------------------- */

/* A value that is made of two others, or numbers; never 0. */
static uint32_t make(enum value_kind kind, uint32_t first, uint32_t second)
{
    uint64_t hash = ((uint64_t)kind << 32 | first) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ second) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32) | 1;
}

/* The same of values: 0 if one is not known. */
static uint32_t make_known(enum value_kind kind, uint32_t first, uint32_t second)
{
    return first && second ? make(kind, first, second) : 0;
}

static uint32_t number(int64_t number)
{
    return make(VALUE_NUMBER, (uint32_t)number, (uint32_t)((uint64_t)number >> 32));
}

static uint32_t name_value(const struct next_instruction *instruction)
{
    return instruction->name ? make(VALUE_NAME, instruction->name, 0) : 0;
}

static bool is_register(uint8_t operand)
{
    return operand < NEXT_REGISTERS;
}

static bool is_frame(const struct state *state, uint8_t operand)
{
    return is_register(operand) && (state->is_frame >> operand & 1);
}

/* Builds put things on the stack in other orders: one value stands for all places there. */
static uint32_t register_value(const struct state *state, uint8_t operand)
{
    return is_frame(state, operand) ? make(VALUE_PLACE, 0, 0) : state->registers[operand];
}

static int32_t frame_of(const struct state *state, uint8_t operand)
{
    return (int32_t)state->registers[operand];
}

static int32_t add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* True if what is in memory is on the stack: *at, where. */
static bool is_on_stack(const struct state *state, const struct next_effect *effect, int32_t *at)
{
    if (!is_frame(state, effect->base) || effect->index != NEXT_NOTHING)
        return false;
    *at = add(frame_of(state, effect->base), effect->displacement);
    return true;
}

/* The address of what is in memory, but so many bytes lower. */
static uint32_t place_value(const struct state *state, const struct next_instruction *instruction,
                            int32_t lower)
{
    const struct next_effect *effect = &instruction->effect;
    const uint32_t base = is_register(effect->base)       ? register_value(state, effect->base)
                          : effect->base == NEXT_IS_NAMED ? name_value(instruction)
                                                          : number(0);
    const uint32_t index =
        is_register(effect->index)
            ? make_known(VALUE_SCALED, register_value(state, effect->index), 1u + effect->scale)
            : number(0);
    return make_known(VALUE_PLACE, make_known(VALUE_PLACE, base, index),
                      number(add(effect->displacement, -lower)));
}

static uint32_t slot_value(const struct state *state, int32_t at)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (state->slots[i].value && state->slots[i].at == at)
            return state->slots[i].value;
    return at > 0 ? make(VALUE_ARGUMENT, NEXT_REGISTERS, (uint32_t)at) : 0;
}

static void set_slot(struct state *state, int32_t at, uint32_t value)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (state->slots[i].value && state->slots[i].at == at) {
            state->slots[i].value = value;
            return;
        }
    state->slots[state->next_slot] = (struct slot){at, value};
    state->next_slot = (state->next_slot + 1) % SLOTS;
}

static uint32_t value_of(const struct state *state, const struct next_instruction *instruction,
                         uint8_t operand)
{
    int32_t at;
    if (is_register(operand))
        return register_value(state, operand);
    switch (operand) {
    case NEXT_IN_MEMORY:
        return is_on_stack(state, &instruction->effect, &at)
                   ? slot_value(state, at)
                   : make_known(VALUE_LOADED, place_value(state, instruction, 0), NO_VALUE);
    case NEXT_IS_NAMED:
        return name_value(instruction);
    case NEXT_IS_NUMBER:
        return number(instruction->effect.number);
    default:
        return 0;
    }
}

/* --- Effects -------------------------------------------------------------------------------- */

#define REGISTER(number) (UINT32_C(1) << (number))

/* RAX and RDX; RCX, RSI and RDI; what a callee may write. */
static const uint32_t clobbered[] = {
    [NEXT_CLOBBERS_NONE] = 0,
    [NEXT_CLOBBERS_WIDE] = REGISTER(0) | REGISTER(2),
    [NEXT_CLOBBERS_STRING] = REGISTER(1) | REGISTER(6) | REGISTER(7),
    [NEXT_CLOBBERS_ALL] = 0x0fc7,
};

static void forget(struct state *state, uint32_t registers)
{
    registers &= ~(UINT32_C(1) << NEXT_STACK);
    state->is_frame &= ~registers;
    for (uint32_t i = 0; registers != 0; i++, registers >>= 1)
        if (registers & 1)
            state->registers[i] = 0;
}

static void set(struct state *state, const struct next_effect *effect, uint32_t value)
{
    int32_t at;
    if (is_register(effect->to) && effect->to != NEXT_STACK) {
        state->registers[effect->to] = value;
        state->is_frame &= ~(UINT32_C(1) << effect->to);
    } else if (effect->to == NEXT_IN_MEMORY && is_on_stack(state, effect, &at)) {
        set_slot(state, at, value);
    }
}

/* Let a register point to the stack. */
static void set_frame(struct state *state, uint8_t to, int32_t at)
{
    state->registers[to] = (uint32_t)at;
    state->is_frame |= UINT32_C(1) << to;
}

static void move_stack(struct state *state, int32_t distance)
{
    state->registers[NEXT_STACK] = (uint32_t)add(frame_of(state, NEXT_STACK), distance);
}

static void move(struct state *state, const struct next_instruction *instruction)
{
    const struct next_effect *effect = &instruction->effect;
    if (is_register(effect->to) && is_frame(state, effect->from))
        set_frame(state, effect->to, frame_of(state, effect->from));
    else
        set(state, effect, value_of(state, instruction, effect->from));
}

static void take_address(struct state *state, const struct next_instruction *instruction)
{
    const struct next_effect *effect = &instruction->effect;
    int32_t at;
    if (is_register(effect->to) && is_on_stack(state, effect, &at))
        set_frame(state, effect->to, at);
    else
        set(state, effect, place_value(state, instruction, 0));
}

/* Bits of what is in memory are tested as those of the four bytes that it is in. */
static void test_bits(struct state *state, const struct next_instruction *instruction)
{
    const struct next_effect *effect = &instruction->effect;
    const bool is_number = effect->from == NEXT_IS_NUMBER;
    int32_t at;
    const bool is_field =
        is_number && effect->to == NEXT_IN_MEMORY && !is_on_stack(state, effect, &at);
    const uint32_t byte = is_field ? (uint32_t)effect->displacement % 4 : 0;
    state->tested = (struct tested){TEST_BITS, value_of(state, instruction, effect->to),
                                    value_of(state, instruction, effect->from)};
    if (is_number)
        state->tested.second = number((uint32_t)effect->number << 8 * byte);
    if (is_field)
        state->tested.first =
            make_known(VALUE_LOADED, place_value(state, instruction, (int32_t)byte), NO_VALUE);
}

static void compare(struct state *state, const struct next_instruction *instruction)
{
    const struct next_effect *effect = &instruction->effect;
    const bool is_zero = effect->from == NEXT_IS_NUMBER && effect->number == 0;
    state->tested =
        (struct tested){is_zero ? TEST_ZERO : TEST_BOTH, value_of(state, instruction, effect->to),
                        is_zero ? NO_VALUE : value_of(state, instruction, effect->from)};
}

static void calculate(struct state *state, const struct next_instruction *instruction)
{
    const struct next_effect *effect = &instruction->effect;
    if (effect->to == NEXT_STACK) {
        if (effect->from == NEXT_IS_NUMBER)
            move_stack(state, effect->number);
        return;
    }
    const uint32_t other =
        effect->from == NEXT_NOTHING ? NO_VALUE : value_of(state, instruction, effect->from);
    const uint32_t value = make_known(VALUE_CALCULATED, value_of(state, instruction, effect->to),
                                      make_known(VALUE_OPERATION, other, instruction->kind));
    if (effect->kind == NEXT_EFFECT_MASK)
        test_bits(state, instruction);
    else if (instruction->test != NEXT_TEST_NONE)
        state->tested = (struct tested){TEST_ZERO, value, NO_VALUE};
    set(state, effect, value);
}

static void follow(struct state *state, const struct next_instruction *instruction)
{
    const struct next_effect *effect = &instruction->effect;
    switch (effect->kind) {
    case NEXT_EFFECT_MOVE:
        move(state, instruction);
        break;
    case NEXT_EFFECT_ADDRESS:
        take_address(state, instruction);
        break;
    case NEXT_EFFECT_CALCULATE:
    case NEXT_EFFECT_MASK:
        calculate(state, instruction);
        break;
    case NEXT_EFFECT_COMPARE:
        compare(state, instruction);
        break;
    case NEXT_EFFECT_TEST:
        if (effect->to == effect->from && is_register(effect->to))
            state->tested = (struct tested){TEST_ZERO, register_value(state, effect->to), NO_VALUE};
        else
            test_bits(state, instruction);
        break;
    case NEXT_EFFECT_PUSH:
        move_stack(state, -WORD);
        set_slot(state, frame_of(state, NEXT_STACK), value_of(state, instruction, effect->from));
        break;
    case NEXT_EFFECT_POP:
        set(state, effect, slot_value(state, frame_of(state, NEXT_STACK)));
        move_stack(state, WORD);
        break;
    case NEXT_EFFECT_CALL:
        state->tested.kind = TEST_NOTHING;
        forget(state, clobbered[effect->clobbers]);
        state->registers[0] = instruction->name ? make(VALUE_RETURNED, instruction->name, 0) : 0;
        return;
    default:
        if (instruction->test != NEXT_TEST_NONE)
            state->tested.kind = TEST_NOTHING;
        break;
    }
    forget(state, clobbered[effect->clobbers]);
}

/* --- The graph ------------------------------------------------------------------------------ */

/* What is tested under a condition; compilers exchange two values that may be equal. */
static uint32_t tested_value(const struct tested *tested, uint32_t condition)
{
    const bool is_equality = condition_order(condition) & CONDITION_IS_EQUALITY;
    const bool is_turned =
        tested->kind == TEST_BOTH && is_equality && tested->first > tested->second;
    if (tested->kind == TEST_NOTHING || !tested->first || !tested->second)
        return 0;
    const uint32_t first = is_turned ? tested->second : tested->first;
    const uint32_t second = is_turned ? tested->first : tested->second;
    return make(VALUE_NONE, make(VALUE_NONE, (uint32_t)tested->kind, first), second);
}

struct following {
    const struct next_program *program;
    struct next_graph *graph;
    struct state *states; /* at the entry of each node, then at its end */
    uint8_t *is_known;
    uint32_t *queue;
    uint32_t count; /* of the queue */
};

static void begin(struct following *following, uint32_t node, const struct state *state)
{
    if (following->is_known[node])
        return;
    following->is_known[node] = 1;
    following->states[node] = *state;
    following->queue[following->count++] = node;
}

static void follow_node(struct following *following, uint32_t node)
{
    struct next_graph *graph = following->graph;
    struct state *state = &following->states[node];
    const struct next_segment *last = next_last_segment(graph, node);
    for (uint32_t i = 0; i < graph->nodes[node].code_count; i++)
        follow(state, &graph->nodes[node].code[i]);
    const uint32_t condition = next_segment_block(following->program, last)->condition;
    if (last->ends && condition != CONDITION_UNKNOWN)
        graph->tested[node] = tested_value(&state->tested, condition);
    for (uint32_t i = graph->out[node]; i < graph->out[node + 1]; i++)
        begin(following, graph->links[i].to, state);
}

enum bat_code next_find_tested(const struct next_program *program, struct next_graph *graph,
                               struct bat_error *error)
{
    const size_t count = graph->node_count;
    struct following following = {.program = program,
                                  .graph = graph,
                                  .states = malloc((count + 1) * sizeof(*following.states)),
                                  .is_known = calloc(count + 1, 1),
                                  .queue = malloc((count + 1) * sizeof(*following.queue))};
    graph->tested = calloc(count + 1, sizeof(*graph->tested));
    const bool has_memory =
        following.states && following.is_known && following.queue && graph->tested;
    struct state state = {.is_frame = UINT32_C(1) << NEXT_STACK};
    for (uint32_t i = 0; i < NEXT_REGISTERS; i++)
        state.registers[i] = i == NEXT_STACK ? 0 : make(VALUE_ARGUMENT, i, 0);
    uint32_t done = 0;
    /* Where else control may enter, nothing is known. */
    for (uint32_t i = 0; i <= count && has_memory && count > 0; i++) {
        begin(&following, i == 0 ? graph->entry : i - 1, &state);
        while (done < following.count)
            follow_node(&following, following.queue[done++]);
        forget(&state, UINT32_MAX);
    }
    BAT_FREE_ALL(following.states, following.is_known, following.queue);
    return has_memory ? BAT_OK : bat_fail_memory(error, "for a graph");
}

/* The values that a graph tests, ascending: *count. NULL without memory. */
static uint32_t *sort_tested(const struct next_graph *graph, size_t *count)
{
    uint32_t *sorted = malloc(((size_t)graph->node_count + 1) * sizeof(*sorted));
    *count = 0;
    for (uint32_t i = 0; i < graph->node_count && sorted; i++)
        if (graph->tested[i])
            sorted[(*count)++] = graph->tested[i];
    if (sorted)
        qsort(sorted, *count, sizeof(*sorted), bat_compare_u32);
    return sorted;
}

/* Forget a graph's values that are not among count that ascend. */
static void keep_those(struct next_graph *graph, const uint32_t *sorted, size_t count)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const size_t at = BAT_NUMBERS_BELOW(sorted, count, graph->tested[i]);
        if (at == count || sorted[at] != graph->tested[i])
            graph->tested[i] = 0;
    }
}

enum bat_code next_keep_shared_tests(struct next_graph *one, struct next_graph *other,
                                     struct bat_error *error)
{
    size_t counts[2] = {0};
    uint32_t *ones = sort_tested(one, &counts[0]);
    uint32_t *others = sort_tested(other, &counts[1]);
    const bool has_memory = ones && others;
    if (has_memory) {
        keep_those(one, others, counts[1]);
        keep_those(other, ones, counts[0]);
    }
    BAT_FREE_ALL(ones, others);
    return has_memory ? BAT_OK : bat_fail_memory(error, "for branches");
}
