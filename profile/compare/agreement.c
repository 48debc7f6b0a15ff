/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The degree to which two profiles agree: spec/compare.md. */
#include <stdlib.h>

#include "overlaps.h"
#include "spec/order.h"

/* A function of both profiles, or of one. */
struct paired {
    uint32_t function;
    uint64_t counts[2];
    double overlap; /* inside it */
};

/* The next items of two sorted tables. */
struct walk {
    const struct bat_counts *tables[2];
    uint32_t at[2];
};

/*
 * Take the items with the smallest key: *key, and the count in each table, 0 if it does not have
 * it. False at the end.
 */
static bool next_item(struct walk *walk, const uint64_t **key, uint64_t counts[2])
{
    const uint64_t *items[2];
    uint32_t words = walk->tables[0]->words;
    for (unsigned i = 0; i < 2; i++)
        items[i] = walk->at[i] < walk->tables[i]->count
                       ? bat_counts_item(walk->tables[i], walk->at[i])
                       : NULL;
    if (!items[0] && !items[1])
        return false;
    int order = !items[0] ? 1 : !items[1] ? -1 : bat_compare_words(items[0], items[1], words);
    *key = order <= 0 ? items[0] : items[1];
    counts[0] = order <= 0 ? items[0][words] : 0;
    counts[1] = order >= 0 ? items[1][words] : 0;
    walk->at[0] += order <= 0;
    walk->at[1] += order >= 0;
    return true;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* The smaller of the shares that two counts have of two wholes. */
static double smaller_share(const uint64_t counts[2], const uint64_t wholes[2])
{
    double left = share(counts[0], wholes[0]);
    double right = share(counts[1], wholes[1]);
    return left < right ? left : right;
}

/* --- Functions ------------------------------------------------------------------------------- */

/* All functions of both profiles. NULL if there is no memory; the caller frees the list. */
static struct paired *pair_functions(const struct compared *const both[2], uint32_t *count)
{
    struct walk walk = {.tables = {&both[0]->sums, &both[1]->sums}};
    struct paired *all =
        calloc((size_t)both[0]->sums.count + both[1]->sums.count + 1, sizeof(*all));
    const uint64_t *key;
    uint64_t counts[2];
    *count = 0;
    while (all && next_item(&walk, &key, counts))
        all[(*count)++] =
            (struct paired){.function = (uint32_t)key[0], .counts = {counts[0], counts[1]}};
    return all;
}

/* --- Records --------------------------------------------------------------------------------- */

/* Sum up the records, function by function. */
static void compare_records(const struct compared *const both[2], struct paired *functions,
                            struct bat_agreement *agreement)
{
    const uint64_t wholes[2] = {both[0]->samples, both[1]->samples};
    struct walk walk = {.tables = {&both[0]->records, &both[1]->records}};
    struct paired *function = functions;
    const uint64_t *key;
    uint64_t counts[2];
    double common = 0;
    double all = 0;
    while (next_item(&walk, &key, counts)) {
        while (function->function != key[0])
            function++;
        agreement->overlap += smaller_share(counts, wholes);
        function->overlap += smaller_share(counts, function->counts);
        common += (double)(counts[0] < counts[1] ? counts[0] : counts[1]);
        all += (double)(counts[0] < counts[1] ? counts[1] : counts[0]);
        for (unsigned i = 0; i < 2; i++) {
            bool is_only = counts[1 - i] == 0;
            agreement->only_records[i] += is_only;
            agreement->only_samples[i] += is_only ? counts[i] : 0;
        }
    }
    agreement->sample_overlap = all > 0 ? common / all : 0;
}

static void compare_functions(const struct compared *const both[2], const struct paired *functions,
                              uint32_t count, struct bat_agreement *agreement)
{
    const uint64_t wholes[2] = {both[0]->samples, both[1]->samples};
    for (uint32_t i = 0; i < count; i++) {
        const struct paired *function = &functions[i];
        double left = share(function->counts[0], wholes[0]);
        double right = share(function->counts[1], wholes[1]);
        double distance = left < right ? right - left : left - right;
        agreement->functions += left < right ? left : right;
        agreement->similarity += function->overlap * (1 - distance) * (left + right) / 2;
        for (unsigned j = 0; j < 2; j++)
            agreement->only_functions[j] += function->counts[1 - j] == 0;
    }
}

/* Compare both. The caller frees *functions, which is NULL after a failure. */
static enum bat_code compare(const struct bat_overlaps *comparison, uint32_t left, uint32_t right,
                             struct bat_agreement *agreement, struct paired **functions,
                             uint32_t *count, struct bat_error *error)
{
    *agreement = (struct bat_agreement){0};
    *functions = NULL;
    if (!comparison->is_finished || left >= comparison->count || right >= comparison->count)
        return bat_fail(error, BAT_ERR_ARGUMENT, "expected two profiles of a finished comparison");
    const struct compared *const both[2] = {&comparison->all[left], &comparison->all[right]};
    *functions = pair_functions(both, count);
    BAT_TRY_MEMORY(*functions, error, "to compare profiles");
    compare_records(both, *functions, agreement);
    compare_functions(both, *functions, *count, agreement);
    return BAT_OK;
}

enum bat_code bat_overlaps_pair(const struct bat_overlaps *comparison, uint32_t left,
                                uint32_t right, struct bat_agreement *agreement,
                                struct bat_error *error)
{
    struct paired *functions;
    uint32_t count;
    enum bat_code code = compare(comparison, left, right, agreement, &functions, &count, error);
    free(functions);
    return code;
}

/* --- The functions that differ --------------------------------------------------------------- */

/* A function, and by how much it differs. */
struct differing {
    struct bat_function_agreement agreement;
    double difference;
};

/* What of the larger share is not common. */
static double difference_of(const struct bat_function_agreement *agreement)
{
    double left = agreement->shares[0];
    double right = agreement->shares[1];
    double smaller = left < right ? left : right;
    return (left < right ? right : left) - smaller * agreement->overlap;
}

enum bat_code bat_overlaps_functions(const struct bat_overlaps *comparison, uint32_t left,
                                     uint32_t right, bat_function_agreement_fn *found,
                                     void *context, struct bat_error *error)
{
    struct bat_agreement agreement;
    struct paired *functions;
    uint32_t count = 0;
    enum bat_code code = compare(comparison, left, right, &agreement, &functions, &count, error);
    struct differing *all = malloc(((size_t)count + 1) * sizeof(*all));
    if (code == BAT_OK && !all)
        code = bat_fail_memory(error, "to compare profiles");
    for (uint32_t i = 0; i < count && code == BAT_OK; i++) {
        const struct paired *function = &functions[i];
        all[i].agreement = (struct bat_function_agreement){
            .name = bat_strings_get(&comparison->functions, function->function),
            .shares = {share(function->counts[0], comparison->all[left].samples),
                       share(function->counts[1], comparison->all[right].samples)},
            .overlap = function->overlap};
        all[i].difference = difference_of(&all[i].agreement);
    }
    if (code == BAT_OK)
        BAT_SORT(all, count, BAT_DESCENDING(struct differing, difference),
                 BAT_ASCENDING(struct differing, agreement.name));
    for (uint32_t i = 0; i < count && code == BAT_OK; i++)
        if (!found(&all[i].agreement, context))
            code = bat_fail_memory(error, "for the functions");
    free(functions);
    free(all);
    return code;
}
