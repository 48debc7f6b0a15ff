/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Which branches perf record -j left out. Entries of a branch stack are neighbours in time only if
 * it left out none: otherwise nothing is known of the code between two of them. Internal to the
 * library.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The bits of branch_sample_type that restrict a branch stack to some branches; 0: it has all, of
 * some privilege. BRANCH_CALL_STACK if it is a call stack, which has no branches.
 */
uint64_t perf_branch_filter(uint64_t branch_type);

/* The same for a line of the header that perf script prints: 0 for other lines. */
uint64_t perf_branch_filter_of_line(const uint8_t *start, const uint8_t *newline);

/* Write a filter as perf record -j names it; see bat_profile_branch_filter(). */
size_t perf_branch_filter_names(uint64_t filter, char *names, size_t size);
