/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Instruction by instruction through the same code in both binaries. */
#include "original.h"

bool bat_original_decode(const struct bat_elf *elf, uint64_t address,
                         struct bat_instruction *instruction)
{
    uint64_t available;
    const uint8_t *bytes = bat_elf_at_address(elf, address, &available);
    return bytes && bat_instruction_decode(bat_elf_machine(elf), bytes, (size_t)available, address,
                                           instruction);
}

/* Both sides of a run while they are walked. */
struct alignment {
    const struct bat_original *original;
    const struct bat_original_run *run;
    struct bat_instruction output_next; /* at output */
    struct bat_instruction input_next;  /* at input */
    uint64_t output;
    uint64_t input;
    uint64_t input_before; /* the instruction before input; run->input at the start */
    bool after_call;
};

static struct alignment start(const struct bat_original *original,
                              const struct bat_original_run *run)
{
    return (struct alignment){.original = original,
                              .run = run,
                              .output = run->output,
                              .input = run->input,
                              .input_before = run->input};
}

/* Decode what is next on both sides; false if one of them has nothing more in the run. */
static bool decode(struct alignment *alignment)
{
    const struct bat_original *original = alignment->original;
    return alignment->output < alignment->run->output_end &&
           alignment->input < alignment->run->input_end &&
           bat_original_decode(original->binary->elf, alignment->output, &alignment->output_next) &&
           bat_original_decode(original->elf, alignment->input, &alignment->input_next);
}

/* True if only one side has its next instruction: the other goes on alone. */
static bool skips_input(const struct alignment *alignment)
{
    return alignment->input_next.kind == BAT_INSTRUCTION_NOP &&
           alignment->output_next.kind != BAT_INSTRUCTION_NOP;
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
        alignment->after_call = alignment->input_next.kind == BAT_INSTRUCTION_CALL ||
                                alignment->input_next.kind == BAT_INSTRUCTION_INDIRECT_CALL;
    }
    if (!skips_in)
        alignment->output += alignment->output_next.length;
}

/* The input's place of the output instruction that the walk has come to. */
static uint64_t settle(struct alignment *alignment)
{
    if (alignment->after_call && alignment->input < alignment->run->input_end)
        return alignment->input; /* where the call returns to, whatever stands there */
    while (decode(alignment) && skips_input(alignment))
        step(alignment);
    bool is_added = decode(alignment) && skips_output(alignment);
    return is_added || alignment->input >= alignment->run->input_end ? alignment->input_before
                                                                     : alignment->input;
}

uint64_t bat_original_align(const struct bat_original *original, const struct bat_original_run *run,
                            uint64_t at)
{
    struct alignment alignment = start(original, run);
    while (alignment.output < at && decode(&alignment)) {
        if (!skips_input(&alignment) && alignment.output_next.length > at - alignment.output)
            return alignment.input; /* inside this instruction */
        step(&alignment);
    }
    if (alignment.output == at)
        return at == run->output ? run->input : settle(&alignment);
    /* One side cannot be decoded, or the input's has ended. */
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
