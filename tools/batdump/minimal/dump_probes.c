/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/left_out.h"
#include "tools/batdump/dump.h"

bool dump_probes(struct bat_text_writer *output, const char *path, struct bat_binary *binary,
                 const char *original_path)
{
    (void)output, (void)path, (void)binary, (void)original_path;
    struct bat_error error;
    bat_fail_left_out(&error, "--probes");
    return tool_complain(NULL, &error);
}
