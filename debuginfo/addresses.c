/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Addresses and lists of ranges, DWARF 2 to 5, sections 2.17 and 7.27 to 7.30. */
#include <dwarf.h>

#include "debuginfo.h"

/* The largest addresses are those of code that the linker dropped. */
static uint64_t address_of(const struct debug_addresses *addresses, uint64_t value)
{
    return value >= (UINT64_MAX >> (64 - 8 * addresses->size)) - 1 ? DEBUG_DROPPED : value;
}

/* An address relative to another. */
static uint64_t add_offset(uint64_t address, uint64_t offset)
{
    return address == DEBUG_DROPPED ? DEBUG_DROPPED : address + offset;
}

/* An address of the program by its index in the unit's part of .debug_addr. */
static bool read_indexed(const struct debug_addresses *addresses, uint64_t index, uint64_t *address)
{
    uint64_t offset;
    if (__builtin_mul_overflow(index, addresses->size, &offset) ||
        __builtin_add_overflow(offset, addresses->table_base, &offset) ||
        offset >= addresses->table.size)
        return false;
    struct line_reader reader = {.at = addresses->table.bytes + offset,
                                 .end = addresses->table.bytes + addresses->table.size};
    *address = address_of(addresses, line_read_fixed(&reader, addresses->size));
    return !reader.failed;
}

/* All of an attribute is in its unit. */
static uint64_t read_index(const Dwarf_Attribute *attribute, size_t size)
{
    struct line_reader reader = {.at = attribute->valp,
                                 .end = attribute->valp + (size ? size : 10)};
    return size ? line_read_fixed(&reader, size) : line_read_leb128(&reader);
}

bool debug_read_number(Dwarf_Attribute *attribute, uint64_t *value)
{
    Dwarf_Word other;
    switch (attribute->form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
        *value = line_fixed_at(attribute->valp, attribute->form == DW_FORM_data1   ? 1
                                                : attribute->form == DW_FORM_data2 ? 2
                                                : attribute->form == DW_FORM_data4 ? 4
                                                                                   : 8);
        return true;
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_implicit_const:
        /* Of these, libdw reads the bytes and nothing else. */
        if (dwarf_formudata(attribute, &other) != 0)
            return false;
        *value = other;
        return true;
    default:
        return false;
    }
}

bool debug_read_address(const struct debug_addresses *addresses, Dwarf_Attribute *attribute,
                        uint64_t *address)
{
    switch (attribute->form) {
    case DW_FORM_addr:
        *address = address_of(addresses, line_fixed_at(attribute->valp, addresses->size));
        return true;
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
        return read_indexed(addresses, read_index(attribute, 0), address);
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4: /* their numbers follow each other */
        return read_indexed(addresses, read_index(attribute, attribute->form - DW_FORM_addrx1 + 1),
                            address);
    default:
        return false;
    }
}

bool debug_read_bounds(const struct debug_addresses *addresses, Dwarf_Attribute *low,
                       Dwarf_Attribute *high, uint64_t *start, uint64_t *end)
{
    uint64_t size;
    if (!debug_read_address(addresses, low, start))
        return false;
    if (debug_read_address(addresses, high, end))
        return true;
    if (!debug_read_number(high, &size))
        return false;
    *end = add_offset(*start, size);
    return true;
}

/* --- Lists of ranges ------------------------------------------------------------------------- */

/* Find the start of a list by its index in the table of offsets, relative to the table. */
static bool find_list(const struct debug_addresses *addresses, uint64_t index, uint64_t *offset)
{
    unsigned size = addresses->is_64_bit ? 8 : 4;
    uint64_t place;
    if (__builtin_mul_overflow(index, size, &place) ||
        __builtin_add_overflow(place, addresses->lists_base, &place) ||
        place >= addresses->ranges.size)
        return false;
    struct line_reader reader = {.at = addresses->ranges.bytes + place,
                                 .end = addresses->ranges.bytes + addresses->ranges.size};
    *offset = line_read_fixed(&reader, size);
    return !reader.failed && !__builtin_add_overflow(*offset, addresses->lists_base, offset);
}

bool debug_ranges_begin(struct debug_ranges *ranges, const struct debug_addresses *addresses,
                        Dwarf_Attribute *attribute, uint64_t *budget)
{
    uint64_t offset;
    switch (attribute->form) {
    case DW_FORM_rnglistx:
        if (!find_list(addresses, read_index(attribute, 0), &offset))
            return false;
        break;
    case DW_FORM_data4: /* before version 4 */
        offset = read_index(attribute, 4);
        break;
    case DW_FORM_data8:
        offset = read_index(attribute, 8);
        break;
    case DW_FORM_sec_offset: /* libdw refuses it where the lists are in another file */
        offset = read_index(attribute, addresses->is_64_bit ? 8 : 4);
        break;
    default:
        return false;
    }
    if (addresses->version < 5 && __builtin_add_overflow(offset, addresses->ranges_base, &offset))
        return false;
    if (offset >= addresses->ranges.size)
        return false;
    *ranges = (struct debug_ranges){
        .addresses = addresses,
        .reader = {.at = addresses->ranges.bytes + offset,
                   .end = addresses->ranges.bytes + addresses->ranges.size},
        .base = addresses->base,
        .budget = budget,
    };
    return true;
}

/* An entry of .debug_ranges: a range, a new base, or the end. */
static bool read_pair(struct debug_ranges *ranges, uint64_t *start, uint64_t *end)
{
    unsigned size = ranges->addresses->size;
    uint64_t first = line_read_fixed(&ranges->reader, size);
    uint64_t second = line_read_fixed(&ranges->reader, size);
    *start = *end = 0;
    if (ranges->reader.failed || (first == 0 && second == 0))
        return false;
    if (first == UINT64_MAX >> (64 - 8 * size)) {
        ranges->base = address_of(ranges->addresses, second);
        return true;
    }
    *start = add_offset(ranges->base, address_of(ranges->addresses, first));
    *end = add_offset(ranges->base, second);
    return true;
}

static uint64_t read_entry_index(struct debug_ranges *ranges)
{
    uint64_t address = 0;
    if (!read_indexed(ranges->addresses, line_read_leb128(&ranges->reader), &address))
        ranges->reader.failed = true;
    return address;
}

static uint64_t read_entry_address(struct debug_ranges *ranges)
{
    return address_of(ranges->addresses, line_read_fixed(&ranges->reader, ranges->addresses->size));
}

/* An entry of .debug_rnglists. */
static bool read_entry(struct debug_ranges *ranges, uint64_t *start, uint64_t *end)
{
    struct line_reader *reader = &ranges->reader;
    *start = *end = 0;
    switch (line_read_fixed(reader, 1)) {
    case DW_RLE_base_addressx:
        ranges->base = read_entry_index(ranges);
        break;
    case DW_RLE_startx_endx:
        *start = read_entry_index(ranges);
        *end = read_entry_index(ranges);
        break;
    case DW_RLE_startx_length:
        *start = read_entry_index(ranges);
        *end = add_offset(*start, line_read_leb128(reader));
        break;
    case DW_RLE_offset_pair:
        *start = add_offset(ranges->base, line_read_leb128(reader));
        *end = add_offset(ranges->base, line_read_leb128(reader));
        break;
    case DW_RLE_base_address:
        ranges->base = read_entry_address(ranges);
        break;
    case DW_RLE_start_end:
        *start = read_entry_address(ranges);
        *end = read_entry_address(ranges);
        break;
    case DW_RLE_start_length:
        *start = read_entry_address(ranges);
        *end = add_offset(*start, line_read_leb128(reader));
        break;
    default: /* DW_RLE_end_of_list, or damaged */
        return false;
    }
    return !reader->failed;
}

bool debug_ranges_next(struct debug_ranges *ranges, uint64_t *start, uint64_t *end)
{
    for (;;) {
        const uint8_t *before = ranges->reader.at;
        bool is_read = ranges->addresses->version >= 5 ? read_entry(ranges, start, end)
                                                       : read_pair(ranges, start, end);
        uint64_t size = (uint64_t)(ranges->reader.at - before);
        if (!is_read || size > *ranges->budget)
            return false;
        *ranges->budget -= size;
        if (*start < *end || *start == DEBUG_DROPPED)
            return true;
    }
}
