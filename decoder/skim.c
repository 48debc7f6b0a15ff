/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "skim.h"

#include <stdlib.h>

#include "bat_decoder.h"

/* The decoder writes one entry and one block more than there are, for the next to overwrite. */
#define SLACK 8u

/* How many bytes of hot tables are passed before that is told. */
#define PASSED_MIN ((ptrdiff_t)4 << 20)

static enum bat_code skim_note(struct bat_skim *skim, const void *section, size_t size,
                               enum bat_hot_index hot_index, bat_passed_fn *passed,
                               void *passed_context, struct bat_error *error)
{
    *skim = (struct bat_skim){
        .decoding = {.passed = passed, .passed_context = passed_context, .is_skimming = true}};
    enum bat_code code = bat_decode_with(&skim->decoding, section, size, hot_index, error);
    skim->map = skim->decoding.map;
    skim->starts = skim->decoding.starts;
    skim->decoding.kept = section;
    return code;
}

/* What hot indices count in, where only all entries together can tell. */
static enum bat_code find_reading(const void *section, size_t size, enum bat_hot_index *form,
                                  struct bat_error *error)
{
    struct bat_map *map;
    enum bat_code code = bat_decode(section, size, BAT_HOT_INDEX_AUTO, &map, error);
    if (code == BAT_OK)
        *form = map->hot_index;
    bat_map_free(map);
    return code;
}

enum bat_code bat_skim_open(struct bat_skim *skim, const void *section, size_t size,
                            enum bat_hot_index hot_index, bat_passed_fn *passed,
                            void *passed_context, struct bat_error *error)
{
    enum bat_code code = skim_note(skim, section, size, hot_index, passed, passed_context, error);
    if (code != BAT_OK && skim->decoding.needs_entries) {
        bat_skim_close(skim);
        code = find_reading(section, size, &hot_index, error);
        if (code == BAT_OK)
            code = skim_note(skim, section, size, hot_index, passed, passed_context, error);
        if (code == BAT_OK)
            skim->map->hot_index_ambiguous = true;
    }
    if (code != BAT_OK)
        bat_skim_close(skim);
    return code;
}

void bat_skim_close(struct bat_skim *skim)
{
    bat_map_free(skim->map);
    free(skim->starts);
    *skim = (struct bat_skim){0};
}

enum bat_code bat_skim_share(const struct bat_skim *skim, struct bat_skim *second,
                             struct bat_error *error)
{
    *second = *skim;
    second->capacity = 0;
    second->map = malloc(sizeof(*second->map));
    if (!second->map)
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory to read the note");
    *second->map = *skim->map;
    second->map->output_offsets = NULL;
    second->map->input_offsets = NULL;
    second->map->block_hashes = NULL;
    second->map->block_indices = NULL;
    second->decoding.map = second->map;
    second->decoding.passed = NULL;
    return BAT_OK;
}

void bat_skim_leave(struct bat_skim *second)
{
    free(second->map->output_offsets);
    free(second->map->input_offsets);
    free(second->map->block_hashes);
    free(second->map->block_indices);
    free(second->map);
    *second = (struct bat_skim){0};
}

/* --- Loading ------------------------------------------------------------------------------ */

static bool reserve(void **array, uint64_t count, size_t size)
{
    void *grown = realloc(*array, (size_t)count * size);
    if (grown)
        *array = grown;
    return grown != NULL;
}

/* Room for as many entries, each of which may be a block. */
static bool reserve_all(struct bat_skim *skim, uint64_t entries)
{
    struct bat_map *map = skim->map;
    if (entries + SLACK <= skim->capacity)
        return true;
    uint64_t capacity = 2 * entries + SLACK;
    if (!reserve((void **)&map->output_offsets, capacity, sizeof(*map->output_offsets)) ||
        !reserve((void **)&map->input_offsets, capacity, sizeof(*map->input_offsets)) ||
        !reserve((void **)&map->block_hashes, capacity, sizeof(*map->block_hashes)) ||
        !reserve((void **)&map->block_indices, capacity, sizeof(*map->block_indices)))
        return false;
    skim->capacity = capacity;
    return true;
}

/* BAT.md 5 and 7: what is known of a table's header is passed over. */
static enum bat_code skip_header(struct bat_reader *reader, bool is_hot)
{
    uint64_t ignored;
    enum bat_code code = bat_reader_uleb(reader, "table's address delta", &ignored);
    if (code == BAT_OK && is_hot)
        code = bat_reader_u64(reader, "function hash", &ignored);
    if (code == BAT_OK)
        code = bat_reader_uleb(reader, is_hot ? "number of blocks" : "hot index's delta", &ignored);
    if (code == BAT_OK)
        code =
            bat_reader_uleb(reader, is_hot ? "number of secondary entry points" : "skew", &ignored);
    return code;
}

static enum bat_code load_table(struct bat_skim *skim, uint32_t table)
{
    struct bat_reader *reader = &skim->decoding.reader;
    uint32_t entries = skim->map->functions[table].entry_count;
    skim->decoding.entry_limit = entries;
    reader->cursor = reader->start + skim->starts[table];
    enum bat_code code = skip_header(reader, table < skim->map->hot_count);
    if (code == BAT_OK)
        code = bat_decode_table_body(&skim->decoding, &skim->map->functions[table]);
    if (code == BAT_OK && skim->map->functions[table].entry_count != entries)
        code = bat_fail(reader->error, BAT_ERR_IO, "was changed by someone else while it was read");
    return code;
}

enum bat_code bat_skim_load(struct bat_skim *skim, uint32_t hot, struct bat_error *error)
{
    struct bat_map *map = skim->map;
    struct bat_decoding *decoding = &skim->decoding;
    uint64_t entries = map->functions[hot].entry_count;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1]; i++)
        entries += map->functions[map->fragments[i]].entry_count;
    if (!reserve_all(skim, entries))
        return bat_fail(error, BAT_ERR_MEMORY, "not enough memory for a function's entries");
    decoding->reader.error = error;
    map->entry_count = 0;
    map->block_count = 0;
    enum bat_code code = load_table(skim, hot);
    const uint8_t *passed = decoding->reader.cursor;
    for (uint32_t i = map->fragment_start[hot]; i < map->fragment_start[hot + 1] && !code; i++)
        code = load_table(skim, map->fragments[i]);
    if (code == BAT_OK && decoding->passed && passed - decoding->kept >= PASSED_MIN) {
        decoding->passed(decoding->kept, (size_t)(passed - decoding->kept),
                         decoding->passed_context);
        decoding->kept = passed;
    }
    return code;
}
