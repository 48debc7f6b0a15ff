/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as fdata of a BOLTed binary: reading the written file gives the same records, and added
 * to itself it has the same records with twice the counts, or the counts do not fit 64 bits.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "profile_round_trip.h"

static const char header[] = "boltedcollection\n";

/* The header and the bytes, `times` times. */
static char *with_header(const uint8_t *data, size_t size, unsigned times, size_t *total)
{
    *total = sizeof(header) - 1 + times * (size + 1);
    char *text = malloc(*total + 1);
    fuzz_expect(text != NULL, "there is memory for the text");
    char *at = text;
    memcpy(at, header, sizeof(header) - 1);
    at += sizeof(header) - 1;
    for (unsigned i = 0; i < times; i++) {
        memcpy(at, data, size);
        at += size;
        *at++ = '\n';
    }
    return text;
}

static uint64_t count_lines(const char *text, size_t size)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    return lines;
}

/* Translate the text as fdata; NULL if it is not fdata. *written: the bytes of the result. */
static char *translate(const char *text, size_t size, size_t *written)
{
    struct bat_profile *profile = profile_read(text, size);
    if (!profile)
        return NULL;
    char *fdata = profile_translate(profile, written);
    bat_profile_free(profile);
    return fdata;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t total;
    char *text = with_header(data, size, 1, &total);
    size_t written;
    char *fdata = translate(text, total, &written);
    free(text);
    if (!fdata)
        return 0;
    size_t again_written;
    char *again = translate(fdata, written, &again_written);
    fuzz_expect(again && again_written == written && memcmp(again, fdata, written) == 0,
                "fdata that was written stays as it is");
    free(again);
    text = with_header(data, size, 2, &total);
    size_t twice_written;
    char *twice = translate(text, total, &twice_written);
    if (twice)
        fuzz_expect(count_lines(twice, twice_written) == count_lines(fdata, written),
                    "records that come twice are written once");
    free(text);
    free(twice);
    free(fdata);
    return 0;
}
