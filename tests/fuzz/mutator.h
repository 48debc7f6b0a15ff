/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Common steps of the custom mutators. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's own mutations, and the function that it calls for ours. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* A sequence of pseudo-random numbers for one mutation. */
static inline uint32_t mutator_draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Numbers at limits: around 0, and around powers of two. */
static inline uint64_t mutator_number(uint64_t *state)
{
    static const unsigned char powers[] = {0,  1,  3,  6,  7,  8,  13, 14,
                                           16, 28, 31, 32, 33, 35, 62, 63};
    uint64_t value = (uint64_t)1 << powers[mutator_draw(state) % sizeof(powers)];
    value += mutator_draw(state) % 5;
    value -= 2;
    return mutator_draw(state) % 4 == 0 ? 0 - value : value;
}
