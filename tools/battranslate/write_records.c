/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --format=fdata, yaml: records, which BOLT reads. */
#include <pthread.h>

#include "translate_work.h"

static enum tool_exit translate(struct work *work)
{
    const struct bat_translate_options options = work_translate_options(work);
    tool_step("translating the profile");
    if (bat_profile_translate(work->profile, &work->binary, &options, &work->records,
                              &work->error) != BAT_OK)
        return tool_report(work->error.place == BAT_PLACE_SECTION ? work_note_path(work->arguments)
                                                                  : work->arguments->binary,
                           &work->error);
    if (report_check(work->arguments->binary, work->binary.elf, work->profile, work->records,
                     work->arguments->wants_check, tool_tell, &work->error) == BAT_OK)
        return TOOL_FINE;
    return tool_report(work->arguments->binary, &work->error);
}

/* Make the records in the input binary. */
static enum tool_exit translate_moved(struct work *work)
{
    enum tool_exit status = work_move(work);
    const struct bat_translate_options options = work_translate_options(work);
    tool_step("translating the profile");
    if (status == TOOL_FINE &&
        bat_profile_translate_moved(work->input, work->profile, work->original, &options,
                                    &work->records, &work->error) != BAT_OK)
        status = tool_report(work->arguments->original, &work->error);
    return status;
}

static enum tool_exit write_outputs(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    struct bat_records_output files[OUTPUTS_MAX] = {0};
    const char *paths[OUTPUTS_MAX];
    size_t count = 0;
    if (arguments->output) {
        files[count].is_yaml = arguments->format == FORMAT_YAML;
        paths[count++] = arguments->output;
    }
    if (arguments->yaml) {
        files[count].is_yaml = true;
        paths[count++] = arguments->yaml;
    }
    for (size_t i = 0; i < count; i++)
        files[i].output = work->outputs[i];
    if (bat_records_write(work->records, files, count) == BAT_OK)
        return TOOL_FINE;
    for (size_t i = 0; i < count; i++)
        if (files[i].code != BAT_OK)
            tool_report_output(paths[i], &files[i].error);
    return TOOL_BAD;
}

/* Determine what llvm-bolt will refuse of the outputs. */
static enum tool_exit judge_outputs(const struct work *work, struct report_judgements *judgements)
{
    const struct translate_request *arguments = work->arguments;
    bool has_output = arguments->output || arguments->wants_check;
    /* llvm-bolt takes as much of the next build's YAML as of its fdata, if told to ignore hashes.
     */
    bool as_fdata = arguments->next || (has_output && arguments->format == FORMAT_FDATA);
    bool as_yaml =
        !arguments->next && (arguments->yaml || (has_output && arguments->format == FORMAT_YAML));
    const char *path = arguments->next       ? arguments->next
                       : arguments->original ? arguments->original
                                             : arguments->binary;
    struct bat_error error; /* work's is that of the writing thread */
    return report_judge(path, work->records, as_fdata, as_yaml, tool_tell, judgements, &error) ==
                   BAT_OK
               ? TOOL_FINE
               : tool_report(path, &error);
}

/* Judging, in a thread beside the writing: the outputs, and the checks that every report has. */
struct judging {
    struct work *work;
    struct report_judgements *judgements;
    enum tool_exit status;
};

static void *run_judging(void *context)
{
    struct judging *judging = context;
    const struct translate_request *arguments = judging->work->arguments;
    judging->status = judge_outputs(judging->work, judging->judgements);
    if (judging->status == TOOL_FINE && !arguments->wants_check && !arguments->next)
        judging->status = work_check(judging->work, NULL, judging->judgements);
    return NULL;
}

enum tool_exit work_write_records(struct work *work, struct report_judgements *judgements)
{
    report_check_balances(work->arguments->binary, work->records, tool_tell);
    tool_step("writing the profile");
    if (work->arguments->quiet && !work->arguments->wants_check)
        return write_outputs(work);
    struct judging judging = {.work = work, .judgements = judgements};
    pthread_t thread;
    bool is_started = work->arguments->reading.threads != 1 &&
                      pthread_create(&thread, NULL, run_judging, &judging) == 0;
    enum tool_exit status = write_outputs(work);
    if (is_started)
        pthread_join(thread, NULL);
    else if (status == TOOL_FINE)
        run_judging(&judging);
    return status ? status : judging.status;
}

static enum tool_exit print_density(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    double density;
    struct bat_records *all_records;
    if (!work_translate_again(work, &all_records))
        return tool_report(arguments->binary, &work->error);
    enum bat_code code =
        bat_records_density(all_records ? all_records : work->records, work->profile,
                            arguments->density_cutoff, &density, &work->error);
    bat_records_free(all_records);
    if (code != BAT_OK)
        return tool_report(arguments->binary, &work->error);
    report_density(work_report_file(work), arguments->density_cutoff, density,
                   arguments->density_threshold);
    return TOOL_FINE;
}

enum tool_exit work_make_records(struct work *work)
{
    BAT_TRY(work_prepare_profile(work));
    if (!work->arguments->original && work->binary.note)
        return tool_message(work->arguments->binary,
                            "expected --original=FILE with the input binary, without which --for "
                            "cannot read its code, found a BOLTed binary alone");
    return work->arguments->original ? translate_moved(work) : translate(work);
}

enum tool_exit records_finish(struct work *work)
{
    const struct translate_request *arguments = work->arguments;
    const bool is_moved = arguments->original && !arguments->parity;
    struct report_judgements judgements;
    enum tool_exit status = is_moved ? translate_moved(work) : translate(work);
    status = status ? status : work_write_records(work, &judgements);
    if (status == TOOL_FINE && arguments->wants_check)
        status = work_check(work, NULL, &judgements);
    if (status == TOOL_FINE && !arguments->quiet && is_moved)
        report_print_moved(work_report_file(work), arguments->json_report, work->profile,
                           work->original, &work->to_input, work->records, &judgements);
    else if (status == TOOL_FINE && !arguments->quiet)
        report_print(work_report_file(work), arguments->json_report, work->profile, work->records,
                     &judgements);
    if (status == TOOL_FINE && !is_moved && arguments->show_density && !arguments->json_report)
        status = print_density(work);
    return status ? status : work_finish_check(work);
}
