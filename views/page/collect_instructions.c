/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The instructions of the hottest functions, before and after BOLT, and how often they ran. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/code/instructions.h"
#include "binary/original/original.h"
#include "disassembler.h"
#include "report.h"
#include "spec/array.h"
#include "spec/order.h"

/* --- Runs ------------------------------------------------------------------------------------- */

static void add_run(struct report_listing *listing, struct report_run run)
{
    listing->runs[listing->run_count++] = run;
}

static bool list_runs(struct report *report)
{
    struct report_listing *before = &report->listings[REPORT_BEFORE];
    struct report_listing *after = &report->listings[REPORT_AFTER];
    uint32_t functions = 0;
    uint32_t pieces = 0;
    for (uint32_t i = 0; i < report->function_count; i++) {
        functions += report->is_hottest[i];
        pieces += report->is_hottest[i] ? report->functions[i].piece_count : 0;
    }
    before->runs = malloc(((size_t)functions + 1) * sizeof(*before->runs));
    after->runs = malloc(((size_t)pieces + 1) * sizeof(*after->runs));
    if (!before->runs || !after->runs)
        return false;
    for (uint32_t i = 0; i < report->piece_count; i++) {
        const struct report_piece *piece = &report->pieces[i];
        if (report->is_hottest[piece->function])
            add_run(after, (struct report_run){.address = piece->address,
                                               .size = piece->size,
                                               .function = piece->function,
                                               .piece = i});
    }
    for (uint32_t i = 0; i < report->function_count; i++) {
        const struct report_function *function = &report->functions[i];
        if (report->is_hottest[i] && function->input_section != BAT_NONE)
            add_run(before, (struct report_run){.address = function->input_address,
                                                .size = function->input_size,
                                                .function = i,
                                                .piece = BAT_NONE});
    }
    /* Each address belongs to one run. */
    BAT_SORT_BY_TWO(before->runs, before->run_count, address, function);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < before->run_count; i++) {
        const struct report_run *last = kept ? &before->runs[kept - 1] : NULL;
        if (!last || before->runs[i].address - last->address >= last->size)
            before->runs[kept++] = before->runs[i];
    }
    before->run_count = kept;
    return true;
}

const struct report_run *report_run_at(const struct report_listing *listing, uint64_t address)
{
    uint32_t count = BAT_COUNT_UP_TO(listing->runs, listing->run_count, address, address);
    const struct report_run *last = count ? &listing->runs[count - 1] : NULL;
    return last && address - last->address < last->size ? last : NULL;
}

uint32_t report_listing_at(const struct report_listing *listing, uint64_t address)
{
    const struct report_run *run = report_run_at(listing, address);
    return run && run->count != 0
               ? BAT_COUNT_UP_TO(listing->all, listing->count, address, address) - 1
               : BAT_NONE;
}

/* --- Decoding --------------------------------------------------------------------------------- */

/* The bytes of what the disassembler does not know, as its text. */
static void write_bytes(const uint8_t *bytes, uint8_t count, char *text)
{
    text += sprintf(text, ".byte");
    for (uint8_t i = 0; i < count; i++)
        text += sprintf(text, "%s 0x%02x", i ? "," : "", bytes[i]);
}

/* Fill the instruction at the start of size bytes, 1 or more, and write its text. */
static void decode(const struct disassembler *disassembler, const uint8_t *bytes, uint64_t size,
                   struct report_instruction *instruction, char *text, size_t text_size)
{
    const uint16_t machine = disassembler->machine;
    struct bat_instruction decoded = {.length = machine == EM_AARCH64 ? 4
                                                : machine == EM_RISCV ? 2
                                                                      : 1};
    if (bat_instruction_decode(machine, bytes, (size_t)size, instruction->address, &decoded)) {
        instruction->may_pass = decoded.kind == BAT_INSTRUCTION_CONDITIONAL;
        instruction->target = bat_kind_has_target(decoded.kind) ? decoded.target : 0;
    }
    instruction->length =
        disassembler_text(disassembler, bytes, size, instruction->address, text, text_size);
    if (instruction->length != 0)
        return;
    instruction->length = size < decoded.length ? (uint8_t)size : decoded.length;
    write_bytes(bytes, instruction->length, text);
}

/* The target, which the page shows as a name, is the last operand. */
static size_t length_without_target(const char *text)
{
    const char *last = *text != '.' ? strrchr(text, ' ') : NULL;
    return last ? (size_t)(last - text) : strlen(text);
}

/* False without memory. */
static bool disassemble_run(struct report *report, unsigned side, struct report_run *run,
                            const struct disassembler *disassembler, const uint8_t *bytes)
{
    struct report_listing *listing = &report->listings[side];
    for (uint64_t at = 0; at < run->size; run->count++) {
        char text[256];
        struct report_instruction instruction = {.address = run->address + at};
        decode(disassembler, bytes + at, run->size - at, &instruction, text, sizeof(text));
        if (instruction.target != 0 && !report_run_at(listing, instruction.target) &&
            report_function_at(report, side, instruction.target) == BAT_NONE)
            instruction.target = 0;
        size_t length = instruction.target != 0 ? length_without_target(text) : strlen(text);
        if (!BAT_GROW(listing->all, listing->count, listing->capacity) ||
            bat_strings_add(&report->instruction_texts, text, length, &instruction.text) != BAT_OK)
            return false;
        listing->all[listing->count++] = instruction;
        at += instruction.length;
    }
    return true;
}

static bool disassemble(struct report *report, unsigned side, const struct bat_elf *elf,
                        const struct disassembler *disassembler)
{
    struct report_listing *listing = &report->listings[side];
    for (uint32_t i = 0; i < listing->run_count; i++) {
        struct report_run *run = &listing->runs[i];
        uint64_t size;
        const uint8_t *bytes = bat_elf_at_address(elf, run->address, &size);
        if (bytes && size >= run->size && !disassemble_run(report, side, run, disassembler, bytes))
            return false;
    }
    return true;
}

/* --- Counts ----------------------------------------------------------------------------------- */

/* Add to the changes of counts from instruction to instruction; sums are modulo 2^64. */
static void count_run(struct report_listing *listing, const struct bat_trace *trace)
{
    uint32_t first = report_listing_at(listing, trace->from);
    if (first == BAT_NONE)
        return;
    const bool has_end = trace->to != BAT_TRACE_BRANCH_ONLY && trace->to >= trace->from &&
                         report_run_at(listing, trace->to) == report_run_at(listing, trace->from);
    uint32_t last = has_end ? report_listing_at(listing, trace->to) : first;
    listing->all[first].count += trace->count;
    listing->all[last].passed -= trace->count;
    if (last + 1 < listing->count)
        listing->all[last + 1].count -= trace->count;
}

static void count_branch(struct report_listing *listing, const struct bat_trace *trace)
{
    uint32_t from = report_is_branch(trace) ? report_listing_at(listing, trace->branch) : BAT_NONE;
    uint32_t to = from != BAT_NONE ? report_listing_at(listing, trace->from) : BAT_NONE;
    if (to == BAT_NONE || report_run_at(listing, trace->branch)->function !=
                              report_run_at(listing, trace->from)->function)
        return;
    listing->branches[listing->branch_count++] =
        (struct report_edge){.from_block = from,
                             .to_block = to,
                             .count = trace->count,
                             .mispredictions = trace->mispredictions};
}

/* Make counts of the changes. */
static void sum_runs(struct report_listing *listing)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < listing->count; i++) {
        count += listing->all[i].count;
        listing->all[i].count = count;
        listing->all[i].passed += count;
    }
}

static bool count_all(const struct report *report, struct report_listing *listing,
                      const struct bat_profile *profile)
{
    struct bat_trace trace;
    size_t branches = 0;
    for (struct report_walk walk = {0}; report_walk_next(profile, &walk, &trace);)
        branches += report_is_branch(&trace);
    listing->branches = malloc((branches + 1) * sizeof(*listing->branches));
    if (!listing->branches)
        return false;
    for (struct report_walk walk = {0}; report_walk_next(profile, &walk, &trace);) {
        /* Where a branch without a run goes to, one of the runs without branches begins. */
        if (trace.to != BAT_TRACE_BRANCH_ONLY || !report->has_runs_alone ||
            trace.branch == BAT_TRACE_FALLTHROUGH_ONLY)
            count_run(listing, &trace);
        count_branch(listing, &trace);
    }
    sum_runs(listing);
    listing->branch_count = report_join_edges(listing->branches, listing->branch_count);
    return true;
}

static bool collect(struct report *report, const struct disassembler *disassembler)
{
    return list_runs(report) &&
           disassemble(report, REPORT_AFTER, report->binary.elf, disassembler) &&
           (!report->original ||
            disassemble(report, REPORT_BEFORE, bat_original_elf(report->original), disassembler)) &&
           count_all(report, &report->listings[REPORT_AFTER], report->profile) &&
           (!report->input_profile ||
            count_all(report, &report->listings[REPORT_BEFORE], report->input_profile));
}

enum bat_code report_collect_instructions(struct report *report)
{
    if (report->samples == 0)
        return BAT_OK;
    struct disassembler disassembler;
    enum bat_code code = disassembler_begin(&disassembler, bat_elf_machine(report->binary.elf));
    bool fits = code == BAT_OK ? collect(report, &disassembler) : code == BAT_ERR_UNSUPPORTED;
    disassembler_end(&disassembler);
    return fits ? BAT_OK : report_no_memory(report);
}
