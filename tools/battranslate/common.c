/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "translate.h"

#include "bat_compare.h"
#include "bat_yaml_profile.h"
#include "first_file.h"

static enum bat_code read_one(const char *path, struct bat_profile **profile,
                              struct bat_error *error)
{
    const struct bat_profile_target target = {.size = sizeof(target), .ignore_build_id = true};
    BAT_TRY(bat_profile_new(&target, profile, error));
    BAT_TRY(bat_profile_read(*profile, path, NULL, error));
    if (bat_profile_distinct(*profile) == 0) /* nor does it say of which form it is */
        return bat_fail(error, BAT_ERR_SYNTAX, "expected a profile with records, found none in it");
    return BAT_OK;
}

/* Read the first profile, and keep of it what all others have. The caller frees *common. */
static enum tool_exit find_common(const struct translate_request *request, const char *first,
                                  struct bat_profile **common)
{
    struct bat_error error;
    const char *path = request->binaries[0];
    if (read_one(first, common, &error) != BAT_OK)
        return tool_report(path, &error);
    for (size_t i = 1; i < request->binary_count; i++) {
        struct bat_profile *profile = NULL;
        path = request->binaries[i];
        enum bat_code code = read_one(path, &profile, &error);
        code = code ? code : bat_profile_keep_common(*common, profile, &error);
        bat_profile_free(profile);
        if (code != BAT_OK)
            return tool_report(path, &error);
    }
    return TOOL_FINE;
}

/* Say how many records there are; returns the status. */
static enum tool_exit report(const struct translate_request *request, uint64_t records)
{
    if (!request->quiet)
        tool_message(NULL, "%lu records are in all %zu profiles", records, request->binary_count);
    return TOOL_FINE;
}

static enum tool_exit write_common(const struct translate_request *request,
                                   const struct bat_profile *common, struct bat_output *output)
{
    struct bat_error error;
    bool is_fdata = bat_profile_counters(common).fdata_records != 0;
    enum bat_code code = is_fdata ? bat_profile_write_fdata(common, output, &error)
                                  : bat_profile_write_preagg(common, output, &error);
    if (code != BAT_OK)
        return tool_report(NULL, &error);
    return report(request, bat_profile_distinct(common));
}

static enum tool_exit run_records(const struct translate_request *request, const char *first,
                                  struct bat_output *output)
{
    struct bat_profile *common = NULL;
    enum tool_exit status = find_common(request, first, &common);
    status = status ? status : write_common(request, common, output);
    bat_profile_free(common);
    return status;
}

/* --- YAML ------------------------------------------------------------------------------------ */

/* Read a profile, sorted. *profile is to be freed in any case. */
static enum bat_code read_yaml(const char *path, struct bat_yaml_profile *profile,
                               struct bat_error *error)
{
    enum bat_code code = bat_yaml_profile_read_file(path, profile, error);
    return code ? code : bat_yaml_profile_sort(profile, error);
}

static enum tool_exit find_common_yaml(const struct translate_request *request, const char *first,
                                       struct bat_yaml_profile *common)
{
    struct bat_error error;
    enum bat_code code = read_yaml(first, common, &error);
    if (code != BAT_OK)
        return tool_report(request->binaries[0], &error);
    for (size_t i = 1; i < request->binary_count; i++) {
        struct bat_yaml_profile profile = {0};
        code = read_yaml(request->binaries[i], &profile, &error);
        code = code ? code : bat_yaml_profile_keep_common(common, &profile, &error);
        bat_yaml_profile_free(&profile);
        if (code != BAT_OK)
            return tool_report(request->binaries[i], &error);
    }
    return TOOL_FINE;
}

static enum tool_exit run_yaml(const struct translate_request *request, const char *first,
                               struct bat_output *output)
{
    struct bat_error error;
    struct bat_yaml_profile common = {0};
    enum tool_exit status = find_common_yaml(request, first, &common);
    uint64_t records = status == TOOL_FINE ? bat_yaml_profile_finish_common(&common) : 0;
    if (status == TOOL_FINE && bat_yaml_profile_write(&common, output, &error) != BAT_OK)
        status = tool_report(NULL, &error);
    bat_yaml_profile_free(&common);
    return status ? status : report(request, records);
}

/* --- All of it ------------------------------------------------------------------------------- */

enum tool_exit common_run(const struct translate_request *request)
{
    struct bat_error error;
    struct bat_output *output;
    if (bat_output_begin(request->output, &output, &error) != BAT_OK)
        return tool_report(NULL, &error);
    struct first_file first = {.copy = -1};
    enum tool_exit status;
    if (bat_outputs_check(&output, 1, request->binaries, request->binary_count, &error) != BAT_OK)
        status = tool_report(NULL, &error);
    else if (first_file_open(request->binaries[0], &first, &error) != BAT_OK)
        status = tool_report(request->binaries[0], &error);
    else
        status = first.is_yaml ? run_yaml(request, first.path, output)
                               : run_records(request, first.path, output);
    first_file_close(&first);
    if (status == TOOL_FINE)
        return tool_commit(NULL, &output, 1);
    bat_output_abandon(output);
    return status;
}
