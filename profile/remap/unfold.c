/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Gives the traces of folded bodies to their members, the functions that were called, by the shares
 * of shares.h.
 */
#include <stdlib.h>

#include "shares.h"
#include "to_input.h"

struct unfolding {
    struct shares shares;
    struct bat_profile *result;
    struct bat_counts traces; /* the new ones */
    struct bat_to_input_counters *counters;
    uint64_t *parts; /* one for each column of the largest body */
    double *weights; /* the same */
};

/* --- One part of a trace ---------------------------------------------------------------------- */

/* A part of a trace and the members that hold its ends; BAT_NONE if the end stays in the body. */
struct part {
    uint32_t out_of;
    uint32_t into;
    uint64_t count;
    uint64_t mispredictions;
    bool is_known; /* the member is known, not assumed */
};

static bool move_end(const struct unfolding *unfolding, uint32_t member, uint64_t *address)
{
    bool is_place = *address != BAT_ADDRESS_EXTERNAL && *address < BAT_TRACE_EXTERNAL_RETURN;
    return member == BAT_NONE || !is_place ||
           folded_move(&unfolding->shares.folded, member, *address, address);
}

/* True if a member's branch or call can go where the trace goes, outside of the body: as the
 * body's. */
static bool can_leave(const struct unfolding *unfolding, const struct shares_trace *trace,
                      uint64_t branch)
{
    const struct bat_elf *elf = unfolding->shares.folded.original->elf;
    struct bat_instruction own;
    struct bat_instruction body;
    if (trace->way != SHARES_LEAVES || branch == trace->branch)
        return true;
    if (!bat_original_decode(elf, branch, &own) || !bat_original_decode(elf, trace->branch, &body))
        return false;
    return !bat_kind_has_target(own.kind) || own.target == body.target;
}

/* True if a part enters a body by a member that only leads there. */
static bool is_led(const struct unfolding *unfolding, const struct shares_trace *trace,
                   const struct part *part)
{
    const struct folded *folded = &unfolding->shares.folded;
    return part->into != BAT_NONE && folded->members[part->into].fit == FOLDED_LEADS &&
           (trace->way == SHARES_KNOWN || trace->way == SHARES_CALLED) &&
           trace->from == folded->members[folded->bodies[trace->into].first_member].start;
}

/* Add the jumps from a member's start to the body: the run's branch, *branch, is the last then. */
static enum bat_code add_lead(struct unfolding *unfolding, const struct shares_trace *trace,
                              struct part *part, uint64_t *branch)
{
    const struct folded *folded = &unfolding->shares.folded;
    struct bat_balances *balances = &unfolding->counters->balances;
    struct bat_instruction jump;
    enum bat_code code = BAT_OK;
    for (uint64_t at = folded->members[part->into].start;
         at != trace->from && code == BAT_OK &&
         bat_original_decode(folded->original->elf, at, &jump);
         at = jump.target) {
        const uint64_t key[3] = {*branch, at, at};
        code = bat_counts_add(&unfolding->traces, key, part->count, part->mispredictions);
        balances->runs.made += part->count;
        balances->branches.made += part->count;
        part->mispredictions = 0;
        *branch = at;
    }
    return code;
}

static enum bat_code give(struct unfolding *unfolding, const struct shares_trace *trace,
                          struct part *part)
{
    uint64_t key[3] = {trace->branch, trace->from, trace->to};
    if (part->count == 0 && part->mispredictions == 0)
        return BAT_OK;
    bool is_moved = move_end(unfolding, part->out_of, &key[0]) &&
                    move_end(unfolding, part->into, &key[1]) &&
                    move_end(unfolding, part->into, &key[2]) && can_leave(unfolding, trace, key[0]);
    if (is_moved && part->is_known && trace->into != BAT_NONE)
        unfolding->counters->folded_known += part->count;
    if (part->out_of != BAT_NONE && (trace->way == SHARES_RETURN || trace->way == SHARES_RETURNS))
        shares_use(&unfolding->shares, trace->branch, part->out_of, !part->is_known, part->count);
    if (!is_moved) {
        key[0] = trace->branch;
        key[1] = trace->from;
        key[2] = trace->to;
    }
    enum bat_code code = BAT_OK;
    if (is_led(unfolding, trace, part))
        code = add_lead(unfolding, trace, part, &key[0]);
    else if (key[0] != trace->branch &&
             bat_counts_find(&unfolding->result->returns, &trace->branch))
        code = bat_counts_add(&unfolding->result->returns, &key[0], 0, 0);
    return code ? code : bat_counts_add(&unfolding->traces, key, part->count, part->mispredictions);
}

/* --- Whole numbers ---------------------------------------------------------------------------- */

/* A share of a number, rounded down; at most the number. */
static uint64_t share_of(uint64_t number, double share)
{
    double part = (double)number * share;
    return part >= (double)number ? number : part > 0 ? (uint64_t)part : 0;
}

/*
 * Divide a count by weights into whole parts. The rounding errors are carried to the next count of
 * the same body, so that many small counts divide as their sum would (unless carry is NULL).
 */
static void divide_count(struct unfolding *unfolding, uint32_t body, uint64_t count, double *carry)
{
    const struct shares_body *columns = &unfolding->shares.bodies[body];
    uint64_t given = 0;
    double wanted = 0;
    for (uint32_t i = 0; i < columns->column_count; i++) {
        double weight = unfolding->weights[i] + (carry ? carry[i] : 0);
        wanted += weight;
        uint64_t sum = share_of(count, (wanted + 0.5) / (double)count);
        if (sum < given)
            sum = given;
        if (i + 1 == columns->column_count)
            sum = count;
        unfolding->parts[i] = sum - given;
        if (carry)
            carry[i] = weight - (double)unfolding->parts[i];
        given = sum;
    }
}

/* --- Traces ----------------------------------------------------------------------------------- */

/* The member that a return to a call in member `into` leaves; BAT_NONE if the call names none. */
static enum bat_code returns_from(struct unfolding *unfolding, const struct shares_trace *trace,
                                  uint32_t into, uint32_t *out_of)
{
    struct folded *folded = &unfolding->shares.folded;
    uint64_t call = trace->call;
    *out_of = BAT_NONE;
    if (!move_end(unfolding, into, &call))
        return BAT_OK;
    uint32_t kept = folded->bodies[trace->out_of].first_member;
    return folded_named(folded, call, folded->members[kept].start, out_of);
}

/* Fill the members that hold the ends of the part in a column. */
static enum bat_code find_ends(struct unfolding *unfolding, const struct shares_trace *trace,
                               uint32_t column, struct part *part)
{
    const struct shares *shares = &unfolding->shares;
    bool by_source = trace->way == SHARES_CALLED || trace->way == SHARES_LEAVES;
    part->is_known = !shares_is_guess(shares, by_source ? trace->out_of : trace->into, column);
    part->out_of = BAT_NONE;
    part->into = BAT_NONE;
    if (trace->way == SHARES_CALLED) {
        uint32_t called = shares->maps[trace->map + column];
        part->is_known = called != BAT_NONE && !shares_is_guess(shares, trace->into, called);
        if (called == BAT_NONE)
            return BAT_OK;
        part->out_of = shares_member(shares, trace->out_of, column);
        part->into = shares_member(shares, trace->into, called);
        return BAT_OK;
    }
    if (trace->way == SHARES_LEAVES) {
        part->out_of = shares_member(shares, trace->out_of, column);
        return BAT_OK;
    }
    part->into = shares_member(shares, trace->into, column);
    if (trace->way == SHARES_RETURN && trace->out_of != BAT_NONE)
        return returns_from(unfolding, trace, part->into, &part->out_of);
    if (trace->way == SHARES_INNER)
        part->out_of = part->into;
    return BAT_OK;
}

/* Fill weights: how a trace with that count divides among the columns of a body. */
static void weigh_parts(struct unfolding *unfolding, const struct shares_trace *trace,
                        uint32_t body, uint64_t count)
{
    const struct shares *shares = &unfolding->shares;
    uint32_t columns = shares->bodies[body].column_count;
    if (trace->way == SHARES_KNOWN) {
        for (uint32_t i = 0; i < columns; i++)
            unfolding->weights[i] = (double)count * shares_guess(shares, trace, i);
        return;
    }
    bool by_site = trace->way == SHARES_CALLED || trace->way == SHARES_LEAVES;
    const double *cells = &shares->cells[by_site ? shares->sites[trace->site].cells : trace->cells];
    double sum = 0;
    for (uint32_t i = 0; i < columns; i++)
        sum += cells[i];
    for (uint32_t i = 0; i < columns; i++)
        unfolding->weights[i] = sum > 0 ? cells[i] / sum * (double)count : 0;
    if (!(sum > 0))
        unfolding->weights[SHARES_UNKNOWN] = (double)count;
}

static enum bat_code give_parts(struct unfolding *unfolding, const struct shares_trace *trace)
{
    bool by_source = trace->way == SHARES_CALLED || trace->way == SHARES_LEAVES;
    uint32_t body = by_source ? trace->out_of : trace->into;
    uint32_t columns = unfolding->shares.bodies[body].column_count;
    /* The mispredictions of a trace without a count divide as its count would. */
    const bool is_counted = trace->count != 0;
    uint64_t left = is_counted ? trace->count : trace->mispredictions;
    double *carry = &unfolding->shares.cells[unfolding->shares.bodies[body].carry];
    weigh_parts(unfolding, trace, body, left);
    divide_count(unfolding, body, left, is_counted ? carry : NULL);
    enum bat_code code = BAT_OK;
    uint64_t mispredictions = trace->mispredictions;
    for (uint32_t i = 0; i < columns && code == BAT_OK && left != 0; i++) {
        const uint64_t count = unfolding->parts[i];
        struct part part = {.count = is_counted ? count : 0};
        part.mispredictions = share_of(mispredictions, (double)count / (double)left);
        left -= count;
        mispredictions -= part.mispredictions;
        code = find_ends(unfolding, trace, i, &part);
        code = code ? code : give(unfolding, trace, &part);
    }
    return code;
}

static enum bat_code give_trace(struct unfolding *unfolding, const struct shares_trace *trace)
{
    if (trace->into != BAT_NONE)
        unfolding->counters->folded += trace->count;
    if (trace->way != SHARES_RETURNS && (trace->way != SHARES_KNOWN || trace->member == BAT_NONE))
        return give_parts(unfolding, trace);
    bool has_column = trace->member != BAT_NONE &&
                      shares_column_of(&unfolding->shares, trace->member, false) != BAT_NONE;
    struct part part = {.out_of = BAT_NONE,
                        .into = BAT_NONE,
                        .count = trace->count,
                        .mispredictions = trace->mispredictions,
                        .is_known = has_column};
    if (has_column && trace->way == SHARES_KNOWN)
        part.into = trace->member;
    else if (has_column)
        part.out_of = trace->member;
    return give(unfolding, trace, &part);
}

/* --- The profile ------------------------------------------------------------------------------ */

/* Take out the traces of folded bodies; the others stay as they are. */
static enum bat_code take_traces(struct unfolding *unfolding)
{
    const struct bat_counts *traces = &unfolding->result->traces;
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < traces->count && code == BAT_OK; i++) {
        const uint64_t *trace = bat_counts_item(traces, i);
        bool is_taken;
        code = shares_add(&unfolding->shares, trace, &is_taken);
        if (code == BAT_OK && !is_taken)
            code = bat_counts_add(&unfolding->traces, trace, trace[3], trace[4]);
    }
    return code;
}

static enum bat_code give_traces(struct unfolding *unfolding)
{
    const struct shares *shares = &unfolding->shares;
    size_t most = 1;
    for (uint32_t i = 0; i < shares->folded.body_count; i++)
        most = shares->bodies[i].column_count > most ? shares->bodies[i].column_count : most;
    unfolding->parts = malloc(most * sizeof(*unfolding->parts));
    unfolding->weights = malloc(most * sizeof(*unfolding->weights));
    enum bat_code code = unfolding->parts && unfolding->weights ? BAT_OK : BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++)
        if (shares->traces[i].way != SHARES_LEAVES)
            code = give_trace(unfolding, &shares->traces[i]);
    /* Last, for they divide by what the returns above leave of their sites: see shares_use(). */
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++)
        if (shares->traces[i].way == SHARES_LEAVES)
            code = give_trace(unfolding, &shares->traces[i]);
    return code;
}

/* Basic samples say nothing of calls: they stay in the body. */
static void count_samples(struct unfolding *unfolding)
{
    const struct bat_counts *samples = &unfolding->result->samples;
    for (uint32_t i = 0; i < samples->count; i++) {
        const uint64_t *sample = bat_counts_item(samples, i);
        if (folded_body_at(&unfolding->shares.folded, sample[0]) != BAT_NONE)
            unfolding->counters->folded += sample[1];
    }
}

enum bat_code input_unfold(const struct bat_original *original, struct bat_profile *result,
                           struct bat_to_input_counters *counters)
{
    struct unfolding unfolding = {
        .result = result, .traces = bat_counts_new(3), .counters = counters};
    enum bat_code code = shares_open(&unfolding.shares, original);
    if (code == BAT_OK && unfolding.shares.folded.body_count != 0) {
        count_samples(&unfolding);
        code = take_traces(&unfolding);
        if (code == BAT_OK && unfolding.shares.count != 0) {
            code = shares_find(&unfolding.shares);
            code = code ? code : give_traces(&unfolding);
            struct bat_counts old = result->traces;
            result->traces = unfolding.traces;
            unfolding.traces = old;
        }
    }
    shares_close(&unfolding.shares);
    bat_counts_free(&unfolding.traces);
    free(unfolding.parts);
    free(unfolding.weights);
    return code;
}
