/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translation entries: BAT.md 6. decoder/entries.c has the same steps in the same order.
 */
#include <inttypes.h>

#include "encoding.h"
#include "writer.h"

/* An array from an element on. Where a map has no elements it may have no array either. */
static const uint32_t *from_element(const uint32_t *array, uint32_t first)
{
    return array ? array + first : NULL;
}

uint32_t bat_equal_prefix(const struct bat_map *map, const struct bat_function *table)
{
    const uint32_t *output = from_element(map->output_offsets, table->first_entry);
    const uint32_t *input = from_element(map->input_offsets, table->first_entry);
    uint32_t count = 0;
    /* Modulo 2^32: an entry may lie below its fragment's start (BAT.md 6.2). */
    while (count < table->entry_count && output[count] + table->skew == input[count] >> 1)
        count++;
    return count;
}

uint32_t bat_skew(const struct bat_map *map, const struct bat_function *table, bool is_cold)
{
    if (!is_cold || table->entry_count == 0)
        return 0;
    return map->input_offsets[table->first_entry] >> 1;
}

/* BAT.md 6.2: one bit an entry, and what is left of the last byte clear. */
static uint8_t *write_branch_bits(uint8_t *at, const uint32_t *input, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 8) {
        unsigned bits = 0;
        for (uint32_t j = i; j < count && j < i + 8; j++)
            bits |= (input[j] & BAT_BRANCH_ENTRY) << (j - i);
        *at++ = (uint8_t)bits;
    }
    return at;
}

static enum bat_code fail(const struct bat_encoding *encoding, const struct bat_function *table,
                          enum bat_code code, const char *expected, uint32_t entry)
{
    return bat_fail(encoding->error, code,
                    "table at 0x%" PRIx64 ": expected %s, found otherwise at entry %" PRIu32,
                    table->address, expected, entry);
}

enum bat_code bat_encode_entries(struct bat_encoding *encoding, const struct bat_function *table)
{
    const struct bat_map *map = encoding->map;
    const uint32_t *outputs = from_element(map->output_offsets, table->first_entry);
    const uint32_t *inputs = from_element(map->input_offsets, table->first_entry);
    const uint64_t *hashes = map->block_hashes;
    const uint32_t *indices = map->block_indices;
    uint32_t block = table->first_block;
    const uint32_t block_end = block + table->block_count;

    if (bat_equal_prefix(map, table) < table->equal_count)
        return fail(encoding, table, BAT_ERR_PREFIX, "equal offsets all through the equal prefix",
                    bat_equal_prefix(map, table));
    uint8_t *at = write_branch_bits(encoding->at, inputs, table->equal_count);
    uint32_t output = 0;
    uint32_t input = 0;
    uint64_t last_index = 0;
    for (uint32_t i = 0; i < table->entry_count; i++) {
        if (outputs[i] < output)
            return fail(encoding, table, BAT_ERR_ORDER, "output offsets that ascend", i);
        at = bat_write_uleb(at, outputs[i] - output);
        output = outputs[i];
        if (i >= table->equal_count)
            at = bat_write_sleb(at, (int64_t)inputs[i] - (int64_t)input);
        input = inputs[i];
        if (input & BAT_BRANCH_ENTRY)
            continue;
        if (block == block_end)
            return fail(encoding, table, BAT_ERR_COUNT, "as many block entries as blocks", i);
        at = bat_write_u64(at, hashes[block]);
        at = bat_write_uleb(at, indices[block] - last_index);
        last_index = indices[block++];
    }
    if (block != block_end)
        return fail(encoding, table, BAT_ERR_COUNT, "as many block entries as blocks",
                    table->entry_count);
    encoding->at = at;
    encoding->address = table->address + output;
    return BAT_OK;
}
