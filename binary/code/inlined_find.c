/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Finds inlined calls (inlined.h): compares each place of the caller with the functions that begin
 * like it, and takes the largest copies first, so that no two calls share code.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "inlined_parts.h"
#include "spec/array.h"
#include "spec/order.h"

/* The budget of comparisons, in instructions: for each one of the caller, and in addition. */
#define WORK_PER_INSTRUCTION 64u
#define LEAST_WORK 4096u

/* The best copy that starts at one place. */
struct candidate {
    uint64_t start;
    size_t first_run;
    size_t run_count;
    uint32_t instructions;
    uint32_t table;
};

struct search {
    const struct bat_program *program;
    const struct bat_beginnings *beginnings;
    struct bat_spots spots;
    struct bat_comparison *comparison;
    uint64_t budget;
    struct candidate *candidates;
    size_t candidate_count;
    size_t candidate_capacity;
    struct bat_copied_run *runs; /* of the candidates */
    size_t run_count;
    size_t run_capacity;
};

/* --- The caller's instructions -------------------------------------------------------------- */

/* Append the spots of a range. *entry is the index of the next entry. */
static bool read_range(const struct bat_program *program, const struct bat_code_range *range,
                       size_t *entry, struct bat_spots *spots)
{
    const struct bat_caller *caller = spots->caller;
    uint16_t machine = bat_elf_machine(program->elf);
    for (uint64_t address = range->start; address < range->end;) {
        while (*entry < caller->entry_count && caller->entries[*entry] < address)
            ++*entry;
        struct bat_code_at at;
        if (!bat_code_read(program->elf, address, &at)) {
            /* Go on at the next entry. */
            while (*entry < caller->entry_count && caller->entries[*entry] == address)
                ++*entry;
            address = *entry < caller->entry_count ? caller->entries[*entry] : range->end;
            continue;
        }
        bool has_entry = *entry < caller->entry_count && caller->entries[*entry] == address;
        const struct bat_spot spot = {.address = address,
                                      .target = at.instruction.target,
                                      .hash = bat_code_hash(machine, &at),
                                      .kind = at.instruction.kind,
                                      .length = at.instruction.length,
                                      .has_entry = has_entry};
        if (!BAT_APPEND(spots->all, spots->count, spots->capacity, spot))
            return false;
        address += at.instruction.length;
    }
    return true;
}

static bool read_spots(const struct bat_program *program, struct bat_spots *spots)
{
    size_t entry = 0;
    const struct bat_caller *caller = spots->caller;
    for (size_t i = 0; i < caller->range_count; i++) {
        /* Ranges of a damaged file may overlap. */
        bool is_ascending = i == 0 || caller->ranges[i - 1].end <= caller->ranges[i].start;
        if (is_ascending && !read_range(program, &caller->ranges[i], &entry, spots))
            return false;
    }
    return true;
}

/* --- Candidates ----------------------------------------------------------------------------- */

/* Keep a copy as the best one; it replaces the runs of the one before. */
static bool keep(struct search *search, struct candidate *best, uint64_t start, uint32_t table,
                 const struct bat_copy *copy)
{
    size_t first = best->instructions ? best->first_run : search->run_count;
    if (!BAT_RESERVE(search->runs, first, search->run_capacity, copy->run_count))
        return false;
    memcpy(search->runs + first, copy->runs, copy->run_count * sizeof(*search->runs));
    search->run_count = first + copy->run_count;
    *best = (struct candidate){start, first, copy->run_count, copy->instructions, table};
    return true;
}

/* Compare the code from a spot on with all functions that begin like it; keep the best copy. */
static enum bat_code find_candidate(struct search *search, size_t spot)
{
    uint64_t keys[BEGINNING_KEYS];
    unsigned count = bat_beginning_keys(search->program, &search->spots, spot, keys);
    uint64_t start = search->spots.all[spot].address;
    struct candidate best = {0};
    bool is_tie = false;
    for (unsigned i = 0; i < count; i++) {
        size_t functions;
        const struct bat_sort_key *found =
            bat_beginnings_find(search->beginnings, keys[i], &functions);
        for (size_t j = 0; j < functions && search->budget != 0; j++) {
            struct bat_copy copy;
            uint32_t table = (uint32_t)found[j].value;
            if (table == search->spots.caller->table)
                continue;
            BAT_TRY(bat_compare(search->comparison, start, table, &search->budget, &copy));
            if (copy.instructions == 0 || copy.instructions < best.instructions)
                continue;
            is_tie = copy.instructions == best.instructions;
            if (!is_tie && !keep(search, &best, start, table, &copy))
                return BAT_ERR_MEMORY;
        }
    }
    if (best.instructions == 0)
        return BAT_OK;
    if (is_tie) {
        search->run_count = best.first_run;
        return BAT_OK;
    }
    if (!BAT_APPEND(search->candidates, search->candidate_count, search->candidate_capacity, best))
        return BAT_ERR_MEMORY;
    return BAT_OK;
}

/* --- Choice --------------------------------------------------------------------------------- */

/* Take all instructions of a candidate, if all of them are free. */
static bool take(const struct search *search, const struct candidate *candidate, uint8_t *is_taken)
{
    const struct bat_copied_run *runs = search->runs + candidate->first_run;
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < candidate->run_count; i++)
            for (size_t at = bat_spots_from(&search->spots, runs[i].start);
                 at < search->spots.count && search->spots.all[at].address < runs[i].end; at++) {
                if (pass == 0 && is_taken[at])
                    return false;
                is_taken[at] |= pass != 0;
            }
    return true;
}

static enum bat_code choose(struct search *search, struct bat_inlined *inlined)
{
    uint8_t *is_taken = calloc(search->spots.count + 1, 1);
    inlined->calls = malloc((search->candidate_count + 1) * sizeof(*inlined->calls));
    inlined->runs = malloc((search->run_count + 1) * sizeof(*inlined->runs));
    if (!is_taken || !inlined->calls || !inlined->runs) {
        free(is_taken);
        bat_inlined_free(inlined);
        return BAT_ERR_MEMORY;
    }
    BAT_SORT(search->candidates, search->candidate_count,
             BAT_DESCENDING(struct candidate, instructions),
             BAT_ASCENDING(struct candidate, start));
    for (size_t i = 0; i < search->candidate_count; i++) {
        const struct candidate *candidate = &search->candidates[i];
        if (!take(search, candidate, is_taken))
            continue;
        struct bat_copied_run *runs = inlined->runs + inlined->run_count;
        memcpy(runs, search->runs + candidate->first_run, candidate->run_count * sizeof(*runs));
        BAT_SORT_BY(runs, candidate->run_count, start);
        inlined->calls[inlined->call_count++] = (struct bat_inlined_call){
            candidate->table, inlined->run_count, (uint32_t)candidate->run_count};
        inlined->run_count += (uint32_t)candidate->run_count;
    }
    free(is_taken);
    return BAT_OK;
}

enum bat_code bat_inlined_find(const struct bat_program *program,
                               struct bat_beginnings **beginnings, const struct bat_caller *caller,
                               struct bat_inlined *inlined)
{
    struct search search = {.program = program, .spots = {.caller = caller}};
    uint16_t machine = bat_elf_machine(program->elf);
    *inlined = (struct bat_inlined){0};
    if (machine != EM_X86_64 && machine != EM_AARCH64)
        return BAT_OK;
    enum bat_code code = *beginnings ? BAT_OK : bat_beginnings_create(program, beginnings);
    if (code == BAT_OK && !read_spots(program, &search.spots))
        code = BAT_ERR_MEMORY;
    if (code == BAT_OK) {
        search.beginnings = *beginnings;
        search.comparison = bat_comparison_new(program, &search.spots);
        search.budget = LEAST_WORK + (uint64_t)WORK_PER_INSTRUCTION * search.spots.count;
        code = search.comparison ? BAT_OK : BAT_ERR_MEMORY;
    }
    for (size_t i = 0; i < search.spots.count && code == BAT_OK; i++)
        code = find_candidate(&search, i);
    inlined->is_limited = search.comparison && search.budget == 0;
    if (code == BAT_OK && search.candidate_count != 0)
        code = choose(&search, inlined);
    bat_comparison_free(search.comparison);
    BAT_FREE_ALL(search.spots.all, search.candidates, search.runs);
    return code;
}

void bat_inlined_free(struct bat_inlined *inlined)
{
    BAT_FREE_ALL(inlined->calls, inlined->runs);
    *inlined = (struct bat_inlined){0};
}
