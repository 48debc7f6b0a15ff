/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes of version 1 (BAT.md 10), and what only those of version 2 have (BAT.md 9). Internal to the
 * decoder. encoder/legacy has the same steps in the same order.
 */
#pragma once

#include "decoder/decoding.h"

/*
 * BOLT 17 and earlier: read a whole description into decoding->map, which is empty before. Parents
 * are set; the caller sorts tables and connects fragments.
 */
enum bat_code bat_decode_version_1(struct bat_decoding *decoding);

/* BOLT 18: set parents as far as the note tells. */
enum bat_code bat_decode_parents_2(struct bat_decoding *decoding);
