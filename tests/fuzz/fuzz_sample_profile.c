/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as a sample profile of LLVM, binary or text: what is read once is read again as the
 * same profile, which overlaps with the first completely.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "profile/compare/add_file.h"

static enum bat_code read_once(struct bat_overlaps *comparison, const char *text, size_t size)
{
    struct bat_error error;
    bool has_md5 = false;
    enum bat_code code =
        bat_is_sample_binary(text, size)
            ? bat_overlaps_add_sample_binary(comparison, text, size, &has_md5, &error)
            : bat_overlaps_add_autofdo(comparison, text, &has_md5, &error);
    fuzz_expect(code == BAT_OK || error.message[0], "a failure has a message");
    return code;
}

static void compare(struct bat_overlaps *comparison)
{
    struct bat_error error;
    struct bat_agreement agreement;
    const struct bat_overlaps_size first = bat_overlaps_size(comparison, 0);
    const struct bat_overlaps_size second = bat_overlaps_size(comparison, 1);
    fuzz_expect(first.records == second.records && first.samples == second.samples &&
                    first.functions == second.functions,
                "both have as many records");
    if (first.records == 0)
        return;
    fuzz_expect(bat_overlaps_finish(comparison, &error) == BAT_OK &&
                    bat_overlaps_pair(comparison, 0, 1, &agreement, &error) == BAT_OK,
                "profiles that were read can be compared");
    fuzz_expect(fabs(agreement.overlap - 1) < 1e-6 && agreement.only_records[0] == 0 &&
                    agreement.only_records[1] == 0,
                "a profile overlaps with itself");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bat_overlaps *comparison = NULL;
    struct bat_error error;
    char *text = malloc(size + 1);
    fuzz_expect(text && bat_overlaps_new(&comparison, &error) == BAT_OK, "there is memory");
    if (size != 0)
        memcpy(text, data, size);
    text[size] = '\0';
    enum bat_code code = read_once(comparison, text, size);
    enum bat_code again = read_once(comparison, text, size);
    fuzz_expect(code == again, "reading again ends alike");
    if (code == BAT_OK)
        compare(comparison);
    bat_overlaps_free(comparison);
    free(text);
    return 0;
}
