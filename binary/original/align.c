/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Walks through the same code in both binaries, instruction by instruction. */
#include <elf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "original.h"
#include "spec/array.h"
#include "spec/order.h"

bool bat_original_decode(const struct bat_elf *elf, uint64_t address,
                         struct bat_instruction *instruction)
{
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &available);
    return bytes && bat_instruction_decode(bat_elf_machine(elf), bytes, (size_t)available, address,
                                           instruction);
}

uint64_t bat_original_patch(const struct bat_elf *elf, uint64_t entry, uint64_t *jump)
{
    struct bat_instruction instruction;
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, entry, &available);
    *jump = entry;
    if (bat_original_decode(elf, entry, &instruction) && instruction.kind == BAT_INSTRUCTION_JUMP)
        return instruction.target;
    if (bat_elf_machine(elf) != EM_AARCH64 || !bytes || available < 12)
        return 0;
    *jump = entry + 8; /* behind ADRP and ADD */
    return bat_long_jump_target(bytes, 8, entry);
}

/* The bytes of a file from an address on. */
struct code_bytes {
    const uint8_t *bytes; /* NULL if the address is not in the file */
    uint64_t address;
    uint64_t size;
};

static struct code_bytes code_from(const struct bat_elf *elf, uint64_t address)
{
    struct code_bytes code = {.address = address};
    code.bytes = bat_elf_at_address(elf, address, &code.size);
    return code;
}

static bool decode_at(const struct bat_elf *elf, const struct code_bytes *code, uint64_t address,
                      struct bat_instruction *instruction)
{
    uint64_t offset = address - code->address;
    return code->bytes && offset < code->size &&
           bat_instruction_decode(bat_elf_machine(elf), code->bytes + offset,
                                  (size_t)(code->size - offset), address, instruction);
}

/* The state of a walk through a run: the next instruction on both sides. */
struct alignment {
    const struct bat_original *original;
    const struct bat_original_run *run;
    struct bat_instruction output_next; /* at output */
    struct bat_instruction input_next;  /* at input */
    struct code_bytes output_code;      /* from the run's start on */
    struct code_bytes input_code;
    uint64_t output;
    uint64_t input;
    uint64_t input_before; /* address of the instruction before input; run->input at the start */
    bool after_call;
    uint64_t steps; /* since the start of the run */
};

static struct alignment start(const struct bat_original *original,
                              const struct bat_original_run *run)
{
    return (struct alignment){.original = original,
                              .run = run,
                              .output_code = code_from(original->binary->elf, run->output),
                              .input_code = code_from(original->elf, run->input),
                              .output = run->output,
                              .input = run->input,
                              .input_before = run->input};
}

/* --- Recorded walks ----------------------------------------------------------------------- */

#define WALK_STRIDE 64u

/* The states of a walk through a run after every WALK_STRIDE steps, as far as any walk has gone. */
struct walk {
    struct bat_original_run run;
    struct alignment *states; /* state i is after (i + 1) * WALK_STRIDE steps */
    size_t count;
    size_t capacity;
};

static int compare_walks(const void *left, const void *right)
{
    const struct bat_original_run *a = &((const struct walk *)left)->run;
    const struct bat_original_run *b = &((const struct walk *)right)->run;
    int order = bat_compare_numbers(a->output, b->output);
    if (order == 0)
        order = bat_compare_numbers(a->input, b->input);
    if (order == 0)
        order = bat_compare_numbers(a->output_end, b->output_end);
    return order ? order : bat_compare_numbers(a->input_end, b->input_end);
}

static void free_walk(void *pointer)
{
    struct walk *walk = pointer;
    BAT_FREE_ALL(walk->states, walk);
}

void bat_original_walks_free(struct bat_original_walks *walks)
{
    tdestroy(walks->tree, free_walk);
    walks->tree = NULL;
}

/* The recorded walk through a run, a new one if there is none; NULL if out of memory. */
static struct walk *find_walk(struct bat_original_walks *walks, const struct bat_original_run *run)
{
    const struct walk key = {.run = *run};
    void *found = tfind(&key, &walks->tree, compare_walks);
    if (found)
        return *(struct walk **)found;
    struct walk *walk = malloc(sizeof(*walk));
    if (!walk)
        return NULL;
    *walk = key;
    if (!tsearch(walk, &walks->tree, compare_walks)) {
        free(walk);
        return NULL;
    }
    return walk;
}

/*
 * Called after each step. Records the state for later walks, and jumps ahead to the last recorded
 * state whose output is below limit. If out of memory, walks only take longer.
 */
static void use_walks(struct alignment *alignment, struct bat_original_walks *walks, uint64_t limit)
{
    if (!walks || alignment->steps % WALK_STRIDE != 0)
        return;
    struct walk *walk = find_walk(walks, alignment->run);
    const size_t first = alignment->steps / WALK_STRIDE;
    if (!walk)
        return;
    if (first == walk->count + 1)
        (void)BAT_APPEND(walk->states, walk->count, walk->capacity, *alignment);
    const struct bat_original_run *run = alignment->run;
    struct bat_search search = {.low = first, .high = walk->count};
    while (bat_search_next(&search))
        bat_search_go(&search, walk->states[search.middle].output < limit);
    if (search.low > first && search.low <= walk->count) {
        *alignment = walk->states[search.low - 1];
        alignment->run = run;
    }
}

/* --- Steps -------------------------------------------------------------------------------- */

/* True if the input side has the bytes of the output's next instruction, which was decoded. */
static bool has_same_bytes(const struct alignment *alignment)
{
    const struct code_bytes *output = &alignment->output_code;
    const struct code_bytes *input = &alignment->input_code;
    const uint64_t offset = alignment->input - input->address;
    const size_t length = alignment->output_next.length;
    return input->bytes && offset < input->size && input->size - offset >= length &&
           memcmp(input->bytes + offset, output->bytes + (alignment->output - output->address),
                  length) == 0;
}

/*
 * Decode the next instruction on both sides; false if one side ends or cannot be decoded. Of the
 * instructions only kind and length are used, which depend on nothing but the bytes.
 */
static bool decode(struct alignment *alignment)
{
    const struct bat_original *original = alignment->original;
    if (alignment->output >= alignment->run->output_end ||
        alignment->input >= alignment->run->input_end ||
        !decode_at(original->binary->elf, &alignment->output_code, alignment->output,
                   &alignment->output_next))
        return false;
    if (has_same_bytes(alignment)) {
        alignment->input_next = alignment->output_next;
        return true;
    }
    return decode_at(original->elf, &alignment->input_code, alignment->input,
                     &alignment->input_next);
}

/* True if the next instruction of one side is missing on the other: that side advances alone. */
static bool skips_input(const struct alignment *alignment)
{
    const uint8_t kind = alignment->output_next.kind;
    return (alignment->input_next.kind == BAT_INSTRUCTION_NOP && kind != BAT_INSTRUCTION_NOP) ||
           (alignment->input_next.kind == BAT_INSTRUCTION_JUMP && kind != BAT_INSTRUCTION_JUMP &&
            kind != BAT_INSTRUCTION_NOP);
}

static bool skips_output(const struct alignment *alignment)
{
    return (alignment->output_next.kind == BAT_INSTRUCTION_NOP ||
            alignment->output_next.kind == BAT_INSTRUCTION_JUMP) &&
           alignment->input_next.kind != alignment->output_next.kind;
}

static void step(struct alignment *alignment)
{
    bool skips_in = skips_input(alignment);
    bool skips_out = !skips_in && skips_output(alignment);
    if (!skips_out) {
        alignment->input_before = alignment->input;
        alignment->input += alignment->input_next.length;
        alignment->after_call = bat_kind_is_call(alignment->input_next.kind);
    }
    if (!skips_in)
        alignment->output += alignment->output_next.length;
    alignment->steps++;
}

/* --- Results ------------------------------------------------------------------------------ */

/* The input address of the output instruction that the walk has reached. */
static uint64_t settle(struct alignment *alignment, struct bat_original_walks *walks)
{
    if (alignment->after_call && alignment->input < alignment->run->input_end)
        return alignment->input; /* the return address of the call, whatever is there */
    const uint64_t limit = alignment->output + 1;
    bool is_decoded;
    while ((is_decoded = decode(alignment)) && skips_input(alignment)) {
        step(alignment);
        use_walks(alignment, walks, limit);
    }
    bool is_added = is_decoded && skips_output(alignment);
    return is_added || alignment->input >= alignment->run->input_end ? alignment->input_before
                                                                     : alignment->input;
}

uint64_t bat_original_align(const struct bat_original *original, const struct bat_original_run *run,
                            uint64_t at, struct bat_original_walks *walks)
{
    struct alignment alignment = start(original, run);
    while (alignment.output < at && decode(&alignment)) {
        if (!skips_input(&alignment) && alignment.output_next.length > at - alignment.output)
            return alignment.input; /* inside this instruction */
        step(&alignment);
        use_walks(&alignment, walks, at);
    }
    if (alignment.output == at)
        return at == run->output ? run->input : settle(&alignment, walks);
    /* One side cannot be decoded, or the input side has ended. */
    if (alignment.input >= run->input_end)
        return alignment.input_before;
    uint64_t input = alignment.input + (at - alignment.output);
    return input < run->input_end ? input : alignment.input;
}

bool bat_original_align_back(const struct bat_original *original,
                             const struct bat_original_run *run, uint64_t at, uint64_t *output)
{
    struct alignment alignment = start(original, run);
    if (run->output >= run->output_end)
        return false;
    while (alignment.input < at && decode(&alignment)) {
        if (alignment.input_next.length > at - alignment.input)
            break; /* inside this instruction */
        step(&alignment);
    }
    if (alignment.output >= run->output_end)
        return false;
    *output = alignment.output;
    if (!decode(&alignment))
        return alignment.input == at;
    return alignment.input <= at && !skips_input(&alignment) && !skips_output(&alignment);
}
