/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dwarf_numbers.h"

bool dwarf_read_form(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t *value)
{
    bool is_signed = (encoding & 0x08) != 0;
    switch (encoding & 0x07) {
    case DWARF_PE_ABSOLUTE:
    case DWARF_PE_UDATA8:
        return dwarf_read_fixed(at, end, 8, is_signed, value);
    case DWARF_PE_ULEB128:
        return dwarf_read_leb128(at, end, is_signed, value);
    case DWARF_PE_UDATA2:
        return dwarf_read_fixed(at, end, 2, is_signed, value);
    case DWARF_PE_UDATA4:
        return dwarf_read_fixed(at, end, 4, is_signed, value);
    default:
        return false;
    }
}

bool dwarf_read_pointer(const uint8_t **at, const uint8_t *end, uint8_t encoding, uint64_t address,
                        uint64_t *value)
{
    uint8_t base = encoding & 0x70;
    if ((base != 0 && base != DWARF_PE_RELATIVE) || !dwarf_read_form(at, end, encoding, value))
        return false;
    if (base == DWARF_PE_RELATIVE)
        *value += address;
    return true;
}
