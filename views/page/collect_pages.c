/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which pages and cache lines have samples, and how many: counted as battranslate --heatmap counts.
 */
#include <stdlib.h>

#include "report.h"
#include "spec/order.h"
#include "views/heatmap_buckets.h"

static bool take(const struct heatmap_buckets *buckets, struct report_pages *pages)
{
    pages->counts = malloc((buckets->count + 1) * sizeof(*pages->counts));
    if (!pages->counts)
        return false;
    pages->count = buckets->count;
    for (size_t i = 0; i < buckets->count; i++) {
        pages->counts[i] = buckets->all[i].count;
        pages->sum += buckets->all[i].count;
    }
    if (pages->count > 1)
        qsort(pages->counts, pages->count, sizeof(*pages->counts), bat_compare_u64_down);
    return true;
}

static bool count_pages(const struct bat_profile *profile, struct report_pages pages[2])
{
    struct heatmap_buckets buckets = {0};
    bool fits = heatmap_count(&buckets, profile, REPORT_PAGE, 0, UINT64_MAX);
    fits = fits && take(&buckets, &pages[0]);
    if (fits)
        heatmap_join(&buckets, REPORT_HUGE_PAGE / REPORT_PAGE);
    fits = fits && take(&buckets, &pages[1]);
    heatmap_free(&buckets);
    return fits;
}

/* How many of the hottest have 99% of all samples. */
static uint64_t count_hot(const struct report_pages *pages)
{
    uint64_t rest = pages->sum / 100; /* that need not be in them */
    size_t count = pages->count;
    for (; count != 0 && pages->counts[count - 1] <= rest; count--)
        rest -= pages->counts[count - 1];
    return count;
}

static bool measure_path(const struct bat_profile *profile, const struct report_pages pages[2],
                         struct report_path *path)
{
    struct heatmap_buckets buckets = {0};
    struct report_pages lines = {0};
    const bool fits = heatmap_count(&buckets, profile, REPORT_CACHE_LINE, 0, UINT64_MAX) &&
                      take(&buckets, &lines);
    heatmap_free(&buckets);
    path->lines = count_hot(&lines);
    path->pages = count_hot(&pages[0]);
    path->huge = count_hot(&pages[1]);
    free(lines.counts);
    struct bat_trace trace;
    for (uint64_t i = 0; bat_profile_trace(profile, i, &trace); i++)
        if (report_is_branch(&trace) && trace.branch != BAT_ADDRESS_EXTERNAL)
            path->taken += trace.count;
    return fits;
}

enum bat_code report_collect_pages(struct report *report)
{
    if (!report->has_profile)
        return BAT_OK;
    bool fits = count_pages(report->profile, report->pages[1]);
    if (fits && report->input_profile)
        fits = count_pages(report->input_profile, report->pages[0]) &&
               measure_path(report->input_profile, report->pages[0], &report->paths[0]);
    fits = fits && measure_path(report->profile, report->pages[1], &report->paths[1]);
    return fits ? BAT_OK : report_no_memory(report);
}
