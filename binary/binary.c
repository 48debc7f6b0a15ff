/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_binary.h"

#include <stdlib.h>

#include "bat_decoder.h"
#include "decoding.h"
#include "raw_note.h"
#include "reading.h"

enum bat_code bat_binary_find_note(const char *path, struct bat_binary *binary,
                                   struct bat_error *error)
{
    *binary = (struct bat_binary){0};
    bool is_elf = false;
    enum bat_code code =
        bat_raw_note_read(path, &is_elf, &binary->owned, &binary->note_size, error);
    binary->note = binary->owned;
    if (code != BAT_OK || !is_elf)
        return code;

    code = bat_elf_open(path, &binary->elf, error);
    if (code == BAT_OK)
        code = bat_elf_note(binary->elf, &binary->note, &binary->note_size, NULL, error);
    if (code != BAT_OK)
        bat_binary_close(binary);
    return code;
}

/* The map holds what the decoder has passed: the mapped note need not stay in memory with it. */
static void release_passed(const uint8_t *bytes, size_t size, void *elf)
{
    bat_elf_release(elf, bytes, size);
}

enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error)
{
    enum bat_code code =
        bat_decode_passing(binary->note, binary->note_size, BAT_HOT_INDEX_AUTO,
                           binary->elf ? release_passed : NULL, binary->elf, &binary->map, error);
    if (binary->elf)
        bat_elf_release(binary->elf, binary->note, binary->note_size);
    if (code != BAT_OK || !binary->map->hot_index_ambiguous)
        return code;
    code = bat_binary_choose_reading(binary, error);
    if (code != BAT_OK) {
        bat_map_free(binary->map);
        binary->map = NULL;
    }
    return code;
}

enum bat_code bat_binary_open(const char *path, struct bat_binary *binary, struct bat_error *error)
{
    enum bat_code code = bat_binary_find_note(path, binary, error);
    if (code != BAT_OK)
        return code;
    code = bat_binary_decode(binary, error);
    if (code != BAT_OK)
        bat_binary_close(binary);
    return code;
}

void bat_binary_close(struct bat_binary *binary)
{
    bat_map_free(binary->map);
    bat_elf_close(binary->elf);
    free(binary->owned);
    *binary = (struct bat_binary){0};
}
