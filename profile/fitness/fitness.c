/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lists the functions with samples, and lets each measure fill in its numbers. */
#include <stdlib.h>

#include "binary/original/original.h"
#include "measuring.h"
#include "profile/translate/records.h"
#include "spec/order.h"

struct bat_fitness {
    struct bat_functions *functions;
    struct bat_fitness_function *all;
    uint32_t count;
};

/* --- Functions ------------------------------------------------------------------------------- */

/* What is sampled at an entry that BOLT patched counts for the function that it moved from there.
 */
static uint32_t moved_from(const struct measuring *measuring, uint32_t symbol)
{
    uint64_t jump;
    if (!(measuring->symbols[symbol].flags & BAT_FUNCTION_PATCHED))
        return symbol;
    const uint64_t target =
        bat_original_patch(measuring->elf, measuring->symbols[symbol].address, &jump);
    uint32_t moved = bat_functions_find(measuring->functions, target);
    return moved == BAT_NONE ? symbol : moved;
}

static void mark(const struct measuring *measuring, uint8_t *wanted, uint64_t address)
{
    uint32_t symbol = bat_functions_find(measuring->functions, address);
    if (symbol != BAT_NONE)
        wanted[moved_from(measuring, symbol)] = 1;
}

/* Mark the functions that samples name. */
static void mark_all(const struct measuring *measuring, uint8_t *wanted)
{
    struct bat_trace trace;
    uint64_t address;
    uint64_t count;
    for (uint64_t i = 0; bat_profile_trace(measuring->profile, i, &trace); i++) {
        mark(measuring, wanted, trace.branch);
        mark(measuring, wanted, trace.from);
        mark(measuring, wanted, trace.to);
    }
    for (uint64_t i = 0; bat_profile_sample(measuring->profile, i, &address, &count); i++)
        mark(measuring, wanted, address);
}

/* Number the functions for which wanted is not 0, and fill in their names. */
static enum bat_code list(struct measuring *measuring, struct bat_functions *functions,
                          const uint8_t *wanted)
{
    if (!measuring->has_note)
        bat_functions_take_first_names(functions);
    BAT_TRY(bat_functions_name(functions, wanted, measuring->error));
    uint32_t count = 0;
    for (uint32_t i = 0; i < measuring->symbol_count; i++)
        count += wanted[i];
    measuring->sampled = calloc((size_t)count + 2, sizeof(*measuring->sampled));
    measuring->numbers = malloc(((size_t)measuring->symbol_count + 1) * sizeof(uint32_t));
    if (!measuring->sampled || !measuring->numbers)
        return bat_fail_memory(measuring->error, "to measure the profile");
    for (uint32_t i = 0; i < measuring->symbol_count; i++) {
        measuring->numbers[i] = wanted[i] ? measuring->sampled_count : BAT_NONE;
        if (!wanted[i])
            continue;
        struct bat_fitness_function *function = &measuring->sampled[measuring->sampled_count++];
        function->name = measuring->symbols[i].name;
        function->address = measuring->symbols[i].address;
    }
    for (uint32_t i = 0; i < measuring->symbol_count; i++)
        if (measuring->symbols[i].flags & BAT_FUNCTION_PATCHED)
            measuring->numbers[i] = measuring->numbers[moved_from(measuring, i)];
    return BAT_OK;
}

static enum bat_code list_functions(struct measuring *measuring, struct bat_functions *functions)
{
    uint8_t *wanted = calloc((size_t)measuring->symbol_count + 1, 1);
    BAT_TRY_MEMORY(wanted, measuring->error, "to measure the profile");
    mark_all(measuring, wanted);
    enum bat_code code = list(measuring, functions, wanted);
    free(wanted);
    return code;
}

static void count_samples(const struct measuring *measuring)
{
    struct bat_trace trace;
    uint64_t address;
    uint64_t count;
    for (uint64_t i = 0; bat_profile_trace(measuring->profile, i, &trace); i++) {
        uint32_t function = measuring_function(measuring, trace.from);
        if (function != BAT_NONE)
            measuring->sampled[function].samples += trace.count;
    }
    for (uint64_t i = 0; bat_profile_sample(measuring->profile, i, &address, &count); i++) {
        uint32_t function = measuring_function(measuring, address);
        if (function != BAT_NONE)
            measuring->sampled[function].samples += count;
    }
}

/* --- Counts ---------------------------------------------------------------------------------- */

/* --- Places in the code ---------------------------------------------------------------------- */

/* --- All of it ------------------------------------------------------------------------------- */

static enum bat_code measure(struct measuring *measuring, struct bat_functions *functions)
{
    BAT_TRY(list_functions(measuring, functions));
    count_samples(measuring);
    measure_branches(measuring);
    measure_new_code(measuring);
    enum bat_code code = measure_old_code(measuring);
    code = code ? code : measure_flow(measuring);
    code = code ? code : measure_continuity(measuring);
    code = code ? code : measure_instructions(measuring);
    BAT_SORT(measuring->sampled, measuring->sampled_count,
             BAT_DESCENDING(struct bat_fitness_function, samples),
             BAT_ASCENDING(struct bat_fitness_function, address));
    return code;
}

enum bat_code bat_profile_measure(const struct bat_profile *profile,
                                  const struct bat_binary *binary, struct bat_elf *symbols,
                                  const struct bat_records *records, struct bat_fitness **fitness,
                                  struct bat_error *error)
{
    *fitness = NULL;
    if (!binary->elf)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected an ELF file, found a raw note");
    struct bat_fitness *made = calloc(1, sizeof(*made));
    BAT_TRY_MEMORY(made, error, "to measure the profile");
    struct measuring measuring = {.profile = profile, .elf = binary->elf, .error = error};
    measuring.has_note = binary->note != NULL;
    if (measuring.has_note)
        measuring.map = records ? records->map : binary->map;
    enum bat_code code = bat_functions_create_unnamed(
        binary->elf, symbols, records ? records->threads : 1, &made->functions, error);
    if (code == BAT_OK) {
        measuring.functions = made->functions;
        measuring.symbols = bat_functions_all(made->functions, &measuring.symbol_count);
        code = measure(&measuring, made->functions);
    }
    made->all = measuring.sampled;
    made->count = measuring.sampled_count;
    free(measuring.numbers);
    if (code == BAT_OK)
        *fitness = made;
    else
        bat_fitness_free(made);
    return code;
}

void bat_fitness_free(struct bat_fitness *fitness)
{
    if (!fitness)
        return;
    bat_functions_free(fitness->functions);
    free(fitness->all);
    free(fitness);
}

const struct bat_fitness_function *bat_fitness_get(const struct bat_fitness *fitness, uint64_t i)
{
    return i < fitness->count ? &fitness->all[i] : NULL;
}
