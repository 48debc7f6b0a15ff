/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The instructions of the hottest functions, as spec/report.md describes them. */
#include "page.h"

/* What an instruction leads to: nothing, or twice the number of a function and 1, or twice the
 * change of the number to that of another instruction, zigzag-coded, and 2. */
static uint64_t target_of(const struct report *report, unsigned side, uint32_t number)
{
    const struct report_listing *listing = &report->listings[side];
    const struct report_instruction *instruction = &listing->all[number];
    if (instruction->target == 0)
        return 0;
    const struct report_run *run = report_run_at(listing, instruction->target);
    uint32_t to = report_listing_at(listing, instruction->target);
    if (to == BAT_NONE || run->function != report_run_at(listing, instruction->address)->function) {
        uint32_t function =
            run ? run->function : report_function_at(report, side, instruction->target);
        return 2 * (uint64_t)function + 1;
    }
    return 2 + 2 * (to >= number ? 2 * (uint64_t)(to - number) : 2 * (uint64_t)(number - to) - 1);
}

static void add_instructions(const struct report *report, unsigned side, const char *name,
                             struct page_parts *parts)
{
    const struct report_listing *listing = &report->listings[side];
    struct report_columns columns = {0};
    struct pack *all = columns.all;
    uint32_t owner = 0;
    for (uint32_t i = 0; i < listing->run_count; i++) {
        const struct report_run *run = &listing->runs[i];
        uint32_t next = run->piece == BAT_NONE ? run->function : run->piece;
        pack_change(&all[0], owner, next);
        pack_number(&all[1], run->count);
        owner = next;
    }
    struct report_instruction last = {0};
    for (uint32_t i = 0; i < listing->count; i++) {
        const struct report_instruction *instruction = &listing->all[i];
        pack_number(&all[2], instruction->length);
        pack_number(&all[3], instruction->text);
        pack_change(&all[4], last.count, instruction->count);
        pack_number(&all[5], target_of(report, side, i));
        pack_change(&all[6], last.line.file, instruction->line.file);
        pack_change(&all[7], last.line.line, instruction->line.line);
        last = *instruction;
    }
    parts_add_columns(parts, name, "", &columns);
}

/* Instructions that may pass or go, and where in their functions they went to. */
static void add_branches(const struct report_listing *listing, const char *name,
                         struct page_parts *parts)
{
    struct report_columns columns = {0};
    struct pack *all = columns.all;
    uint32_t last = 0;
    size_t next = 0;
    for (uint32_t i = 0; i < listing->count; i++) {
        size_t first = next;
        while (next < listing->branch_count && listing->branches[next].from_block == i)
            next++;
        if (next == first && (!listing->all[i].may_pass || listing->all[i].passed == 0))
            continue;
        pack_number(&all[0], i - last);
        pack_number(&all[1], listing->all[i].may_pass ? listing->all[i].passed : 0);
        pack_number(&all[2], next - first);
        for (size_t k = first; k < next; k++) {
            pack_change(&all[3], i, listing->branches[k].to_block);
            pack_number(&all[4], listing->branches[k].count);
            pack_number(&all[5], listing->branches[k].mispredictions);
        }
        last = i;
    }
    parts_add_columns(parts, name, "-branches", &columns);
}

void report_add_listings(const struct report *report, struct page_parts *parts)
{
    static const char *const names[2] = {"before", "after"};
    if (report->listings[REPORT_AFTER].count == 0)
        return;
    for (unsigned side = 0; side < 2; side++) {
        add_instructions(report, side, names[side], parts);
        add_branches(&report->listings[side], names[side], parts);
    }
    parts_add_strings(parts, "instructions", &report->instruction_texts);
}
