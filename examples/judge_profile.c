/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Says how much two YAML profiles of llvm-bolt agree, and whether the profile that was sampled on
 * BINARY is fit; and writes what the second YAML profile has of each function for pprof.
 *
 *     judge_profile FORMER.yaml NOW.yaml BINARY PROFILE PPROF
 */
#include <batkit/bat_compare.h>
#include <batkit/bat_verdict.h>
#include <batkit/bat_views.h>
#include <batkit/bat_yaml_profile.h>

#include <stdio.h>

static enum bat_code compare(const char *const paths[2], struct bat_error *error)
{
    struct bat_overlaps *overlaps = NULL;
    struct bat_agreement agreement;
    enum bat_compared_form form;
    enum bat_code code = bat_overlaps_new(&overlaps, error);
    for (int i = 0; i < 2 && code == BAT_OK; i++)
        code = bat_overlaps_add_file(overlaps, paths[i], NULL, &form, error);
    if (code == BAT_OK)
        code = bat_overlaps_finish(overlaps, error);
    if (code == BAT_OK)
        code = bat_overlaps_pair(overlaps, 0, 1, &agreement, error);
    if (code == BAT_OK)
        printf("overlap %.2f%%\n", 100 * agreement.overlap);
    bat_overlaps_free(overlaps);
    return code;
}

static enum bat_code judge(struct bat_binary *binary, const char *path, struct bat_error *error)
{
    struct bat_verdict_options options = bat_verdict_options_new();
    struct bat_profile_verdict verdict;
    struct bat_profile *profile = NULL;
    struct bat_records *records = NULL;
    struct bat_judgement judgement;
    enum bat_code code = bat_verdict_begin(&verdict, &options, error);
    if (code == BAT_OK)
        code = bat_profile_new_of(binary, &profile, error);
    if (code == BAT_OK)
        code = bat_profile_read(profile, path, NULL, error);
    if (code == BAT_OK)
        code = bat_profile_translate(profile, binary, NULL, &records, error);
    if (code == BAT_OK)
        code = bat_records_judge(records, false, &judgement, error);
    struct bat_verdict_subject subject = {.profile = profile,
                                          .moved = profile,
                                          .binary = binary,
                                          .records = records,
                                          .judgement = &judgement,
                                          .profiles = 1,
                                          .density_cutoff = 990000,
                                          .density_threshold = 60};
    if (code == BAT_OK)
        code = bat_verdict_judge(&verdict, &subject, error);
    for (int i = 0; i < BAT_VERDICT_CHECKS && code == BAT_OK; i++)
        if (verdict.results[i].status == BAT_VERDICT_FAILED)
            printf("%s: %g\n", bat_verdict_kind(i)->id, verdict.results[i].value);
    if (code == BAT_OK)
        printf("%s\n", verdict.is_fit ? "fit" : "unfit");
    bat_records_free(records);
    bat_profile_free(profile);
    bat_verdict_free(&verdict);
    return code;
}

/* A stack of one function for each that was executed. */
static enum bat_code write_pprof(const char *from, const char *to, struct bat_error *error)
{
    struct bat_yaml_profile profile;
    struct bat_sampled_stacks *stacks = bat_sampled_stacks_new();
    struct bat_output *output = NULL;
    enum bat_code code = bat_yaml_profile_read_file(from, &profile, error);
    if (code == BAT_OK && !stacks)
        code = bat_fail(error, BAT_ERR_MEMORY, "not enough memory");
    for (uint32_t i = 0; i < profile.count && code == BAT_OK; i++) {
        struct bat_sampled_frame frame = {.function = profile.functions[i].name};
        bat_sampled_stacks_begin(stacks);
        bat_sampled_stacks_place(stacks, 0, &frame, 1);
        bat_sampled_stacks_end(stacks, profile.functions[i].executions);
    }
    struct bat_sampled_subject subject = {.title = profile.binary, .unit = "executions"};
    if (code == BAT_OK)
        code = bat_output_begin(to, &output, error);
    if (code == BAT_OK)
        code = bat_sampled_stacks_write(stacks, BAT_VIEWER_PPROF, &subject, output, error);
    if (code == BAT_OK)
        code = bat_outputs_commit(&output, 1, error);
    else
        bat_output_abandon(output);
    bat_sampled_stacks_free(stacks);
    bat_yaml_profile_free(&profile);
    return code;
}

int main(int argc, char **argv)
{
    struct bat_binary binary;
    struct bat_error error;
    char text[BAT_MESSAGE_SIZE + 64];
    if (argc != 6) {
        fprintf(stderr, "usage: judge_profile FORMER.yaml NOW.yaml BINARY PROFILE PPROF\n");
        return 2;
    }
    enum bat_code code = compare((const char *const[]){argv[1], argv[2]}, &error);
    if (code == BAT_OK)
        code = write_pprof(argv[2], argv[5], &error);
    if (code == BAT_OK && (code = bat_binary_open(argv[3], &binary, &error)) == BAT_OK) {
        code = judge(&binary, argv[4], &error);
        bat_binary_close(&binary);
    }
    if (code == BAT_OK)
        return 0;
    bat_error_text(&error, text, sizeof(text));
    fprintf(stderr, "judge_profile: %s\n", text);
    return 1;
}
