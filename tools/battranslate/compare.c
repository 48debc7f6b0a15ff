/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --compare: how much profiles agree. */
#include <unistd.h>

#include "profile/report/compare_profiles.h"
#include "tools/common/output.h"
#include "translate.h"

enum tool_exit compare_run(const struct translate_request *request)
{
    const struct compared_profiles compared = {.paths = request->binaries,
                                               .count = (uint32_t)request->binary_count,
                                               .symbols = request->symbols,
                                               .min_overlap = request->min_overlap,
                                               .as_json = request->json_report,
                                               .is_quiet = request->quiet,
                                               .tell = tool_tell};
    struct bat_error error;
    const char *failed;
    bool is_low;
    struct output *output = output_begin(STDOUT_FILENO);
    if (!output)
        return TOOL_BAD;
    enum tool_exit status =
        compare_profiles(&compared, &output->text, &is_low, &failed, &error) == BAT_OK
            ? TOOL_FINE
            : tool_report(failed, &error);
    status = output_end(output, status);
    return status == TOOL_FINE && is_low ? TOOL_BAD : status;
}
