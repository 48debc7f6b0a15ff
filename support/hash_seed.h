/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Seeds of hash tables. Profiles may come from untrusted hosts: if hashes were predictable, a
 * profile's keys could be chosen to share one slot, and a table's work would grow with the square
 * of their number. Internal to the library.
 */
#pragma once

#include <stdint.h>

/* A seed that the author of the input cannot know. No result may depend on it. */
uint64_t bat_hash_seed(void);
