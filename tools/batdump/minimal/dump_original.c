/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/left_out.h"
#include "tools/batdump/dump.h"

bool dump_original(struct bat_text_writer *output, const char *path, struct bat_binary *binary,
                   const struct original_queries *queries)
{
    (void)output, (void)path, (void)binary, (void)queries;
    struct bat_error error;
    bat_fail_left_out(&error, "--original");
    return tool_complain(NULL, &error);
}
