/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the fuzz targets for perf.data and for text of perf script share. */
#ifndef FUZZ_PERF_BOTH_WAYS_H
#define FUZZ_PERF_BOTH_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read bytes as a profile, from a file and through a pipe: both give the same or fail, what is read
 * adds up, and written as pre-aggregated text it is translated to the same.
 */
void read_both_ways(const uint8_t *data, size_t size, bool basic_samples);

#endif
