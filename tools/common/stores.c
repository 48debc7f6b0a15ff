/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tool.h"

bool tool_stores_add_environment(struct bat_stores *stores)
{
    struct bat_error error;
    return bat_stores_add_environment(stores, &error) == BAT_OK || tool_complain(NULL, &error);
}

bool tool_stores_find_whole(const struct bat_stores *stores, const char *path,
                            struct bat_stored *stored)
{
    struct bat_error error;
    return bat_stores_find_whole(stores, path, stored, &error) == BAT_OK ||
           tool_complain(NULL, &error);
}
