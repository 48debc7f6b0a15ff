/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Decodes the header and the call sites of an exception table (exceptions.h). */
#include "exceptions.h"

#include <dwarf.h>

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
    return !(encoding & DW_EH_PE_indirect) &&
           dwarf_read_pointer(&walk->next, walk->end, encoding, place, value);
}

/* --- The table ---------------------------------------------------------------------------- */

static bool read_header(struct bat_call_site_walk *walk, uint64_t function)
{
    uint64_t encoding;
    uint64_t value;
    if (!read_byte(walk, &encoding))
        return false;
    if (encoding != DW_EH_PE_omit) {
        if (!read_pointer(walk, (uint8_t)encoding, &value))
            return false;
        walk->pads_start = value - function;
    }
    if (!read_byte(walk, &encoding) || /* of types */
        (encoding != DW_EH_PE_omit && !read_leb128(walk, &value)) || !read_byte(walk, &encoding) ||
        !read_leb128(walk, &value) || value > (uint64_t)(walk->end - walk->next))
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
    return true;
}
