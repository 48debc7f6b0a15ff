/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions that the fuzz targets for perf.data and for text of perf script share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Read bytes as a profile, from a file and through a pipe: both give the same profile or fail, the
 * samples add up, and the profile written as pre-aggregated text has the same translation.
 */
void read_both_ways(const uint8_t *data, size_t size, bool basic_samples);

/*
 * Read bytes as a recording of which no binary is known: the samples of its files are all that were
 * looked at, or fewer, and those with most come first.
 */
void explain_recording(const uint8_t *data, size_t size);
