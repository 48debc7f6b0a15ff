/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Carries the profile of one build of a program to another build of it (spec/next.md). Internal to
 * the library and the tools.
 */
#pragma once

#include "bat_profile.h"

/* Counts of the old profile's records from functions, by what became of the function. */
struct next_share {
    uint64_t functions;
    uint64_t count;
};

/* A function of the old program with samples whose code changed, or that is gone. */
struct next_changed {
    char *name;     /* owned, as new_name */
    char *new_name; /* NULL: it is gone */
    uint64_t count;
    float likeness; /* of the code, 0 to 1 */
    bool is_own;    /* counted in own of the report */
    bool is_found;  /* ... and in found */
};

/* What became of a profile. */
struct next_report {
    struct next_share all;           /* functions of the old program with samples */
    struct next_share same;          /* ... whose code is the same: carried count for count */
    struct next_share by_name;       /* ... changed, found by name */
    struct next_share by_plain_name; /* ... but for parameters and what is appended */
    struct next_share by_code;       /* ... found by their code, under another name */
    struct next_share gone;          /* ... not found */
    uint64_t folded;                 /* functions that are one with another of all from now on */
    struct next_share unfolded;      /* functions that were one with another; counts of both */
    uint64_t unfolded_guessed;       /* ... of these, without a call that tells which */
    /* Without what other programs have, too: start-up code, standard libraries. */
    struct next_share own;
    struct next_share found;      /* ... of that, in code that is the new program's, too */
    uint64_t inlined_functions;   /* put in place of their calls, because one build inlines them */
    uint64_t copies;              /* functions without an old one that got another's counts */
    uint64_t unknown;             /* ... that are called, and have what their code tells */
    uint64_t same_blocks;         /* in functions that did not change, counts of blocks */
    uint64_t blocks;              /* in changed functions, counts of blocks */
    uint64_t blocks_matched;      /* ... that an old block is known for */
    bool has_lines;               /* both have debug information: source lines were compared */
    uint64_t limited;             /* functions whose flow took too much work to be the best */
    struct next_changed *changed; /* those that lost the most first: count and unlikeness */
    size_t changed_count;
};

void next_report_free(struct next_report *report);

/* One row for each way in which functions were found: what became of their counts. */
struct next_way {
    const char *words; /* "... functions", plural */
    struct next_share share;
};

#define NEXT_WAYS 5u

void next_report_ways(const struct next_report *report, struct next_way ways[NEXT_WAYS]);

/* Where a count of a block of the new program is from. */
struct next_explained {
    const char *unit;         /* of the new program: the function ... */
    const char *function;     /* ... or its cold part that has the block */
    uint32_t offset;          /* of the block in it */
    const char *old_function; /* NULL: nothing is matched with the block */
    uint32_t old_offset;
    bool is_piece;    /* the block has a part of the old one's code */
    float confidence; /* of the match, 0 to 1: by code and all around */
    float content;    /* how alike the instructions are, 0 to 1 */
    uint64_t old_count;
    uint64_t count;
};

/* Receives a block, valid during the call, with context. */
typedef void next_explain_fn(const struct next_explained *block, void *context);

/* Where a program's debug information is looked for: as bat_debuginfo_open() does. */
struct next_debug {
    const char *path; /* the program's; NULL: nowhere */
    const char *file; /* where alone it is; NULL: where the program says */
};

struct next_carry_options {
    const char *explain; /* a function whose blocks are explained, if it changed; NULL: all are */
    next_explain_fn *explained; /* NULL: none is */
    void *explain_context;
    struct bat_elf *old_symbols; /* an unstripped copy of the old program, or NULL */
    struct bat_elf *new_symbols; /* ... of the new one */
    /* Lines of the source are compared if both have debug information; without any, or with one of
     * another build, they are not. */
    struct next_debug old_debug;
    struct next_debug new_debug;
    unsigned threads; /* 0: one for each processor */
    /* Less of the old profile's count or functions found, in parts of 1, is a foreign program; see
     * next_check_foreign(). */
    double found_min;
};

#define NEXT_FOUND_MIN 0.2

/*
 * Carry records of old_elf's code, as bat_profile_translate() or bat_profile_translate_moved() made
 * them, to new_elf: profile, which is of new_elf, gets them as records of fdata. It is empty, or
 * has those of other old programs, to which these are added. Its translation
 * (bat_profile_translate()) can then be judged and written.
 *
 * Fails with BAT_ERR_MISMATCH if the new program does not have the code of the old profile or is
 * for another machine, BAT_ERR_UNSUPPORTED for other machines than x86-64 and AArch64 and for basic
 * samples, BAT_ERR_MEMORY, and as bat_elf_symbols() and bat_functions_create() do. Time is linear
 * in both programs, n log n in their symbols, and for functions with samples linear in their blocks
 * with a few candidates each. The caller frees *report with next_report_free(), also after a
 * failure.
 */
enum bat_code next_carry(const struct bat_records *old_records, struct bat_elf *old_elf,
                         struct bat_elf *new_elf, const struct next_carry_options *options,
                         struct bat_profile *profile, struct next_report *report,
                         struct bat_error *error);
