/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Any bytes as the JSON form of a note: a note that is read can be encoded, decoded, printed and
 * read again, and stays the same.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bat_binary.h"
#include "bat_decoder.h"
#include "bat_encoder.h"
#include "fuzz.h"
#include "tools/common/output.h"

static struct bat_map *through_note(const struct bat_map *map)
{
    uint8_t *section;
    size_t size;
    struct bat_error error;
    enum bat_code code = bat_encode(map, &section, &size, &error);
    fuzz_expect(code == BAT_OK, "a described note can be encoded");
    struct bat_map *again;
    code = fuzz_decode(section, size, map->hot_index, &again, &error);
    fuzz_expect(code == BAT_OK, "a described note can be decoded");
    free(section);
    return again;
}

static struct bat_map *through_text(struct bat_map *map)
{
    int file = fuzz_memory_file("", 0);
    struct output *output = output_begin(file);
    fuzz_expect(output != NULL, "there is memory for a buffer");
    struct bat_binary binary = {.map = map};
    struct bat_error error;
    enum bat_code code = bat_binary_write_json(&binary, NULL, output->text.output, &error);
    fuzz_expect(code == BAT_OK, "a note can be printed as JSON");
    fuzz_expect(output_end(output, TOOL_FINE) == TOOL_FINE, "a file in memory can be written");
    fuzz_expect(lseek(file, 0, SEEK_SET) == 0, "a file in memory can be read from its start");
    struct bat_map *again;
    code = bat_map_read_json(file, &again, &error);
    fuzz_expect(code == BAT_OK, "what is printed as JSON can be read");
    close(file);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int file = fuzz_memory_file(data, size);
    struct bat_map *map;
    struct bat_error error;
    enum bat_code code = bat_map_read_json(file, &map, &error);
    close(file);
    if (code != BAT_OK) {
        fuzz_expect(map == NULL, "there is no map where there is an error");
        fuzz_expect_error(code, &error, size);
        return 0;
    }
    struct bat_map *again = through_note(map);
    fuzz_expect_equal_maps(map, again);
    bat_map_free(again);
    again = through_text(map);
    fuzz_expect_equal_maps(map, again);
    bat_map_free(again);
    bat_map_free(map);
    return 0;
}
