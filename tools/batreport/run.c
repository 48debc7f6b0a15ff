/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <stdlib.h>

#include "binary/functions/functions.h"
#include "page.h"

void report_free(struct report *report)
{
    for (unsigned i = 0; i < 4; i++)
        free(report->pages[i / 2][i % 2].counts);
    free(report->nodes);
    bat_strings_free(&report->stack_names);
    free(report->edges);
    bat_verdict_free(&report->check);
    free(report->refusals);
    free(report->lines);
    bat_strings_free(&report->files);
    bat_records_free(report->records);
    bat_profile_free(report->input_profile);
    bat_profile_free(report->profile);
    free(report->block_counts);
    free(report->block_hints);
    free(report->blocks);
    free(report->pieces_of);
    free(report->functions);
    free(report->pieces);
    free(report->input.all);
    free(report->output.all);
    bat_functions_free(report->functions_of_file);
    bat_original_close(report->original);
    bat_binary_close(&report->binary);
    bat_stored_close(&report->stored);
    *report = (struct report){0};
}

enum tool_exit report_open_binaries(struct report *report)
{
    const struct report_request *request = report->request;
    if (!tool_stores_find_whole(&request->stores, request->binary, &report->stored))
        return TOOL_BAD;
    enum bat_code code = bat_binary_open(bat_stored_or(&report->stored, request->binary),
                                         &report->binary, &report->error);
    if (code == BAT_OK && !report->binary.elf)
        code = bat_fail(&report->error, BAT_ERR_MISMATCH,
                        "expected an ELF file, found a BAT note alone");
    if (code != BAT_OK)
        return report_fail(report, request->binary);
    if (!request->original)
        return TOOL_FINE;
    const struct bat_original_options options = {.size = sizeof(options),
                                                 .ignore_build_id = request->ignore_build_id};
    if (bat_original_open(request->original, &report->binary, &options, &report->original,
                          &report->error) != BAT_OK)
        return report_fail(report, request->original);
    return TOOL_FINE;
}

static enum tool_exit begin_check(struct report *report)
{
    const struct bat_verdict_options *options = &report->request->check;
    struct bat_error error;
    return bat_verdict_begin(&report->check, options, &error) == BAT_OK
               ? TOOL_FINE
               : tool_report(options->suppressions_path, &error);
}

enum tool_exit report_collect(struct report *report, report_step_fn *const steps[])
{
    enum tool_exit status = TOOL_FINE;
    for (; status == TOOL_FINE && *steps; steps++)
        status = (*steps)(report);
    return status;
}

static enum tool_exit collect(struct report *report)
{
    static report_step_fn *const steps[] = {
        begin_check,           report_open_binaries,
        report_collect_code,   report_collect_profile,
        report_collect_check,  report_collect_heat,
        report_collect_pages,  report_collect_lines,
        report_collect_stacks, NULL,
    };
    return report_collect(report, steps);
}

enum tool_exit report_check_output(struct report *report, struct bat_output *output)
{
    const struct report_request *request = report->request;
    const char *const single[] = {request->binary, request->original, request->stacks};
    enum bat_code code = bat_outputs_check(&output, 1, single, 3, &report->error);
    if (code == BAT_OK)
        code = bat_outputs_check(&output, 1, request->profiles, request->profile_count,
                                 &report->error);
    return code == BAT_OK ? TOOL_FINE : report_fail(report, NULL);
}

enum tool_exit report_run(const struct report_request *request)
{
    struct report report = {.request = request, .stored = bat_stored_nothing()};
    struct bat_output *output = NULL;
    if (bat_output_begin(request->output, &output, &report.error) != BAT_OK)
        return report_fail(&report, NULL);
    enum tool_exit status = report_check_output(&report, output);
    if (status == TOOL_FINE)
        status = collect(&report);
    if (status == TOOL_FINE && report_write(&report, output, &report.error) != BAT_OK)
        status = tool_report_output(request->output, &report.error);
    if (status == TOOL_FINE && bat_binary_check_unchanged(&report.binary, &report.error) != BAT_OK)
        status = report_fail(&report, request->binary);
    if (status == TOOL_FINE)
        status = tool_commit(NULL, &output, 1);
    else
        bat_output_abandon(output);
    report_free(&report);
    return status;
}
