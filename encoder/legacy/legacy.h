/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes of versions 1 and 2 (BAT.md 9 and 10). Internal to the encoder. decoder/legacy has the same
 * steps in the same order.
 *
 * Both write the description of a map that bat_map_check() has passed.
 */
#ifndef BAT_ENCODER_LEGACY_LEGACY_H
#define BAT_ENCODER_LEGACY_LEGACY_H

#include "encoder/encoding.h"

enum bat_code bat_encode_version_1(struct bat_encoding *encoding);
enum bat_code bat_encode_version_2(struct bat_encoding *encoding);

/*
 * Check the entries of a table: output offsets ascend and never repeat, and there are as many block
 * entries as the table says.
 */
enum bat_code bat_legacy_check_entries(const struct bat_encoding *encoding,
                                       const struct bat_table *table);

#endif
