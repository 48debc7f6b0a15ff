/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes after the record of a mapping, as text of perf script: the samples add up, are the same
 * through a pipe, and are translated.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "perf_both_ways.h"

/* The binary's code, at its linked address. */
#define MAPPINGS                                                                                   \
    "p 1 1.5: PERF_RECORD_MMAP2 1/1: [0x401000(0x1000) @ 0x1000 08:01 4711 1]: r-xp /small.bolt\n" \
    "p 1 1.5: PERF_RECORD_MMAP2 1/1: [0x405000(0x3000) @ 0x5000 08:01 4711 1]: r-xp /small.bolt\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Sometimes without the mapping: the beginning decides the form, and sections begin a file. */
    if (size != 0 && data[0] == 'P') {
        read_both_ways(data, size, false);
        explain_recording(data, size);
        return 0;
    }
    const size_t head = sizeof(MAPPINGS) - 1;
    uint8_t *text = malloc(head + size);
    fuzz_expect(text != NULL, "there is memory for the text");
    memcpy(text, MAPPINGS, head);
    if (size != 0)
        memcpy(text + head, data, size);
    read_both_ways(text, head + size, false);
    explain_recording(text, head + size);
    free(text);
    return 0;
}
