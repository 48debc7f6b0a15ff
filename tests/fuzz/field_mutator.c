/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "field_mutator.h"

#include <string.h>

#include "mutator.h"

uint32_t mutated_draw(struct mutated *file, size_t count)
{
    return count ? mutator_draw(&file->random) % (uint32_t)count : 0;
}

uint64_t mutated_load(const uint8_t *data, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, data, size);
    return value;
}

/* Replace a field of width bytes by a number at a limit: of itself, of the part, of the file. */
void mutate_field(struct mutated *file, struct mutated_part part, size_t at, size_t width)
{
    uint64_t left = part.start + part.size - at;
    uint64_t value = mutated_load(file->bytes + at, width);
    switch (mutated_draw(file, 10)) {
    case 0:
    case 1:
        value += mutated_draw(file, 9) - 4;
        break;
    case 2:
        value = part.size + mutated_draw(file, 5) - 2;
        break;
    case 3: /* a length from behind the field to the end */
        value = left - width + mutated_draw(file, 5) - 2;
        break;
    case 4:
        value = mutated_draw(file, part.size);
        break;
    case 5:
        value = 0 - (value + mutated_draw(file, 3)); /* wraps */
        break;
    case 6:
        value = mutated_draw(file, 2) ? 0 : UINT64_MAX - mutated_draw(file, 3);
        break;
    case 7:
        value ^=
            (uint64_t)1 << (mutated_draw(file, 3) ? mutated_draw(file, 8 * width) : 8 * width - 1);
        break;
    case 8:
        value = file->size + mutated_draw(file, 5) - 2;
        break;
    default:
        value = mutator_number(&file->random);
    }
    memcpy(file->bytes + at, &value, width);
}

void mutate_somewhere(struct mutated *file, struct mutated_part part, size_t within, size_t start)
{
    static const size_t widths[] = {1, 2, 4, 4, 4, 8};
    size_t width = widths[mutated_draw(file, 6)];
    size_t at = start + mutated_draw(file, within);
    if (at - part.start < part.size && width <= part.size - (at - part.start))
        mutate_field(file, part, at, width);
}

/*
 * Units that start with their length: .debug_info, .debug_line, .debug_addr, .debug_rnglists and
 * the like, and the entries of .eh_frame. Most fields are near a unit's start.
 */
void mutate_unit(struct mutated *file, struct mutated_part part)
{
    size_t at = 0;
    for (uint32_t skip = mutated_draw(file, 2) ? mutated_draw(file, 4) : mutated_draw(file, 64);
         skip > 0; skip--) {
        if (part.size - at < 8)
            break;
        uint64_t length = mutated_load(file->bytes + part.start + at, 4);
        if (length == 0 || length > part.size - at - 4 || part.size - at - 4 - length < 4)
            break;
        at += 4 + (size_t)length;
    }
    struct mutated_part unit = {part.start + at, part.size - at};
    size_t field = unit.start + mutated_draw(file, 5) * 4;
    if (mutated_draw(file, 2) && field + 4 - unit.start <= unit.size)
        mutate_field(file, unit, field, 4);
    else
        mutate_somewhere(file, unit, mutated_draw(file, 4) ? 28 : unit.size, unit.start);
}

/* A LEB128 number, or a byte like an attribute's form, becomes another one of the same length. */
void mutate_number(struct mutated *file, struct mutated_part part)
{
    static const uint8_t bytes[] = {0,    1,    2,    3,    6,    7,    8,    0x0b, 0x0d,
                                    0x0e, 0x0f, 0x11, 0x13, 0x17, 0x1a, 0x1b, 0x1e, 0x1f,
                                    0x21, 0x22, 0x23, 0x25, 0x29, 0x2c, 0x2e, 0x31, 0x34,
                                    0x49, 0x55, 0x6e, 0x7f, 0x80, 0xfe, 0xff};
    size_t at = part.start + mutated_draw(file, part.size);
    size_t end = part.start + part.size;
    size_t count = mutated_draw(file, 3) ? 1 : 1 + mutated_draw(file, 10);
    for (; count > 1 && end - at > 1; count--)
        file->bytes[at++] |= 0x80;
    file->bytes[at] = bytes[mutated_draw(file, sizeof(bytes))];
}
