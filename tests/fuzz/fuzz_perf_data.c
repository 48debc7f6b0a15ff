/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as perf.data: the samples add up, are the same through a pipe, and are translated.
 */
#include <string.h>

#include "perf_both_ways.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Other forms of profiles have other fuzz targets. */
    static const char magic[] = "PERFILE2";
    if (size < sizeof(magic) - 1 || memcmp(data, magic, sizeof(magic) - 1) != 0)
        return 0;
    read_both_ways(data, size, false);
    read_both_ways(data, size, true);
    return 0;
}
