/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Reads a note described as JSON, without keeping the text in memory. spec/json.md describes the
 * form; in short, with optional members in brackets:
 *
 *   {"format":"batkit-note","schema":1,"version":3,["hot_index":"table"|"merged",]
 *    ["build_id":"hex",]["bolt_info":"text",]
 *    "functions":[
 *     {"kind":"hot","address":"0x..",["name":"..",]"hash":"0x..","num_blocks":7,
 *      ["secondary_entry_points":[26,48],]
 *      "entries":[{"output":0,"input":0,"hash":"0x..","index":0},
 *                 {"output":14,"input":14,"branch":true}]},
 *     {"kind":"cold","address":"0x..",["name":"..",]"parent":"0x<address of the hot function>",
 *      ["skew":n,]["equal_prefix":n,]"entries":[..]}]}
 *
 * Members may be in any order, tables and entries too: they are sorted, and entries of equal output
 * offset keep their order. A fragment may precede its parent, but is then kept in memory until the
 * end. Offsets and counts may also be "0x.." strings. build_id, bolt_info, name, skew, equal_prefix
 * and num_entries are for people: they are accepted and ignored. Unknown members are errors, unless
 * their names begin with "x-". hot_index is "table" if not given.
 */
#ifndef BAT_TOOLS_BATINJECT_JSON_NOTE_H
#define BAT_TOOLS_BATINJECT_JSON_NOTE_H

#include "bat.h"

/*
 * Read the description from an open file, up to its end. On success, free *map with bat_map_free().
 * On failure it is NULL, and error has the line and column, from 1 and in bytes, of the wrong value
 * or object. (Columns of a string with escapes count the characters that these stand for.) Time is
 * linear in the text, memory in the map.
 */
enum bat_code json_note_read(int file, struct bat_map **map, struct bat_error *error);

#endif
