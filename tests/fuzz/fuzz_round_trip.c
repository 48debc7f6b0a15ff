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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bat_map *map;
    struct bat_error error;
    if (bat_decode(data, size, NULL, &map, &error) != BAT_OK)
        return 0;
    expect_bytes(map, data, size, "a note that decodes is encoded to the same bytes");
    struct bat_map *again;
    enum bat_code code = fuzz_decode(data, size, map->hot_index, &again, &error);
    fuzz_expect(code == BAT_OK, "a note that decodes does so again");
    fuzz_expect_equal_maps(map, again);
    bat_map_free(again);
    turn_over(map, data, size);
    expect_bytes(map, data, size, "reading there and back leaves the bytes as they were");
    canonicalize(map);
    bat_map_free(map);
    return 0;
}
