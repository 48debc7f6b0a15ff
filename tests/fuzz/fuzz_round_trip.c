/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Encoding undoes decoding: a note that can be decoded is encoded to the same bytes in both
 * readings of its hot indices, and a map in canonical form does not change.
 */
#include <stdlib.h>
#include <string.h>

#include "bat_decoder.h"
#include "bat_encoder.h"
#include "fuzz.h"

static uint8_t *encode(const struct bat_map *map, size_t *size)
{
    uint8_t *section;
    struct bat_error error;
    enum bat_code code = bat_encode(map, &section, size, &error);
    fuzz_expect(code == BAT_OK, "a map that was decoded can be encoded");
    return section;
}

static void expect_bytes(const struct bat_map *map, const uint8_t *data, size_t size,
                         const char *sentence)
{
    size_t encoded_size;
    uint8_t *encoded = encode(map, &encoded_size);
    fuzz_expect(encoded_size == size && memcmp(encoded, data, size) == 0, sentence);
    free(encoded);
}

/* The other reading of the hot indices must change only the parents; the first one restores
 * them. */
static void turn_over(struct bat_map *map, const uint8_t *data, size_t size)
{
    enum bat_hot_index form = map->hot_index;
    enum bat_hot_index other =
        form == BAT_HOT_INDEX_TABLE ? BAT_HOT_INDEX_MERGED : BAT_HOT_INDEX_TABLE;
    struct bat_error error;
    enum bat_code code = bat_map_set_hot_index(map, other, &error);
    if (code != BAT_OK) {
        fuzz_expect_error(code, &error, size);
        fuzz_expect(map->hot_index == form, "a reading that does not fit changes nothing");
        return;
    }
    expect_bytes(map, data, size, "the other reading of hot indices encodes to the same bytes");
    struct bat_map *again;
    code = fuzz_decode(data, size, other, &again, &error);
    fuzz_expect(code == BAT_OK, "what can be read the other way can be decoded so");
    fuzz_expect_equal_maps(map, again);
    bat_map_free(again);
    code = bat_map_set_hot_index(map, form, &error);
    fuzz_expect(code == BAT_OK, "the first reading fits again");
}

static void canonicalize(struct bat_map *map)
{
    bat_map_canonicalize(map);
    size_t size;
    uint8_t *section = encode(map, &size);
    struct bat_map *again;
    struct bat_error error;
    enum bat_code code = fuzz_decode(section, size, BAT_HOT_INDEX_TABLE, &again, &error);
    fuzz_expect(code == BAT_OK, "a canonical note can be decoded");
    fuzz_expect_equal_maps(map, again);
    bat_map_canonicalize(again);
    fuzz_expect_equal_maps(map, again);
    bat_map_free(again);
    free(section);
}

/* Look-ups in a table of the old note and of the upgraded one. */
static void compare_look_ups(const struct bat_map *old, const struct bat_map *upgraded,
                             uint32_t table)
{
    const struct bat_table *function = &old->tables[table];
    fuzz_expect(function->address == upgraded->tables[table].address &&
                    function->parent == upgraded->tables[table].parent,
                "an upgraded table has its address and its parent");
    for (uint32_t i = 0; i < function->entry_count; i++) {
        uint64_t offset = old->output_offsets[function->first_entry + i];
        for (uint64_t at = offset; at < offset + 2; at++)
            for (int is_source = 0; is_source < 2; is_source++)
                fuzz_expect(bat_map_translate(old, table, at, is_source) ==
                                bat_map_translate(upgraded, table, at, is_source),
                            "an upgraded note translates as it did");
    }
}

/* An upgraded note says what the old one does, and is a sound note of version 3. */
static void upgrade(struct bat_map *map, const struct bat_map *old)
{
    struct bat_error error;
    enum bat_code code = bat_map_upgrade(map, NULL, NULL, &error);
    fuzz_expect(code == BAT_OK && map->version == BAT_VERSION_3, "an old note can be upgraded");
    for (uint32_t i = 0; i < bat_map_tables(map); i++)
        compare_look_ups(old, map, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bat_map *map;
    struct bat_error error;
    if (bat_decode(data, size, NULL, &map, &error) != BAT_OK)
        return 0;
    expect_bytes(map, data, size, "a note that decodes is encoded to the same bytes");
    struct bat_map *again;
    bool is_older = map->version != BAT_VERSION_3;
    enum bat_hot_index form = is_older ? BAT_HOT_INDEX_AUTO : map->hot_index;
    enum bat_code code = fuzz_decode(data, size, form, &again, &error);
    fuzz_expect(code == BAT_OK, "a note that decodes does so again");
    fuzz_expect_equal_maps(map, again);
    if (is_older)
        upgrade(map, again);
    bat_map_free(again);
    if (!is_older) {
        turn_over(map, data, size);
        expect_bytes(map, data, size, "reading there and back leaves the bytes as they were");
    }
    canonicalize(map);
    bat_map_free(map);
    return 0;
}
