/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Translation entries: BAT.md 6. encoder/entries.c has the same steps in the same order.
 *
 * Entries take up nearly all of a note, so there are two readers for them. A fast loop reads sound
 * entries while at least ENTRY_MAX bytes are left, so that no field needs a bounds check. Where it
 * stops, the careful reader reads one entry with all checks: near the note's end the entry may be
 * sound, elsewhere the careful reader reports what is wrong. It reads all entries of version 2,
 * where blocks have neither hash nor index, and output offsets never repeat (BAT.md 9).
 */

#include "decoding.h"
#include "leb128.h"

/* The longest entry: output delta, input delta, hash, index delta. */
#define ENTRY_MAX (3 * BAT_LEB128_MAX + 8)

/* Where the next entry is read and written, and the values that its deltas are added to. */
struct entry_cursor {
    const uint8_t *at;
    uint32_t *outputs; /* the next entry's elements in the map's arrays */
    uint32_t *inputs;
    uint64_t *hashes; /* the next block's elements */
    uint32_t *indices;
    uint64_t output; /* output offset of the previous entry, 0 for the first */
    uint64_t input;  /* its input side: offset << 1 | branch bit */
    uint64_t index;  /* index of the previous block */
    bool is_old;     /* of version 2 */
    bool is_checked; /* the fast loops store nothing: only the pointers move */
};

/* The equal prefix of a table. */
struct equal_prefix {
    const uint8_t *branch_bits;
    const uint32_t *start; /* its first entry's element in the map's output offsets */
    uint64_t skew;
};

/* The input side without its branch bit. Equal means equal modulo 2^32 (BAT.md 6.2): an entry may
 * lie below its fragment's start. */
static inline uint64_t equal_input(uint64_t output, uint64_t skew)
{
    return (uint64_t)(uint32_t)(output + skew) << 1;
}

/* The deltas at the start of an entry. */
struct fast_offsets {
    const uint8_t *next; /* the byte after them; NULL if they are not sound */
    uint64_t delta;      /* of the output offset */
    uint64_t step;       /* of the input side */
    uint64_t parity;     /* a number with the same lowest bit as step */
};

/* Deltas of any length; an output delta beyond 32 bits is not sound. */
static BAT_NOINLINE struct fast_offsets long_offsets(const uint8_t *at)
{
    struct fast_offsets offsets = {0};
    int64_t step = 0;
    at = bat_uleb128_fast(at, &offsets.delta);
    if (at && offsets.delta <= UINT32_MAX)
        offsets.next = bat_sleb128_fast(at, &step);
    offsets.step = (uint64_t)step;
    offsets.parity = offsets.step;
    return offsets;
}

/* The common forms: one byte of output delta, one or two of input delta. */
static inline struct fast_offsets fast_offsets(const uint8_t *at)
{
    uint64_t word = bat_load64(at);
    if ((word & 0x8080) == 0) {
        int64_t step = (int64_t)(word << 49) >> 57;
        return (struct fast_offsets){
            .next = at + 2, .delta = word & 0x7f, .step = (uint64_t)step, .parity = word >> 8};
    }
    int64_t step = (int64_t)(((word & 0x7f0000) | (word & 0x7f00) << 1) << 41) >> 50;
    bool is_padded = (uint64_t)step + 0x40 < 0x80;
    if ((word & 0x800080) == 0 && !is_padded)
        return (struct fast_offsets){
            .next = at + 3, .delta = word & 0x7f, .step = (uint64_t)step, .parity = word >> 8};
    return long_offsets(at);
}

/*
 * Reads the rest of an entry: at `at` are hash and index delta if it is a block. Returns false,
 * and does not move *now, if the entry is not sound.
 *
 * Processors cannot predict which entries are blocks, and a misprediction costs more than an entry.
 * So every entry is read as if it were a block. A branch entry moves neither the cursor nor the
 * pointers into the block arrays; the next block overwrites the values written for it.
 */
static inline bool finish_entry(struct entry_cursor *now, const uint8_t *at, uint64_t is_block,
                                uint64_t output, uint64_t input, bool stores)
{
    if (stores)
        *now->hashes = bat_load64(at);
    uint64_t index_delta = at[8] & (0 - is_block);
    const uint8_t *next = at + 9 * is_block;
    if (index_delta >= 0x80) {
        next = bat_uleb128_fast(at + 8, &index_delta);
        if (!next)
            return false;
    }
    uint64_t index = now->index + index_delta;
    if ((output | input | index) >> 32)
        return false;
    if (stores) {
        *now->indices = (uint32_t)index;
        *now->outputs = (uint32_t)output;
        *now->inputs++ = (uint32_t)input;
        now->indices += is_block;
    }
    now->outputs++;
    now->hashes += is_block;
    now->at = next;
    now->output = output;
    now->input = input;
    now->index = index;
    return true;
}

/*
 * The two fast loops, for the equal prefix and for other entries. They stop before the entry whose
 * element is `until`, or before an entry that is not sound. ENTRY_MAX bytes must be left for each
 * entry.
 */
static inline void prefix_loop(struct entry_cursor *cursor, const uint32_t *until,
                               const struct equal_prefix *prefix, bool stores)
{
    struct entry_cursor now = *cursor;
    const uint64_t skew = prefix->skew;
    size_t entry = (size_t)(now.outputs - prefix->start);
    const uint8_t *byte = prefix->branch_bits + entry / 8;
    /* The unused bits of the current byte, below a one: the byte is used up when bits is 1. */
    unsigned bits = (0x100u | *byte) >> (entry % 8);
    while (now.outputs < until) {
        if (bits == 1)
            bits = 0x100u | *++byte;
        uint64_t delta;
        const uint8_t *at = bat_uleb128_fast(now.at, &delta);
        uint64_t output = now.output + delta;
        uint64_t branch_bit = bits & 1;
        /* The delta is checked too: the sum of the 64-bit numbers may wrap. */
        if (!at || delta > UINT32_MAX ||
            !finish_entry(&now, at, branch_bit ^ 1, output, equal_input(output, skew) | branch_bit,
                          stores))
            break;
        bits >>= 1;
    }
    *cursor = now;
}

static inline void entries_loop(struct entry_cursor *cursor, const uint32_t *until, bool stores)
{
    struct entry_cursor now = *cursor;
    while (now.outputs < until) {
        struct fast_offsets offsets = fast_offsets(now.at);
        if (!offsets.next)
            break;
        /* The inverted lowest bit of the sum, but known sooner: everything waits for it. */
        uint64_t is_block = (~now.input ^ offsets.parity) & BAT_BRANCH_ENTRY;
        if (!finish_entry(&now, offsets.next, is_block, now.output + offsets.delta,
                          now.input + offsets.step, stores))
            break;
    }
    *cursor = now;
}

static BAT_NOINLINE void fast_prefix(struct entry_cursor *cursor, const uint32_t *until,
                                     const struct equal_prefix *prefix)
{
    prefix_loop(cursor, until, prefix, true);
}

static BAT_NOINLINE void check_prefix(struct entry_cursor *cursor, const uint32_t *until,
                                      const struct equal_prefix *prefix)
{
    prefix_loop(cursor, until, prefix, false);
}

static BAT_NOINLINE void fast_entries(struct entry_cursor *cursor, const uint32_t *until)
{
    entries_loop(cursor, until, true);
}

static BAT_NOINLINE void check_entries(struct entry_cursor *cursor, const uint32_t *until)
{
    entries_loop(cursor, until, false);
}

/* One block's hash and index, with all checks. */
static enum bat_code careful_block(struct bat_reader *reader, struct entry_cursor *cursor,
                                   uint32_t entry)
{
    if (cursor->is_old) {
        cursor->hashes++;
        cursor->indices++;
        return BAT_OK;
    }
    uint64_t hash;
    uint64_t delta;
    enum bat_code code = bat_reader_u64(reader, "block hash", &hash);
    const uint8_t *at = reader->cursor;
    BAT_TRY(code);
    BAT_TRY(bat_reader_uleb(reader, "block index's delta", &delta));
    cursor->index += delta;
    if (cursor->index > UINT32_MAX)
        return bat_reader_fail(reader, BAT_ERR_RANGE, at,
                               "expected the block index of entry %u to fit 32 bits, found 0x%lx",
                               entry, cursor->index);
    /* Stored only now, when the block's bytes are known to be there. */
    *cursor->hashes++ = hash;
    *cursor->indices++ = (uint32_t)cursor->index;
    return BAT_OK;
}

/* The branch bit of the next entry. */
static uint64_t prefix_branch_bit(const struct equal_prefix *prefix,
                                  const struct entry_cursor *cursor)
{
    size_t entry = (size_t)(cursor->outputs - prefix->start);
    return (prefix->branch_bits[entry / 8] >> (entry % 8)) & 1;
}

/* The input side of an entry after the equal prefix. */
static enum bat_code careful_input(struct bat_reader *reader, struct entry_cursor *cursor,
                                   uint64_t *input)
{
    int64_t step;
    BAT_TRY(bat_reader_sleb(reader, "input offset's delta", &step));
    *input = cursor->input + (uint64_t)step;
    return BAT_OK;
}

/* One entry, with all checks. prefix is NULL after the equal prefix. */
static enum bat_code careful_entry(struct bat_reader *reader, struct entry_cursor *cursor,
                                   uint32_t entry, const struct equal_prefix *prefix)
{
    reader->cursor = cursor->at;
    uint64_t delta;
    BAT_TRY(bat_reader_uleb(reader, "output offset's delta", &delta));
    enum bat_code code = BAT_OK;
    if (delta > UINT32_MAX - cursor->output)
        return bat_reader_fail(reader, BAT_ERR_RANGE, cursor->at,
                               "expected the output offset of entry %u to fit 32 bits, found 0x%lx "
                               "plus a delta of 0x%lx",
                               entry, cursor->output, delta);
    if (cursor->is_old && delta == 0 && entry != 0)
        return bat_reader_fail(reader, BAT_ERR_ORDER, cursor->at,
                               "expected the output offset of entry %u above 0x%lx, found the same",
                               entry, cursor->output);
    uint64_t output = cursor->output + delta;

    /* An entry of the prefix has no input field, so errors point at its output offset. */
    const uint8_t *at = prefix ? cursor->at : reader->cursor;
    uint64_t input = 0;
    if (prefix)
        input = equal_input(output, prefix->skew) | prefix_branch_bit(prefix, cursor);
    else
        code = careful_input(reader, cursor, &input);
    if (code != BAT_OK)
        return code;
    if (input > UINT32_MAX)
        return bat_reader_fail(reader, BAT_ERR_RANGE, at,
                               "expected the input offset of entry %u to fit 31 bits, found 0x%lx",
                               entry, input >> 1);
    if (!(input & BAT_BRANCH_ENTRY))
        code = careful_block(reader, cursor, entry);
    if (code != BAT_OK)
        return code;
    *cursor->outputs++ = (uint32_t)output;
    *cursor->inputs++ = (uint32_t)input;
    cursor->output = output;
    cursor->input = input;
    cursor->at = reader->cursor;
    return BAT_OK;
}

/*
 * Decode count entries, for which the arrays have room, of the equal prefix or (prefix NULL) after
 * it: with the fast loop while enough bytes are left, with the careful reader where it stops.
 */
static enum bat_code decode_run(struct bat_reader *reader, struct entry_cursor *cursor,
                                uint32_t first, uint32_t count, const struct equal_prefix *prefix)
{
    const uint32_t *end = cursor->outputs + count;
    while (cursor->outputs < end) {
        size_t left = (size_t)(end - cursor->outputs);
        size_t safe = (size_t)(reader->end - cursor->at) / ENTRY_MAX;
        const uint32_t *until = safe < left ? cursor->outputs + safe : end;
        if (prefix && !cursor->is_old)
            (cursor->is_checked ? check_prefix : fast_prefix)(cursor, until, prefix);
        else if (!cursor->is_old)
            (cursor->is_checked ? check_entries : fast_entries)(cursor, until);
        if (cursor->outputs == end)
            break;
        uint32_t entry = first + count - (uint32_t)(end - cursor->outputs);
        BAT_TRY(careful_entry(reader, cursor, entry, prefix));
    }
    return BAT_OK;
}

/* Room is made for this many entries at a time: a damaged table may claim any number. */
#define ROOM_STEP 65536u

/* Decode entries [first, end) of a table, all in the equal prefix or (prefix NULL) after it. */
static enum bat_code decode_part(struct bat_decoding *decoding, const struct bat_table *table,
                                 struct entry_cursor *cursor, uint32_t first, uint32_t end,
                                 struct equal_prefix *prefix)
{
    struct bat_map *map = decoding->map;
    while (first < end) {
        uint32_t count = end - first < ROOM_STEP ? end - first : ROOM_STEP;
        BAT_TRY(bat_decode_make_room(decoding, count));
        cursor->outputs = map->output_offsets + map->entry_count;
        cursor->inputs = map->input_offsets + map->entry_count;
        cursor->hashes = map->block_hashes + map->block_count;
        cursor->indices = map->block_indices + map->block_count;
        if (prefix)
            prefix->start = map->output_offsets + table->first_entry;
        BAT_TRY(decode_run(&decoding->reader, cursor, first, count, prefix));
        map->entry_count += count;
        map->block_count = (uint32_t)(cursor->hashes - map->block_hashes);
        first += count;
    }
    return BAT_OK;
}

/* BAT.md 6.2: one bit for each entry; the unused bits of the last byte are clear. */
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
                               "expected no branch bits beyond the equal prefix's %u entries, "
                               "found 0x%02x in their last byte",
                               count, *last);
    return BAT_OK;
}

enum bat_code bat_decode_entries(struct bat_decoding *decoding, struct bat_table *table)
{
    struct bat_reader *reader = &decoding->reader;
    struct bat_map *map = decoding->map;
    table->first_entry = map->entry_count;
    table->first_block = map->block_count;
    struct equal_prefix prefix = {.skew = table->skew};
    enum bat_code code = BAT_OK;
    if (table->equal_count != 0)
        code = read_branch_bits(reader, table->equal_count, &prefix.branch_bits);
    struct entry_cursor cursor = {.at = reader->cursor,
                                  .is_old = !bat_map_has_hashes(map),
                                  .is_checked = decoding->sparse && !decoding->wants_largest};
    code = code ? code : decode_part(decoding, table, &cursor, 0, table->equal_count, &prefix);
    if (code == BAT_OK)
        code = decode_part(decoding, table, &cursor, table->equal_count, table->entry_count, NULL);
    if (code != BAT_OK)
        return code;
    reader->cursor = cursor.at;
    table->block_count = map->block_count - table->first_block;
    decoding->address = table->address + cursor.output;
    return BAT_OK;
}
