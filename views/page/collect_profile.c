/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads the profiles and translates them, for what the summary says of them. */

#include "bat_decoder.h"
#include "profile/profile.h"
#include "profile/verdict/words.h"
#include "report.h"

/*
 * Read a profile. perf.data without branch stacks is read as basic samples: the page shows where
 * they are, and the check says what they lack.
 */
static enum bat_code read_profile(struct report *report, const char *path)
{
    uint64_t before = bat_profile_records_read(report->profile);
    enum bat_code code = bat_profile_read(report->profile, path, NULL, &report->error);
    if (code == BAT_ERR_MISMATCH) {
        const struct bat_read_options options = {.size = sizeof(options), .basic_samples = true};
        struct bat_error other;
        code = bat_profile_read(report->profile, path, &options, &other) == BAT_OK ? BAT_OK : code;
    }
    if (code != BAT_OK)
        return report_fail(report, path);
    report->profiles_with_records += bat_profile_records_read(report->profile) > before;
    return BAT_OK;
}

static enum bat_code read_profiles(struct report *report)
{
    const struct bat_page_request *request = report->request;
    size_t size;
    const struct bat_elf *elf = report->binary.elf;
    struct bat_profile_target target = {.size = sizeof(target),
                                        .elf = elf,
                                        .is_bolted = true,
                                        .ignore_build_id = request->ignore_build_id};
    target.build_id = bat_elf_build_id(elf, &size);
    target.build_id_size = size;
    if (bat_profile_new(&target, &report->profile, &report->error) != BAT_OK)
        return report_fail(report, NULL);
    for (size_t i = 0; i < request->profile_count; i++)
        if (read_profile(report, request->profiles[i]) != BAT_OK)
            return report->error.code;
    char text[PROFILE_WARNING_SIZE];
    if (profile_warning_filter(report->profile, text))
        report_warn(report, request->profiles[0], "%s", text);
    struct bat_profile_counters read = bat_profile_counters(report->profile);
    if (bat_profile_distinct(report->profile) == 0 && read.fdata_records == 0 &&
        read.perf_samples == 0) {
        profile_fail_without_records(report->profile, &report->error);
        return report_fail(report, request->profiles[0]);
    }
    if (*bat_profile_elsewhere(report->profile))
        report_warn(report, request->profiles[0],
                    "expected samples in the binary, found all %lu elsewhere: %s",
                    read.perf_samples, bat_profile_elsewhere(report->profile));
    if (read.fdata_records != 0)
        report_warn(report, NULL,
                    "%lu fdata records have no addresses of the BOLTed binary: they are in the "
                    "summary, not on the map",
                    read.fdata_records);
    return BAT_OK;
}

static void warn_limited(const struct report *report, const char *work, uint64_t limited)
{
    char text[PROFILE_WARNING_SIZE];
    if (profile_warning_limited(work, limited, text))
        report_warn(report, report->request->binary, "%s", text);
}

/* By the input's code, from the moved profile: the records of a run of the input binary. */
static enum bat_code translate_moved(struct report *report,
                                     const struct bat_translate_options *options)
{
    enum bat_code code =
        bat_profile_to_input(report->profile, &report->binary, report->original,
                             &report->input_profile, &report->moved, &report->error);
    if (code == BAT_OK)
        code = bat_profile_translate_moved(report->input_profile, report->profile, report->original,
                                           options, &report->records, &report->error);
    report->is_moved = code == BAT_OK;
    warn_limited(report, "following the input binary's code", report->moved.limited);
    return code;
}

/* fdata of the BOLTed binary's profile does not add up with records of the input's code. */
static enum bat_code translate(struct report *report)
{
    const struct bat_translate_options options = {
        .size = sizeof(options), .original = report->original, .will_be_judged = true};
    enum bat_code code = BAT_ERR_MISMATCH;
    if (report->original)
        code = translate_moved(report, &options);
    if (code == BAT_ERR_MISMATCH)
        code = bat_profile_translate(report->profile, &report->binary, &options, &report->records,
                                     &report->error);
    if (code != BAT_OK)
        return report_fail(report, report->request->binary);
    warn_limited(report, "looking for inlined calls",
                 bat_records_counters(report->records).limited);
    return BAT_OK;
}

/* Judge the records in both forms. Functions of a note without hashes have no YAML. */
static enum bat_code judge(struct report *report)
{
    enum bat_code code =
        bat_records_judge(report->records, false, &report->judgement, &report->error);
    report->has_judgement = code == BAT_OK;
    if (code == BAT_OK && bat_map_has_function_hashes(report->binary.map)) {
        code = bat_records_judge(report->records, true, &report->yaml_judgement, &report->error);
        report->has_yaml_judgement = code == BAT_OK;
    }
    return code == BAT_ERR_MEMORY ? report_no_memory(report) : BAT_OK;
}

enum bat_code report_collect_profile(struct report *report)
{
    if (report->request->profile_count == 0)
        return BAT_OK;
    report->has_profile = true;
    enum bat_code code = read_profiles(report);
    code = code ? code : translate(report);
    return code ? code : judge(report);
}
