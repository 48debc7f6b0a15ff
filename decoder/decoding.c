/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the parts of the decoder share: room in the arrays, the end. */

#include "decoding.h"
#include "spec/array.h"

enum bat_code bat_decode_fail_memory(struct bat_error *error)
{
    return bat_fail_memory(error, "to decode the note");
}

enum bat_code bat_decode_fail_changed(struct bat_error *error)
{
    return bat_fail(error, BAT_ERR_IO, "the note was changed by another program while it was read");
}

/* Enlarge an array of the map to capacity elements; array is the address of its pointer. */
static bool grow_array(void *array, size_t capacity, size_t size)
{
    void *grown = bat_array_grow(*(void **)array, capacity, size);
    if (grown)
        *(void **)array = grown;
    return grown != NULL;
}

/* The capacity that an array grows to: at least half more, so that growing costs linear time. */
static size_t grown_capacity(size_t capacity, size_t needed)
{
    size_t grown = capacity + capacity / 2;
    return grown < needed ? needed : grown;
}

static bool grow_entries(struct bat_decoding *decoding, size_t needed)
{
    struct bat_map *map = decoding->map;
    size_t capacity = grown_capacity(decoding->entry_capacity, needed);
    decoding->entry_capacity = capacity;
    return grow_array(&map->output_offsets, capacity, sizeof(*map->output_offsets)) &&
           grow_array(&map->input_offsets, capacity, sizeof(*map->input_offsets));
}

static bool grow_blocks(struct bat_decoding *decoding, size_t needed)
{
    struct bat_map *map = decoding->map;
    size_t capacity = grown_capacity(decoding->block_capacity, needed);
    decoding->block_capacity = capacity;
    return grow_array(&map->block_hashes, capacity, sizeof(*map->block_hashes)) &&
           grow_array(&map->block_indices, capacity, sizeof(*map->block_indices));
}

enum bat_code bat_decode_make_room(struct bat_decoding *decoding, uint32_t more)
{
    size_t entries = (size_t)decoding->map->entry_count + more;
    size_t blocks = (size_t)decoding->map->block_count + more;
    if (decoding->has_fixed_arrays &&
        (entries > decoding->entry_capacity || blocks > decoding->block_capacity))
        return bat_decode_fail_changed(decoding->reader.error);
    if ((entries > decoding->entry_capacity && !grow_entries(decoding, entries)) ||
        (blocks > decoding->block_capacity && !grow_blocks(decoding, blocks)))
        return bat_decode_fail_memory(decoding->reader.error);
    return BAT_OK;
}

enum bat_code bat_decode_finish(struct bat_decoding *decoding)
{
    const struct bat_reader *reader = &decoding->reader;
    struct bat_map *map = decoding->map;
    if (bat_reader_left(reader) != 0)
        return bat_reader_fail(reader, BAT_ERR_TRAILING, reader->cursor,
                               "expected the description to end with the last table, found %zu "
                               "more bytes",
                               bat_reader_left(reader));
    if (decoding->sparse) {
        BAT_FREE_ALL(map->output_offsets, map->input_offsets, map->block_hashes,
                     map->block_indices);
        map->output_offsets = map->input_offsets = map->block_indices = NULL;
        map->block_hashes = NULL;
        return BAT_OK;
    }
    BAT_SHRINK(map->output_offsets, map->entry_count);
    BAT_SHRINK(map->input_offsets, map->entry_count);
    BAT_SHRINK(map->secondary_entries, map->secondary_count);
    if (bat_map_has_hashes(map)) {
        BAT_SHRINK(map->block_hashes, map->block_count);
        BAT_SHRINK(map->block_indices, map->block_count);
        return BAT_OK;
    }
    /* Room for what older notes do not have. */
    BAT_FREE_ALL(map->block_hashes, map->block_indices);
    map->block_hashes = NULL;
    map->block_indices = NULL;
    return BAT_OK;
}
