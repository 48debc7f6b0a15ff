/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as .eh_frame, and as the exception table of a function, each read from an exact copy:
 * a walk ends, makes at most an entry for each few bytes, and gives the same each time.
 */
#include <stdlib.h>
#include <string.h>

#include "binary/code/exceptions.h"
#include "binary/functions/eh_frame.h"
#include "field_mutator.h"
#include "fuzz.h"
#include "mutator.h"

#define ADDRESS 0x404000u

/* Walk over all FDEs; returns a sum of what was found. */
static uint64_t walk_frames(const uint8_t *bytes, size_t size, uint64_t address)
{
    struct bat_fde_walk walk;
    bat_fde_begin_bytes(&walk, bytes, size, address);
    uint64_t sum = 0;
    size_t count = 0;
    for (;;) {
        struct bat_fde fde = {.address = 0};
        bool found = false;
        struct bat_error error;
        enum bat_code code = bat_fde_next(&walk, &fde, &found, &error);
        if (code != BAT_OK) {
            fuzz_expect_error(code, &error, UINT64_MAX);
            return sum * 31 + 1;
        }
        if (!found)
            return sum;
        fuzz_expect(++count <= size / 8, "an entry takes bytes");
        sum = ((sum * 31 + fde.address) * 31 + fde.size) * 31 + fde.lsda;
    }
}

static uint64_t walk_call_sites(const uint8_t *bytes, size_t size, uint64_t address)
{
    struct bat_call_site_walk walk;
    uint64_t sum = bat_call_site_begin(&walk, bytes, size, address, address - 0x1000);
    struct bat_call_site site;
    for (size_t count = 0; bat_call_site_next(&walk, &site);) {
        fuzz_expect(++count <= size / 4, "a call site takes bytes");
        fuzz_expect(site.start <= site.end, "a call site does not end before it starts");
        sum = ((sum * 31 + site.start) * 31 + site.end) * 31 + site.landing_pad;
    }
    fuzz_expect(!bat_call_site_next(&walk, &site), "a walk that has ended stays so");
    return sum;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct mutated mutated = {data, size, seed};
    uint32_t choice = mutated_draw(&mutated, 4);
    if (size < 8 || choice == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (choice == 1)
        mutate_number(&mutated, (struct mutated_part){0, size});
    else
        mutate_unit(&mutated, (struct mutated_part){0, size});
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    fuzz_expect(copy, "there is memory for a copy");
    if (size != 0)
        memcpy(copy, data, size);
    uint64_t address = size % 3 ? ADDRESS : 0 - (uint64_t)size;
    fuzz_expect(walk_frames(copy, size, address) == walk_frames(copy, size, address),
                "a second walk gives what the first gave");
    for (size_t start = 0; start < size && start < 64; start += 16)
        fuzz_expect(walk_call_sites(copy + start, size - start, address) ==
                        walk_call_sites(copy + start, size - start, address),
                    "a second walk gives what the first gave");
    free(copy);
    return 0;
}
