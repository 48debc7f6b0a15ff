/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Checks what the remapping says of itself: how many runs and branches of each output function are
 * explained by what BOLT is known to do, and which functions are better moved by the note alone.
 */
#include <stdlib.h>
#include <string.h>

#include "to_input.h"

/*
 * A function of which a larger part is not explained is moved by the note alone. Functions that
 * only known passes have changed are explained whole, as far as has been tried; where a little is
 * left, the note gets more wrong. Of those that an unknown pass has changed it is mostly far more
 * (spec/remap.md 5).
 */
#define MOST_UNEXPLAINED_PERCENT 5u

static uint32_t function_count(const struct input_move *move)
{
    return move->original->binary->map->hot_count;
}

enum bat_code input_explained_open(struct input_move *move)
{
    size_t count = (size_t)function_count(move) + 1;
    move->explained = calloc(count, sizeof(*move->explained));
    move->is_by_note = calloc(count, sizeof(*move->is_by_note));
    return move->explained && move->is_by_note ? BAT_OK : BAT_ERR_MEMORY;
}

void input_explained_close(struct input_move *move)
{
    free(move->explained);
    free(move->is_by_note);
    bat_profile_free(move->by_note);
}

void input_explain(struct input_move *move, uint64_t count)
{
    const struct input_sights *sights = &move->sights;
    if (move->by_note)
        return;
    if (sights->run_in != BAT_NONE) {
        struct input_explained *explained = &move->explained[sights->run_in];
        explained->counts += count;
        explained->cut += sights->is_cut ? count : 0;
        explained->unlisted += sights->is_unlisted && !sights->is_cut ? count : 0;
    }
    if (sights->branch_in != BAT_NONE) {
        struct input_explained *explained = &move->explained[sights->branch_in];
        explained->counts += count;
        explained->left_out += sights->is_unsourced ? count : 0;
    }
    if (sights->lost_in != BAT_NONE) {
        struct input_explained *explained = &move->explained[sights->lost_in];
        explained->counts += count;
        explained->cut += count;
    }
}

static uint64_t unexplained(const struct input_explained *explained)
{
    return explained->cut + explained->left_out + explained->unlisted;
}

enum bat_code input_by_note_choose(struct input_move *move)
{
    bool is_any = false;
    for (uint32_t i = 0; i < function_count(move); i++) {
        const struct input_explained *explained = &move->explained[i];
        /* Not multiplied: counts may be near 2^64. */
        move->is_by_note[i] =
            unexplained(explained) != 0 &&
            unexplained(explained) > explained->counts / 100 * MOST_UNEXPLAINED_PERCENT +
                                         explained->counts % 100 * MOST_UNEXPLAINED_PERCENT / 100;
        is_any |= move->is_by_note[i] != 0;
    }
    return is_any ? bat_profile_new_of(move->original->binary, &move->by_note, NULL) : BAT_OK;
}

/* --- The report ------------------------------------------------------------------------------- */

/* Add a function to the heaviest ones: of equal ones, the first. */
static void add_heaviest(struct bat_to_input_counters *counters,
                         const struct bat_unexplained *added)
{
    size_t place = BAT_UNEXPLAINED_MAX;
    while (place > 0 && counters->heaviest[place - 1].counts < added->counts)
        place--;
    if (place == BAT_UNEXPLAINED_MAX)
        return;
    memmove(&counters->heaviest[place + 1], &counters->heaviest[place],
            (BAT_UNEXPLAINED_MAX - place - 1) * sizeof(*added));
    counters->heaviest[place] = *added;
}

void input_explained_report(struct input_move *move)
{
    struct bat_to_input_counters *counters = &move->counters;
    for (uint32_t i = 0; i < function_count(move); i++) {
        const struct input_explained *explained = &move->explained[i];
        const uint32_t input = bat_original_input_of_table(move->original, i);
        counters->parts += explained->counts;
        counters->parts_explained += explained->counts - unexplained(explained);
        if (!move->is_by_note[i] || input == BAT_NONE)
            continue;
        const struct bat_unexplained added = {.name = move->original->inputs[input].name,
                                              .counts = explained->counts,
                                              .cut = explained->cut,
                                              .left_out = explained->left_out,
                                              .unlisted = explained->unlisted};
        counters->by_note_functions++;
        counters->by_note_parts += explained->counts;
        add_heaviest(counters, &added);
    }
}
