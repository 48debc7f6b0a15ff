/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the profiles and translates them, for what the summary says of them. */
#include <elf.h>
#include <inttypes.h>

#include "report.h"

/* perf2bolt's: the functions with 99% of the samples. */
#define DENSITY_CUTOFF 990000u

static enum tool_exit read_profiles(struct report *report)
{
    const struct report_request *request = report->request;
    size_t size;
    const struct bat_elf *elf = report->binary.elf;
    struct bat_profile_target target = {.size = sizeof(target),
                                        .elf = elf,
                                        .is_bolted = true,
                                        .ignore_build_id = request->ignore_build_id};
    target.build_id = bat_elf_build_id(elf, &size);
    target.build_id_size = size;
    target.base_address = bat_elf_type(elf) == ET_DYN ? bat_elf_base_address(elf) : 0;
    if (bat_profile_new(&target, &report->profile, &report->error) != BAT_OK)
        return report_fail(report, NULL);
    for (size_t i = 0; i < request->profile_count; i++)
        if (bat_profile_read(report->profile, request->profiles[i], NULL, &report->error) != BAT_OK)
            return report_fail(report, request->profiles[i]);
    struct bat_profile_counters read = bat_profile_counters(report->profile);
    if (bat_profile_distinct(report->profile) == 0 && read.fdata_records == 0 &&
        read.perf_samples == 0) {
        tool_message(request->profiles[0], "expected a profile with records, found none in it");
        return TOOL_BAD;
    }
    if (read.fdata_records != 0)
        tool_message(NULL,
                     "warning: %" PRIu64 " fdata records have no addresses of the BOLTed binary: "
                     "they are in the summary, not on the map",
                     read.fdata_records);
    return TOOL_FINE;
}

static enum tool_exit translate(struct report *report)
{
    const struct bat_translate_options options = {
        .size = sizeof(options), .original = report->original, .will_be_judged = true};
    enum bat_code code;
    if (report->original) {
        if (bat_profile_to_input(report->profile, &report->binary, report->original,
                                 &report->input_profile, &report->moved, &report->error) != BAT_OK)
            return report_fail(report, report->request->binary);
        report->is_moved = true;
        code = bat_profile_translate_moved(report->input_profile, report->profile, report->original,
                                           &options, &report->records, &report->error);
    } else {
        code = bat_profile_translate(report->profile, &report->binary, &options, &report->records,
                                     &report->error);
    }
    return code == BAT_OK ? TOOL_FINE : report_fail(report, report->request->binary);
}

/* perf2bolt's own density: by all its records. */
static enum tool_exit measure_density(struct report *report)
{
    const struct bat_translate_options options = {.size = sizeof(options),
                                                  .keep_all_records = true};
    struct bat_records *records = NULL;
    enum bat_code code =
        bat_profile_translate(report->profile, &report->binary, &options, &records, &report->error);
    if (code == BAT_OK)
        code = bat_records_density(records, report->profile, DENSITY_CUTOFF, &report->density,
                                   &report->error);
    bat_records_free(records);
    report->has_density = code == BAT_OK;
    return code == BAT_ERR_MEMORY ? report_no_memory() : TOOL_FINE;
}

enum tool_exit report_collect_profile(struct report *report)
{
    if (report->request->profile_count == 0)
        return TOOL_FINE;
    report->has_profile = true;
    enum tool_exit status = read_profiles(report);
    if (status == TOOL_FINE)
        status = translate(report);
    if (status != TOOL_FINE)
        return status;
    enum bat_code code =
        bat_records_judge(report->records, false, &report->judgement, &report->error);
    if (code == BAT_ERR_MEMORY)
        return report_no_memory();
    report->has_judgement = code == BAT_OK;
    return measure_density(report);
}
