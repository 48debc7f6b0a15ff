/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Divides the traces of folded bodies among members, the last step of shares_find(): one system of
 * linear equations for each body, repeated while calls between bodies change the result.
 */
#include <stdlib.h>

#include "shares.h"
#include "spec/array.h"

#define SITES_MAX 64u   /* a body with more sites divides as its entries do */
#define ROUNDS 12u      /* limit for chains of folded functions that call each other */
#define CHANGE_MIN 1e-6 /* in samples; a smaller change counts as none */

/* --- Equations --------------------------------------------------------------------------------
 *
 * The runs that end at a site, by column, are those that enter from outside and end here, plus
 * those that end at each site of the body, times the part of them that goes on to here. That is one
 * equation for each site, with the same factors for all columns; elimination solves them.
 */

struct equations {
    double *weights; /* row i, column j: the part of what ends at site i that goes on to site j */
    double *calling; /* a call's count by columns of the caller's body */
    double *called;  /* ... and by columns of the called body */
};

/* Not all of a loop's runs go around again: otherwise the equations would have no solution. */
#define PART_MAX (1 - 1e-9)

static double *cells_of(const struct shares *shares, size_t cells)
{
    return &shares->cells[cells];
}

static double sum_of(const double *cells, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += cells[i];
    return sum;
}

/* True if a trace divides as the runs that ended at a site of its own body. */
static bool goes_on(const struct shares *shares, const struct shares_trace *trace)
{
    const struct shares_body *body = &shares->bodies[trace->into];
    return shares_has_cells(trace) && (trace->way != SHARES_CALLED || trace->is_recursion) &&
           body->site_count <= SITES_MAX && trace->site != BAT_NONE &&
           shares->sites[trace->site].comes != 0;
}

/* Count the runs that end at each site, and those that start from there. */
static void weigh_sites(struct shares *shares)
{
    for (uint32_t i = 0; i < shares->count; i++) {
        const struct shares_trace *trace = &shares->traces[i];
        if (trace->end != BAT_NONE)
            shares->sites[trace->end].comes += (double)trace->count;
        if (shares_has_cells(trace) && trace->site != BAT_NONE &&
            (trace->way != SHARES_CALLED || trace->is_recursion))
            shares->sites[trace->site].goes += (double)trace->count;
    }
}

static void fill_weights(const struct shares *shares, uint32_t number, double *weights)
{
    const struct shares_body *body = &shares->bodies[number];
    uint32_t count = body->site_count;
    for (uint32_t i = 0; i < count * count; i++)
        weights[i] = 0;
    for (uint32_t i = body->first_into; i != BAT_NONE; i = shares->traces[i].next_into) {
        const struct shares_trace *trace = &shares->traces[i];
        if (trace->end == BAT_NONE || !goes_on(shares, trace))
            continue;
        const struct shares_site *site = &shares->sites[trace->site];
        double all = site->comes > site->goes ? site->comes : site->goes;
        weights[site->row * count + shares->sites[trace->end].row] +=
            PART_MAX * (double)trace->count / all;
    }
}

static void add_cells(double *to, const double *from, double factor, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] += factor * from[i];
}

static double *site_cells(const struct shares *shares, uint32_t body, uint32_t row)
{
    return cells_of(shares,
                    shares->bodies[body].sites + (size_t)row * shares->bodies[body].column_count);
}

/*
 * Solve the equations of a body in place: before, the cells of its sites hold what comes from
 * outside; afterwards, all that ends there.
 */
static void solve(const struct shares *shares, uint32_t number, double *weights)
{
    uint32_t count = shares->bodies[number].site_count;
    uint32_t columns = shares_columns(shares, number);
    for (uint32_t i = 0; i < count; i++) {
        const double *row = &weights[i * count];
        for (uint32_t j = i + 1; j < count; j++) {
            double factor = row[j] / (1 - row[i]);
            if (!(factor > 0))
                continue;
            add_cells(site_cells(shares, number, j), site_cells(shares, number, i), factor,
                      columns);
            for (uint32_t k = i + 1; k < count; k++)
                weights[k * count + j] += weights[k * count + i] * factor;
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        double *cells = site_cells(shares, number, i);
        for (uint32_t k = i + 1; k < count; k++)
            add_cells(cells, site_cells(shares, number, k), weights[k * count + i], columns);
        add_cells(cells, cells, 1 / (1 - weights[i * count + i]) - 1, columns);
    }
}

/* --- Shares ----------------------------------------------------------------------------------- */

/* Divide a count in proportion to other cells; the member is not known if these are empty. */
static void divide(double count, const double *as, uint32_t columns, double *cells)
{
    double sum = sum_of(as, columns);
    for (uint32_t i = 0; i < columns; i++)
        cells[i] = sum > 0 ? as[i] / sum * count : 0;
    if (!(sum > 0))
        cells[SHARES_UNKNOWN] = count;
}

/* True if a trace is a call from a member of a body, recursion excepted. */
static bool is_called(const struct shares_trace *trace)
{
    return trace->way == SHARES_CALLED && !trace->is_recursion;
}

/*
 * Divide a call from a body as the runs that ended at the call, and give each part to the member
 * that the caller names. Returns true if the result has changed.
 */
static bool divide_call(const struct shares *shares, const struct shares_trace *trace,
                        const struct equations *equations)
{
    double *cells = cells_of(shares, trace->cells);
    uint32_t columns = shares_columns(shares, trace->into);
    uint32_t callers = shares_columns(shares, trace->out_of);
    for (uint32_t i = 0; i < columns; i++)
        equations->called[i] = 0;
    divide((double)trace->count, cells_of(shares, shares->sites[trace->site].cells), callers,
           equations->calling);
    for (uint32_t i = 0; i < callers; i++) {
        uint32_t column = shares->maps[trace->map + i];
        equations->called[column == BAT_NONE ? SHARES_UNKNOWN : column] += equations->calling[i];
    }
    bool is_changed = false;
    for (uint32_t i = 0; i < columns; i++) {
        double change = equations->called[i] - cells[i];
        is_changed |= change > CHANGE_MIN || change < -CHANGE_MIN;
        cells[i] = equations->called[i];
    }
    return is_changed;
}

/* Divide all calls to a body. Returns true if one has changed. */
static bool divide_calls(const struct shares *shares, uint32_t number,
                         const struct equations *equations)
{
    bool is_changed = false;
    for (uint32_t i = shares->bodies[number].first_into; i != BAT_NONE;
         i = shares->traces[i].next_into)
        if (is_called(&shares->traces[i]))
            is_changed |= divide_call(shares, &shares->traces[i], equations);
    return is_changed;
}

/* Add the count of a trace from outside of all bodies. */
static void add_entry(const struct shares *shares, const struct shares_trace *trace, double *cells)
{
    if (trace->member == BAT_NONE) {
        for (uint32_t i = 0; i < shares_columns(shares, trace->into); i++)
            cells[i] += (double)trace->count * shares_guess(shares, trace, i);
        return;
    }
    uint32_t column = shares_column_of(shares, trace->member, false);
    cells[column == BAT_NONE ? SHARES_UNKNOWN : column] += (double)trace->count;
}

/* Count what enters a body from outside: in all, and by the site where the run ends. */
static void count_entries(const struct shares *shares, uint32_t number)
{
    const struct shares_body *body = &shares->bodies[number];
    uint32_t columns = body->column_count;
    double *entries = cells_of(shares, body->entries);
    for (uint32_t i = 0; i < columns; i++)
        entries[i] = 0;
    for (size_t i = 0; i < (size_t)body->site_count * columns; i++)
        cells_of(shares, body->sites)[i] = 0;
    for (uint32_t i = body->first_into; i != BAT_NONE; i = shares->traces[i].next_into) {
        const struct shares_trace *trace = &shares->traces[i];
        double *site =
            trace->end == BAT_NONE ? NULL : cells_of(shares, shares->sites[trace->end].cells);
        if (trace->way == SHARES_KNOWN) {
            add_entry(shares, trace, entries);
            if (site)
                add_entry(shares, trace, site);
        } else if (is_called(trace)) {
            add_cells(entries, cells_of(shares, trace->cells), 1, columns);
            if (site)
                add_cells(site, cells_of(shares, trace->cells), 1, columns);
        }
    }
}

/* Runs that start from no known site divide as the entries do. */
static void count_others(const struct shares *shares, uint32_t number)
{
    const struct shares_body *body = &shares->bodies[number];
    const double *entries = cells_of(shares, body->entries);
    for (uint32_t i = body->first_into; i != BAT_NONE; i = shares->traces[i].next_into) {
        const struct shares_trace *trace = &shares->traces[i];
        if (!shares_has_cells(trace) || goes_on(shares, trace) || is_called(trace))
            continue;
        double *cells = cells_of(shares, trace->cells);
        divide((double)trace->count, entries, body->column_count, cells);
        if (trace->end != BAT_NONE)
            add_cells(cells_of(shares, shares->sites[trace->end].cells), cells, 1,
                      body->column_count);
    }
}

static void divide_body(const struct shares *shares, uint32_t number,
                        const struct equations *equations)
{
    const struct shares_body *body = &shares->bodies[number];
    count_entries(shares, number);
    count_others(shares, number);
    if (body->site_count <= SITES_MAX) {
        fill_weights(shares, number, equations->weights);
        solve(shares, number, equations->weights);
    } else {
        for (uint32_t i = 0; i < body->site_count; i++)
            divide(1, cells_of(shares, body->entries), body->column_count,
                   site_cells(shares, number, i));
    }
    for (uint32_t i = body->first_into; i != BAT_NONE; i = shares->traces[i].next_into) {
        const struct shares_trace *trace = &shares->traces[i];
        if (goes_on(shares, trace))
            divide((double)trace->count, cells_of(shares, shares->sites[trace->site].cells),
                   body->column_count, cells_of(shares, trace->cells));
    }
}

static uint32_t most_columns(const struct shares *shares)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < shares->folded.body_count; i++)
        most = shares_columns(shares, i) > most ? shares_columns(shares, i) : most;
    return most;
}

enum bat_code shares_divide(struct shares *shares)
{
    uint32_t most = most_columns(shares);
    struct equations equations = {
        .weights = malloc((size_t)SITES_MAX * SITES_MAX * sizeof(*equations.weights)),
        .calling = malloc(most * sizeof(*equations.calling)),
        .called = malloc(most * sizeof(*equations.called)),
    };
    bool is_ready = shares->cells && equations.weights && equations.calling && equations.called;
    bool is_changed = is_ready;
    weigh_sites(shares);
    /* The shares of a body depend on those of its callers, which may be bodies too: repeat. */
    for (uint32_t round = 0; is_changed && round < ROUNDS; round++) {
        is_changed = false;
        for (uint32_t i = 0; i < shares->folded.body_count; i++) {
            bool has_changed = shares->bodies[i].is_called && divide_calls(shares, i, &equations);
            if (shares->bodies[i].first_into != BAT_NONE && (round == 0 || has_changed))
                divide_body(shares, i, &equations);
            is_changed |= has_changed;
        }
    }
    BAT_FREE_ALL(equations.weights, equations.calling, equations.called);
    return is_ready ? BAT_OK : BAT_ERR_MEMORY;
}

double shares_guess(const struct shares *shares, const struct shares_trace *trace, uint32_t column)
{
    const struct folded *folded = &shares->folded;
    const struct shares_body *whole = &shares->bodies[trace->into];
    uint32_t all = 0;
    uint32_t own = 0;
    for (uint32_t i = trace->first_pointer; i < trace->end_pointer; i++) {
        uint32_t member = folded->pointers[i].member;
        if (folded->members[member].body != trace->into)
            continue;
        uint32_t found = shares_column_of(shares, member, true);
        own += (found == BAT_NONE ? SHARES_UNKNOWN : found) == column;
        all++;
    }
    if (all != 0)
        return (double)own / (double)all;
    if (whole->guess_weight == 0)
        return column == SHARES_UNKNOWN ? 1 : 0;
    return (double)whole->columns[column].weight / (double)whole->guess_weight;
}
