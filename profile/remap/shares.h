/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Divides the samples of a folded body (binary/original/folded.h) among its members. Internal to
 * the library.
 *
 * A direct branch or call of the input names the member that it goes to, so the member of the run
 * behind it is known. Every other run starts where runs of the body ended: at a branch inside the
 * body, or at a call that returns. Such a run divides among the members as the runs that ended
 * there. For a run that starts by a pointer or from outside the binary, the member is not known:
 * each of the pointers to members that the input's relocations make is as likely as the others.
 */
#pragma once

#include "binary/original/folded.h"
#include "support/counts.h"

/* How a trace enters a body, or leaves one. */
enum shares_way {
    SHARES_KNOWN,   /* from outside of all bodies: its member is named, or stays unknown */
    SHARES_CALLED,  /* from a branch or call of a body, whose members may name different targets */
    SHARES_INNER,   /* by a branch inside the body */
    SHARES_RETURN,  /* a return from a call that the body makes */
    SHARES_PIECE,   /* a run whose record has no branch */
    SHARES_LEAVES,  /* leaves: its branch is in a body, its run is in none */
    SHARES_RETURNS, /* leaves by a return to a call that names the member */
};

/* A trace in a folded body. */
struct shares_trace {
    uint64_t branch;
    uint64_t from;
    uint64_t to;
    uint64_t count;
    uint64_t mispredictions;
    uint64_t call;      /* the body's call that the run starts behind (its address), or 0 */
    uint32_t into;      /* the body that holds the run, or BAT_NONE */
    uint32_t out_of;    /* the body that holds the branch, or BAT_NONE */
    uint32_t member;    /* KNOWN, RETURNS: the named member, or BAT_NONE */
    uint32_t site;      /* the trace divides as the runs that end there; or BAT_NONE */
    uint32_t end;       /* the site where its own run ends, or BAT_NONE */
    uint32_t next_out;  /* the next trace out of the same body */
    uint32_t next_into; /* the next trace into the same body */
    uint32_t
        first_pointer; /* KNOWN without member: folded.pointers that the branch may have taken */
    uint32_t end_pointer;
    size_t cells;      /* index of its shares, one for each column of `into` */
    size_t map;        /* CALLED: index in maps; for each column of out_of, the one of `into` */
    uint8_t way;       /* enum shares_way */
    bool is_recursion; /* CALLED: each member calls itself */
};

#define SHARES_UNKNOWN 0u /* the column of the kept function as a guess */

/*
 * A share of a body. A member may have two: samples that are known to be its own, and samples of
 * calls by a pointer, which are divided among the members that pointers refer to.
 */
struct shares_column {
    uint32_t member;
    uint32_t weight; /* of a guess: the calls by pointers are divided in proportion to it */
    bool is_guess;
};

struct shares_body {
    struct shares_column *columns;
    uint32_t column_count; /* 0 if the profile has nothing in the body */
    uint64_t guess_weight; /* sum of the weights; if it is 0, guesses are in SHARES_UNKNOWN */
    size_t capacity;       /* of columns */
    bool has_guesses;      /* calls by pointers enter the body */
    uint32_t weight;       /* number of traces that need a cell for each column */
    uint32_t first_out;    /* trace */
    uint32_t first_into;   /* trace */
    uint32_t site_count;
    bool is_called; /* by members of bodies, other than by recursion */
    size_t entries; /* cells: counts of the traces that enter from outside the body */
    size_t carry;   /* cells: what rounding to whole numbers has left over */
    size_t sites;   /* cells: for each site one for each column */
};

/* An address where runs end; or where runs start that have a record of their branch alone. */
struct shares_site {
    uint32_t body;
    uint32_t row; /* its number among the body's sites */
    size_t cells; /* one for each of the body's columns */
    double comes; /* count of the runs that end here */
    double goes;  /* count of the runs in the body that start from here */
};

struct shares {
    struct folded folded;
    struct shares_body *bodies; /* one for each of folded.bodies */
    uint32_t *column_of;        /* for each of folded.members two, see shares_column_of() */
    uint32_t *named;            /* columns: 2 * member + is_guess, in the order of their making */
    uint32_t named_count;
    struct shares_trace *traces; /* by branch, from, to once shares_find() has sorted them */
    uint32_t count;
    size_t capacity;
    struct shares_site *sites;
    uint32_t site_count;
    struct bat_counts site_of; /* address, true if runs start there: site */
    double *cells;
    uint32_t *maps;
};

enum bat_code shares_open(struct shares *shares, const struct bat_original *original);
void shares_close(struct shares *shares);

/*
 * Take a trace of the input's profile: branch, from, to, count, mispredictions. *is_taken is false
 * if neither end is in a body.
 */
enum bat_code shares_add(struct shares *shares, const uint64_t trace[5], bool *is_taken);

/*
 * Find all shares: the cells of a trace then add up to its count. Limits for columns and sites of a
 * body keep time and memory linear in the traces.
 */
enum bat_code shares_find(struct shares *shares);

/* The last step of shares_find(): fill the cells of traces and sites (divide.c). */
enum bat_code shares_divide(struct shares *shares);

/* Subtract count from a member's share of the runs that ended at a branch: they are given out. */
void shares_use(struct shares *shares, uint64_t branch, uint32_t member, bool is_guess,
                uint64_t count);

/* A step of shares_find(): make the columns of all bodies (columns.c). */
enum bat_code shares_name_columns(struct shares *shares);

/* The member that a body's branch or call names in the code of the member `caller`, or BAT_NONE. */
enum bat_code shares_named_by(struct shares *shares, const struct shares_trace *trace,
                              uint32_t caller, uint32_t *named);

/* A member's column; BAT_NONE if it has none. */
static inline uint32_t shares_column_of(const struct shares *shares, uint32_t member, bool is_guess)
{
    return shares->column_of[2 * (size_t)member + is_guess];
}

static inline uint32_t shares_columns(const struct shares *shares, uint32_t body)
{
    return shares->bodies[body].column_count;
}

/* True if a trace has cells: it may divide among several members. */
static inline bool shares_has_cells(const struct shares_trace *trace)
{
    return trace->into != BAT_NONE && trace->way != SHARES_KNOWN;
}

/* The member that a column of a body stands for. */
static inline uint32_t shares_member(const struct shares *shares, uint32_t body, uint32_t column)
{
    return shares->bodies[body].columns[column].member;
}

/* True if a column has samples that are not known to be its member's. */
static inline bool shares_is_guess(const struct shares *shares, uint32_t body, uint32_t column)
{
    return shares->bodies[body].columns[column].is_guess;
}

/*
 * The part of a trace into a body by a pointer that goes to a column: by the pointers that its
 * branch may have taken, if these are known, otherwise by all.
 */
double shares_guess(const struct shares *shares, const struct shares_trace *trace, uint32_t column);
