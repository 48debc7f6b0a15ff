/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/left_out.h"
#include "tools/batinject/inject.h"

bool inject_upgrade_by_input(struct bat_binary *binary, const char *path)
{
    (void)binary, (void)path;
    struct bat_error error;
    bat_fail_left_out(&error, "--original");
    return tool_complain(NULL, &error);
}
