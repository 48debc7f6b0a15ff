/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds addresses in a row that have one answer: then most look-ups are a comparison. */
#include "debuginfo/stretches.h"
#include "symbolizer.h"

/* True if no address from start up to end has debug information. */
static bool is_in_gap(struct bat_symbolizer *symbolizer, uint64_t start, uint64_t end)
{
    return !symbolizer->debuginfo || end <= debug_gap_end(symbolizer->debuginfo, start);
}

/*
 * All code of an output function comes from its input function. Where exactly makes no difference
 * if one symbol names the whole input function, and debug information does not know it.
 */
void symbolizer_find_stretch(struct bat_symbolizer *symbolizer, uint64_t address)
{
    struct bat_original_functions functions;
    symbolizer->stretch = (struct symbol_stretch){.size = 0};
    if (!symbolizer->original ||
        !bat_original_functions_at(symbolizer->original, address, &functions))
        return;
    symbolizer->stretch = (struct symbol_stretch){.start = functions.output,
                                                  .size = functions.output_end - functions.output};
    if (is_in_gap(symbolizer, functions.input, functions.input_end))
        symbolizer->stretch.symbol = symbol_index_of_all(&symbolizer->original_symbols,
                                                         functions.input, functions.input_end);
}
