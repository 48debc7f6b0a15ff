/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes the header and the call sites of an exception table (exceptions.h). */
#include "exceptions.h"

#include <dwarf.h>

/* --- Numbers ------------------------------------------------------------------------------ */

static bool read_fixed(struct bat_call_site_walk *walk, size_t size, bool is_signed,
                       uint64_t *value)
{
    if (size > (size_t)(walk->end - walk->next))
        return false;
    *value = 0;
    for (size_t i = size; i-- > 0;)
        *value = *value << 8 | walk->next[i];
    walk->next += size;
    unsigned unused = (unsigned)(64 - 8 * size);
    if (is_signed)
        *value = (uint64_t)((int64_t)(*value << unused) >> unused);
    return true;
}

/* Padded numbers are allowed here: assemblers write them. */
static bool read_leb128(struct bat_call_site_walk *walk, bool is_signed, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && walk->next < walk->end; shift += 7) {
        uint8_t byte = *walk->next++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (is_signed && (byte & 0x40) && shift < 57)
            *value |= UINT64_MAX << (shift + 7);
        return true;
    }
    return false;
}

/* Read a number in one of DWARF's pointer encodings: absolute, or relative to its own address. */
static bool read_encoded(struct bat_call_site_walk *walk, uint8_t encoding, uint64_t *value)
{
    uint64_t place = walk->address + (uint64_t)(walk->next - walk->start);
    bool is_signed = (encoding & 0x08) != 0;
    bool is_read = false;
    switch (encoding & 0x07) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
        is_read = read_fixed(walk, 8, false, value);
        break;
    case DW_EH_PE_uleb128:
        is_read = read_leb128(walk, is_signed, value);
        break;
    case DW_EH_PE_udata2:
        is_read = read_fixed(walk, 2, is_signed, value);
        break;
    case DW_EH_PE_udata4:
        is_read = read_fixed(walk, 4, is_signed, value);
        break;
    default:
        break;
    }
    uint8_t base = encoding & 0x70;
    if (base == DW_EH_PE_pcrel)
        *value += place;
    return is_read && (base == 0 || base == DW_EH_PE_pcrel) && !(encoding & DW_EH_PE_indirect);
}

/* --- The table ---------------------------------------------------------------------------- */

static bool read_header(struct bat_call_site_walk *walk, uint64_t function)
{
    uint64_t encoding;
    uint64_t value;
    if (!read_fixed(walk, 1, false, &encoding))
        return false;
    if (encoding != DW_EH_PE_omit) {
        if (!read_encoded(walk, (uint8_t)encoding, &value))
            return false;
        walk->pads_start = value - function;
    }
    if (!read_fixed(walk, 1, false, &encoding) || /* of types */
        (encoding != DW_EH_PE_omit && !read_leb128(walk, false, &value)) ||
        !read_fixed(walk, 1, false, &encoding) || !read_leb128(walk, false, &value) ||
        value > (uint64_t)(walk->end - walk->next))
        return false;
    walk->encoding = (uint8_t)encoding;
    walk->end = walk->next + value;
    return true;
}

bool bat_call_site_begin(struct bat_call_site_walk *walk, const uint8_t *bytes, size_t size,
                         uint64_t address, uint64_t function)
{
    *walk = (struct bat_call_site_walk){
        .start = bytes, .next = bytes, .end = bytes + size, .address = address};
    if (read_header(walk, function))
        return true;
    walk->next = walk->end;
    return false;
}

bool bat_call_site_next(struct bat_call_site_walk *walk, struct bat_call_site *site)
{
    uint64_t start;
    uint64_t size;
    uint64_t pad;
    uint64_t action;
    if (walk->next == walk->end)
        return false;
    if (!read_encoded(walk, walk->encoding, &start) || !read_encoded(walk, walk->encoding, &size) ||
        !read_encoded(walk, walk->encoding, &pad) || !read_leb128(walk, false, &action)) {
        walk->next = walk->end;
        return false;
    }
    site->start = start;
    site->end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
    site->landing_pad = pad == 0 ? BAT_NO_OFFSET : walk->pads_start + pad;
    return true;
}
