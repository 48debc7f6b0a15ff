/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * One profile of several binaries, which pre-aggregated text with build-ids is read into: its
 * addresses hold the number of the binary. Afterwards it is split. Internal to the library.
 */
#pragma once

#include "profile.h"

/* Of the address of a branch: it is known as a return. Other binaries see a return outside. */
#define BAT_JOINT_RETURN ((uint64_t)1 << 47)

struct bat_joint;

/* For the binaries of these profiles, which must outlive it. NULL if there is no memory. */
struct bat_joint *bat_joint_new(struct bat_profile *const *profiles, size_t count);
void bat_joint_free(struct bat_joint *joint);

/*
 * The address in a joint profile of an offset in the binary whose build-id the name is in
 * hexadecimal; constants are as they were. False if it is none of them.
 */
bool bat_joint_place(const struct bat_joint *joint, const uint8_t *name, size_t size,
                     uint64_t offset, uint64_t *address);

/*
 * Add what a joint profile holds to the profiles, which are empty parts of those that the joint was
 * made with, and to counters. Fails as bat_counts_add().
 */
enum bat_code bat_joint_split(const struct bat_joint *joint, const struct bat_profile *from,
                              struct bat_profile *const *parts,
                              struct bat_profiles_counters *counters);
