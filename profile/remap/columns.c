/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Gives columns to the members of folded bodies, a step of shares_find(): to those that direct
 * calls name, and to those that a call by a pointer may have meant.
 */
#include <stdlib.h>

#include "shares.h"
#include "spec/array.h"

/* A body may have this many columns, and more while its cells stay below the maximum. */
#define COLUMNS_MIN 16u
#define CELLS_MAX (1u << 16)

/*
 * Give a member a column, unless it has one or the body has too many. weight is that of a guess:
 * see struct shares_column.
 */
static enum bat_code name_member(struct shares *shares, uint32_t member, bool is_guess,
                                 uint32_t weight)
{
    struct shares_body *body = &shares->bodies[shares->folded.members[member].body];
    if (shares_column_of(shares, member, is_guess) != BAT_NONE ||
        (body->column_count >= COLUMNS_MIN &&
         ((uint64_t)body->column_count + 1) * (body->weight + UINT64_C(1)) > CELLS_MAX))
        return BAT_OK;
    if (!BAT_GROW(body->columns, body->column_count, body->capacity))
        return BAT_ERR_MEMORY;
    shares->column_of[2 * member + is_guess] = body->column_count;
    body->columns[body->column_count++] = (struct shares_column){member, weight, is_guess};
    body->guess_weight += weight;
    shares->named[shares->named_count++] = 2 * member + is_guess;
    return BAT_OK;
}

/* --- Direct calls ----------------------------------------------------------------------------- */

enum bat_code shares_named_by(struct shares *shares, const struct shares_trace *trace,
                              uint32_t caller, uint32_t *named)
{
    uint64_t branch;
    *named = BAT_NONE;
    if (!folded_move(&shares->folded, caller, trace->branch, &branch))
        return BAT_OK;
    return folded_named(&shares->folded, branch, trace->from, named);
}

/* Give columns to the members that a member's branches and calls name. */
static enum bat_code name_called(struct shares *shares, uint32_t caller, bool is_guess)
{
    const struct shares_body *body = &shares->bodies[shares->folded.members[caller].body];
    enum bat_code code = BAT_OK;
    for (uint32_t i = body->first_out; i != BAT_NONE && code == BAT_OK;
         i = shares->traces[i].next_out) {
        uint32_t named = BAT_NONE;
        if (shares->traces[i].way == SHARES_CALLED)
            code = shares_named_by(shares, &shares->traces[i], caller, &named);
        if (named != BAT_NONE && code == BAT_OK)
            code = name_member(shares, named, is_guess, 0);
    }
    return code;
}

static int compare_counts(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct shares_trace *traces = context;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    if (traces[left].count != traces[right].count)
        return traces[left].count > traces[right].count ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* Give columns to the members that functions outside of bodies call, the most called first. */
static enum bat_code name_known(struct shares *shares)
{
    uint32_t *order = malloc(((size_t)shares->count + 1) * sizeof(*order));
    if (!order)
        return BAT_ERR_MEMORY;
    uint32_t count = 0;
    for (uint32_t i = 0; i < shares->count; i++)
        if (shares->traces[i].way == SHARES_KNOWN && shares->traces[i].member != BAT_NONE)
            order[count++] = i;
    if (count > 1)
        qsort_r(order, count, sizeof(*order), compare_counts, shares->traces);
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++)
        code = name_member(shares, shares->traces[order[i]].member, false, 0);
    free(order);
    return code;
}

/* --- Pointers --------------------------------------------------------------------------------- */

static int compare_references(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct folded_member *members = context;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    if (members[left].references != members[right].references)
        return members[left].references > members[right].references ? -1 : 1;
    return left < right ? -1 : left > right;
}

/* Give columns to the members of a body that pointers refer to, the most often first. */
static enum bat_code name_referenced(struct shares *shares, uint32_t number)
{
    const struct folded_body *folded = &shares->folded.bodies[number];
    const struct folded_member *members = shares->folded.members;
    struct shares_body *body = &shares->bodies[number];
    uint32_t *order = malloc((size_t)folded->member_count * sizeof(*order));
    if (!order)
        return BAT_ERR_MEMORY;
    uint32_t count = 0;
    for (uint32_t i = 1; i < folded->member_count; i++)
        if (members[folded->first_member + i].references != 0)
            order[count++] = folded->first_member + i;
    if (count > 1)
        qsort_r(order, count, sizeof(*order), compare_references, shares->folded.members);
    body->guess_weight = body->columns[SHARES_UNKNOWN].weight =
        members[folded->first_member].references;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        code = folded_compare(&shares->folded, order[i]);
        if (code == BAT_OK && members[order[i]].fit != FOLDED_DIFFERS)
            code = name_member(shares, order[i], true, members[order[i]].references);
    }
    free(order);
    return code;
}

/* Give columns to the members that a call by a pointer, or from outside, may have meant. */
static enum bat_code name_guesses(struct shares *shares)
{
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++) {
        const struct shares_trace *trace = &shares->traces[i];
        if (trace->way != SHARES_KNOWN || trace->member != BAT_NONE ||
            shares->bodies[trace->into].has_guesses)
            continue;
        shares->bodies[trace->into].has_guesses = true;
        code = name_referenced(shares, trace->into);
    }
    return code;
}

/* --- All columns ------------------------------------------------------------------------------ */

enum bat_code shares_name_columns(struct shares *shares)
{
    enum bat_code code = name_known(shares);
    code = code ? code : name_guesses(shares);
    for (uint32_t i = 0; i < shares->folded.body_count && code == BAT_OK; i++)
        if (shares->bodies[i].column_count != 0)
            code = name_called(shares, shares_member(shares, i, SHARES_UNKNOWN), true);
    for (uint32_t i = 0; i < shares->named_count && code == BAT_OK; i++)
        code = name_called(shares, shares->named[i] / 2, shares->named[i] % 2);
    return code;
}
