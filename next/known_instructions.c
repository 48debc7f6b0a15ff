/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "known_instructions.h"

#include <stdlib.h>
#include <string.h>

#include "spec/large_memory.h"

#define SLOTS_MIN 64u
#define SLOTS_MAX 131072u
#define BYTES_OF_SLOT 64u /* of code: its instructions are not all different */
#define WAYS 2u           /* slots where one may be */

/* No instruction has the last of 16 bytes: it tells what is in a slot, which is zero if that is
 * nothing. */
#define READY (UINT64_C(1) << 56)
#define BUSY (UINT64_C(2) << 56)

/* A line of the cache. */
struct slot {
    _Alignas(64) uint64_t first; /* of the bytes */
    uint64_t last;
    struct next_instruction instruction;
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
    void *memory;
    const size_t size = sizeof(struct next_known) + count * sizeof(struct slot);
    if (posix_memalign(&memory, _Alignof(struct next_known), size) != 0)
        return NULL;
    struct next_known *known = memset(bat_large(memory, size), 0, size);
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
        if (__atomic_load_n(&slot->last, __ATOMIC_ACQUIRE) == (bytes[1] | READY) &&
            slot->first == bytes[0]) {
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
        uint64_t empty = 0;
        if (!__atomic_compare_exchange_n(&slot->last, &empty, BUSY, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        slot->first = bytes[0];
        slot->instruction = *instruction;
        __atomic_store_n(&slot->last, bytes[1] | READY, __ATOMIC_RELEASE);
        return;
    }
}
