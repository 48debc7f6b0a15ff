/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common.h"

#include <inttypes.h>

#include "bat_compare.h"

static enum tool_exit fail(const char *path, const struct bat_error *error)
{
    tool_report(path, error);
    return TOOL_BAD;
}

static enum bat_code read_one(const char *path, struct bat_profile **profile,
                              struct bat_error *error)
{
    const struct bat_profile_target target = {.size = sizeof(target), .ignore_build_id = true};
    enum bat_code code = bat_profile_new(&target, profile, error);
    if (code == BAT_OK)
        code = bat_profile_read(*profile, path, NULL, error);
    return code;
}

/* Read the first profile, and keep of it what all others have. The caller frees *common. */
static enum tool_exit find_common(const struct translate_request *request,
                                  struct bat_profile **common)
{
    struct bat_error error;
    const char *path = request->binaries[0];
    if (read_one(path, common, &error) != BAT_OK)
        return fail(path, &error);
    for (size_t i = 1; i < request->binary_count; i++) {
        struct bat_profile *profile = NULL;
        path = request->binaries[i];
        enum bat_code code = read_one(path, &profile, &error);
        if (code == BAT_OK)
            code = bat_profile_keep_common(*common, profile, &error);
        bat_profile_free(profile);
        if (code != BAT_OK)
            return fail(path, &error);
    }
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
        return fail(request->output, &error);
    if (!request->quiet)
        tool_message(NULL, "%" PRIu64 " records are in all %zu profiles",
                     bat_profile_distinct(common), request->binary_count);
    return TOOL_FINE;
}

enum tool_exit common_run(const struct translate_request *request)
{
    struct bat_error error;
    struct bat_output *output;
    struct bat_profile *common = NULL;
    if (bat_output_begin(request->output, &output, &error) != BAT_OK)
        return fail(NULL, &error);
    enum tool_exit status = TOOL_FINE;
    if (bat_outputs_check(&output, 1, request->binaries, request->binary_count, &error) != BAT_OK)
        status = fail(NULL, &error);
    if (status == TOOL_FINE)
        status = find_common(request, &common);
    if (status == TOOL_FINE)
        status = write_common(request, common, output);
    bat_profile_free(common);
    if (status == TOOL_FINE)
        return tool_commit(NULL, &output, 1);
    bat_output_abandon(output);
    return status;
}
