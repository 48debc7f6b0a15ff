/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Balances a network without regard to prices, in linear time. Internal to next/. */
#pragma once

#include "flow_network.h"

/*
 * Raise flows until no vertex has too much or too little: what is missing comes along the arcs of a
 * tree from outside, what is too much goes along those of a tree to outside. False without memory.
 */
bool flow_balance_leftovers(struct flow_network *network);
