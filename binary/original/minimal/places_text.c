/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "binary/note_text.h"
#include "spec/left_out.h"

enum bat_code original_places_text(struct bat_text_writer *output, const char *path,
                                   struct bat_binary *binary,
                                   const struct original_queries *queries, const char **failed,
                                   struct bat_error *error)
{
    (void)output, (void)path, (void)binary, (void)queries;
    *failed = NULL;
    return bat_fail_left_out(error, "--original");
}
