/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Outputs as tests begin and end them. */
#pragma once

#include "bat_output.h"
#include "unit_test.h"

static inline struct bat_output *begin_output(const char *path)
{
    struct bat_output *output;
    struct bat_error error = {0};
    if (bat_output_begin(path, &output, &error) != BAT_OK)
        fail_msg("%s", error.message);
    return output;
}

static inline void commit_output(struct bat_output *output)
{
    struct bat_error error = {0};
    if (bat_outputs_commit(&output, 1, &error) != BAT_OK)
        fail_msg("%s", error.message);
}
