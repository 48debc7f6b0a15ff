/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Counts and divides the exceptions of landing pads (landing_pads.h). */
#include "landing_pads.h"

#include "binary/code/exceptions.h"
#include "profile/profile.h"
#include "spec/order.h"

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

/* Fill count and possible of the pads, by the calls that did not return. */
static void count_exceptions(const struct input_arrivals *arrivals,
                             const struct input_landing *landing, struct input_pad *pads,
                             uint32_t pad_count)
{
    const uint64_t start = landing->original->inputs[landing->function].address;
    struct bat_call_site_walk walk;
    struct bat_call_site site;
    for (uint32_t i = 0; i < pad_count; i++)
        pads[i].count = pads[i].possible = 0;
    /* More call sites than bytes are a damaged table. */
    uint32_t left = landing->graph->blocks.size;
    bool has_next = bat_code_exceptions(landing->reader, landing->function, &walk);
    for (; has_next && left > 0 && bat_call_site_next(&walk, &site); left--)
        for (uint32_t i = 0; i < pad_count && site.landing_pad != BAT_NO_OFFSET; i++)
            if (start + site.landing_pad == pads[i].address)
                *(site.catches_all ? &pads[i].count : &pads[i].possible) +=
                    count_thrown(arrivals, landing, &site);
}

/* Take away the exceptions that the output has at a pad itself: they are not among the others. */
static void take_own(const struct input_arrivals *arrivals, struct input_pad *pad)
{
    const uint64_t own = count_of(&arrivals->returns, pad->address);
    const uint64_t certain = own < pad->count ? own : pad->count;
    pad->count -= certain;
    pad->possible -= own - certain < pad->possible ? own - certain : pad->possible;
}

/* A share of a count: count * part / whole, where part is at most whole. */
static uint64_t share_of(uint64_t count, uint64_t part, uint64_t whole)
{
    if (count == whole || whole == 0)
        return whole == 0 ? 0 : part;
    const double share = (double)count * ((double)part / (double)whole);
    return share < (double)count ? (uint64_t)share : count;
}

/* True if the calls that did not return are about as many as the exceptions that landed. */
static bool is_likely(uint64_t all, uint64_t certain, uint64_t possible)
{
    return certain + possible >= all - all / 2 && certain / 2 <= all;
}

/* Give the pads their parts of all exceptions; if the calls do not tell, the first one has all. */
static void divide_all(struct input_pad *pads, uint32_t pad_count, uint64_t all)
{
    uint64_t certain = 0;
    uint64_t possible = 0;
    for (uint32_t i = 0; i < pad_count; i++) {
        certain += pads[i].count;
        possible += pads[i].possible;
    }
    const bool is_known = is_likely(all, certain, possible);
    /* The rest is of the possible ones, or, without them, of the certain ones. */
    const uint64_t first = certain < all && possible != 0 ? certain : all;
    uint64_t sums[2] = {0};
    uint64_t given = 0;
    for (uint32_t i = 0; i < pad_count; i++) {
        sums[0] += pads[i].count;
        sums[1] += pads[i].possible;
        const uint64_t end =
            is_known ? share_of(first, sums[0], certain) + share_of(all - first, sums[1], possible)
                     : all;
        pads[i].count = (i + 1 == pad_count ? all : end) - given;
        given += pads[i].count;
    }
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
    const uint64_t before = count_of(&arrivals->divided, recorded);
    uint64_t all = count_of(&arrivals->returns, recorded);
    all = all < before + count ? before + count : all;
    count_exceptions(arrivals, landing, pads, pad_count);
    for (uint32_t i = 0; i < pad_count; i++)
        if (pads[i].address != recorded)
            take_own(arrivals, &pads[i]);
    divide_all(pads, pad_count, all);
    /* All exceptions in a row, those of the first pad first: this part of them is there, too. */
    uint64_t start = 0;
    for (uint32_t i = 0; i < pad_count; i++) {
        const uint64_t end = start + pads[i].count;
        pads[i].count = overlap(start, end, before, before + count);
        start = end;
    }
    return bat_counts_add(&arrivals->divided, &recorded, count, 0);
}
