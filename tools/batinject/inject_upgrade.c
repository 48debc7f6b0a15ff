/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_original.h"
#include "inject.h"

bool inject_upgrade_by_input(struct bat_binary *binary, const char *path)
{
    struct bat_error error;
    return bat_original_upgrade(binary, path, &error) == BAT_OK || tool_complain(path, &error);
}
