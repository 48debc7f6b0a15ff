/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds addresses in a row that have one answer: then most look-ups are a comparison. */
#include "debuginfo/stretches.h"
#include "symbolizer.h"

/* True if no address from start up to end has debug information. */
static bool is_in_gap(struct bat_symbolizer *symbolizer, uint64_t start, uint64_t end)
{
    uint64_t gap_start;
    uint64_t gap_end;
    return !symbolizer->debuginfo ||
           (debug_gap_at(symbolizer->debuginfo, start, &gap_start, &gap_end) && end <= gap_end);
}

/*
 * All code of an output function comes from its input function. Where exactly makes no difference
 * if one symbol names the whole input function, and debug information does not know it.
 */
static void find_moved(struct bat_symbolizer *symbolizer, uint64_t address)
{
    struct bat_original_functions functions;
    if (!bat_original_functions_at(symbolizer->original, address, &functions))
        return;
    symbolizer->stretch = (struct symbol_stretch){.start = functions.output,
                                                  .size = functions.output_end - functions.output};
    uint64_t first;
    uint64_t last;
    if (is_in_gap(symbolizer, functions.input, functions.input_end))
        symbolizer->stretch.symbol = symbol_index_of_all(
            &symbolizer->original_symbols, functions.input, functions.input_end, &first, &last);
}

static void find_unmoved(struct bat_symbolizer *symbolizer, uint64_t address)
{
    uint64_t start = 0;
    uint64_t end = UINT64_MAX;
    if (symbolizer->debuginfo && !debug_gap_at(symbolizer->debuginfo, address, &start, &end))
        return;
    uint64_t first;
    uint64_t last;
    const struct bat_symbol *symbol =
        symbol_index_of_all(&symbolizer->symbols, address, address + 1, &first, &last);
    if (!symbol)
        return;
    start = first > start ? first : start;
    end = last < end ? last : end;
    symbolizer->stretch =
        (struct symbol_stretch){.start = start, .size = end - start, .symbol = symbol};
}

void symbolizer_find_stretch(struct bat_symbolizer *symbolizer, uint64_t address)
{
    symbolizer->stretch = (struct symbol_stretch){.size = 0};
    if (symbolizer->original)
        find_moved(symbolizer, address);
    else
        find_unmoved(symbolizer, address);
}
