/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes the header and the call sites of an exception table (exceptions.h). */
#include "exceptions.h"

#include <string.h>

#include "reader.h"
#include "support/dwarf_numbers.h"

/* --- Numbers ------------------------------------------------------------------------------ */

static bool read_byte(struct bat_call_site_walk *walk, uint64_t *value)
{
    return dwarf_read_fixed(&walk->next, walk->end, 1, false, value);
}

static bool read_leb128(struct bat_call_site_walk *walk, uint64_t *value)
{
    return dwarf_read_leb128(&walk->next, walk->end, false, value);
}

static bool read_pointer(struct bat_call_site_walk *walk, uint8_t encoding, uint64_t *value)
{
    uint64_t place = walk->address + (uint64_t)(walk->next - walk->start);
    return !(encoding & DWARF_PE_INDIRECT) &&
           dwarf_read_pointer(&walk->next, walk->end, encoding, place, value);
}

/* --- The table ---------------------------------------------------------------------------- */

static uint8_t size_of_type(uint64_t encoding)
{
    switch (encoding & 0x0f) {
    case DWARF_PE_UDATA4:
    case DWARF_PE_SDATA4:
        return 4;
    case DWARF_PE_ABSOLUTE:
    case DWARF_PE_UDATA8:
    case DWARF_PE_SDATA8:
        return 8;
    default:
        return 0;
    }
}

/* Read where the types are: their encoding, and how far behind that they end. */
static bool read_types(struct bat_call_site_walk *walk)
{
    uint64_t encoding;
    uint64_t distance;
    if (!read_byte(walk, &encoding))
        return false;
    if (encoding == DWARF_PE_OMIT)
        return true;
    if (!read_leb128(walk, &distance))
        return false;
    if (distance <= (uint64_t)(walk->end - walk->next)) {
        walk->types = walk->next + distance;
        walk->type_size = size_of_type(encoding);
    }
    return true;
}

static bool read_header(struct bat_call_site_walk *walk, uint64_t function)
{
    uint64_t encoding;
    uint64_t value;
    if (!read_byte(walk, &encoding))
        return false;
    if (encoding != DWARF_PE_OMIT) {
        if (!read_pointer(walk, (uint8_t)encoding, &value))
            return false;
        walk->pads_start = value - function;
    }
    if (!read_types(walk) || !read_byte(walk, &encoding) || !read_leb128(walk, &value) ||
        value > (uint64_t)(walk->end - walk->next))
        return false;
    walk->encoding = (uint8_t)encoding;
    walk->end = walk->next + value;
    return true;
}

bool bat_call_site_begin(struct bat_call_site_walk *walk, const uint8_t *bytes, size_t size,
                         uint64_t address, uint64_t function)
{
    *walk = (struct bat_call_site_walk){.start = bytes,
                                        .next = bytes,
                                        .end = bytes + size,
                                        .limit = bytes + size,
                                        .address = address};
    if (read_header(walk, function))
        return true;
    walk->next = walk->end;
    return false;
}

/* --- Actions ------------------------------------------------------------------------------ */

/* True if a type, by its number from 1, is that of handlers of all types: a null pointer. */
static bool is_any_type(const struct bat_call_site_walk *walk, uint64_t number)
{
    static const uint8_t null[8];
    const uint64_t most = walk->type_size != 0 && walk->types >= walk->end
                              ? (uint64_t)(walk->types - walk->end) / walk->type_size
                              : 0;
    return number <= most &&
           memcmp(walk->types - number * walk->type_size, null, walk->type_size) == 0;
}

#define MOST_ACTIONS 64u /* of one call site */

/* True if one of the actions from this one on takes every exception. 0: a clean-up alone. */
static bool takes_all(const struct bat_call_site_walk *walk, uint64_t action)
{
    const uint64_t size = (uint64_t)(walk->limit - walk->end);
    bool is_found = action == 0;
    for (uint32_t i = 0; i < MOST_ACTIONS && !is_found && action - 1 < size; i++) {
        const uint8_t *at = walk->end + (action - 1);
        uint64_t type;
        uint64_t next;
        if (!dwarf_read_leb128(&at, walk->limit, true, &type))
            return false;
        const uint64_t place = (uint64_t)(at - walk->end);
        if (!dwarf_read_leb128(&at, walk->limit, true, &next))
            return false;
        is_found = type == 0 || ((int64_t)type > 0 && is_any_type(walk, type));
        action = next == 0 ? 0 : place + next + 1;
    }
    return is_found;
}

bool bat_code_exceptions(const struct bat_code_reader *reader, uint32_t function,
                         struct bat_call_site_walk *walk)
{
    const struct code_wanted *wanted = code_find_wanted(reader, function);
    const uint64_t table = wanted ? wanted->lsda : 0;
    uint64_t size = UINT64_MAX;
    const uint8_t *bytes = table ? code_bytes(reader, table, &size) : NULL;
    *walk = (struct bat_call_site_walk){0};
    return bytes &&
           bat_call_site_begin(walk, bytes, (size_t)size, table, reader->all[function].address);
}

bool bat_call_site_next(struct bat_call_site_walk *walk, struct bat_call_site *site)
{
    uint64_t start;
    uint64_t size;
    uint64_t pad;
    uint64_t action;
    if (walk->next == walk->end)
        return false;
    if (!read_pointer(walk, walk->encoding, &start) || !read_pointer(walk, walk->encoding, &size) ||
        !read_pointer(walk, walk->encoding, &pad) || !read_leb128(walk, &action)) {
        walk->next = walk->end;
        return false;
    }
    site->start = start;
    site->end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
    site->landing_pad = pad == 0 ? BAT_NO_OFFSET : walk->pads_start + pad;
    site->catches_all = takes_all(walk, action);
    return true;
}
