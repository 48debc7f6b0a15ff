/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/left_out.h"
#include "tools/batdump/dump.h"

bool find_profile_name(const char *path, const struct bat_binary *binary, const char *name,
                       void (*found)(void *context, uint32_t table), void *context)
{
    (void)path, (void)binary, (void)name, (void)found, (void)context;
    struct bat_error error;
    bat_fail_left_out(&error, "the look-up of a local function's name in profiles");
    return tool_complain(NULL, &error);
}
