/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * Mutations that keep the form of a note: numbers are replaced by other LEB128 numbers, and the
 * container is repaired most of the time, because otherwise few inputs would get past it.
 */
#include <string.h>

#include "bat.h"
#include "mutator.h"

#define LEB128_MAX 10u

static size_t put_uleb(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

static size_t put_sleb(uint8_t *to, int64_t value)
{
    size_t size = 0;
    for (; value < -64 || value > 63; value >>= 7)
        to[size++] = (uint8_t)((uint64_t)value | 0x80);
    to[size++] = (uint8_t)(value & 0x7f);
    return size;
}

/* Replace the possible number at `at` (old bytes long) by size other bytes. */
static size_t replace(uint8_t *bytes, size_t count, size_t max, size_t at, size_t old,
                      const uint8_t *with, size_t size)
{
    if (count - old + size > max)
        return count;
    memmove(bytes + at + size, bytes + at + old, count - at - old);
    memcpy(bytes + at, with, size);
    return count - old + size;
}

static size_t number_size(const uint8_t *bytes, size_t count, size_t at)
{
    size_t size = 1;
    while (at + size < count && bytes[at + size - 1] >= 0x80 && size < LEB128_MAX)
        size++;
    return size;
}

static size_t replace_number(uint8_t *bytes, size_t count, size_t max, uint64_t *random)
{
    uint8_t number[LEB128_MAX];
    size_t at = mutator_draw(random) % count;
    /* Numbers of a table's header are near the front more often than not. */
    if (mutator_draw(random) % 4 == 0)
        at %= 24;
    uint64_t value = mutator_number(random);
    size_t size =
        mutator_draw(random) % 3 ? put_uleb(number, value) : put_sleb(number, (int64_t)value);
    size_t old = mutator_draw(random) % 4 ? number_size(bytes, count, at) : 0;
    return replace(bytes, count, max, at, old, number, size);
}

/* Write the note header that a description of this size should have. */
static size_t mend_container(uint8_t *section, size_t description)
{
    static const uint8_t owner[8] = BAT_NOTE_OWNER;
    const uint32_t words[3] = {BAT_NOTE_OWNER_SIZE, (uint32_t)description, BAT_NOTE_TYPE};
    memcpy(section, words, sizeof(words));
    memcpy(section + sizeof(words), owner, sizeof(owner));
    size_t size = BAT_NOTE_HEADER_SIZE + description;
    while (size % 4 != 0)
        section[size++] = 0;
    return size;
}

/* The description's size that the header states, if it is possible. */
static size_t stated_description(const uint8_t *section, size_t size)
{
    uint32_t stated;
    memcpy(&stated, section + 4, sizeof(stated));
    size_t most = size - BAT_NOTE_HEADER_SIZE;
    return stated <= most && most - stated < 4 ? stated : most;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = seed;
    if (size <= BAT_NOTE_HEADER_SIZE || max_size < BAT_NOTE_HEADER_SIZE + 8 ||
        mutator_draw(&random) % 16 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    uint8_t *description = data + BAT_NOTE_HEADER_SIZE;
    size_t count = stated_description(data, size);
    size_t max = max_size - BAT_NOTE_HEADER_SIZE - 3;
    if (count > max)
        count = max;
    if (count != 0 && mutator_draw(&random) % 2)
        count = replace_number(description, count, max, &random);
    else
        count = LLVMFuzzerMutate(description, count, max);
    return mend_container(data, count);
}
