/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Where BOLT has folded functions into one (-icf): which of them a sample with a call stack ran.
 * Internal to profile/remap/.
 */
#pragma once

#include "bat_profile.h"
#include "binary/original/folded.h"
#include "spec/bat.h"

struct chain_unfolding;

/* original must outlive *unfolding, which is NULL if nothing was folded. Fails as folded_open(). */
enum bat_code chain_unfolding_new(const struct bat_original *original,
                                  struct chain_unfolding **unfolding);

/* NULL is allowed. */
void chain_unfolding_free(struct chain_unfolding *unfolding);

/*
 * Move the frames and the runs of a sample, at the input's addresses, from the function that was
 * kept to the one that was called: what the call, or the jump, names. If it names one only on the
 * way (a function that ends with a jump), the code between must lead to one function alone. Called
 * by a pointer, samples go to the functions in turn, as often as the input has pointers to them,
 * where the call takes its pointer if that is known. Fails with BAT_ERR_MEMORY or BAT_ERR_RANGE.
 */
enum bat_code chain_unfold(struct chain_unfolding *unfolding, uint64_t *frames, size_t depth,
                           struct bat_chain_run *runs, size_t run_count, uint64_t count);
