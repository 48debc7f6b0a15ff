/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Collects the traces of folded bodies and what names their members (shares.h);
 * divide.c then computes the shares.
 */
#include "shares.h"

#include <stdlib.h>

#include "bat_profile.h"
#include "pointer_sources.h"
#include "spec/array.h"
#include "spec/order.h"

enum bat_code shares_open(struct shares *shares, const struct bat_original *original)
{
    *shares = (struct shares){.site_of = bat_counts_new(2)};
    enum bat_code code = folded_open(&shares->folded, original);
    if (code != BAT_OK || shares->folded.body_count == 0)
        return code;
    const struct folded_body *last = &shares->folded.bodies[shares->folded.body_count - 1];
    size_t member_count = (size_t)last->first_member + last->member_count;
    shares->bodies = calloc(shares->folded.body_count, sizeof(*shares->bodies));
    shares->column_of = malloc(2 * member_count * sizeof(*shares->column_of));
    shares->named = malloc(2 * member_count * sizeof(*shares->named));
    if (!shares->bodies || !shares->column_of || !shares->named)
        return BAT_ERR_MEMORY;
    for (size_t i = 0; i < 2 * member_count; i++)
        shares->column_of[i] = BAT_NONE;
    for (uint32_t i = 0; i < shares->folded.body_count; i++)
        shares->bodies[i] = (struct shares_body){.first_out = BAT_NONE, .first_into = BAT_NONE};
    return folded_find_pointers(&shares->folded);
}

void shares_close(struct shares *shares)
{
    for (uint32_t i = 0; shares->bodies && i < shares->folded.body_count; i++)
        free(shares->bodies[i].columns);
    BAT_FREE_ALL(shares->bodies, shares->column_of, shares->named, shares->traces, shares->sites);
    bat_counts_free(&shares->site_of);
    BAT_FREE_ALL(shares->cells, shares->maps);
    folded_close(&shares->folded);
}

/* --- Traces ----------------------------------------------------------------------------------- */

static bool is_place(uint64_t address)
{
    return address != BAT_ADDRESS_EXTERNAL && address < BAT_TRACE_EXTERNAL_RETURN;
}

/* The body's call that returns to an address, or 0. */
static uint64_t call_before(const struct folded *folded, uint32_t body, uint64_t address)
{
    const struct folded_place *place = folded_place_at(folded, body, address);
    if (!place || place == folded->bodies[body].places)
        return 0;
    const struct folded_place *call = place - 1;
    bool is_before = bat_kind_is_call(call->kind) && call->offset + call->length == place->offset;
    return is_before ? address - call->length : 0;
}

/* Fill way, call and, where the branch of another function names it, member. */
static enum bat_code classify(struct shares *shares, struct shares_trace *trace)
{
    struct bat_instruction branch = {.kind = BAT_INSTRUCTION_OTHER};
    if (is_place(trace->branch))
        bat_original_decode(shares->folded.original->elf, trace->branch, &branch);
    const bool is_named =
        bat_kind_has_target(branch.kind) || folded_by_slot(&shares->folded, trace->branch);
    trace->way = SHARES_KNOWN;
    if (trace->into == BAT_NONE) {
        trace->way = branch.kind == BAT_INSTRUCTION_RETURN ? SHARES_RETURNS : SHARES_LEAVES;
        return BAT_OK;
    }
    trace->call = call_before(&shares->folded, trace->into, trace->from);
    if (trace->out_of == trace->into &&
        (bat_kind_is_branch(branch.kind) || branch.kind == BAT_INSTRUCTION_INDIRECT_JUMP))
        trace->way = SHARES_INNER;
    else if (trace->out_of != BAT_NONE && is_named)
        trace->way = SHARES_CALLED;
    else if (is_named ||
             (branch.kind == BAT_INSTRUCTION_INDIRECT_JUMP && trace->out_of == BAT_NONE))
        return folded_named(&shares->folded, trace->branch, trace->from, &trace->member);
    else if (trace->branch == BAT_TRACE_FALLTHROUGH_ONLY)
        trace->way = SHARES_PIECE;
    else if (trace->call != 0)
        trace->way = SHARES_RETURN;
    return BAT_OK;
}

static enum bat_code use_body(struct shares *shares, uint32_t number)
{
    struct shares_body *body = &shares->bodies[number];
    if (body->column_count != 0)
        return BAT_OK;
    body->columns = malloc(2 * sizeof(*body->columns));
    if (!body->columns)
        return BAT_ERR_MEMORY;
    uint32_t kept = shares->folded.bodies[number].first_member;
    body->capacity = 2;
    body->columns[body->column_count++] = (struct shares_column){.member = kept, .is_guess = true};
    shares->column_of[2 * kept + 1] = SHARES_UNKNOWN;
    return folded_read(&shares->folded, number);
}

enum bat_code shares_add(struct shares *shares, const uint64_t trace[5], bool *is_taken)
{
    const struct folded *folded = &shares->folded;
    struct shares_trace taken = {
        .branch = trace[0],
        .from = trace[1],
        .to = trace[2],
        .count = trace[3],
        .mispredictions = trace[4],
        .into = is_place(trace[1]) ? folded_body_at(folded, trace[1]) : BAT_NONE,
        .out_of = is_place(trace[0]) ? folded_body_at(folded, trace[0]) : BAT_NONE,
        .member = BAT_NONE,
        .site = BAT_NONE,
        .end = BAT_NONE,
        .next_out = BAT_NONE,
        .next_into = BAT_NONE,
    };
    *is_taken = taken.into != BAT_NONE || taken.out_of != BAT_NONE;
    enum bat_code code = BAT_OK;
    if (taken.into != BAT_NONE)
        code = use_body(shares, taken.into);
    if (taken.out_of != BAT_NONE && code == BAT_OK)
        code = use_body(shares, taken.out_of);
    if (!*is_taken || code != BAT_OK)
        return code;
    if (!BAT_GROW(shares->traces, shares->count, shares->capacity))
        return BAT_ERR_MEMORY;
    shares->traces[shares->count] = taken;
    return classify(shares, &shares->traces[shares->count++]);
}

/* --- Returns ---------------------------------------------------------------------------------- */

/* A return to a call that names a member belongs to that member. */
static enum bat_code find_returns(struct shares *shares)
{
    struct bat_counts called = bat_counts_new(1); /* return address of a call: its member */
    enum bat_code code = BAT_OK;
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++) {
        const struct shares_trace *trace = &shares->traces[i];
        struct bat_instruction call;
        if (trace->way != SHARES_KNOWN || trace->member == BAT_NONE ||
            !bat_original_decode(shares->folded.original->elf, trace->branch, &call))
            continue;
        uint64_t returns_to = trace->branch + call.length;
        if (bat_kind_is_call(call.kind) && !bat_counts_find(&called, &returns_to))
            code = bat_counts_add(&called, &returns_to, trace->member, 0);
    }
    for (uint32_t i = 0; i < shares->count; i++) {
        struct shares_trace *trace = &shares->traces[i];
        const uint64_t *found = bat_counts_find(&called, &trace->from);
        if (trace->way != SHARES_RETURNS)
            continue;
        if (found && shares->folded.members[found[1]].body == trace->out_of)
            trace->member = (uint32_t)found[1];
        else
            trace->way = SHARES_LEAVES;
    }
    bat_counts_free(&called);
    return code;
}

/* --- Lists ------------------------------------------------------------------------------------ */

/* Fill the weight of each body and the lists of its traces. */
static void weigh(struct shares *shares)
{
    for (uint32_t i = shares->count; i-- > 0;) {
        struct shares_trace *trace = &shares->traces[i];
        if (trace->into != BAT_NONE) {
            trace->next_into = shares->bodies[trace->into].first_into;
            shares->bodies[trace->into].first_into = i;
        }
        if (trace->into != BAT_NONE &&
            (trace->way != SHARES_KNOWN || trace->to == BAT_TRACE_BRANCH_ONLY))
            shares->bodies[trace->into].weight++;
        if (trace->way != SHARES_CALLED && trace->way != SHARES_LEAVES)
            continue;
        struct shares_body *body = &shares->bodies[trace->out_of];
        body->weight++;
        trace->next_out = body->first_out;
        body->first_out = i;
    }
}

/* --- Sites ------------------------------------------------------------------------------------ */

static enum bat_code add_site(struct shares *shares, uint64_t address, bool is_start, uint32_t body,
                              uint32_t *site)
{
    const uint64_t key[2] = {address, is_start};
    const uint64_t *found = bat_counts_find(&shares->site_of, key);
    if (found) {
        *site = (uint32_t)found[2];
        return BAT_OK;
    }
    *site = shares->site_count++;
    shares->sites[*site] =
        (struct shares_site){.body = body, .row = shares->bodies[body].site_count++};
    return bat_counts_add(&shares->site_of, key, *site, 0);
}

static uint32_t find_site(const struct shares *shares, uint64_t address, bool is_start)
{
    const uint64_t key[2] = {address, is_start};
    const uint64_t *found = bat_counts_find(&shares->site_of, key);
    return found ? (uint32_t)found[2] : BAT_NONE;
}

/* Fill the site of a trace: it divides as the runs that end there. */
static enum bat_code find_source(struct shares *shares, struct shares_trace *trace)
{
    switch (trace->way) {
    case SHARES_INNER:
    case SHARES_CALLED:
    case SHARES_LEAVES:
        return add_site(shares, trace->branch, false, trace->out_of, &trace->site);
    case SHARES_PIECE:
        trace->site = find_site(shares, trace->from, true);
        if (trace->site != BAT_NONE || trace->call == 0)
            return BAT_OK;
        return add_site(shares, trace->call, false, trace->into, &trace->site);
    case SHARES_RETURN:
        return add_site(shares, trace->call, false, trace->into, &trace->site);
    default:
        return BAT_OK;
    }
}

static enum bat_code find_sites(struct shares *shares)
{
    enum bat_code code = BAT_OK;
    shares->sites = malloc((2 * (size_t)shares->count + 1) * sizeof(*shares->sites));
    if (!shares->sites)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++) {
        struct shares_trace *trace = &shares->traces[i];
        if (trace->into != BAT_NONE && trace->to == BAT_TRACE_BRANCH_ONLY)
            code = add_site(shares, trace->from, true, trace->into, &trace->end);
    }
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++)
        code = find_source(shares, &shares->traces[i]);
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++) {
        struct shares_trace *trace = &shares->traces[i];
        if (trace->into == BAT_NONE || !is_place(trace->to))
            continue;
        uint32_t end = find_site(shares, trace->to, false);
        trace->end = end != BAT_NONE && shares->sites[end].body == trace->into ? end : BAT_NONE;
    }
    return code;
}

/* --- Cells ------------------------------------------------------------------------------------ */

/*
 * Fill the map of a call: for each column of the caller's body, the column of the called body. Sets
 * is_recursion if every member calls itself.
 */
static enum bat_code fill_map(struct shares *shares, struct shares_trace *trace)
{
    enum bat_code code = BAT_OK;
    trace->is_recursion = trace->into == trace->out_of;
    for (uint32_t i = 0; i < shares_columns(shares, trace->out_of) && code == BAT_OK; i++) {
        uint32_t named;
        uint32_t *column = &shares->maps[trace->map + i];
        bool is_guess = shares_is_guess(shares, trace->out_of, i);
        code = shares_named_by(shares, trace, shares_member(shares, trace->out_of, i), &named);
        *column = named == BAT_NONE ? BAT_NONE : shares_column_of(shares, named, is_guess);
        bool is_kept = named == shares_member(shares, trace->into, SHARES_UNKNOWN);
        if (is_kept && *column == BAT_NONE)
            *column = SHARES_UNKNOWN;
        trace->is_recursion &= *column == i;
    }
    shares->bodies[trace->into].is_called |= !trace->is_recursion;
    return code;
}

static enum bat_code make_cells(struct shares *shares)
{
    size_t cells = 0;
    size_t maps = 0;
    for (uint32_t i = 0; i < shares->folded.body_count; i++) {
        struct shares_body *body = &shares->bodies[i];
        body->entries = cells;
        body->carry = body->entries + body->column_count;
        body->sites = body->carry + body->column_count;
        cells = body->sites + (size_t)body->site_count * body->column_count;
    }
    for (uint32_t i = 0; i < shares->site_count; i++) {
        struct shares_site *site = &shares->sites[i];
        const struct shares_body *body = &shares->bodies[site->body];
        site->cells = body->sites + (size_t)site->row * body->column_count;
    }
    for (uint32_t i = 0; i < shares->count; i++) {
        struct shares_trace *trace = &shares->traces[i];
        trace->cells = cells;
        trace->map = maps;
        cells += shares_has_cells(trace) ? shares_columns(shares, trace->into) : 0;
        maps += trace->way == SHARES_CALLED ? shares_columns(shares, trace->out_of) : 0;
    }
    shares->cells = calloc(cells + 1, sizeof(*shares->cells));
    shares->maps = malloc((maps + 1) * sizeof(*shares->maps));
    enum bat_code code = shares->cells && shares->maps ? BAT_OK : BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < shares->count && code == BAT_OK; i++)
        if (shares->traces[i].way == SHARES_CALLED)
            code = fill_map(shares, &shares->traces[i]);
    return code;
}

void shares_use(struct shares *shares, uint64_t branch, uint32_t member, bool is_guess,
                uint64_t count)
{
    uint32_t site = find_site(shares, branch, false);
    uint32_t column = shares_column_of(shares, member, is_guess);
    if (site == BAT_NONE)
        return;
    double *cell = &shares->cells[shares->sites[site].cells];
    cell += column == BAT_NONE ? SHARES_UNKNOWN : column;
    *cell = *cell > (double)count ? *cell - (double)count : 0;
}

/* --- Pointers --------------------------------------------------------------------------------- */

/* True if a trace enters a body by a pointer, from the input's code. */
static bool is_by_pointer(const struct shares_trace *trace)
{
    return trace->way == SHARES_KNOWN && trace->member == BAT_NONE && trace->into != BAT_NONE &&
           is_place(trace->branch);
}

#define POINTERS_MAX 256u /* of a table: a larger one says little */

/* Fill the pointers of the traces, whose branches ascend, from the sites, which do so, too. */
static void take_sources(struct shares *shares, const struct pointer_site *sites, uint32_t count)
{
    const struct folded *folded = &shares->folded;
    uint32_t site = 0;
    for (uint32_t i = 0; i < shares->count; i++) {
        struct shares_trace *trace = &shares->traces[i];
        while (site < count && sites[site].branch < trace->branch)
            site++;
        if (!is_by_pointer(trace) || site == count || sites[site].branch != trace->branch ||
            sites[site].end == 0)
            continue;
        trace->first_pointer =
            BAT_COUNT_BELOW(folded->pointers, folded->pointer_count, place, sites[site].first);
        trace->end_pointer =
            BAT_COUNT_BELOW(folded->pointers, folded->pointer_count, place, sites[site].end);
        if (trace->end_pointer - trace->first_pointer > POINTERS_MAX)
            trace->end_pointer = trace->first_pointer;
    }
}

/* Find the pointers that branches into bodies may have taken. */
static enum bat_code find_pointers(struct shares *shares)
{
    struct pointer_site *sites = malloc(((size_t)shares->count + 1) * sizeof(*sites));
    struct bat_data_symbols *data = NULL;
    uint32_t count = 0;
    if (!sites)
        return BAT_ERR_MEMORY;
    for (uint32_t i = 0; i < shares->count; i++)
        if (is_by_pointer(&shares->traces[i]) &&
            (count == 0 || sites[count - 1].branch != shares->traces[i].branch))
            sites[count++] = (struct pointer_site){.branch = shares->traces[i].branch};
    enum bat_code code = BAT_OK;
    if (count != 0 && shares->folded.pointer_count != 0)
        code = bat_data_symbols_open(shares->folded.original->elf, &data, NULL);
    if (data && code == BAT_OK)
        code = input_pointer_sources(shares->folded.original, data, sites, count);
    if (code == BAT_ERR_ELF)
        code = BAT_OK; /* without symbols all pointers count */
    if (data && code == BAT_OK)
        take_sources(shares, sites, count);
    bat_data_symbols_free(data);
    free(sites);
    return code;
}

/* --- All of it -------------------------------------------------------------------------------- */

enum bat_code shares_find(struct shares *shares)
{
    BAT_SORT(shares->traces, shares->count, BAT_ASCENDING(struct shares_trace, branch),
             BAT_ASCENDING(struct shares_trace, from), BAT_ASCENDING(struct shares_trace, to));
    enum bat_code code = find_returns(shares);
    weigh(shares);
    code = code ? code : shares_name_columns(shares);
    code = code ? code : find_pointers(shares);
    code = code ? code : find_sites(shares);
    code = code ? code : make_cells(shares);
    return code ? code : shares_divide(shares);
}
