/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stacks as flamegraph.pl and others read them, added up by the names of their functions. */
#include "bat_stacks.h"
#include "stack_tables.h"
#include "support/text_writer.h"

static void fold(const struct bat_sampled_stacks *stacks, const struct bat_counts *functions,
                 struct bat_folded *folded)
{
    bat_folded_begin(folded);
    for (uint32_t i = functions->count; i != 0; i--) {
        const uint64_t function = bat_counts_item(functions, i - 1)[1];
        const uint64_t *key = bat_counts_item(&stacks->functions, (uint32_t)function);
        bat_folded_lasting_frame(folded, bat_strings_get(&stacks->names, (uint32_t)key[0]));
    }
}

static enum bat_code write_lines(struct bat_folded *folded, struct bat_output *output,
                                 struct bat_error *error)
{
    size_t count;
    struct bat_text_writer text;
    BAT_TRY(bat_folded_sort(folded, &count, error));
    BAT_TRY(bat_text_begin(&text, output, error));
    for (size_t i = 0; i < count; i++) {
        uint64_t times;
        const char *stack = bat_folded_stack(folded, i, &times);
        if (!stack)
            return bat_text_finish(
                &text, bat_fail(error, BAT_ERR_MEMORY, "not enough memory for a stack's text"));
        bat_text_string(&text, stack);
        char *at = bat_text_room(&text, 32);
        *at++ = ' ';
        at = bat_put_decimal(at, times);
        *at++ = '\n';
        bat_text_end(&text, at);
    }
    return bat_text_finish(&text, BAT_OK);
}

enum bat_code write_folded(const struct bat_sampled_stacks *stacks, struct bat_output *output,
                           struct bat_error *error)
{
    struct bat_folded *folded = bat_folded_new();
    struct bat_counts functions = bat_counts_new(2);
    bool fits = folded != NULL;
    for (uint32_t i = 0; i < stacks->counts.count && fits; i++) {
        const uint64_t *item = bat_counts_item(&stacks->counts, i);
        fits = stack_functions(stacks, (uint32_t)item[0], &functions) == BAT_OK;
        fold(stacks, &functions, folded);
        bat_folded_end(folded, item[1]);
    }
    enum bat_code code =
        fits ? write_lines(folded, output, error) : bat_fail_memory(error, "for the stacks");
    bat_counts_free(&functions);
    bat_folded_free(folded);
    return code;
}
