/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translation entries: BAT.md 6. encoder/entries.c has the same steps in the same order.
 *
 * Entries are nearly all of a note, so they are read twice over, in a manner of speaking: a fast
 * loop takes every entry that is as it should be and has enough bytes behind it for the longest
 * entry that there can be, so that no single field needs to ask; the entry where it stops is left
 * to the careful reader, which either reads it too (near the note's end) or says what is wrong.
 */
#include <inttypes.h>

#include "decoding.h"
#include "leb128.h"

/* Output delta, input delta, hash, index delta. */
#define ENTRY_MAX (3 * BAT_LEB128_MAX + 8)

/* Where the next entry of a table stands, and what its deltas count from. */
struct entry_cursor {
    const uint8_t *at;
    uint64_t output; /* offset of the entry before, 0 for the first */
    uint64_t input;  /* its input side: offset << 1 | branch bit */
    uint64_t index;  /* index of the last block */
    uint32_t entry;  /* entries read */
    uint32_t block;  /* blocks read */
};

/* The arrays of one table. */
struct entry_arrays {
    uint32_t *output;
    uint32_t *input;
    uint64_t *hash;
    uint32_t *index;
};

static bool is_branch_in_prefix(const uint8_t *branch_bits, uint32_t entry)
{
    return (branch_bits[entry >> 3] >> (entry & 7)) & 1;
}

/*
 * The input side of an entry of the equal prefix, without its branch bit. Equal means equal modulo
 * 2^32 (BAT.md 6.2): an entry may lie below its fragment's start.
 */
static uint64_t equal_input(uint64_t output, uint64_t skew)
{
    return (uint64_t)(uint32_t)(output + skew) << 1;
}

/* Hash and index delta of a block, written to position block; NULL if not as it should be. */
static inline const uint8_t *fast_block(const uint8_t *at, const struct entry_arrays *arrays,
                                        uint32_t block, uint64_t *index)
{
    arrays->hash[block] = bat_load64(at);
    uint64_t delta;
    at = bat_uleb128_fast(at + 8, &delta);
    uint64_t sum = *index + delta;
    if (!at || sum > UINT32_MAX)
        return NULL;
    arrays->index[block] = (uint32_t)sum;
    *index = sum;
    return at;
}

/*
 * Read entries up to number `until`, all of the equal prefix or all behind it, while they are as
 * they should be and ENTRY_MAX bytes are left before end.
 */
static inline void fast_entries(struct entry_cursor *cursor, const struct entry_arrays *arrays,
                                const uint8_t *end, uint32_t until, const uint8_t *branch_bits,
                                uint64_t skew)
{
    struct entry_cursor now = *cursor;
    const uint8_t *last = end - ENTRY_MAX;
    while (now.entry < until && now.at <= last) {
        uint64_t delta;
        const uint8_t *at = bat_uleb128_fast(now.at, &delta);
        uint64_t output = now.output + delta;
        uint64_t input;
        /* The first entry's delta may be any 64-bit number, so the sum may wrap: test both. */
        if (!at || ((delta | output) >> 32))
            break;
        if (branch_bits) {
            input = equal_input(output, skew) | is_branch_in_prefix(branch_bits, now.entry);
        } else {
            int64_t step;
            at = bat_sleb128_fast(at, &step);
            if (!at)
                break;
            input = now.input + (uint64_t)step;
        }
        if (input >> 32)
            break;
        if (!(input & BAT_BRANCH_ENTRY)) {
            at = fast_block(at, arrays, now.block, &now.index);
            if (!at)
                break;
            now.block++;
        }
        arrays->output[now.entry] = (uint32_t)output;
        arrays->input[now.entry] = (uint32_t)input;
        now.output = output;
        now.input = input;
        now.at = at;
        now.entry++;
    }
    *cursor = now;
}

/* One block's hash and index, with every field asked for. */
static enum bat_code careful_block(struct bat_reader *reader, struct entry_cursor *cursor,
                                   const struct entry_arrays *arrays)
{
    uint64_t hash;
    uint64_t delta;
    enum bat_code code = bat_reader_u64(reader, "block hash", &hash);
    const uint8_t *at = reader->cursor;
    if (code == BAT_OK)
        code = bat_reader_uleb(reader, "block index's delta", &delta);
    if (code != BAT_OK)
        return code;
    cursor->index += delta;
    if (cursor->index > UINT32_MAX)
        return bat_reader_fail(reader, BAT_ERR_RANGE, at,
                               "expected the block index of entry %" PRIu32
                               " to fit 32 bits, found 0x%" PRIx64,
                               cursor->entry, cursor->index);
    /* Only now has the block taken the bytes that the arrays' size was reckoned with. */
    arrays->hash[cursor->block] = hash;
    arrays->index[cursor->block++] = (uint32_t)cursor->index;
    return BAT_OK;
}

/* The input side of an entry behind the equal prefix. */
static enum bat_code careful_input(struct bat_reader *reader, struct entry_cursor *cursor,
                                   uint64_t *input)
{
    int64_t step;
    enum bat_code code = bat_reader_sleb(reader, "input offset's delta", &step);
    if (code == BAT_OK)
        *input = cursor->input + (uint64_t)step;
    return code;
}

/* One entry, with every field asked for. branch_bits is NULL behind the equal prefix. */
static enum bat_code careful_entry(struct bat_reader *reader, struct entry_cursor *cursor,
                                   const struct entry_arrays *arrays, const uint8_t *branch_bits,
                                   uint64_t skew)
{
    reader->cursor = cursor->at;
    uint64_t delta;
    enum bat_code code = bat_reader_uleb(reader, "output offset's delta", &delta);
    if (code != BAT_OK)
        return code;
    if (delta > UINT32_MAX - cursor->output)
        return bat_reader_fail(reader, BAT_ERR_RANGE, cursor->at,
                               "expected the output offset of entry %" PRIu32 " between 0x%" PRIx64
                               " and 32 bits, found 0x%" PRIx64 " beyond it",
                               cursor->entry, cursor->output, delta);
    uint64_t output = cursor->output + delta;

    /* In the prefix there is no input side to point at: the output offset is what leads too far. */
    const uint8_t *at = branch_bits ? cursor->at : reader->cursor;
    uint64_t input = 0;
    if (branch_bits)
        input = equal_input(output, skew) | is_branch_in_prefix(branch_bits, cursor->entry);
    else
        code = careful_input(reader, cursor, &input);
    if (code != BAT_OK)
        return code;
    if (input > UINT32_MAX)
        return bat_reader_fail(reader, BAT_ERR_RANGE, at,
                               "expected the input offset of entry %" PRIu32
                               " to fit 31 bits, found 0x%" PRIx64,
                               cursor->entry, input >> 1);
    if (!(input & BAT_BRANCH_ENTRY))
        code = careful_block(reader, cursor, arrays);
    if (code != BAT_OK)
        return code;
    arrays->output[cursor->entry] = (uint32_t)output;
    arrays->input[cursor->entry] = (uint32_t)input;
    cursor->output = output;
    cursor->input = input;
    cursor->at = reader->cursor;
    cursor->entry++;
    return BAT_OK;
}

/* Entries up to number `until`: fast where that can be, careful where it must. */
static enum bat_code decode_until(struct bat_reader *reader, struct entry_cursor *cursor,
                                  const struct entry_arrays *arrays, uint32_t until,
                                  const uint8_t *branch_bits, uint64_t skew)
{
    while (cursor->entry < until) {
        if (reader->end - cursor->at >= (ptrdiff_t)ENTRY_MAX) {
            /* Two calls, so that each gets a loop without the other's case. */
            if (branch_bits)
                fast_entries(cursor, arrays, reader->end, until, branch_bits, skew);
            else
                fast_entries(cursor, arrays, reader->end, until, NULL, 0);
            if (cursor->entry == until)
                break;
        }
        enum bat_code code = careful_entry(reader, cursor, arrays, branch_bits, skew);
        if (code != BAT_OK)
            return code;
    }
    return BAT_OK;
}

/* BAT.md 6.2: one bit an entry, and what is left of the last byte clear. */
static enum bat_code read_branch_bits(struct bat_reader *reader, uint32_t count,
                                      const uint8_t **branch_bits)
{
    size_t size = ((size_t)count + 7) / 8;
    enum bat_code code =
        bat_reader_bytes(reader, "branch bits of the equal prefix", size, branch_bits);
    if (code != BAT_OK || count % 8 == 0)
        return code;
    const uint8_t *last = *branch_bits + size - 1;
    if (*last >> (count % 8) != 0)
        return bat_reader_fail(reader, BAT_ERR_PREFIX, last,
                               "expected no branch bits beyond the equal prefix's %" PRIu32
                               " entries, found 0x%02x in their last byte",
                               count, *last);
    return BAT_OK;
}

enum bat_code bat_decode_entries(struct bat_decoding *decoding, struct bat_function *table)
{
    struct bat_reader *reader = &decoding->reader;
    struct bat_map *map = decoding->map;
    table->first_entry = map->entry_count;
    table->first_block = map->block_count;
    const struct entry_arrays arrays = {
        .output = map->output_offsets + map->entry_count,
        .input = map->input_offsets + map->entry_count,
        .hash = map->block_hashes + map->block_count,
        .index = map->block_indices + map->block_count,
    };
    const uint8_t *branch_bits = NULL;
    enum bat_code code = BAT_OK;
    if (table->equal_count != 0)
        code = read_branch_bits(reader, table->equal_count, &branch_bits);
    struct entry_cursor cursor = {.at = reader->cursor};
    if (code == BAT_OK)
        code = decode_until(reader, &cursor, &arrays, table->equal_count, branch_bits, table->skew);
    if (code == BAT_OK)
        code = decode_until(reader, &cursor, &arrays, table->entry_count, NULL, 0);
    if (code != BAT_OK)
        return code;
    reader->cursor = cursor.at;
    table->block_count = cursor.block;
    map->entry_count += cursor.entry;
    map->block_count += cursor.block;
    decoding->address = table->address + cursor.output;
    return BAT_OK;
}
