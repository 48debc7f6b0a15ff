/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "known_instructions.h"

#include <stdlib.h>

#define SLOTS_MIN 64u
#define SLOTS_MAX 65536u
#define BYTES_OF_SLOT 64u /* of code: its instructions are not all different */
#define WAYS 2u           /* slots where one may be */

enum state { EMPTY, BUSY, READY };

struct slot {
    uint64_t bytes[2];
    struct next_instruction instruction;
    uint32_t state;
};

struct next_known {
    unsigned shift;
    struct slot slots[]; /* a power of two */
};

struct next_known *next_known_new(uint64_t code_size)
{
    size_t count = SLOTS_MIN;
    while (count < SLOTS_MAX && count < code_size / BYTES_OF_SLOT)
        count *= 2;
    struct next_known *known = calloc(1, sizeof(*known) + count * sizeof(*known->slots));
    if (known)
        known->shift = 64 - (unsigned)__builtin_ctzll(count);
    return known;
}

void next_known_free(struct next_known *known)
{
    free(known);
}

static size_t place_of(const struct next_known *known, const uint64_t bytes[2])
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t first = bytes[0] * factor;
    return (size_t)(((first ^ first >> 32 ^ bytes[1]) * factor) >> known->shift);
}

bool next_known_find(const struct next_known *known, const uint64_t bytes[2],
                     struct next_instruction *instruction)
{
    const size_t place = place_of(known, bytes);
    for (size_t way = 0; way < WAYS; way++) {
        const struct slot *slot = &known->slots[place ^ way];
        if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == READY &&
            slot->bytes[0] == bytes[0] && slot->bytes[1] == bytes[1]) {
            *instruction = slot->instruction;
            return true;
        }
    }
    return false;
}

void next_known_add(struct next_known *known, const uint64_t bytes[2],
                    const struct next_instruction *instruction)
{
    const size_t place = place_of(known, bytes);
    for (size_t way = 0; way < WAYS; way++) {
        struct slot *slot = &known->slots[place ^ way];
        uint32_t state = EMPTY;
        if (!__atomic_compare_exchange_n(&slot->state, &state, BUSY, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        slot->bytes[0] = bytes[0];
        slot->bytes[1] = bytes[1];
        slot->instruction = *instruction;
        __atomic_store_n(&slot->state, READY, __ATOMIC_RELEASE);
        return;
    }
}
