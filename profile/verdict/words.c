/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "words.h"

#include <stdlib.h>

const char *bat_verdict_status_name(enum bat_verdict_status status)
{
    static const char *const names[] = {[BAT_VERDICT_UNKNOWN] = "unknown",
                                        [BAT_VERDICT_PASSED] = "passed",
                                        [BAT_VERDICT_FAILED] = "failed",
                                        [BAT_VERDICT_SUPPRESSED] = "suppressed"};
    return names[status];
}

const char *bat_verdict_word(const struct bat_verdict_kind *kind,
                             const struct bat_verdict_result *result)
{
    return result->status == BAT_VERDICT_PASSED       ? "fine"
           : result->status == BAT_VERDICT_SUPPRESSED ? "suppressed"
                                                      : bat_severity_name(kind->severity);
}

size_t bat_verdict_made(const struct bat_profile_verdict *check)
{
    size_t made = 0;
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        made += check->results[i].status != BAT_VERDICT_UNKNOWN;
    return made;
}

static void put_words(const struct bat_profile_verdict *check, FILE *file)
{
    fputs(check->is_fit ? "fit" : "unfit", file);
    const char *before = check->is_fit ? ", with warnings: " : ": ";
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++) {
        const struct bat_verdict_kind *kind = bat_verdict_kind((enum bat_verdict_check)i);
        if (check->results[i].status != BAT_VERDICT_FAILED)
            continue;
        fprintf(file, kind->is_share ? "%s%s %.1f%%" : "%s%s %.0f", before, kind->id,
                check->results[i].value * (kind->is_share ? 100 : 1));
        before = ", ";
    }
}

char *bat_verdict_words(const struct bat_profile_verdict *check)
{
    char *text = NULL;
    size_t size;
    FILE *file = bat_verdict_made(check) != 0 ? open_memstream(&text, &size) : NULL;
    if (!file)
        return NULL;
    put_words(check, file);
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}
