/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bat_binary.h"

#include "bat_decoder.h"
#include "decoder/decoding.h"
#include "decoder/sparse.h"
#include "elfnote/file_state.h"
#include "note_facts.h"
#include "parents.h"
#include "raw_note.h"
#include "sparse_note.h"

enum bat_code bat_binary_find_note(const char *path, struct bat_binary *binary,
                                   struct bat_error *error)
{
    *binary = (struct bat_binary){0};
    struct bat_raw_note raw;
    enum bat_code code = bat_raw_note_read(path, &binary->elf, &raw, error);
    binary->owned = raw.bytes;
    binary->mapped = raw.mapped;
    binary->note = raw.bytes;
    binary->note_size = raw.size;
    if (code != BAT_OK || !binary->elf)
        return code;

    code = bat_elf_note(binary->elf, &binary->note, &binary->note_size, NULL, error);
    if (code != BAT_OK)
        bat_binary_close(binary);
    return code;
}

enum bat_code bat_binary_check_unchanged(const struct bat_binary *binary, struct bat_error *error)
{
    if (binary->elf)
        return bat_elf_check_unchanged(binary->elf, error);
    if (!binary->mapped)
        return BAT_OK;
    struct stat now;
    if (fstat(binary->mapped->file, &now) != 0)
        return bat_fail(error, BAT_ERR_IO, "cannot be read any more: %m");
    if (!bat_file_is_same(&now, &binary->mapped->status))
        return bat_fail(error, BAT_ERR_IO, "was changed by another program while it was read");
    return BAT_OK;
}

enum bat_code bat_binary_without_note(struct bat_elf *elf, struct bat_binary *binary,
                                      struct bat_error *error)
{
    /* BAT.md 2 and 4: a note of no hot functions and no cold fragments. */
    static const uint8_t note[] = {5,   0,   0,   0,   2, 0, 0, 0, 1, 0, 0, 0,
                                   'B', 'O', 'L', 'T', 0, 0, 0, 0, 0, 0, 0, 0};
    *binary = (struct bat_binary){0};
    BAT_TRY(bat_decode(note, sizeof(note), NULL, &binary->map, error));
    binary->elf = elf;
    return BAT_OK;
}

enum bat_code bat_binary_find_note_if_any(const char *path, struct bat_binary *binary,
                                          struct bat_error *error)
{
    struct bat_error missing;
    enum bat_code code = bat_binary_find_note(path, binary, &missing);
    if (code != BAT_ERR_NO_NOTE) {
        if (code != BAT_OK && error)
            *error = missing;
        return code;
    }
    struct bat_elf *elf;
    code = bat_elf_open(path, &elf, error);
    if (code != BAT_OK)
        return code;
    size_t section_count;
    bat_elf_sections(elf, &section_count);
    if (section_count == 0) {
        if (error)
            *error = missing;
        code = BAT_ERR_NO_NOTE;
    } else if (note_is_bolted(elf)) {
        code = bat_fail(error, BAT_ERR_NO_NOTE,
                        "no .note.bolt_bat section, but BOLT has written this file: it was made "
                        "without --enable-bat, or the note was taken out (--store=DIR has it, if "
                        "it was put there; --note=FILE takes it from a file)");
    } else {
        code = bat_binary_without_note(elf, binary, error);
    }
    if (code != BAT_OK)
        bat_elf_close(elf);
    return code;
}

static struct bat_raw_note raw_note(const struct bat_binary *binary)
{
    return (struct bat_raw_note){
        .bytes = binary->owned, .size = binary->note_size, .mapped = binary->mapped};
}

void bat_binary_release_note(const struct bat_binary *binary, const uint8_t *bytes, size_t size)
{
    struct bat_raw_note raw = raw_note(binary);
    if (raw.bytes)
        bat_raw_note_release(&raw, bytes, size);
    else if (binary->elf)
        bat_elf_release(binary->elf, bytes, size);
}

/* The map has the content of decoded bytes, so the note's mapping need not stay in memory. */
static void release_consumed(const uint8_t *bytes, size_t size, void *binary)
{
    bat_binary_release_note(binary, bytes, size);
}

enum bat_code bat_binary_decode(struct bat_binary *binary, struct bat_error *error)
{
    enum bat_code code = bat_decode_consuming(binary->note, binary->note_size, BAT_HOT_INDEX_AUTO,
                                              release_consumed, binary, &binary->map, error);
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

enum bat_code bat_binary_decode_sparse(const struct bat_binary *binary, bool wants_largest,
                                       struct bat_sparse_map *sparse, struct bat_error *error)
{
    struct bat_binary copy = *binary;
    enum bat_code code = bat_decode_sparse(binary->note, binary->note_size, wants_largest,
                                           release_consumed, &copy, sparse, error);
    bat_binary_release_note(binary, binary->note, binary->note_size);
    if (code != BAT_OK || !sparse->map->hot_index_ambiguous)
        return code;
    copy.map = sparse->map;
    code = bat_binary_choose_reading(&copy, error);
    if (code != BAT_OK)
        bat_sparse_free(sparse);
    return code;
}

enum bat_code bat_binary_load_tables(const struct bat_binary *binary, struct bat_sparse_map *sparse,
                                     const uint8_t *wanted, bat_sparse_run_fn *run,
                                     struct bat_error *error)
{
    enum bat_code code =
        bat_sparse_load(sparse, binary->note, binary->note_size, wanted, run, error);
    bat_binary_release_note(binary, binary->note, binary->note_size);
    return code;
}

enum bat_code bat_binary_open(const char *path, struct bat_binary *binary, struct bat_error *error)
{
    BAT_TRY(bat_binary_find_note(path, binary, error));
    enum bat_code code = bat_binary_decode(binary, error);
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
