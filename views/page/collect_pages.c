/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which pages have samples, and how many: counted as battranslate --heatmap counts. */
#include <stdlib.h>

#include "report.h"
#include "views/heatmap_buckets.h"

static int by_count(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

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
        qsort(pages->counts, pages->count, sizeof(*pages->counts), by_count);
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

enum bat_code report_collect_pages(struct report *report)
{
    if (!report->has_profile)
        return BAT_OK;
    bool fits = count_pages(report->profile, report->pages[1]);
    if (fits && report->input_profile)
        fits = count_pages(report->input_profile, report->pages[0]);
    return fits ? BAT_OK : report_no_memory(report);
}
