/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Samples counted by ranges of addresses of one size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bat_profile.h"

struct heatmap_bucket {
    uint64_t number; /* its address divided by the size of buckets */
    uint64_t count;
};

/* By number. */
struct heatmap_buckets {
    struct heatmap_bucket *all;
    size_t count;
    size_t capacity;
};

void heatmap_free(struct heatmap_buckets *buckets);

/*
 * Count all samples of the profile from address min to max, in empty buckets of size bytes: each
 * run of code for all buckets that it touches. Runs of more than 64 KiB are taken for faults of the
 * profile. False if there is no memory.
 */
bool heatmap_count(struct heatmap_buckets *buckets, const struct bat_profile *profile,
                   uint64_t size, uint64_t min, uint64_t max);

/* Join each `factor` buckets to one. */
void heatmap_join(struct heatmap_buckets *buckets, uint64_t factor);
