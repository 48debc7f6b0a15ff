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
    struct bat_raw_note raw;
    enum bat_code code = bat_raw_note_read(path, &is_elf, &raw, error);
    binary->owned = raw.bytes;
    binary->is_mapped = raw.is_mapped;
    binary->note = raw.bytes;
    binary->note_size = raw.size;
    if (code != BAT_OK || !is_elf)
        return code;

    code = bat_elf_open(path, &binary->elf, error);
    if (code == BAT_OK)
        code = bat_elf_note(binary->elf, &binary->note, &binary->note_size, NULL, error);
    if (code != BAT_OK)
        bat_binary_close(binary);
    return code;
}

static struct bat_raw_note raw_note(const struct bat_binary *binary)
{
    return (struct bat_raw_note){
        .bytes = binary->owned, .size = binary->note_size, .is_mapped = binary->is_mapped};
}

void bat_binary_release_note(const struct bat_binary *binary, const uint8_t *bytes, size_t size)
{
    struct bat_raw_note raw = raw_note(binary);
    if (raw.bytes)
        bat_raw_note_release(&raw, bytes, size);
    else if (binary->elf)
        bat_elf_release(binary->elf, bytes, size);
}

/* The map holds what the decoder has passed: the mapped note need not stay in memory with it. */
static void release_passed(const uint8_t *bytes, size_t size, void *binary)
{
    bat_binary_release_note(binary, bytes, size);
}

enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error)
{
    enum bat_code code = bat_decode_passing(binary->note, binary->note_size, BAT_HOT_INDEX_AUTO,
                                            release_passed, binary, &binary->map, error);
    bat_binary_release_note(binary, binary->note, binary->note_size);
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
    struct bat_raw_note raw = raw_note(binary);
    bat_raw_note_free(&raw);
    *binary = (struct bat_binary){0};
}
