/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * How the samples of a folded body divide among its members. Internal to to_input*.c.
 *
 * A direct branch or call of the input names the member that it goes to, so the runs that it begins
 * are known. Each other run begins where runs of the body have ended: at a branch inside the body,
 * or at a call that is returned from. It divides as those that ended there. What began with a
 * pointer, or outside of the binary, is not known to be of a member: column 0 has that.
 */
#ifndef BAT_PROFILE_TO_INPUT_SHARES_H
#define BAT_PROFILE_TO_INPUT_SHARES_H

#include "counts.h"
#include "to_input_folded.h"

/* How a trace comes to a body. */
enum shares_way {
    SHARES_KNOWN,   /* from another function's branch or call, to one member; or not known to be */
    SHARES_CALLED,  /* from a branch or call of a body, whose members may name several */
    SHARES_INNER,   /* by a branch inside the body */
    SHARES_RETURN,  /* back from a call that the body makes */
    SHARES_PIECE,   /* the profile does not tell: a run without its branch */
    SHARES_LEAVES,  /* it does not: its branch is in a body, where it goes is not */
    SHARES_RETURNS, /* the same, by a return to a call that names the member */
};

/* A trace in a folded body. */
struct shares_trace {
    uint64_t branch;
    uint64_t from;
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
    uint64_t call;      /* RETURN, and PIECE behind a call: the call's address in the body; or 0 */
    uint32_t into;      /* the body that holds the run, or BAT_NONE */
    uint32_t out_of;    /* the body that holds the branch, or BAT_NONE */
    uint32_t member;    /* KNOWN, RETURNS: or BAT_NONE, if it is not known */
    uint32_t site;      /* whose runs it divides as, or BAT_NONE */
    uint32_t end;       /* the site that its own run counts at, or BAT_NONE */
    uint32_t next_out;  /* another trace out of the same body */
    uint32_t next_into; /* another one into it */
    size_t cells;       /* the first of its shares, one for each column of `into` */
    size_t map;         /* CALLED: the first of the columns of `into`, for each column of out_of */
    uint8_t way;        /* enum shares_way */
    bool is_recursion;  /* CALLED: each member calls itself */
};

#define SHARES_UNKNOWN 0u /* the column of what is not known to be of a member */

struct shares_body {
    uint32_t
        *columns; /* members that something names; SHARES_UNKNOWN stands for the first member */
    uint32_t column_count; /* 0: nothing of the profile is in the body */
    uint32_t capacity;
    uint32_t weight;     /* traces that take a cell for each column */
    uint32_t first_out;  /* trace */
    uint32_t first_into; /* trace */
    uint32_t site_count;
    bool is_called; /* by members of bodies */
    size_t entries; /* cells: how the body was come to from outside */
    size_t carry;   /* cells: for dividing into whole numbers */
    size_t sites;   /* cells: of each site one for each column */
};

/* A place where runs end, or begin if another record tells how. */
struct shares_site {
    uint32_t body;
    uint32_t place; /* number among the body's sites */
    size_t cells;   /* one for each of the body's columns */
    double comes;   /* how much ends here */
    double goes;    /* how much is known to go on in the body */
};

struct shares {
    struct folded folded;
    struct shares_body *bodies; /* as folded.bodies */
    uint32_t *column_of;        /* of each of folded.members; BAT_NONE if nothing names it */
    uint32_t *named;            /* members that have a column */
    uint32_t named_count;
    struct shares_trace *traces; /* by branch, from, to */
    uint32_t count;
    uint32_t capacity;
    struct shares_site *sites;
    uint32_t site_count;
    struct bat_counts site_of; /* address, true if runs begin there: site */
    double *cells;
    uint32_t *maps;
};

enum bat_code shares_open(struct shares *shares, const struct bat_original *original);
void shares_close(struct shares *shares);

/* Take a trace of the input's profile: branch, from, to, count, mispredictions. *is_taken is false
 * if it has nothing to do with a body. */
enum bat_code shares_add(struct shares *shares, const uint64_t trace[5], bool *is_taken);

/*
 * Find all shares: a trace's cells then add up to its count. Bounds on a body's columns and sites
 * keep time and memory linear in the traces.
 */
enum bat_code shares_find(struct shares *shares);

/* The last step of it: fill the traces' and sites' cells (to_input_divide.c). */
enum bat_code shares_divide(struct shares *shares);

/* So many of the runs that ended at a branch are accounted for, as a member's. */
void shares_use(struct shares *shares, uint64_t branch, uint32_t member, uint64_t count);

static inline uint32_t shares_columns(const struct shares *shares, uint32_t body)
{
    return shares->bodies[body].column_count;
}

/* True if it takes cells to tell how a trace divides. */
static inline bool shares_has_cells(const struct shares_trace *trace)
{
    return trace->into != BAT_NONE && trace->way != SHARES_KNOWN;
}

/* The member that a column of a body stands for. */
static inline uint32_t shares_member(const struct shares *shares, uint32_t body, uint32_t column)
{
    return shares->bodies[body].columns[column];
}

#endif
