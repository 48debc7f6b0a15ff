/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_binary.h"

#include "spec/left_out.h"

enum bat_code bat_map_read_json(int file, struct bat_map **map, struct bat_error *error)
{
    (void)file;
    *map = NULL;
    return bat_fail_left_out(error, "--json");
}
