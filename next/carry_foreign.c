/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tells another build of the program from another program. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "carrying.h"

/*
 * So alike is the code of functions of one name at the least, if they are the same: also at -O0 and
 * at -O2. Chance seldom brings the names of a whole program together.
 */
#define LIKENESS_NAMED 0.1f
/* Without a name that says something: chance gives 1% of small functions 0.3. */
#define LIKENESS_UNNAMED 0.5f

static bool begins_with(const char *name, const char *beginning)
{
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

static bool is_word(const char *word, size_t length, const char *const *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(all[i]) == length && memcmp(all[i], word, length) == 0)
            return true;
    return false;
}

/* --- Rust ------------------------------------------------------------------------------------ */

/* Skip a name's length, and what separates it from the name. 0 if there is none. */
static size_t skip_length(const char **at)
{
    char *end;
    size_t length = **at >= '1' && **at <= '9' ? strtoul(*at, &end, 10) : 0;
    if (length != 0)
        *at = end + (*end == '_');
    return length;
}

/* The crate of _RNvNtCs1a2B_4core3fmt5write; "" if it is not such a name. */
static const char *crate_of_new(const char *name, size_t *length)
{
    const char *at = begins_with(name, "_R") ? strstr(name, "Cs") : NULL;
    at = at ? strchr(at, '_') : NULL;
    if (!at)
        return "";
    at++;
    *length = skip_length(&at);
    return at;
}

/* The same of _ZN4core3fmt5write17h0123456789abcdefE and _ZN20_$LT$core..fmt..X$GT$1f17h...E. */
static const char *crate_of_old(const char *name, size_t *length)
{
    static const char *const before[] = {"$LT$", "_$LT$", "impl$u20$", "$RF$T$u20$as$u20$"};
    const char *at = name + 3;
    if (!begins_with(name, "_ZN") || !begins_with(name + next_plain_name_length(name), "17h"))
        return "";
    *length = skip_length(&at);
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        if (begins_with(at, before[i]))
            at += strlen(before[i]);
    const char *dots = strstr(at, "..");
    if (dots && (size_t)(dots - at) < *length)
        *length = (size_t)(dots - at);
    return at;
}

/* True for what every Rust program has: the standard library, and what that uses. */
static bool is_common_rust(const char *name)
{
    static const char *const crates[] = {
        "std",          "core",        "alloc",          "compiler_builtins", "hashbrown", "gimli",
        "addr2line",    "miniz_oxide", "rustc_demangle", "std_detect",        "memchr",    "object",
        "panic_unwind", "__rustc"};
    const size_t count = sizeof(crates) / sizeof(crates[0]);
    size_t length = 0;
    const char *crate = crate_of_new(name, &length);
    if (!*crate)
        crate = crate_of_old(name, &length);
    return *crate && length <= strlen(crate) && is_word(crate, length, crates, count);
}

/* --- Code of other programs ------------------------------------------------------------------ */

/*
 * True for code that other programs have, too. C and C++ reserve names with _ at the beginning for
 * the implementation: start-up code, the compiler's and the C library's own functions. Of mangled
 * names, those of the standard libraries of C++ and Rust.
 */
static bool is_common_code(const char *name)
{
    static const char *const plain[] = {"frame_dummy", "deregister_tm_clones",
                                        "register_tm_clones"};
    if (begins_with(name, "_R") || begins_with(name, "_Z"))
        return begins_with(name, "_ZSt") || begins_with(name, "_ZNSt") ||
               begins_with(name, "_ZNKSt") || begins_with(name, "_ZN9__gnu_cxx") ||
               begins_with(name, "_ZNK9__gnu_cxx") || is_common_rust(name);
    return name[0] == '_' ||
           is_word(name, next_plain_name_length(name), plain, sizeof(plain) / sizeof(plain[0]));
}

/* True if a unit has its partner's code, or code so alike that this is no chance. */
static bool is_found(const struct next_carrying *carrying, uint32_t unit)
{
    if (carrying->pairs.new_of[unit] == BAT_NONE || carrying->is_same[unit])
        return carrying->pairs.new_of[unit] != BAT_NONE;
    bool is_named = carrying->pairs.how[unit] != NEXT_BY_CODE &&
                    strcmp(next_unit_name(&carrying->olds, unit), "main") != 0;
    return carrying->pairs.likeness[unit] >= (is_named ? LIKENESS_NAMED : LIKENESS_UNNAMED);
}

/* True if a unit counts for the question; with common code or without. */
static bool is_own(const struct next_carrying *carrying, uint32_t unit, bool with_common)
{
    return carrying->measured.units[unit] &&
           (with_common || !is_common_code(next_unit_name(&carrying->olds, unit)));
}

/* Sum up the old program's functions with samples. */
static void sum_up(struct next_carrying *carrying, bool with_common)
{
    struct next_report *report = carrying->report;
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++) {
        if (!is_own(carrying, i, with_common))
            continue;
        next_add_share(&report->own, carrying->measured.units[i]->total);
        if (is_found(carrying, i))
            next_add_share(&report->found, carrying->measured.units[i]->total);
    }
}

void next_report_ways(const struct next_report *report, struct next_way ways[NEXT_WAYS])
{
    ways[0] = (struct next_way){"whose code did not change: count for count", report->same};
    ways[1] = (struct next_way){"that changed, found by name", report->by_name};
    ways[2] = (struct next_way){"found by name, but for parameters or what compilers append to it",
                                report->by_plain_name};
    ways[3] = (struct next_way){"under another name, found by their code", report->by_code};
    ways[4] = (struct next_way){"that were not found", report->gone};
}

/* --- Functions that changed ------------------------------------------------------------------ */

void next_report_free(struct next_report *report)
{
    for (size_t i = 0; i < report->changed_count; i++) {
        free(report->changed[i].name);
        free(report->changed[i].new_name);
    }
    free(report->changed);
    *report = (struct next_report){0};
}

static int by_loss(const void *left, const void *right)
{
    const struct next_changed *a = left;
    const struct next_changed *b = right;
    double loss_a = (double)a->count * (1 - (double)a->likeness);
    double loss_b = (double)b->count * (1 - (double)b->likeness);
    return loss_a != loss_b ? (loss_a < loss_b) - (loss_a > loss_b) : strcmp(a->name, b->name);
}

static enum bat_code add_changed(struct next_carrying *carrying, uint32_t unit, bool with_common)
{
    struct next_changed *changed = &carrying->report->changed[carrying->report->changed_count++];
    uint32_t partner = carrying->pairs.new_of[unit];
    *changed = (struct next_changed){
        .name = strdup(next_unit_name(&carrying->olds, unit)),
        .new_name = partner == BAT_NONE ? NULL : strdup(next_unit_name(&carrying->news, partner)),
        .count = carrying->measured.units[unit]->total,
        .likeness = partner == BAT_NONE ? 0 : carrying->pairs.likeness[unit],
        .is_own = is_own(carrying, unit, with_common),
        .is_found = is_found(carrying, unit)};
    return changed->name && (changed->new_name || partner == BAT_NONE)
               ? BAT_OK
               : bat_fail_memory(carrying->error, "for functions that changed");
}

/* List functions with samples that changed, or are gone. */
static enum bat_code list_changed(struct next_carrying *carrying, bool with_common)
{
    struct next_report *report = carrying->report;
    enum bat_code code = BAT_OK;
    report->changed = calloc((size_t)report->all.functions + 1, sizeof(*report->changed));
    if (!report->changed)
        return bat_fail_memory(carrying->error, "for functions that changed");
    for (uint32_t i = 0; i < carrying->olds.unit_count && code == BAT_OK; i++) {
        const struct next_counts *counts = carrying->measured.units[i];
        if (counts && counts->total != 0 && !carrying->is_same[i])
            code = add_changed(carrying, i, with_common);
    }
    if (code == BAT_OK && report->changed_count > 1)
        qsort(report->changed, report->changed_count, sizeof(*report->changed), by_loss);
    return code;
}

/* --- Whether it is foreign ------------------------------------------------------------------- */

/*
 * If so many functions are found, the program is the same although its hottest code is gone: a
 * library that was linked in, or code that a release has no more, may have nearly all the counts.
 */
#define FUNCTIONS_ENOUGH 0.5
/*
 * Of the program that has fewer functions of its own so many have a namesake in the other. Releases
 * add or take away; two programs into which the same libraries are linked have each its own.
 */
#define NAMESAKES_ENOUGH 0.6
/* If so many are found by their code, names say nothing: they were changed as a whole. */
#define RENAMED_ENOUGH 0.2

static double share_of(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole;
}

/* The share of functions with a namesake, with samples or without. */
static double share_of_namesakes(const struct next_carrying *carrying)
{
    size_t olds = 0;
    size_t news = 0;
    size_t namesakes = 0;
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++) {
        const uint8_t how = carrying->pairs.how[i];
        if (is_common_code(next_unit_name(&carrying->olds, i)))
            continue;
        olds++;
        namesakes += how == NEXT_BY_NAME || how == NEXT_BY_PLAIN_NAME;
    }
    for (uint32_t i = 0; i < carrying->news.unit_count; i++)
        news += !is_common_code(next_unit_name(&carrying->news, i));
    return share_of(namesakes, olds < news ? olds : news);
}

/* The share of functions with samples that have another name now. */
static double share_of_renamed(const struct next_carrying *carrying)
{
    size_t renamed = 0;
    for (uint32_t i = 0; i < carrying->olds.unit_count; i++)
        renamed += is_own(carrying, i, false) && carrying->pairs.how[i] == NEXT_BY_CODE &&
                   is_found(carrying, i);
    return share_of(renamed, carrying->report->own.functions);
}

enum bat_code next_check_foreign(struct next_carrying *carrying)
{
    struct next_report *report = carrying->report;
    if (report->all.count == 0)
        return bat_fail(carrying->error, BAT_ERR_MISMATCH,
                        "expected samples in functions of the old program, found none");
    sum_up(carrying, false);
    bool with_common = report->own.count == 0;
    if (with_common) {
        report->own = report->found = (struct next_share){0};
        sum_up(carrying, true);
    }
    BAT_TRY(list_changed(carrying, with_common));
    double count = share_of(report->found.count, report->own.count);
    double functions = share_of(report->found.functions, report->own.functions);
    double namesakes = share_of_namesakes(carrying);
    if (!with_common && namesakes < NAMESAKES_ENOUGH && share_of_renamed(carrying) < RENAMED_ENOUGH)
        return bat_fail(carrying->error, BAT_ERR_MISMATCH,
                        "expected another build of the same program, found one with %.1f%% of the "
                        "functions' names: it is another program",
                        100 * namesakes);
    if (functions >= carrying->options->found_min &&
        (count >= carrying->options->found_min || functions >= FUNCTIONS_ENOUGH))
        return BAT_OK;
    return bat_fail(carrying->error, BAT_ERR_MISMATCH,
                    "expected another build of the same program, found one with code like that of "
                    "%.1f%% of the profile, %.1f%% of its functions: it is another program",
                    100 * count, 100 * functions);
}
