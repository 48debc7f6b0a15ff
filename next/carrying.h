/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the steps of next_carry() share. Internal to next/. */
#pragma once

#include "carry.h"
#include "make_graph.h"
#include "match_blocks.h"
#include "match_functions.h"
#include "profile/profile.h"

/* The counts of a unit of the new program that were inferred. */
struct next_new_counts {
    uint64_t *blocks;
    uint64_t *edges;
    uint64_t entries;  /* from calls and from outside */
    uint64_t *entered; /* of blocks, from elsewhere */
    uint8_t *is_known; /* blocks that an old one is known for */
    uint64_t known;    /* sum of the counts of blocks that an old block is known for */
};

/* Calls by pointer at a place of the new program go where those of the old one went. */
struct next_call_origin {
    uint32_t function;
    uint32_t offset;
    uint32_t old_function;
    uint32_t old_offset;
};

/* A new function is called where an old one was: it may have taken its place. */
struct next_replacement {
    uint32_t new_unit;
    uint32_t old_unit;
    uint64_t count; /* of calls */
};

/* What an old unit is in the new program. */
struct next_members {
    struct next_member *all;
    size_t count; /* 0, or 2 and more */
};

struct next_inlining_sets;

struct next_carrying {
    const struct next_carry_options *options;
    struct next_program olds;
    struct next_program news;
    struct bat_records records; /* of olds: the caller's, or with those that are folded ... */
    struct bat_counts folded_branches; /* ... then it has these */
    struct next_measured measured;
    struct next_pairs pairs;
    uint8_t *is_same;            /* for each old unit: its code is that of its partner */
    uint64_t *most_calls;        /* for each function of the new program */
    struct next_member *members; /* ascending by old_unit */
    size_t member_count;
    struct next_new_counts **counts; /* for each new unit; NULL: none */
    double *inlined; /* for each old unit: how many of its calls the new program has inlined */
    struct next_call_origin *origins;
    size_t origin_count;
    size_t origin_capacity;
    struct next_replacement *replacements;
    size_t replacement_count;
    size_t replacement_capacity;
    struct next_inlining_sets *inlining; /* NULL before the first next_choose_inlining() */
    struct next_report *report;
    struct bat_error *error;
};

/* Count one more function, with so many samples. */
static inline void next_add_share(struct next_share *share, uint64_t count)
{
    share->functions++;
    share->count += count;
}

/*
 * Set the likeness of pairs with samples, and what the report says of it. BAT_ERR_MISMATCH if less
 * than found_min of the functions is in the new program, too; or of the counts, unless half of the
 * functions are; or if few names are in both.
 */
enum bat_code next_check_foreign(struct next_carrying *carrying);

/* A place of a function. */
struct next_place {
    uint32_t function;
    uint32_t offset;
    const struct next_instruction *instruction; /* NULL: at no instruction */
};

/* True if the code of two units is the same, but for addresses and names. */
bool next_same_code(const struct next_unit *a, const struct next_unit *b);

/* True if this holds for the first part of a, of the old program, and for all others if one of them
 * ran: linkers fold parts, which then are with one function of those that share them. */
bool next_same_that_ran(const struct next_unit *a, const struct next_unit *b,
                        const struct next_counts *counts);

/* Find the place in b that stands for one in a, of program, whose code is the same. False if there
 * is none. */
bool next_same_place(const struct next_program *program, const struct next_unit *a,
                     const struct next_unit *b, uint32_t function, uint64_t offset,
                     struct next_place *place);

/*
 * Let one old unit stand for all that have the same code and, by their names, one place in the new
 * program: linkers fold such functions. carrying->records become those of the old program with the
 * records of these added up. n log n in the symbols and records, linear in the code of these units.
 */
enum bat_code next_fold(struct next_carrying *carrying, const struct bat_records *records);

/* Set is_same: blocks, instructions and edges are the same, but for addresses and names; and where
 * they are not, how alike the two are. */
enum bat_code next_find_same(struct next_carrying *carrying);

/*
 * Divide the counts of old functions that are several in the new program, with the same code: the
 * old linker had folded them. By the recorded calls, where the new code tells which is called;
 * evenly, where none does. Linear in the calls and members, and logarithmic in the members.
 */
enum bat_code next_unfold(struct next_carrying *carrying);

/* What an old unit is in the new program; none if it is one function. Logarithmic. */
struct next_members next_members_of(const struct next_carrying *carrying, uint32_t old_unit);

/* Set most_calls: how often the old program called each function; UINT64_MAX: not known. 0, too,
 * for those that it has not and that do not return. */
enum bat_code next_find_calls(struct next_carrying *carrying);

/* A new unit whose counts are inferred from those of an old one, scaled; or from its code alone. */
struct next_unit_pair {
    uint32_t old_unit; /* BAT_NONE: by its code */
    uint32_t new_unit;
    double entries; /* how often the new one is entered */
    double scale;   /* of the old one's counts */
    bool is_brief;  /* with less work */
};

/* Infer the counts of pairs, in several threads. A unit may be in several pairs: counts add up. */
enum bat_code next_infer_pairs(struct next_carrying *carrying, const struct next_unit_pair *pairs,
                               uint32_t count);

/* Infer the counts of the partners of changed units with samples. */
enum bat_code next_infer_changed(struct next_carrying *carrying);

/* Add to calls, for each new unit, how often it is called by the code whose counts are known: that
 * of the same functions, and what was inferred so far; only_known: of that, by blocks that an old
 * one is known for. Linear in both. */
void next_count_calls(const struct next_carrying *carrying, bool only_known, double *calls);

/* Infer the counts of functions that are called and have none, from those of functions that they
 * are copies of, or have taken the place of. Those of others follow from their calls and code. */
enum bat_code next_infer_new(struct next_carrying *carrying);

/*
 * Find new units without counts that are called in place of an old one that ran, and nearly have
 * its code: pairs, which has room for all new units. Linear in the code with counts, and in that of
 * what it calls.
 */
enum bat_code next_find_variants(struct next_carrying *carrying, struct next_unit_pair *pairs,
                                 uint32_t *count);

/* The counts of a new unit, made at the first use. */
enum bat_code next_new_counts_of(struct next_carrying *carrying, uint32_t unit,
                                 struct next_new_counts **counts);
void next_new_counts_free(struct next_new_counts *counts);

/* Which callees stand in place of their calls in the graphs of two partners, old and new: valid
 * until the next call. Linear in the code of the two and of what they call. */
enum bat_code next_choose_inlining(struct next_carrying *carrying, uint32_t old_unit,
                                   uint32_t new_unit, struct next_inlining inlining[2]);
void next_inlining_sets_free(struct next_inlining_sets *sets);

/* Write all counts to the profile. */
enum bat_code next_write_records(struct next_carrying *carrying, struct bat_profile *profile);
