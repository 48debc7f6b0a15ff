/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "hash_seed.h"

#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

uint64_t bat_hash_seed(void)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    return 1; /* the same inputs then take the same ways through tables */
#endif
    uint64_t seed;
    if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed))
        return seed;
    /* A sandbox without random numbers: the stack's address and the time are hard to guess. */
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    seed = (uint64_t)(uintptr_t)&now;
    return seed * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
}
