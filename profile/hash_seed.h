/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Seeds of hash tables. Profiles come from hosts that need not be trusted: with hashes that are
 * known in advance, keys can be chosen so that all of them share one slot, and a table's work grows
 * with the square of their number. Internal to the library.
 */
#ifndef BAT_PROFILE_HASH_SEED_H
#define BAT_PROFILE_HASH_SEED_H

#include <stdint.h>

/* A seed that whoever wrote the input cannot know. No results may depend on it. */
uint64_t bat_hash_seed(void);

#endif
