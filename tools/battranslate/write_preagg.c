/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --format=preagg: the samples, added up. */
#include "translate_work.h"

/* Of the binary only its base address and build-id are needed, which a shipped one has. */
enum tool_exit preagg_open(struct work *work)
{
    return work->arguments->original ? records_open(work) : work_open_elf(work, &work->binary.elf);
}

/* Write the samples, at addresses of the input binary if that is given, else untranslated. */
enum tool_exit preagg_finish(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    const bool is_moved = arguments->original != NULL;
    /* With --once the text says which parts it has, even if these have no samples. */
    enum tool_exit status = is_moved ? work_move(work) : TOOL_FINE;
    if (!is_moved && report_check_samples(arguments->binary, work->profile, arguments->once,
                                          tool_tell, &work->error) != BAT_OK)
        status = tool_report(arguments->binary, &work->error);
    if (status == TOOL_FINE &&
        (parts_write_digests(work->parts, work->outputs[0], &work->error) != BAT_OK ||
         bat_profile_write_preagg(is_moved ? work->input : work->profile, work->outputs[0],
                                  &work->error) != BAT_OK))
        status = tool_report_output(arguments->output, &work->error);
    if (status != TOOL_FINE)
        return status;
    if (is_moved && !arguments->quiet)
        report_moved(work_report_file(work), arguments->json_report, work->original,
                     &work->to_input);
    else if (!arguments->quiet)
        report_print(work_report_file(work), arguments->json_report, work->profile, NULL, NULL);
    work_end_report(work, is_moved ? &work->to_input : NULL, arguments->reading.basic_samples);
    return TOOL_FINE;
}
