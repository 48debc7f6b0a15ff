/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "binary/note_text.h"
#include "spec/left_out.h"

enum bat_code find_profile_name(const struct bat_binary *binary, const char *name,
                                void (*found)(void *context, uint32_t table), void *context,
                                struct bat_error *error)
{
    (void)binary, (void)name, (void)found, (void)context;
    return bat_fail_left_out(error, "the look-up of a local function's name in profiles");
}
