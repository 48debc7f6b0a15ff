/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts and divides the exceptions of landing pads (landing_pads.h). */
#include "landing_pads.h"

#include "binary/code/exceptions.h"
#include "profile/profile.h"
#include "spec/binary_search.h"

/* --- Calls and returns ------------------------------------------------------------------------ */

void input_arrivals_free(struct input_arrivals *arrivals)
{
    bat_counts_free(&arrivals->branches);
    bat_counts_free(&arrivals->returns);
    bat_counts_free(&arrivals->divided);
}

/* True if a branch may return from a call: it is a return, or outside of the binary. */
static bool may_return(const struct bat_elf *elf, uint64_t branch)
{
    struct bat_instruction instruction;
    if (branch == BAT_ADDRESS_EXTERNAL || branch == BAT_TRACE_EXTERNAL_RETURN)
        return true;
    return branch < BAT_TRACE_EXTERNAL_RETURN && bat_original_decode(elf, branch, &instruction) &&
           instruction.kind == BAT_INSTRUCTION_RETURN;
}

enum bat_code input_arrivals_read(struct input_arrivals *arrivals, const struct bat_elf *elf,
                                  const struct bat_counts *traces)
{
    enum bat_code code = BAT_OK;
    if (arrivals->is_read)
        return code;
    *arrivals = (struct input_arrivals){.branches = bat_counts_new(1),
                                        .returns = bat_counts_new(1),
                                        .divided = bat_counts_new(1),
                                        .is_read = true};
    for (uint32_t i = 0; i < traces->count && code == BAT_OK; i++) {
        const uint64_t *trace = bat_counts_item(traces, i);
        if (trace[0] < BAT_TRACE_EXTERNAL_RETURN)
            code = bat_counts_add(&arrivals->branches, &trace[0], trace[3], 0);
        if (code == BAT_OK && may_return(elf, trace[0]))
            code = bat_counts_add(&arrivals->returns, &trace[1], trace[3], 0);
    }
    return code;
}

static uint64_t count_of(const struct bat_counts *counts, uint64_t address)
{
    const uint64_t *item = bat_counts_find(counts, &address);
    return item ? item[1] : 0;
}

/* How often the calls of a call site did not return. */
static uint64_t count_thrown(const struct input_arrivals *arrivals,
                             const struct input_landing *landing, const struct bat_call_site *site)
{
    const struct bat_code_graph *graph = landing->graph;
    const uint64_t start = landing->original->inputs[landing->function].address;
    uint64_t thrown = 0;
    for (uint32_t i = BAT_COUNT_BELOW(graph->kept, graph->kept_count, offset, site->start);
         i < graph->kept_count && graph->kept[i].offset < site->end; i++) {
        const uint64_t call = start + graph->kept[i].offset;
        struct bat_instruction instruction;
        if (!bat_kind_is_call(graph->kept[i].kind) ||
            !bat_original_decode(landing->original->elf, call, &instruction))
            continue;
        const uint64_t calls = count_of(&arrivals->branches, call);
        const uint64_t returns = count_of(&arrivals->returns, call + instruction.length);
        thrown += calls > returns ? calls - returns : 0;
    }
    return thrown;
}

/* --- Landing pads ----------------------------------------------------------------------------- */

/* Fill the counts of the pads; returns their sum. */
static uint64_t count_exceptions(const struct input_arrivals *arrivals,
                                 const struct input_landing *landing, struct input_pad *pads,
                                 uint32_t pad_count)
{
    const uint64_t start = landing->original->inputs[landing->function].address;
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < pad_count; i++)
        pads[i].count = 0;
    /* More call sites than bytes are a damaged table. */
    uint32_t left = landing->graph->blocks.size;
    bool has_next = bat_code_exceptions(landing->reader, landing->function, &walk);
    for (; has_next && left > 0 && bat_call_site_next(&walk, &site); left--)
        for (uint32_t i = 0; i < pad_count && site.landing_pad != BAT_NO_OFFSET; i++)
            if (start + site.landing_pad == pads[i].address) {
                const uint64_t thrown = count_thrown(arrivals, landing, &site);
                pads[i].count += thrown;
                sum += thrown;
            }
    return sum;
}

/* A share of a count: count * part / whole, where part is at most whole. */
static uint64_t share_of(uint64_t count, uint64_t part, uint64_t whole)
{
    const double share = (double)count * ((double)part / (double)whole);
    return count == whole ? part : share < (double)count ? (uint64_t)share : count;
}

static uint64_t overlap(uint64_t start, uint64_t end, uint64_t other_start, uint64_t other_end)
{
    const uint64_t first = start > other_start ? start : other_start;
    const uint64_t last = end < other_end ? end : other_end;
    return last > first ? last - first : 0;
}

enum bat_code input_divide_exceptions(struct input_arrivals *arrivals,
                                      const struct input_landing *landing, uint64_t recorded,
                                      uint64_t count, struct input_pad *pads, uint32_t pad_count)
{
    const uint64_t all = count_of(&arrivals->returns, recorded);
    const uint64_t before = count_of(&arrivals->divided, recorded);
    const uint64_t thrown = count_exceptions(arrivals, landing, pads, pad_count);
    /* All exceptions in a row, those of the first pad first: this part of them is there, too. */
    const bool is_known = thrown >= all - all / 2 && thrown / 2 <= all && before + count <= all;
    uint64_t sum = 0;
    uint64_t start = 0;
    for (uint32_t i = 0; i < pad_count; i++) {
        sum += pads[i].count;
        const uint64_t end = is_known ? share_of(all, sum, thrown) : all;
        pads[i].count = overlap(start, end, before, before + count);
        start = end;
    }
    return bat_counts_add(&arrivals->divided, &recorded, count, 0);
}
