/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Encodes the map again and compares the result with the note. */
#include <stdlib.h>
#include <string.h>

#include "bat_encoder.h"
#include "checking.h"

static void compare(struct bat_checking *checking, const uint8_t *encoded, size_t size)
{
    const uint8_t *note = checking->binary->note;
    size_t note_size = checking->binary->note_size;
    size_t common = size < note_size ? size : note_size;
    if (size == note_size && memcmp(encoded, note, size) == 0)
        return;
    size_t first = 0;
    while (first < common && encoded[first] == note[first])
        first++;
    bat_checking_find(checking, CHECK_ROUND_TRIP, BAT_NONE, BAT_NONE,
                      "expected the note encoded again to be the same %zu bytes, found %zu bytes "
                      "that differ from offset 0x%zx on",
                      note_size, size, first);
}

enum bat_code bat_check_round_trip(struct bat_checking *checking)
{
    if (!checking->options->round_trip || !checking->binary->note)
        return BAT_OK;
    uint8_t *encoded = NULL;
    size_t size = 0;
    struct bat_error error;
    enum bat_code code = bat_encode(checking->map, &encoded, &size, &error);
    if (code == BAT_ERR_MEMORY)
        return bat_fail(checking->error, code, "%s", error.message);
    if (code == BAT_OK)
        compare(checking, encoded, size);
    else
        bat_checking_find(checking, CHECK_ROUND_TRIP, BAT_NONE, BAT_NONE,
                          "expected a note that can be encoded again, found: %s", error.message);
    free(encoded);
    return BAT_OK;
}
