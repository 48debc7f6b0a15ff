/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Ways to blocks and from them: what dominates a block, and what that is dominated by, up to the
 * entry, is the same in another build, but for what was changed. So it tells which of several
 * blocks with the same code is which: a compiler has inlined the same function in many places.
 * Internal to next/.
 */
#pragma once

#include "flooding.h"

/*
 * Lower likeness->value of pairs whose two blocks both have another pair with code that is about
 * as alike, or more, and with a way that has more in common. Fails with BAT_ERR_MEMORY. n log n for
 * n pairs.
 */
enum bat_code next_compare_ways(const struct flooding_side *old_side,
                                const struct flooding_side *new_side, struct likeness *likeness,
                                struct bat_error *error);
