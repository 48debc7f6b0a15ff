/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translation entries: BAT.md 6. decoder/entries.c has the same steps in the same order.
 */

#include "encoding.h"
#include "writer.h"

/* The address of an element, or NULL: a map without elements may have no array. */
static const uint32_t *from_element(const uint32_t *array, uint32_t first)
{
    return array ? array + first : NULL;
}

uint32_t bat_skew(const struct bat_map *map, const struct bat_table *table, bool is_cold)
{
    if (!is_cold || table->entry_count == 0)
        return 0;
    return map->input_offsets[table->first_entry] >> 1;
}

/* BAT.md 6.2: one bit for each entry; the unused bits of the last byte are clear. */
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

static enum bat_code fail(const struct bat_encoding *encoding, const struct bat_table *table,
                          enum bat_code code, const char *expected, uint32_t entry)
{
    return bat_fail(encoding->error, code,
                    "table at 0x%lx: expected %s, found otherwise at entry %u", table->address,
                    expected, entry);
}

/* Where the next entry is written, and the values that its deltas count from. */
struct entry_cursor {
    uint8_t *at;           /* where the next byte goes */
    const uint64_t *hash;  /* of the next block; of the last one if all are written */
    const uint32_t *index; /* of the same block */
    uint32_t blocks_left;
    uint32_t output;     /* output offset of the previous entry, 0 for the first */
    uint32_t input;      /* its input side: offset << 1 | branch bit */
    uint64_t last_index; /* index of the previous block */
};

/*
 * Write hash and index delta if the entry is a block. Processors cannot predict which entries are
 * blocks, so the next block's values are written after every entry; if the entry is not a block,
 * the next entry overwrites them. False if the table has no more blocks.
 */
static inline bool write_block(struct entry_cursor *cursor, uint64_t is_block)
{
    if (is_block > cursor->blocks_left)
        return false;
    bat_write_u64(cursor->at, *cursor->hash);
    uint64_t delta = (*cursor->index - cursor->last_index) & (0 - is_block);
    if (delta < 0x80) {
        cursor->at[8] = (uint8_t)delta;
        cursor->at += 9 * is_block;
    } else {
        cursor->at = bat_write_uleb(cursor->at + 8, delta);
    }
    cursor->last_index += delta;
    uint64_t is_another = is_block & (cursor->blocks_left > 1);
    cursor->blocks_left -= (uint32_t)is_block;
    cursor->hash += is_another;
    cursor->index += is_another;
    return true;
}

enum bat_code bat_encode_entries(struct bat_encoding *encoding, const struct bat_table *table)
{
    static const uint64_t no_hash = 0;
    static const uint32_t no_index = 0;
    const struct bat_map *map = encoding->map;
    const uint32_t *outputs = from_element(map->output_offsets, table->first_entry);
    const uint32_t *inputs = from_element(map->input_offsets, table->first_entry);
    const bool has_hashes = bat_map_has_hashes(map);
    const bool has_blocks = has_hashes && table->block_count != 0;
    struct entry_cursor now = {
        .at = write_branch_bits(encoding->at, inputs, table->equal_count),
        .hash = has_blocks ? map->block_hashes + table->first_block : &no_hash,
        .index = has_blocks ? map->block_indices + table->first_block : &no_index,
        .blocks_left = table->block_count,
    };
    for (uint32_t i = 0; i < table->entry_count; i++) {
        uint32_t output = outputs[i];
        uint32_t input = inputs[i];
        if (output < now.output)
            return fail(encoding, table, BAT_ERR_ORDER, "output offsets that ascend", i);
        now.at = bat_write_uleb(now.at, output - now.output);
        if (i >= table->equal_count)
            now.at = bat_write_step(now.at, (int64_t)input - (int64_t)now.input);
        else if (output + table->skew != input >> 1)
            return fail(encoding, table, BAT_ERR_PREFIX,
                        "equal offsets all through the equal prefix", i);
        now.output = output;
        now.input = input;
        if (has_hashes && !write_block(&now, ~input & BAT_BRANCH_ENTRY))
            return fail(encoding, table, BAT_ERR_COUNT, "as many block entries as blocks", i);
    }
    if (has_hashes && now.blocks_left != 0)
        return fail(encoding, table, BAT_ERR_COUNT, "as many block entries as blocks",
                    table->entry_count);
    encoding->at = now.at;
    encoding->address = table->address + now.output;
    return BAT_OK;
}
