/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The speed of reading and writing a note depends on the distribution of its numbers: which are
 * longer than a byte, and how well a processor predicts that. So functions are made here as BOLT
 * makes them: an input function is a row of blocks with branches in them. Its output is the same
 * blocks with some branches shortened or deleted, some chains of blocks moved, and some of them
 * split off into a cold fragment.
 *
 * All numbers below were measured on notes that llvm-bolt-22 wrote for the SQLite shell (gcc -O2,
 * x86-64): once for the functions that had a profile (43,427 entries, 1 block index in 12 falls)
 * and once for the whole program without one (87,143 entries, 1 in 38). In a large program most
 * functions have no profile: the number of fragments tells how many have one.
 */
#include "synthetic_note.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct synthetic_shape synthetic_clang = {
    .hot_count = 136604,
    .cold_count = 9566,
    .entry_count = 7100000,
    .seed = 0x6261746b6974,
};

#define HOT_START 0x10000000u  /* address of the first hot function */
#define COLD_START 0x20000000u /* of the first fragment */
#define LEB128_MAX 10u

/* --- Distributions, as values at equally likely ranks ---------------------------------------- */

/* Bytes from a block's start to its first branch, from branch to branch, from the last branch to
 * the block's end, and the size of blocks that have none, all in the output. */
static const uint8_t block_to_branch[64] = {
    2,  2,  2,  3,  3,  3,  3,  3,  3,  3,  4,  4,  4,  4,  5,  5,  5,  5,  6,  6,  6,  6,
    7,  7,  7,  7,  7,  8,  8,  8,  8,  8,  9,  9,  10, 10, 10, 11, 11, 11, 12, 12, 13, 13,
    14, 14, 15, 16, 16, 17, 18, 18, 19, 20, 21, 23, 24, 26, 28, 31, 34, 40, 49, 130};
static const uint8_t branch_to_branch[64] = {
    3,  5,  5,  5,  5,  5,  6,  7,  7,  7,  7,  7,  7,  7,  8,  8,  8,  8,  8,  9,  9,  9,
    10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 16, 16,
    17, 17, 18, 18, 19, 19, 20, 21, 22, 22, 23, 24, 25, 26, 28, 30, 33, 37, 43, 60};
static const uint8_t branch_to_end[64] = {1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2,  2,  2,  2,  2,
                                          2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3,  3,  4,  4,  4,
                                          5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6,  6,  6,  6,  6,
                                          6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 10, 10, 11, 14, 22};
static const uint8_t straight_block[64] = {
    0, 0, 0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0, 0, 0,
    0, 0, 0,  0,  1,  2,  3,  3,  4,  4,  4,  4,  5,  5,  5,  6,  7,  7,  7,  8, 8, 9,
    9, 9, 10, 10, 11, 11, 12, 13, 13, 14, 15, 16, 17, 19, 20, 22, 25, 29, 37, 54};

/* Entries of a function without a profile, of the hot part of one that has a profile and of a
 * fragment; thinned, and scaled to the wanted mean. */
static const uint16_t plain_entries[32] = {1,  2,  2,  3,  6,  7,  9,   11,  12,  14, 15,
                                           17, 18, 20, 22, 23, 25, 27,  30,  32,  34, 37,
                                           42, 48, 55, 61, 72, 86, 114, 149, 216, 728};
static const uint16_t profiled_entries[32] = {3,   6,   9,   11,  13,  15,  17,  20,  23,  25,  29,
                                              33,  37,  40,  44,  49,  54,  60,  66,  73,  80,  90,
                                              101, 115, 133, 157, 190, 235, 300, 400, 640, 1560};

/* How much longer the part of a block after its last branch (the whole block, if it has none)
 * was in the input: jumps are shortened, inverted and deleted. */
static const int plain_shrink[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 5, 7};
static const int profiled_shrink[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -4, -4, 4, 6};
static const int straight_shrink[16] = {0, 0, 0, 0, 0, 2, 2, 3, 3, 4, 5, 5, 5, 6, 7, 10};

/* Chances in a thousand. */
#define UNTOUCHED 180u      /* functions without a profile that do not change */
#define NO_BRANCH 180u      /* blocks without a branch or call */
#define ANOTHER_BRANCH 230u /* branches followed by another in their block */
#define PLAIN_MOVES 20u     /* blocks at which a moved chain begins, without a profile */
#define PROFILED_MOVES 96u  /* the same with a profile */
#define TURNS_COLD 130u     /* blocks at which a cold stretch begins, in functions that split */
#define TURNS_HOT 100u      /* blocks at which it ends */
#define HAS_SECONDARY 6u    /* functions with secondary entry points */
#define PROFILED_SPLIT 826u /* functions with a profile that have a fragment */

/* --- Random numbers --------------------------------------------------------------------------- */

/* Steele, Lea and Flood's SplitMix: small, and the same everywhere. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint32_t draw_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(((draw(state) >> 32) * limit) >> 32);
}

static bool chance(uint64_t *state, uint32_t in_a_thousand)
{
    return draw_below(state, 1000) < in_a_thousand;
}

/* --- Bytes ------------------------------------------------------------------------------------ */

struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

static void *grow(void *array, size_t size)
{
    void *grown = realloc(array, size);
    if (!grown) {
        fputs("synthetic note: out of memory\n", stderr);
        exit(1);
    }
    return grown;
}

static void reserve(struct bytes *bytes, size_t more)
{
    if (bytes->size + more <= bytes->capacity)
        return;
    bytes->capacity = bytes->size + more + bytes->capacity / 2;
    bytes->data = grow(bytes->data, bytes->capacity);
}

static void put_u32(struct bytes *bytes, uint32_t value)
{
    reserve(bytes, 4);
    for (unsigned shift = 0; shift < 32; shift += 8)
        bytes->data[bytes->size++] = (uint8_t)(value >> shift);
}

static void put_u64(struct bytes *bytes, uint64_t value)
{
    put_u32(bytes, (uint32_t)value);
    put_u32(bytes, (uint32_t)(value >> 32));
}

static void put_uleb(struct bytes *bytes, uint64_t value)
{
    reserve(bytes, LEB128_MAX);
    for (; value >= 0x80; value >>= 7)
        bytes->data[bytes->size++] = (uint8_t)(value | 0x80);
    bytes->data[bytes->size++] = (uint8_t)value;
}

static void put_sleb(struct bytes *bytes, int64_t value)
{
    reserve(bytes, LEB128_MAX);
    while (value < -64 || value > 63) {
        bytes->data[bytes->size++] = (uint8_t)((uint64_t)value | 0x80);
        value >>= 7;
    }
    bytes->data[bytes->size++] = (uint8_t)(value & 0x7f);
}

static void put_bytes(struct bytes *bytes, const void *data, size_t size)
{
    reserve(bytes, size);
    if (size != 0)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

/* --- Functions -------------------------------------------------------------------------------- */

struct block {
    uint64_t hash;
    uint32_t input; /* offset in the input function */
    uint32_t index;
    uint32_t place;        /* blocks are laid out by rising place */
    uint32_t first_branch; /* in function.branches */
    uint32_t branch_count;
    uint32_t output_size;
    bool is_cold;
};

struct entry {
    uint32_t output;
    uint32_t input; /* with the branch bit */
    const struct block *block;
};

/* The function that is being made, in memory that all functions use in turn. */
struct function {
    struct block *blocks; /* in input order */
    uint32_t block_count;
    size_t block_capacity;
    uint32_t *branches; /* offsets from their block's start */
    uint32_t branch_count;
    size_t branch_capacity;
    struct block *layout; /* blocks of one table in output order */
    size_t layout_capacity;
    struct entry *entries; /* of one table */
    size_t entry_capacity;
    bool has_profile;
    bool has_fragment;
    bool is_untouched;
};

/* Make room for one element more than count. */
static void *make_room(void *array, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity * 2 + 64;
    return grow(array, *capacity * size);
}

static uint32_t add_branch(struct function *function, uint32_t offset)
{
    function->branches = make_room(function->branches, function->branch_count,
                                   &function->branch_capacity, sizeof(*function->branches));
    function->branches[function->branch_count++] = offset;
    return offset;
}

/* Appends a block; returns its size in the input. */
static uint32_t add_block(struct function *function, uint32_t input, uint64_t *random)
{
    function->blocks = make_room(function->blocks, function->block_count, &function->block_capacity,
                                 sizeof(*function->blocks));
    struct block *block = &function->blocks[function->block_count];
    /* The lowest 16 bits of a block's hash are those of its offset. */
    *block = (struct block){.hash = (draw(random) & ~UINT64_C(0xffff)) | (input & 0xffff),
                            .input = input,
                            .index = function->block_count,
                            .first_branch = function->branch_count};
    function->block_count++;

    const int *shrink_table = straight_shrink;
    uint32_t start_of_rest = 0;
    uint32_t rest;
    if (chance(random, NO_BRANCH)) {
        rest = straight_block[draw_below(random, 64)];
    } else {
        start_of_rest = add_branch(function, block_to_branch[draw_below(random, 64)]);
        while (chance(random, ANOTHER_BRANCH))
            start_of_rest =
                add_branch(function, start_of_rest + branch_to_branch[draw_below(random, 64)]);
        rest = branch_to_end[draw_below(random, 64)];
        shrink_table = function->has_profile ? profiled_shrink : plain_shrink;
    }
    block->branch_count = function->branch_count - block->first_branch;
    int shrink = shrink_table[draw_below(random, 16)];
    if (function->is_untouched) {
        shrink = 0;
        rest += rest == 0;
    }
    block->output_size = start_of_rest + rest;
    /* Input blocks are never empty, or two would start at the same offset. */
    int32_t input_rest = (int32_t)rest + shrink;
    return start_of_rest + (input_rest > 0 ? (uint32_t)input_rest : 1);
}

/* The place of each block: that in the row, moved on if its chain of blocks moves. */
static void choose_layout(struct function *function, uint64_t *random)
{
    uint32_t moves = function->has_profile ? PROFILED_MOVES : PLAIN_MOVES;
    uint32_t chain_left = 0;
    uint32_t distance = 0;
    bool is_cold = false;
    for (uint32_t i = 0; i < function->block_count; i++) {
        struct block *block = &function->blocks[i];
        /* The entry block stays where it is. */
        if (i > 0 && !function->is_untouched && chain_left == 0 && chance(random, moves)) {
            chain_left = 1 + draw_below(random, 5);
            distance = 2 + (1u << draw_below(random, 7)) + draw_below(random, 16);
        }
        block->place = i;
        if (chain_left > 0) {
            block->place += distance;
            chain_left--;
        }
        if (i > 0 && function->has_fragment && chance(random, is_cold ? TURNS_HOT : TURNS_COLD))
            is_cold = !is_cold;
        block->is_cold = is_cold;
    }
}

static void make_function(struct function *function, uint32_t entry_count, uint64_t *random)
{
    function->block_count = 0;
    function->branch_count = 0;
    uint32_t input = 0;
    do {
        input += add_block(function, input, random);
        /* Blocks have two entries on average; at random, the excess of the last one is taken
         * back. */
    } while (function->block_count + function->branch_count + draw_below(random, 2) < entry_count);
    choose_layout(function, random);
}

static int compare_places(const void *left, const void *right)
{
    const struct block *a = left;
    const struct block *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static void add_entry(struct function *function, uint32_t *count, struct entry entry)
{
    function->entries =
        make_room(function->entries, *count, &function->entry_capacity, sizeof(*function->entries));
    function->entries[(*count)++] = entry;
}

/* The entries of the hot or the cold part; *size gets the bytes of code there. */
static uint32_t lay_out(struct function *function, bool is_cold, uint32_t *size)
{
    uint32_t blocks = 0;
    for (uint32_t i = 0; i < function->block_count; i++) {
        if (function->blocks[i].is_cold != is_cold)
            continue;
        function->layout = make_room(function->layout, blocks, &function->layout_capacity,
                                     sizeof(*function->layout));
        function->layout[blocks++] = function->blocks[i];
    }
    if (blocks > 1)
        qsort(function->layout, blocks, sizeof(*function->layout), compare_places);

    uint32_t entries = 0;
    uint32_t output = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        const struct block *block = &function->layout[i];
        add_entry(function, &entries,
                  (struct entry){.output = output, .input = block->input << 1, .block = block});
        for (uint32_t b = 0; b < block->branch_count; b++) {
            uint32_t offset = function->branches[block->first_branch + b];
            add_entry(function, &entries,
                      (struct entry){.output = output + offset,
                                     .input = (block->input + offset) << 1 | 1});
        }
        output += block->output_size;
    }
    *size = output;
    return entries;
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* The number of entries at the start with the same offset on both sides, apart from the skew. */
static uint32_t equal_prefix(const struct entry *entries, uint32_t count, uint32_t skew)
{
    uint32_t equal = 0;
    while (equal < count && entries[equal].output + skew == entries[equal].input >> 1)
        equal++;
    return equal;
}

static void put_branch_bits(struct bytes *bytes, const struct entry *entries, uint32_t equal)
{
    reserve(bytes, (equal + 7) / 8);
    for (uint32_t i = 0; i < equal; i += 8) {
        uint8_t bits = 0;
        for (uint32_t j = i; j < equal && j < i + 8; j++)
            bits |= (uint8_t)((entries[j].input & 1) << (j - i));
        bytes->data[bytes->size++] = bits;
    }
}

/* The number of equal entries, their branch bits, and all entries. */
static void put_entries(struct bytes *bytes, const struct entry *entries, uint32_t count,
                        uint32_t skew)
{
    uint32_t equal = equal_prefix(entries, count, skew);
    put_uleb(bytes, equal);
    put_branch_bits(bytes, entries, equal);
    uint64_t output = 0;
    int64_t input = 0;
    uint64_t index = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        put_uleb(bytes, entry->output - output);
        if (i >= equal)
            put_sleb(bytes, (int64_t)entry->input - input);
        output = entry->output;
        input = entry->input;
        if (!entry->block)
            continue;
        put_u64(bytes, entry->block->hash);
        put_uleb(bytes, entry->block->index - index);
        index = entry->block->index;
    }
}

/* One of the two lists of tables. */
struct half {
    struct bytes bytes;
    uint64_t address; /* where the next table starts */
    uint64_t running; /* output address of the last entry written */
};

/* Moves on past a table whose last entry is at last_output. */
static void advance(struct half *half, uint32_t last_output, uint32_t size, uint64_t *random)
{
    half->running = half->address + last_output;
    half->address += size + 1 + draw_below(random, 15);
}

static void put_secondary(struct bytes *bytes, const struct function *function, uint32_t count,
                          uint64_t *random)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t step = 1 + draw_below(random, (function->block_count - 1) / count);
        put_uleb(bytes, function->blocks[before + step].input - function->blocks[before].input);
        before += step;
    }
}

static void put_hot(struct half *hot, struct function *function, uint64_t *random)
{
    uint32_t secondary = 0;
    if (function->block_count > 4 && chance(random, HAS_SECONDARY))
        secondary = 1 + draw_below(random, 4);
    uint32_t size;
    uint32_t count = lay_out(function, false, &size);
    put_uleb(&hot->bytes, hot->address - hot->running);
    put_u64(&hot->bytes, draw(random));
    put_uleb(&hot->bytes, function->block_count);
    put_uleb(&hot->bytes, secondary);
    put_uleb(&hot->bytes, count);
    put_entries(&hot->bytes, function->entries, count, 0);
    put_secondary(&hot->bytes, function, secondary, random);
    advance(hot, function->entries[count - 1].output, size, random);
}

static void put_cold(struct half *cold, struct function *function, uint32_t hot_delta,
                     uint64_t *random)
{
    uint32_t size;
    uint32_t count = lay_out(function, true, &size);
    uint32_t skew = function->entries[0].input >> 1;
    /* The first delta counts from the last hot entry, which is not known yet. */
    if (cold->bytes.size != 0)
        put_uleb(&cold->bytes, cold->address - cold->running);
    put_uleb(&cold->bytes, hot_delta);
    put_uleb(&cold->bytes, skew);
    put_uleb(&cold->bytes, count);
    put_entries(&cold->bytes, function->entries, count, skew);
    advance(cold, function->entries[count - 1].output, size, random);
}

static uint64_t sum(const uint16_t *values, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += values[i];
    return total;
}

/* The number of functions with a profile: those with a fragment, and some more. */
static uint32_t count_profiled(const struct synthetic_shape *shape)
{
    uint64_t profiled = (uint64_t)shape->cold_count * 1000 / PROFILED_SPLIT;
    return profiled < shape->hot_count ? (uint32_t)profiled : shape->hot_count;
}

/* A number of entries, scaled so that the whole note has the wanted number. */
static uint32_t draw_entry_count(const struct synthetic_shape *shape, bool has_profile,
                                 uint64_t *random)
{
    uint64_t profiled = count_profiled(shape);
    uint64_t unscaled = (profiled * sum(profiled_entries, 32) +
                         (shape->hot_count - profiled) * sum(plain_entries, 32)) /
                        32;
    const uint16_t *table = has_profile ? profiled_entries : plain_entries;
    uint64_t count = (uint64_t)table[draw_below(random, 32)] * shape->entry_count / unscaled;
    return count ? (uint32_t)count : 1;
}

static bool has_cold_blocks(const struct function *function)
{
    for (uint32_t i = 0; i < function->block_count; i++)
        if (function->blocks[i].is_cold)
            return true;
    return false;
}

static uint8_t *assemble(const struct half *hot, const struct half *cold,
                         const struct synthetic_shape *shape, size_t *size)
{
    struct bytes description = {0};
    put_uleb(&description, shape->hot_count);
    put_bytes(&description, hot->bytes.data, hot->bytes.size);
    put_uleb(&description, shape->cold_count);
    if (shape->cold_count != 0)
        put_uleb(&description, COLD_START - hot->running);
    if (shape->cold_count != 0)
        put_bytes(&description, cold->bytes.data, cold->bytes.size);

    struct bytes note = {0};
    put_u32(&note, 5);
    put_u32(&note, (uint32_t)description.size);
    put_u32(&note, 1);
    put_bytes(&note, "BOLT\0\0\0", 8);
    put_bytes(&note, description.data, description.size);
    put_bytes(&note, "\0\0\0", (size_t)-description.size & 3);
    free(description.data);
    *size = note.size;
    return note.data;
}

uint8_t *synthetic_note(const struct synthetic_shape *shape, size_t *size)
{
    uint64_t random = shape->seed;
    struct half hot = {.address = HOT_START};
    struct half cold = {.address = COLD_START};
    struct function function = {0};
    uint32_t profiled = count_profiled(shape);
    uint32_t fragments = 0;
    uint32_t last_split = 0;
    for (uint32_t i = 0; i < shape->hot_count; i++) {
        /* Functions with a profile come first; those that split are spread evenly among them. */
        function.has_profile = i < profiled;
        function.has_fragment =
            i < profiled && (uint64_t)(i + 1) * shape->cold_count / profiled > fragments;
        function.is_untouched = i >= profiled && chance(&random, UNTOUCHED);
        uint32_t entries = draw_entry_count(shape, function.has_profile, &random);
        make_function(&function, entries, &random);
        while (function.has_fragment && !has_cold_blocks(&function))
            make_function(&function, entries + 8, &random);
        put_hot(&hot, &function, &random);
        if (!function.has_fragment)
            continue;
        put_cold(&cold, &function, i - last_split, &random);
        last_split = i;
        fragments++;
    }
    uint8_t *note = assemble(&hot, &cold, shape, size);
    free(hot.bytes.data);
    free(cold.bytes.data);
    free(function.blocks);
    free(function.branches);
    free(function.layout);
    free(function.entries);
    return note;
}
