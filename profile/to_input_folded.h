/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Functions of the input that BOLT has folded into one (-icf), as their code tells. Internal to
 * to_input*.c.
 *
 * Of functions with equal code BOLT keeps one, and all calls go there. A profile that is moved to
 * the input has all of their samples in the function that was kept, the "body". The input's code
 * has an equal instruction in each of the others, its "members".
 */
#ifndef BAT_PROFILE_TO_INPUT_FOLDED_H
#define BAT_PROFILE_TO_INPUT_FOLDED_H

#include "original.h"

/* An instruction of a body. */
struct folded_place {
    uint32_t offset; /* from the function's start */
    uint8_t length;
    uint8_t kind; /* enum bat_instruction_kind */
    uint64_t target;
};

/* How a member's code compares with its body's. */
enum folded_fit {
    FOLDED_UNREAD,
    FOLDED_EQUAL,   /* the same instructions at the same offsets */
    FOLDED_SHIFTED, /* the same instructions, no-operations and lengths of branches aside */
    FOLDED_DIFFERS,
};

/* A function that runs a body's code in the output. */
struct folded_member {
    uint64_t start;
    uint64_t size;
    uint32_t body;
    uint32_t *offsets; /* of the body's places in this function, BAT_NONE for those that it does not
                          have; NULL unless FOLDED_SHIFTED */
    uint8_t fit;       /* enum folded_fit */
};

struct folded_body {
    uint32_t first_member; /* the function that was kept */
    uint32_t member_count; /* that one included */
    uint32_t place_count;
    struct folded_place *places; /* ascending; NULL until they are read */
};

struct folded {
    const struct bat_original *original;
    struct folded_body *bodies;
    struct folded_member *members; /* those of a body one after the other */
    uint32_t body_count;
    uint32_t *member_of; /* of each input function: member, or BAT_NONE */
};

/* What was folded. Linear in what original has paired, n log n in what was folded. */
enum bat_code folded_open(struct folded *folded, const struct bat_original *original);
void folded_close(struct folded *folded);

/* The body whose kept function holds an input address, or BAT_NONE. */
uint32_t folded_body_at(const struct folded *folded, uint64_t address);

/* Read a body's code, once. All bodies and members together: linear in the input's code. */
enum bat_code folded_read(struct folded *folded, uint32_t body);

/* The instruction of a body that has been read, by its address; NULL if none starts there. */
const struct folded_place *folded_place_at(const struct folded *folded, uint32_t body,
                                           uint64_t address);

/* Compare a member's code with its body, which has been read, once. */
enum bat_code folded_compare(struct folded *folded, uint32_t member);

/* The place of a member that stands for an address of its body; false if it has none. */
bool folded_move(const struct folded *folded, uint32_t member, uint64_t address, uint64_t *moved);

/*
 * The member that the direct branch or call at an input address goes to, where the output went to
 * the address `to` of a body that has been read; BAT_NONE if it is no such branch.
 */
enum bat_code folded_named(struct folded *folded, uint64_t branch, uint64_t to, uint32_t *member);

#endif
