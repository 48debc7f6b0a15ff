/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --explain-recording: what a recording holds, for which binaries, what to run next. */
#include "store/find/explain_recording.h"
#include "tools/common/output.h"
#include "translate.h"

enum tool_exit explain_recording_run(const struct translate_request *request)
{
    const struct recording_question question = {
        .recording = request->recording,
        .places = {request->binaries, request->binary_count, &request->stores},
        .as_json = request->json_report,
        .is_quiet = request->quiet};
    struct bat_error error;
    bool is_fit;
    struct output *output = output_begin_path(request->output, &request->recording, 1);
    if (!output)
        return TOOL_BAD;
    output->is_report = true;
    if (recording_explain(&question, &output->text, &is_fit, &error) != BAT_OK) {
        output_free(output);
        return tool_report(request->recording, &error);
    }
    return output_end(output, is_fit ? TOOL_FINE : TOOL_BAD);
}
