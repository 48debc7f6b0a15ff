/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The input binary's flow of control (input_flow.h): caches of instructions and of straight
 * code, frames of inlined calls, and the blocks that the note lists.
 */
#include "input_flow.h"
#include "binary/functions/plt.h"
#include "spec/array.h"
#include "spec/order.h"
#include "support/key_sort.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define DECODED_COUNT 8192u
#define RUN_COUNT 4096u
#define RUN_MOST 8192u /* instructions */
#define RUN_STRIDE 32u /* instructions between two cached places of a run */

enum bat_code input_flow_open(struct input_flow *flow, const struct bat_original *original)
{
    *flow = (struct input_flow){.original = original, .frames_by_call = bat_counts_new(2)};
    size_t count = original->binary->map->hot_count;
    flow->functions = calloc(count + 1, sizeof(*flow->functions));
    flow->frame_capacity = 16;
    flow->frames = calloc(flow->frame_capacity, sizeof(*flow->frames));
    flow->frame_count = 1;
    flow->steps_left = UINT64_C(1) << 16;
    flow->decoded = calloc(DECODED_COUNT, sizeof(*flow->decoded));
    flow->runs = calloc(RUN_COUNT, sizeof(*flow->runs));
    bool is_open = flow->functions && flow->frames && flow->decoded && flow->runs;
    return is_open ? BAT_OK : BAT_ERR_MEMORY;
}

void input_flow_close(struct input_flow *flow)
{
    for (uint32_t i = 0; flow->functions && i < flow->original->binary->map->hot_count; i++)
        free(flow->functions[i].blocks);
    BAT_FREE_ALL(flow->functions, flow->frames, flow->decoded, flow->runs, flow->places, flow->plt);
    input_paths_free(&flow->paths);
    bat_counts_free(&flow->frames_by_call);
}

/* --- Instructions --------------------------------------------------------------------------- */

const struct bat_code_at *input_flow_code(struct input_flow *flow, uint64_t address)
{
    struct bat_code_at *code = &flow->decoded[address % DECODED_COUNT];
    if (code->address == address && address != 0)
        return code;
    if (bat_code_read(flow->original->elf, address, code))
        return code;
    code->address = 0;
    return NULL;
}

static struct input_run *known_run(struct input_flow *flow, uint64_t start)
{
    /* Multiples of a power of two must not share a place: the middle bits of a product depend on
       all bits below them. What is cached changes results, so the factor is always the same. */
    return &flow->runs[(start * UINT64_C(0x9E3779B97F4A7C15) >> 32) % RUN_COUNT];
}

/* Cache where straight code ends, for its start and for places on the way. */
static void keep_run(struct input_flow *flow, const struct input_run *run, const uint64_t *places,
                     uint32_t count)
{
    *known_run(flow, run->start) = *run;
    for (uint32_t i = 0; i < count; i++)
        *known_run(flow, places[i]) = (struct input_run){places[i], run->end, run->last};
}

/* One step through a run; false at its end. run->end is 0 if it cannot be decoded. */
static bool extend_run(struct input_flow *flow, struct input_run *run)
{
    const struct input_run *known = known_run(flow, run->end);
    struct bat_instruction instruction;
    if (known->start == run->end) {
        run->last = known->end == known->start ? run->last : known->last;
        run->end = known->end;
        return false;
    }
    bool is_known = input_flow_decode(flow, run->end, &instruction);
    if (is_known && input_kind_changes_flow(instruction.kind))
        return false;
    run->last = run->end;
    run->end = is_known ? run->end + instruction.length : 0;
    return is_known;
}

bool input_flow_run(struct input_flow *flow, uint64_t start, uint64_t limit, struct input_run *run)
{
    uint64_t places[RUN_MOST / RUN_STRIDE];
    uint32_t count = 0;
    uint32_t steps = 0;
    *run = (struct input_run){start, start, start};
    if (start == 0)
        return false;
    const uint32_t most = input_flow_most_steps(flow, RUN_MOST);
    for (; steps < most && extend_run(flow, run); steps++) {
        if (run->end >= limit)
            return true;
        if (steps % RUN_STRIDE == RUN_STRIDE - 1)
            places[count++] = run->end;
    }
    bool is_long = steps == most;
    input_flow_spend(flow, steps, most);
    run->end = is_long ? 0 : run->end;
    keep_run(flow, run, places, is_long ? 0 : count);
    return run->end != 0;
}

/* --- Frames --------------------------------------------------------------------------------- */

#define MOST_FRAMES_NESTED 16u

enum bat_code input_flow_enter(struct input_flow *flow, uint32_t caller, uint64_t returns_to,
                               uint32_t *frame)
{
    const uint64_t key[2] = {caller, returns_to};
    const uint64_t *item = bat_counts_find(&flow->frames_by_call, key);
    *frame = item ? (uint32_t)item[2] : BAT_NONE;
    uint32_t depth = flow->frames[caller].depth + 1;
    if (item || depth > MOST_FRAMES_NESTED)
        return BAT_OK;
    if (!BAT_GROW(flow->frames, flow->frame_count, flow->frame_capacity))
        return BAT_ERR_MEMORY;
    *frame = flow->frame_count++;
    flow->frames[*frame] = (struct input_frame){caller, depth, returns_to};
    return bat_counts_add(&flow->frames_by_call, key, *frame, 0);
}

/* --- Calls ---------------------------------------------------------------------------------- */

bool input_flow_is_outside(const struct input_flow *flow, uint64_t address, uint64_t *leaves)
{
    const struct bat_original *original = flow->original;
    uint32_t input = bat_functions_find(original->input_functions, address);
    if (input == BAT_NONE || !(original->inputs[input].flags & BAT_FUNCTION_PLT))
        return false;
    struct bat_instruction instruction = {.kind = BAT_INSTRUCTION_OTHER};
    uint64_t end = original->inputs[input].address + original->inputs[input].size;
    for (*leaves = address; *leaves < end; *leaves += instruction.length)
        if (!bat_original_decode(original->elf, *leaves, &instruction) ||
            instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP)
            return instruction.kind == BAT_INSTRUCTION_INDIRECT_JUMP;
    return false;
}

/* Functions that throw, and those that end the program where exceptions cannot go on. */
static bool is_endless(const char *name)
{
    static const char *const names[] = {
        "__cxa_throw",
        "__cxa_rethrow",
        "_Unwind_Resume",
        "__cxa_bad_cast",
        "__cxa_bad_typeid",
        "__cxa_throw_bad_array_new_length",
        "_ZSt9terminatev",
        "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
        "abort",
        "exit",
        "__stack_chk_fail",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "_ZSt", 4) == 0 && strstr(name, "__throw_");
}

bool input_flow_never_returns(struct input_flow *flow, uint64_t call)
{
    struct bat_instruction instruction;
    if (!input_flow_decode(flow, call, &instruction) || instruction.kind != BAT_INSTRUCTION_CALL)
        return false;
    if (!flow->plt && bat_plt_entries(flow->original->elf, &flow->plt, &flow->plt_count, NULL))
        flow->plt_count = 0;
    const size_t found = BAT_COUNT_BELOW(flow->plt, flow->plt_count, address, instruction.target);
    const char *name = found < flow->plt_count && flow->plt[found].address == instruction.target
                           ? flow->plt[found].symbol
                           : NULL;
    return name && is_endless(name);
}

bool input_flow_may_replace(const struct input_flow *flow, uint64_t output_call,
                            uint64_t input_target)
{
    const struct bat_original *original = flow->original;
    struct bat_instruction call;
    struct bat_instruction leaving;
    uint64_t leaves;
    if (bat_elf_machine(original->elf) != EM_X86_64)
        return true;
    return bat_original_decode(original->binary->elf, output_call, &call) && call.has_reference &&
           input_flow_is_outside(flow, input_target, &leaves) &&
           bat_original_decode(original->elf, leaves, &leaving) && leaving.has_reference &&
           leaving.reference == call.reference;
}

bool input_flow_has_code(const struct input_flow *flow, uint64_t address)
{
    const struct bat_original *original = flow->original;
    uint32_t input = bat_functions_find(original->input_functions, address);
    return input != BAT_NONE && original->inputs[input].address == address &&
           !(original->inputs[input].flags & BAT_FUNCTION_PLT);
}

bool input_flow_calls_same(const struct input_flow *flow, uint64_t output_target,
                           uint64_t input_target)
{
    const struct bat_original *original = flow->original;
    uint32_t output = bat_functions_find(original->output_functions, output_target);
    uint32_t input = bat_functions_find(original->input_functions, input_target);
    if (output == BAT_NONE || input == BAT_NONE)
        return false;
    if (original->input_of[output] == input)
        return true;
    return bat_original_is_home(original, input, output);
}

/* --- Blocks --------------------------------------------------------------------------------- */

/* Add the blocks of one table: input address, and whether its code is live. */
static uint32_t add_table(const struct bat_original *original, uint32_t table, uint64_t start,
                          struct bat_sort_key *blocks, uint32_t count)
{
    const struct bat_map *map = original->binary->map;
    const struct bat_table *function = &map->tables[table];
    uint32_t output = original->output_of[table];
    uint64_t next = output == BAT_NONE ? UINT64_MAX : original->outputs[output].size;
    for (uint32_t i = function->entry_count; i-- > 0;) {
        uint32_t entry = function->first_entry + i;
        if (map->input_offsets[entry] & BAT_BRANCH_ENTRY)
            continue;
        blocks[count++] = (struct bat_sort_key){
            .key = start + (map->input_offsets[entry] >> 1),
            .value = map->output_offsets[entry] < next,
        };
        next = map->output_offsets[entry];
    }
    return count;
}

static enum bat_code read_blocks(struct input_flow *flow, uint32_t hot)
{
    struct input_function *function = &flow->functions[hot];
    const struct bat_map *map = flow->original->binary->map;
    const uint32_t *fragments = map->fragments + map->fragment_start[hot];
    uint32_t fragment_count = map->fragment_start[hot + 1] - map->fragment_start[hot];
    size_t most = (size_t)map->tables[hot].block_count + 1;
    for (uint32_t i = 0; i < fragment_count; i++)
        most += map->tables[fragments[i]].block_count;
    function->blocks = malloc(most * sizeof(*function->blocks));
    struct bat_sort_key *keys = malloc(2 * most * sizeof(*keys));
    if (!function->blocks || !keys) {
        free(keys);
        return BAT_ERR_MEMORY;
    }
    uint64_t start =
        flow->original->inputs[bat_original_input_of_table(flow->original, hot)].address;
    uint32_t count = add_table(flow->original, hot, start, keys, 0);
    for (uint32_t i = 0; i < fragment_count; i++)
        count = add_table(flow->original, fragments[i], start, keys, count);
    /* Keep one block for each address, live if any of its copies is. */
    const struct bat_sort_key *blocks = bat_sort_keys(keys, keys + most, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || blocks[i].key != blocks[i - 1].key)
            function->blocks[function->count++] = (struct input_block){.address = blocks[i].key};
        function->blocks[function->count - 1].is_live |= blocks[i].value != 0;
    }
    free(keys);
    function->is_read = true;
    return BAT_OK;
}

/* The first block that starts at or above an address; function->count if there is none. */
static uint32_t block_from(const struct input_function *function, uint64_t address)
{
    return BAT_COUNT_BELOW(function->blocks, function->count, address, address);
}

const struct input_block *input_block_at(const struct input_function *function, uint64_t address)
{
    uint32_t block = block_from(function, address);
    bool is_found = block < function->count && function->blocks[block].address == address;
    return is_found ? &function->blocks[block] : NULL;
}

uint64_t input_flow_next_block(const struct input_flow *flow, uint32_t hot, uint64_t address)
{
    const struct input_function *function = &flow->functions[hot];
    uint32_t block = block_from(function, address);
    return block < function->count ? function->blocks[block].address : UINT64_MAX;
}

enum bat_code input_flow_read(struct input_flow *flow, uint32_t hot)
{
    return flow->functions[hot].is_read ? BAT_OK : read_blocks(flow, hot);
}

bool input_flow_is_block(const struct input_flow *flow, uint32_t hot, uint64_t address)
{
    return input_block_at(&flow->functions[hot], address) != NULL;
}
