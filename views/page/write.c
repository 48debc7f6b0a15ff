/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_page.h"
#include "comparison_report.h"
#include "spec/options.h"

enum bat_code bat_page_write(const struct bat_page_request *request, struct bat_output *output,
                             const char **file, struct bat_error *error)
{
    struct bat_page_request own;
    *file = NULL;
    enum bat_code code = bat_options_copy(&own, sizeof(own), request, "bat_page_request", error);
    if (code == BAT_OK && !own.binary)
        code = bat_fail(error, BAT_ERR_ARGUMENT, "bat_page_request has no binary");
    if (code != BAT_OK)
        return code;
    if (own.old_binary)
        return comparison_run(&own, output, file, error);
    struct report report = {.request = &own, .stored = bat_stored_nothing()};
    code = report_run(&report, output);
    *file = report.failed;
    if (code != BAT_OK && error)
        *error = report.error;
    report_free(&report);
    return code;
}
