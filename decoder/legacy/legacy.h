/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Notes of versions 1 and 2 (BAT.md 9 and 10). Internal to the decoder.
 *
 * All of these read a whole description into decoding->map, which is empty before. They do what
 * version 3's decoder does up to the tables' order: the caller sorts tables and connects fragments.
 * encoder/legacy has the same steps in the same order.
 */
#ifndef BAT_DECODER_LEGACY_LEGACY_H
#define BAT_DECODER_LEGACY_LEGACY_H

#include "decoder/decoding.h"

/* BOLT 17 and earlier. Parents are set. */
enum bat_code bat_decode_version_1(struct bat_decoding *decoding);

/*
 * BOLT 18. Parents are set as far as the note tells (BAT.md 9.2). with_prefixes is how LLVM's main
 * branch wrote notes between BOLT 18 and 19.
 */
enum bat_code bat_decode_version_2(struct bat_decoding *decoding, bool with_prefixes);

/* Room in the map's arrays for so many entries; blocks have neither hash nor index. */
enum bat_code bat_legacy_allocate(struct bat_decoding *decoding, size_t entries);

/* Append an entry to the last table, whose first_entry is set. There must be room. */
void bat_legacy_append(struct bat_map *map, struct bat_table *table, uint32_t output,
                       uint32_t input);

/* BAT_ERR_TRAILING if bytes are left; else give back the room that no entry took. */
enum bat_code bat_legacy_finish(struct bat_decoding *decoding);

#endif
