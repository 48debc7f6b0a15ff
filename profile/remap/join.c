/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Joins the halves of runs that BOLT's layout has separated. A profile says how often each half
 * ran, not which first half ran with which second half. Any pairing that keeps the counts of the
 * halves is right: each instruction and each branch gets its own count.
 */
#include <stdlib.h>

#include "spec/array.h"
#include "spec/order.h"
#include "to_input.h"

#define MOST_RANKS 64u /* the longest chain of joins at one point */

/*
 * Halves may go through so many joins on average, and so many together in any case. Behind that
 * they end there and count as not joined, because long chains would cost the square of their
 * length.
 */
#define MEAN_PASSES 64u
#define LEAST_PASSES (UINT64_C(1) << 16)

struct input_joins input_joins_new(struct bat_profile *result,
                                   struct bat_to_input_counters *counters)
{
    return (struct input_joins){.result = result,
                                .counters = counters,
                                .by_branch = bat_counts_new(1),
                                .first_free = BAT_NONE};
}

void input_joins_free(struct input_joins *joins)
{
    bat_counts_free(&joins->by_branch);
    BAT_FREE_ALL(joins->all, joins->pieces, joins->next);
}

enum bat_code input_joins_find(struct input_joins *joins, uint64_t branch, uint64_t point,
                               uint64_t last, uint32_t *join)
{
    const uint64_t *item = bat_counts_find(&joins->by_branch, &branch);
    if (item) {
        *join = (uint32_t)item[1];
        return BAT_OK;
    }
    if (!BAT_GROW(joins->all, joins->count, joins->capacity))
        return BAT_ERR_MEMORY;
    *join = joins->count++;
    joins->all[*join] = (struct input_join){
        .point = point, .last = last, .first_left = BAT_NONE, .first_right = BAT_NONE};
    return bat_counts_add(&joins->by_branch, &branch, *join, 0);
}

/* Keep a half in a list of its join. */
static enum bat_code keep(struct input_joins *joins, const struct input_piece *piece,
                          uint32_t *list)
{
    uint32_t number = joins->first_free;
    if (number == BAT_NONE &&
        (!BAT_GROW(joins->pieces, joins->piece_count, joins->piece_capacity) ||
         !BAT_GROW(joins->next, joins->piece_count, joins->next_capacity)))
        return BAT_ERR_MEMORY;
    if (number == BAT_NONE)
        number = joins->piece_count++;
    else
        joins->first_free = joins->next[number];
    joins->pieces[number] = *piece;
    joins->next[number] = *list;
    *list = number;
    return BAT_OK;
}

/* The place of a half that is done is free for another; returns the next half of its list. */
static uint32_t drop(struct input_joins *joins, uint32_t number)
{
    uint32_t next = joins->next[number];
    joins->next[number] = joins->first_free;
    joins->first_free = number;
    return next;
}

/* --- Results -------------------------------------------------------------------------------- */

/* A run that goes backwards is caused by wrong tables: only its branch counts. */
static uint64_t end_of(struct input_joins *joins, const struct input_piece *piece)
{
    if (piece->to >= BAT_TRACE_EXTERNAL_RETURN || piece->to == BAT_ADDRESS_EXTERNAL ||
        piece->from == BAT_ADDRESS_EXTERNAL || piece->from <= piece->to)
        return piece->to;
    joins->counters->unfollowed += piece->count;
    joins->counters->balances.runs.invalid += piece->count;
    return BAT_TRACE_BRANCH_ONLY;
}

/* Mispredictions may be in a record without a count (spec/profiles.md 1, Writing). */
static bool is_nothing(const struct input_piece *piece)
{
    return piece->count == 0 && piece->mispredictions == 0;
}

static enum bat_code emit(struct input_joins *joins, const struct input_piece *piece)
{
    bool has_branch = piece->branch < BAT_TRACE_EXTERNAL_RETURN;
    bool is_outside = (!has_branch || piece->branch == BAT_ADDRESS_EXTERNAL) &&
                      piece->from == BAT_ADDRESS_EXTERNAL;
    const uint64_t key[3] = {piece->branch, piece->from, end_of(joins, piece)};
    if (is_outside)
        input_count_outside(&joins->counters->balances, piece);
    else if (!has_branch && key[2] == BAT_TRACE_BRANCH_ONLY)
        joins->counters->balances.mispredictions.left_out += piece->mispredictions;
    if (is_outside || (!has_branch && key[2] == BAT_TRACE_BRANCH_ONLY) || is_nothing(piece))
        return BAT_OK;
    return bat_counts_add(&joins->result->traces, key, piece->count, piece->mispredictions);
}

/* A first half without a second half: its branch was taken, so the input came to the join. */
static enum bat_code emit_left(struct input_joins *joins, struct input_piece piece)
{
    const struct input_join *join = &joins->all[piece.end_join];
    joins->counters->unjoined += piece.count;
    piece.to = piece.from <= join->point ? join->point : BAT_TRACE_BRANCH_ONLY;
    joins->counters->balances.runs.joined += piece.to == BAT_TRACE_BRANCH_ONLY ? piece.count : 0;
    return emit(joins, &piece);
}

/* A second half without a first half has no known branch, but came from before the join. */
static struct input_piece begin_before(struct input_joins *joins, struct input_piece piece,
                                       const struct input_join *join)
{
    joins->counters->unjoined += piece.count;
    piece.branch = BAT_TRACE_FALLTHROUGH_ONLY;
    if (piece.from == join->point && join->last != 0 && join->last < join->point)
        piece.from = join->last;
    return piece;
}

/* Add a piece to the trail, unless it only has mispredictions. */
static enum bat_code leave_trail(struct input_trail *trail, const struct input_piece *piece)
{
    if (piece->count == 0)
        return BAT_OK;
    return BAT_APPEND(trail->pieces, trail->count, trail->capacity, *piece) ? BAT_OK
                                                                            : BAT_ERR_MEMORY;
}

enum bat_code input_joins_add(struct input_joins *joins, const struct input_piece *piece)
{
    if (joins->trail)
        return leave_trail(joins->trail, piece);
    bool has_run = piece->to != BAT_TRACE_BRANCH_ONLY || piece->end_join != BAT_NONE;
    if (is_nothing(piece) || (piece->start_join != BAT_NONE && !has_run))
        return BAT_OK;
    if (piece->start_join != BAT_NONE)
        return keep(joins, piece, &joins->all[piece->start_join].first_right);
    if (piece->end_join != BAT_NONE)
        return keep(joins, piece, &joins->all[piece->end_join].first_left);
    return emit(joins, piece);
}

/* --- Joining -------------------------------------------------------------------------------- */

/* Join as many runs as both halves have left. */
static struct input_piece take_both(struct input_piece *left, struct input_piece *right)
{
    uint64_t count = left->count < right->count ? left->count : right->count;
    struct input_piece joined = *left;
    joined.count = count;
    /* A count may be less than its mispredictions: none of them is left behind. */
    joined.mispredictions =
        left->mispredictions < count || left->count == count ? left->mispredictions : count;
    joined.to = right->to;
    joined.end_join = right->end_join;
    left->count -= count;
    left->mispredictions -= joined.mispredictions;
    right->count -= count;
    return joined;
}

/* True if joins are finished in this order: by ascending point, then by rank. */
static bool is_before(const struct input_join *left, const struct input_join *right)
{
    return left->point < right->point || (left->point == right->point && left->rank < right->rank);
}

/* A later join of the same run is still unfinished. */
static enum bat_code pass_on(struct input_joins *joins, const struct input_piece *joined,
                             const struct input_join *join)
{
    if (joined->end_join == BAT_NONE)
        return emit(joins, joined);
    const bool is_later = is_before(join, &joins->all[joined->end_join]);
    joins->counters->limited += is_later && joins->passes_left == 0;
    if (!is_later || joins->passes_left == 0)
        return emit_left(joins, *joined);
    joins->passes_left--;
    return keep(joins, joined, &joins->all[joined->end_join].first_left);
}

/* What is left of a second half has no first half, but may be the first half of another join. */
static enum bat_code pass_on_right(struct input_joins *joins, struct input_piece right,
                                   const struct input_join *join)
{
    if (right.count == 0)
        return BAT_OK;
    const struct input_piece begun = begin_before(joins, right, join);
    return begun.end_join == BAT_NONE ? emit(joins, &begun) : pass_on(joins, &begun, join);
}

static enum bat_code finish_join(struct input_joins *joins, uint32_t number)
{
    const struct input_join *join = &joins->all[number];
    uint32_t left = join->first_left;
    uint32_t right = join->first_right;
    enum bat_code code = BAT_OK;
    while (left != BAT_NONE && right != BAT_NONE && code == BAT_OK) {
        struct input_piece joined = take_both(&joins->pieces[left], &joins->pieces[right]);
        joins->counters->balances.runs.joined += joined.count;
        if (joins->pieces[left].count == 0)
            left = drop(joins, left);
        if (joins->pieces[right].count == 0)
            right = drop(joins, right);
        code = pass_on(joins, &joined, join);
    }
    for (; left != BAT_NONE && code == BAT_OK; left = drop(joins, left))
        code = emit_left(joins, joins->pieces[left]);
    for (; right != BAT_NONE && code == BAT_OK; right = drop(joins, right))
        code = pass_on_right(joins, joins->pieces[right], join);
    return code;
}

/* Of joins at one point, those come first whose second halves are first halves of the others. */
static int compare_joins(const void *left_pointer, const void *right_pointer, void *context)
{
    const struct input_join *all = context;
    uint32_t left = *(const uint32_t *)left_pointer;
    uint32_t right = *(const uint32_t *)right_pointer;
    if (all[left].point != all[right].point)
        return all[left].point < all[right].point ? -1 : 1;
    if (all[left].rank != all[right].rank)
        return all[left].rank < all[right].rank ? -1 : 1;
    return left < right ? -1 : left > right;
}

/*
 * Rank the joins of one point. The input does nothing between them: they are BOLT's comparisons
 * before a promoted call, each of which branches to the next.
 */
static void rank_joins(struct input_joins *joins)
{
    bool is_changed = true;
    for (uint32_t round = 0; is_changed && round < MOST_RANKS; round++) {
        is_changed = false;
        for (uint32_t i = 0; i < joins->piece_count; i++) {
            const struct input_piece *piece = &joins->pieces[i];
            if (piece->start_join == BAT_NONE || piece->end_join == BAT_NONE)
                continue;
            const struct input_join *first = &joins->all[piece->start_join];
            struct input_join *second = &joins->all[piece->end_join];
            if (first->point != second->point || first->rank < second->rank)
                continue;
            second->rank = first->rank + 1;
            is_changed = true;
        }
    }
}

enum bat_code input_joins_finish(struct input_joins *joins)
{
    rank_joins(joins);
    uint32_t *order = bat_sorted_order(joins->count, compare_joins, joins->all);
    if (!order)
        return BAT_ERR_MEMORY;
    joins->passes_left = LEAST_PASSES + MEAN_PASSES * (uint64_t)joins->piece_count;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < joins->count && code == BAT_OK; i++)
        code = finish_join(joins, order[i]);
    free(order);
    return code;
}
