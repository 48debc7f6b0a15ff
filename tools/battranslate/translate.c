/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "translate.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/common/output.h"
#include "translate_work.h"

/* --- Beginning and committing outputs ------------------------------------------------------- */

/* Fails if an output is one of the files that are read. */
static enum tool_exit check_outputs(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    const char *const single[] = {arguments->debug_file, arguments->next,
                                  arguments->check.suppressions_path,
                                  arguments->check.baseline_path};
    enum bat_code code = bat_outputs_check(work->outputs, work->output_count, single,
                                           sizeof(single) / sizeof(single[0]), &work->error);
    for (size_t i = 0; i < arguments->release_count && code == BAT_OK; i++) {
        const struct release *release = &arguments->releases[i];
        const char *const files[] = {release->binary, release->symbols, release->note,
                                     release->original};
        code = bat_outputs_check(work->outputs, work->output_count, files,
                                 sizeof(files) / sizeof(files[0]), &work->error);
    }
    if (code == BAT_OK)
        code = bat_outputs_check(work->outputs, work->output_count, arguments->profiles,
                                 arguments->profile_count, &work->error);
    return code == BAT_OK ? TOOL_FINE : tool_report(NULL, &work->error);
}

static enum tool_exit commit_outputs(struct work *work)
{
    size_t count = work->output_count;
    work->output_count = 0;
    return tool_commit(NULL, work->outputs, count);
}

static enum tool_exit write_heatmap(struct work *work)
{
    struct bat_elf *symbols = work->symbols ? work->symbols : work->binary.elf;
    return heatmap_write(&work->arguments->heatmap, work->profile, work->binary.elf, symbols,
                         work->outputs + work->output_count - work->heatmap_count,
                         work->heatmap_count, &work->error) == BAT_OK
               ? TOOL_FINE
               : tool_report(NULL, &work->error);
}

/* Read the profiles for a heat map alone. */
static enum tool_exit run_heatmap(struct work *work, struct parts *parts)
{
    enum tool_exit status = work_find_stored(work);
    status = status ? status : work_open_binary(work);
    status = status ? status : work_open_symbols(work);
    status = status ? status : work_read_profiles(work, parts);
    if (status == TOOL_FINE && work->arguments->impute_runs &&
        bat_profile_impute_runs(work->profile, &work->error) != BAT_OK)
        return tool_report(NULL, &work->error);
    return status;
}

/* Write what perf prints of the only profile. */
static enum tool_exit run_perf_text(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    const struct bat_read_options options = {.size = sizeof(options),
                                             .basic_samples = arguments->reading.basic_samples,
                                             .itrace = arguments->reading.itrace,
                                             .arm_spe = arguments->reading.arm_spe};
    if (bat_perf_script_write(arguments->profiles[0], &options, work->outputs[0], &work->error) !=
        BAT_OK)
        return tool_report(arguments->profiles[0], &work->error);
    return TOOL_FINE;
}

/* --- The steps ------------------------------------------------------------------------------ */

/* Everything between beginning and committing the outputs. */
static enum tool_exit run(struct work *work, struct parts *parts)
{
    bool has_check = work->arguments->wants_check;
    if (work->arguments->next)
        return carry_next_run(work, parts);
    if (work->output_count == work->heatmap_count && !has_check)
        return run_heatmap(work, parts);
    enum tool_exit status = work_open(work);
    /* Contexts are made of the samples themselves, which are not added up to a profile. */
    if (status == TOOL_FINE)
        status = work->arguments->row->has_contexts ? work_make_profile(work, false)
                                                    : work_read_profiles(work, parts);
    if (status == TOOL_FINE)
        return work_finish(work);
    if (!has_check || !bat_verdict_fail_reading(&work->check))
        return status;
    return work_finish_check(work);
}

/*
 * Print the report of the work, and of the profiles that were left out if that is wanted: for JSON
 * as one object.
 */
static enum tool_exit print_all(const struct work *work, const char *report, size_t size)
{
    struct output *out = output_begin(fileno(work_report_file(work)));
    if (!out)
        return TOOL_BAD;
    bool has_parts = work_reports_parts(work->arguments);
    bool as_json = work->arguments->json_report;
    /* Without the newline and the brace that end the object. */
    if (has_parts && as_json && size > 2)
        size -= 2;
    bat_text_bytes(&out->text, report, size);
    if (has_parts && as_json) {
        parts_print_json(work->parts, &out->text);
        bat_text_string(&out->text, "}\n");
    } else if (has_parts) {
        parts_print_text(work->parts, &out->text);
    }
    return output_end(out, TOOL_FINE);
}

/* run(), with the report in memory first. */
static enum tool_exit run_with_report(struct work *work, struct parts *parts)
{
    char *report = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&report, &size);
    if (!file)
        return tool_no_memory(NULL);
    work->report = file;
    enum tool_exit status = run(work, parts);
    work->report = NULL;
    tool_step(NULL);
    if (fclose(file) != 0 && status == TOOL_FINE)
        status = tool_no_memory(NULL);
    if ((status == TOOL_FINE || work->arguments->wants_check) && size != 0) {
        enum tool_exit printed = print_all(work, report, size);
        status = status == TOOL_FINE ? printed : status;
    }
    free(report);
    return status;
}

enum tool_exit translate_run(const struct translate_request *request)
{
    struct work work = {.arguments = request, .stored = bat_stored_nothing()};
    struct parts parts = {0};
    /* Suppressions and outputs come first, so that one that cannot be written costs no time. */
    enum tool_exit status = bat_verdict_begin(&work.check, &request->check, &work.error) == BAT_OK
                                ? TOOL_FINE
                                : tool_report(request->check.suppressions_path, &work.error);
    status = status ? status : work_begin_outputs(&work);
    status = status ? status : check_outputs(&work);
    if (status == TOOL_FINE)
        status = request->format == FORMAT_PERFSCRIPT             ? run_perf_text(&work)
                 : !request->quiet || work_reports_parts(request) ? run_with_report(&work, &parts)
                                                                  : run(&work, &parts);
    if (status == TOOL_FINE && request->heatmap.path)
        status = write_heatmap(&work);
    status = status ? status : commit_outputs(&work);
    status = status ? status : work_parts_status(&parts);
    work_close(&work);
    parts_free(&parts);
    return status;
}
