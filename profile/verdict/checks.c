/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The checks, and their limits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suppressions.h"

static const struct bat_verdict_kind kinds[BAT_VERDICT_CHECKS] = {
    [BAT_VERDICT_READ] = {"read", BAT_ERROR, false, false, false, 0,
                          "profiles that cannot be read"},
    [BAT_VERDICT_BUILD_ID] = {"build-id", BAT_ERROR, false, false, false, 0,
                              "profiles of other builds"},
    [BAT_VERDICT_PROFILES] = {"profiles", BAT_ERROR, false, true, false, 1,
                              "profiles with records"},
    [BAT_VERDICT_SAMPLES] = {"samples", BAT_ERROR, false, true, false, 1, "samples in the binary"},
    [BAT_VERDICT_STACKS] = {"branch-stacks", BAT_ERROR, true, false, false, 0.5,
                            "samples without a branch stack"},
    [BAT_VERDICT_OUTSIDE] = {"outside", BAT_ERROR, true, false, false, 0.9,
                             "samples outside of the binary"},
    [BAT_VERDICT_NOWHERE] = {"nowhere", BAT_ERROR, true, false, false, 0.1,
                             "samples where the binary has no code"},
    [BAT_VERDICT_KERNEL] = {"kernel", BAT_WARNING, true, false, false, 0.5,
                            "branches from or to the kernel"},
    [BAT_VERDICT_LOST] = {"lost", BAT_WARNING, true, false, false, 0.05,
                          "records lost while recording"},
    [BAT_VERDICT_BRANCHES] = {"branches", BAT_ERROR, true, false, true, 0.05,
                              "branches that are none in the code"},
    [BAT_VERDICT_TARGETS] = {"targets", BAT_ERROR, true, false, true, 0.05,
                             "branches that do not go there in the code"},
    [BAT_VERDICT_RUNS] = {"runs", BAT_ERROR, true, false, false, 0.05,
                          "fall-throughs that are not one run of code"},
    [BAT_VERDICT_INSTRUCTIONS] = {"instructions", BAT_ERROR, true, false, true, 0.05,
                                  "basic samples inside of instructions"},

    [BAT_VERDICT_STALE] = {"stale", BAT_ERROR, true, false, true, 0.1,
                           "samples that llvm-bolt will refuse"},
    [BAT_VERDICT_DENSITY] = {"density", BAT_WARNING, false, true, false, 60,
                             "executed bytes for each byte of hot code"},
    [BAT_VERDICT_FLOW] = {"flow", BAT_WARNING, true, false, true, 0.2,
                          "flow into code without flow out of it"},
    [BAT_VERDICT_ENTRIES] = {"entries", BAT_WARNING, true, false, true, 0.2,
                             "calls of functions without runs there"},
    [BAT_VERDICT_CALLS] = {"calls", BAT_WARNING, true, false, true, 0.3,
                           "calls without returns behind them"},
    [BAT_VERDICT_CONTINUITY] = {"continuity", BAT_WARNING, true, false, true, 0.1,
                                "runs that the function's entry does not reach"},
    [BAT_VERDICT_NEW_CODE] = {"new-code", BAT_WARNING, true, false, true, 0.1,
                              "samples in code that was cold in the last build"},
    [BAT_VERDICT_OLD_CODE] = {"old-code", BAT_ERROR, true, false, true, 0.1,
                              "samples in the code of functions before BOLT moved them"},
    [BAT_VERDICT_FOUND] = {"found", BAT_ERROR, true, true, true, 0.5,
                           "samples in functions that the next build has, too"},
    [BAT_VERDICT_INFERRED] = {"inferred", BAT_WARNING, true, false, false, 0.3,
                              "counts of the next build's blocks that no old block gives"},
    [BAT_VERDICT_BASELINE_SAMPLES] = {"baseline-samples", BAT_ERROR, true, true, false, 0.7,
                                      "samples, of as many as in the baseline"},
    [BAT_VERDICT_BASELINE] = {"baseline", BAT_WARNING, true, true, false, 0.5,
                              "overlap of functions with the baseline"},
};

const struct bat_verdict_kind *bat_verdict_kind(enum bat_verdict_check check)
{
    return (unsigned)check < BAT_VERDICT_CHECKS ? &kinds[check] : NULL;
}

struct bat_verdict_options bat_verdict_options_new(void)
{
    struct bat_verdict_options options = {0};
    for (size_t i = 0; i < BAT_VERDICT_CHECKS; i++)
        options.limits[i] = -1;
    return options;
}

enum bat_verdict_check bat_verdict_find(const char *id, size_t size)
{
    size_t i = 0;
    while (i < BAT_VERDICT_CHECKS &&
           (strlen(kinds[i].id) != size || memcmp(kinds[i].id, id, size) != 0))
        i++;
    return (enum bat_verdict_check)i;
}

bool bat_verdict_parse_limit(struct bat_verdict_options *options, const char *text,
                             const char **expected)
{
    const char *value = strchr(text, '=');
    enum bat_verdict_check check =
        value ? bat_verdict_find(text, (size_t)(value - text)) : BAT_VERDICT_CHECKS;
    *expected = "the id of a check (--list-checks), = and its limit";
    if (check == BAT_VERDICT_CHECKS)
        return false;
    bool is_share = kinds[check].is_share;
    char *end;
    double limit = strtod(++value, &end);
    bool is_number = end != value && (value[0] == '.' || (value[0] >= '0' && value[0] <= '9'));
    *expected = is_share ? "a percentage from 0 to 100" : "a number";
    end += is_share && *end == '%';
    if (!is_number || *end || !isfinite(limit) || (is_share && limit > 100))
        return false;
    options->limits[check] = is_share ? limit / 100 : limit;
    return true;
}
