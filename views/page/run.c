/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <stdlib.h>

#include "binary/functions/functions.h"
#include "page.h"
#include "spec/array.h"

void report_free(struct report *report)
{
    for (unsigned i = 0; i < 4; i++)
        free(report->pages[i / 2][i % 2].counts);
    free(report->nodes);
    bat_strings_free(&report->stack_names);
    free(report->edges);
    report_free_next(&report->next);
    free(report->is_hottest);
    for (unsigned side = 0; side < 2; side++) {
        BAT_FREE_ALL(report->listings[side].runs, report->listings[side].all,
                     report->listings[side].branches);
    }
    bat_strings_free(&report->instruction_texts);
    bat_verdict_free(&report->check);
    BAT_FREE_ALL(report->refusals, report->lines);
    bat_strings_free(&report->files);
    bat_records_free(report->records);
    bat_profile_free(report->input_profile);
    bat_profile_free(report->profile);
    BAT_FREE_ALL(report->block_counts, report->block_hints, report->blocks, report->pieces_of,
                 report->functions, report->pieces, report->input.all, report->output.all);
    bat_functions_free(report->functions_of_file);
    bat_original_close(report->original);
    bat_binary_close(&report->binary);
    bat_stored_close(&report->stored);
    *report = (struct report){0};
}

enum bat_code report_open_binaries(struct report *report)
{
    const struct bat_page_request *request = report->request;
    enum bat_code code =
        bat_stores_find_whole(&request->stores, request->binary, &report->stored, &report->error);
    if (code != BAT_OK)
        return report_fail(report, NULL);
    code = bat_binary_open(bat_stored_or(&report->stored, request->binary), &report->binary,
                           &report->error);
    if (code == BAT_OK && !report->binary.elf)
        code = bat_fail(&report->error, BAT_ERR_MISMATCH,
                        "expected an ELF file, found a BAT note alone");
    if (code != BAT_OK)
        return report_fail(report, request->binary);
    if (!request->original)
        return BAT_OK;
    const struct bat_original_options options = {.size = sizeof(options),
                                                 .ignore_build_id = request->ignore_build_id};
    if (bat_original_open(request->original, &report->binary, &options, &report->original,
                          &report->error) != BAT_OK)
        return report_fail(report, request->original);
    return BAT_OK;
}

static enum bat_code begin_check(struct report *report)
{
    const struct bat_verdict_options *options = &report->request->check;
    if (bat_verdict_begin(&report->check, options, &report->error) == BAT_OK)
        return BAT_OK;
    return report_fail(report, options->suppressions_path);
}

enum bat_code report_collect(struct report *report, report_step_fn *const steps[])
{
    for (; *steps; steps++)
        BAT_TRY((*steps)(report));
    return BAT_OK;
}

static enum bat_code collect(struct report *report)
{
    static report_step_fn *const steps[] = {
        begin_check,
        report_open_binaries,
        report_collect_code,
        report_collect_profile,
        report_collect_check,
        report_collect_next,
        report_collect_samples,
        report_collect_blocks,
        report_collect_heat,
        report_collect_instructions,
        report_collect_pages,
        report_collect_lines,
        report_collect_stacks,
        NULL,
    };
    return report_collect(report, steps);
}

enum bat_code report_run(struct report *report, struct bat_output *output)
{
    enum bat_code code = collect(report);
    code = code ? code : report_write(report, output, &report->error);
    if (code == BAT_OK && bat_binary_check_unchanged(&report->binary, &report->error) != BAT_OK)
        code = report_fail(report, report->request->binary);
    return code;
}
