/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes of version 1 (BAT.md 10), and what version 2 has in common with them. Internal to the
 * encoder. decoder/legacy has the same steps in the same order.
 */
#pragma once

#include "encoder/encoding.h"

/* Write the description of a map that bat_map_check() has passed. */
enum bat_code bat_encode_version_1(struct bat_encoding *encoding);

/*
 * Check the entries of a table: output offsets ascend and never repeat, and there are as many block
 * entries as the table says.
 */
enum bat_code bat_legacy_check_entries(const struct bat_encoding *encoding,
                                       const struct bat_table *table);
