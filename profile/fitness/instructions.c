/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Whether basic samples are at instructions (spec/fitness.md 2): a processor stops at the start of
 * one. They have no branches that could be compared with the code.
 */
#include <stdlib.h>

#include "binary/original/original.h"
#include "measuring.h"
#include "spec/order.h"

struct sample {
    uint64_t address;
    uint64_t count;
};

/* Where the instructions of a function are being followed. */
struct cursor {
    uint32_t symbol; /* BAT_NONE: of no function */
    uint64_t address;
    bool is_lost; /* there is something that is no instruction */
};

/* Follow the instructions until one ends behind or begins at an address of the cursor's function.
 */
static void follow(const struct measuring *measuring, struct cursor *cursor, uint64_t address)
{
    struct bat_instruction instruction;
    while (cursor->address < address && !cursor->is_lost) {
        cursor->is_lost = !bat_original_decode(measuring->elf, cursor->address, &instruction) ||
                          instruction.length == 0;
        cursor->address += cursor->is_lost ? 0 : instruction.length;
    }
}

static void measure_sorted(const struct measuring *measuring, const struct sample *samples,
                           size_t count)
{
    struct cursor cursor = {.symbol = BAT_NONE};
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = bat_functions_find(measuring->functions, samples[i].address);
        if (symbol == BAT_NONE)
            continue;
        if (symbol != cursor.symbol)
            cursor = (struct cursor){symbol, measuring->symbols[symbol].address, false};
        /* The last instruction may have gone beyond this sample: it is inside of that one. */
        follow(measuring, &cursor, samples[i].address);
        if (!cursor.is_lost)
            measuring_add(measuring, measuring->numbers[symbol], BAT_FITNESS_INSTRUCTIONS,
                          cursor.address == samples[i].address ? 0 : samples[i].count,
                          samples[i].count);
    }
}

enum bat_code measure_instructions(const struct measuring *measuring)
{
    size_t capacity = measuring->profile->samples.count;
    struct sample *samples = malloc((capacity + 1) * sizeof(*samples));
    BAT_TRY_MEMORY(samples, measuring->error, "for the samples of a profile");
    size_t count = 0;
    while (count < capacity && bat_profile_sample(measuring->profile, count,
                                                  &samples[count].address, &samples[count].count))
        count++;
    BAT_SORT_BY(samples, count, address);
    measure_sorted(measuring, samples, count);
    free(samples);
    return BAT_OK;
}
