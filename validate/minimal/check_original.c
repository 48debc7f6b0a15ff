/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "spec/left_out.h"
#include "validate/checking.h"

enum bat_code bat_check_original(struct bat_checking *checking)
{
    if (!checking->options->original)
        return BAT_OK;
    return bat_fail_left_out(checking->error, "the check against the input binary");
}
