/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions of the input that BOLT has folded into one (-icf), and how their instructions
 * correspond. Internal to profile/remap/.
 *
 * Of several functions with equal code BOLT keeps one and redirects all calls to it. A remapped
 * profile has the samples of all of them in the kept function, the "body". The functions that run
 * the body's code, the kept one included, are its "members": each has an equal instruction for each
 * instruction of the body.
 */
#pragma once

#include "original.h"

/* An instruction of a body. */
struct folded_place {
    uint32_t offset; /* from the function's start */
    uint8_t length;
    uint8_t kind; /* enum bat_instruction_kind */
};

/* How a member's code compares with its body's. */
enum folded_fit {
    FOLDED_UNREAD,
    FOLDED_EQUAL,   /* the same instructions at the same offsets */
    FOLDED_SHIFTED, /* the same instructions but for no-operations and lengths of branches */
    FOLDED_LEADS,   /* jumps alone, to the start of the body's function: BOLT inlined that */
    FOLDED_DIFFERS,
};

/* A function that runs a body's code in the output. */
struct folded_member {
    uint64_t start;
    uint64_t size;
    uint32_t body;
    uint32_t *offsets;   /* in this function, of each of the body's places; BAT_NONE for one that it
                            lacks; NULL unless FOLDED_SHIFTED */
    uint8_t fit;         /* enum folded_fit */
    uint32_t references; /* after folded_find_pointers(): their number, in code and in data */
};

struct folded_body {
    uint32_t first_member; /* the function that was kept */
    uint32_t member_count; /* that one included */
    uint32_t place_count;
    struct folded_place *places; /* ascending; NULL until folded_read() */
};

/* Data of the input that holds a pointer to a member, or a call by a slot that does (x86-64). */
struct folded_pointer {
    uint64_t place; /* the data's address, or the call's */
    uint32_t member;
};

struct folded {
    const struct bat_original *original;
    struct folded_body *bodies;
    struct folded_member *members; /* grouped by body */
    uint32_t body_count;
    uint32_t *member_of;       /* for each input function: its index in members, or BAT_NONE */
    struct bat_plt_entry *plt; /* the input's entries, ascending */
    size_t plt_count;
    struct folded_pointer *pointers; /* by place, after folded_find_pointers() */
    uint32_t pointer_count;
    size_t pointer_capacity;
};

/* Find what was folded. Linear in the paired functions, n log n in the folded ones. */
enum bat_code folded_open(struct folded *folded, const struct bat_original *original);
void folded_close(struct folded *folded);

/* The body whose kept function holds an input address; BAT_NONE if there is none. */
uint32_t folded_body_at(const struct folded *folded, uint64_t address);

/* Read a body's code, once. For all bodies and members together, linear in the input's code. */
enum bat_code folded_read(struct folded *folded, uint32_t number);

/* The instruction at an address of a body that has been read; NULL if none starts there. */
const struct folded_place *folded_place_at(const struct folded *folded, uint32_t number,
                                           uint64_t address);

/* Compare a member's code with its body, once. The body has been read. */
enum bat_code folded_compare(struct folded *folded, uint32_t number);

/*
 * The address in a member that corresponds to an address of its body; false if it has none. Of a
 * member that only leads to the body, it is the body's own.
 */
bool folded_move(const struct folded *folded, uint32_t number, uint64_t address, uint64_t *moved);

/* The pointer that the branch or call at an address of the input takes from a slot, or NULL. */
const struct folded_pointer *folded_by_slot(const struct folded *folded, uint64_t branch);

/*
 * The member that the input's branch or call at `branch` names, directly or by a slot's or PLT
 * entry's relocation, when its remapped trace goes to the address `to` of a body that has been
 * read. BAT_NONE if it is another instruction, or its target does not correspond to `to`.
 */
enum bat_code folded_named(struct folded *folded, uint64_t branch, uint64_t to, uint32_t *member);

/*
 * Find the pointers to each member that the input's relocations make (-Wl,-q), in data and in code.
 * There are none if the file has no such relocations, or is not of x86-64 or AArch64. Linear in the
 * relocations, n log n in the pointers; fails with BAT_ERR_MEMORY.
 */
enum bat_code folded_find_pointers(struct folded *folded);
