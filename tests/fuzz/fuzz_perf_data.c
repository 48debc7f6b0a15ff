/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as perf.data: what is read adds up, is the same through a pipe, and is translated.
 */
#include <string.h>

#include "perf_both_ways.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* What else profiles can be has fuzz targets of its own. */
    static const char magic[] = "PERFILE2";
    if (size < sizeof(magic) - 1 || memcmp(data, magic, sizeof(magic) - 1) != 0)
        return 0;
    read_both_ways(data, size, false);
    read_both_ways(data, size, true);
    return 0;
}
