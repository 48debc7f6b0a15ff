/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which function of the old binary is which of the new one. */
#include <stdlib.h>
#include <string.h>

#include "comparison_report.h"
#include "spec/array.h"

/* The function of each table with hot code, or BAT_NONE. The caller frees it. */
static uint32_t *functions_of_tables(const struct report *report)
{
    uint32_t count = report->binary.map->hot_count;
    uint32_t *functions = malloc(((size_t)count + 1) * sizeof(*functions));
    for (uint32_t i = 0; functions && i < count; i++)
        functions[i] = BAT_NONE;
    for (uint32_t i = 0; functions && i < report->piece_count; i++)
        if (report->pieces[i].table < count)
            functions[report->pieces[i].table] = report->pieces[i].function;
    return functions;
}

static void pair(struct report_comparison *comparison, uint32_t old, uint32_t new)
{
    comparison->pairs[OLD][old] = new;
    comparison->pairs[NEW][new] = old;
}

/* Functions that both notes have, and those that one has. */
static void pair_by_facts(struct report_comparison *comparison, const uint32_t *old_functions,
                          const uint32_t *new_functions)
{
    const struct compared_side *sides = comparison->facts.sides;
    for (uint32_t i = 0; i < sides[NEW].count; i++) {
        const struct compared_function *function = &sides[NEW].functions[i];
        uint32_t new = new_functions[function->table];
        if (new == BAT_NONE)
            continue;
        comparison->flags[new] =
            (uint8_t)(function->pair ? function->changes | PAIR_COMPARED : PAIR_APPEARED);
        uint32_t old = function->pair ? old_functions[function->pair->table] : BAT_NONE;
        if (old != BAT_NONE)
            pair(comparison, old, new);
    }
    for (uint32_t i = 0; i < sides[OLD].count; i++) {
        uint32_t old = old_functions[sides[OLD].functions[i].table];
        if (old != BAT_NONE && !sides[OLD].functions[i].pair)
            comparison->went[old] = 1;
    }
}

/* A function and its name in profiles. */
struct named {
    const char *name;
    size_t length; /* of the name, or of what stands before the file and the number */
    uint32_t function;
};

static int compare_names(const struct named *a, const struct named *b)
{
    int order = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_name(const void *left, const void *right)
{
    const struct named *a = left;
    const struct named *b = right;
    int order = compare_names(a, b);
    return order ? order : (a->function > b->function) - (a->function < b->function);
}

/*
 * The functions of a side that have a name and no pair, by name or by its stem. The caller frees
 * them.
 */
static struct named *list_single(const struct report_comparison *comparison, unsigned side,
                                 bool by_stem, uint32_t *count)
{
    const struct report *report = &comparison->sides[side];
    struct named *list = malloc(((size_t)report->function_count + 1) * sizeof(*list));
    *count = 0;
    for (uint32_t i = 0; list && i < report->function_count; i++) {
        const char *name = report->functions[i].name;
        if (comparison->pairs[side][i] == BAT_NONE && name[0])
            list[(*count)++] = (struct named){name, by_stem ? strcspn(name, "/") : strlen(name), i};
    }
    if (list && *count > 1)
        qsort(list, *count, sizeof(*list), by_name);
    return list;
}

static bool is_rewritten(const struct report *report, uint32_t function)
{
    return report->pieces[report->functions[function].main_piece].kind == REPORT_HOT;
}

/*
 * Functions that BOLT left in place in one of the binaries, or in both. Those of one name or stem
 * are paired in the order of addresses.
 */
static bool pair_by_name(struct report_comparison *comparison, bool by_stem)
{
    const struct report *sides = comparison->sides;
    uint32_t counts[2];
    struct named *olds = list_single(comparison, OLD, by_stem, &counts[OLD]);
    struct named *news = list_single(comparison, NEW, by_stem, &counts[NEW]);
    bool fits = olds && news;
    for (uint32_t i = 0, k = 0; fits && i < counts[OLD] && k < counts[NEW];) {
        int order = compare_names(&olds[i], &news[k]);
        if (order == 0 && (!is_rewritten(&sides[OLD], olds[i].function) ||
                           !is_rewritten(&sides[NEW], news[k].function)))
            pair(comparison, olds[i].function, news[k].function);
        i += order <= 0;
        k += order >= 0;
    }
    BAT_FREE_ALL(olds, news);
    return fits;
}

bool comparison_pair(struct report_comparison *comparison)
{
    const struct report *sides = comparison->sides;
    uint32_t *old_functions = functions_of_tables(&sides[OLD]);
    uint32_t *new_functions = functions_of_tables(&sides[NEW]);
    bool fits = old_functions && new_functions;
    for (unsigned side = 0; side < 2; side++) {
        size_t size = (size_t)sides[side].function_count * sizeof(uint32_t);
        comparison->pairs[side] = malloc(size + 1);
        fits = fits && comparison->pairs[side];
        if (fits)
            memset(comparison->pairs[side], 0xff, size); /* BAT_NONE */
    }
    comparison->flags = calloc((size_t)sides[NEW].function_count + 1, 1);
    comparison->went = calloc((size_t)sides[OLD].function_count + 1, 1);
    fits = fits && comparison->flags && comparison->went;
    if (fits) {
        pair_by_facts(comparison, old_functions, new_functions);
        /* The files and numbers of local functions may differ. */
        fits = pair_by_name(comparison, false) && pair_by_name(comparison, true);
    }
    BAT_FREE_ALL(old_functions, new_functions);
    return fits;
}
