/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Strings of attributes, DWARF 2 to 5, section 7.5.5, without libdw. */
#include <dwarf.h>

#include "debuginfo.h"

/* The string at an offset in a section, which ends with a string's end. */
static const char *string_at(const struct line_bytes *section, uint64_t offset)
{
    return offset < section->size ? (const char *)section->bytes + offset : NULL;
}

/* The string whose place in .debug_str is number index of the unit's offsets. */
static const char *string_by_index(const struct debug_strings *strings, uint64_t index)
{
    const struct line_bytes *section = &strings->image->string_offsets;
    const unsigned size = strings->is_64_bit ? 8 : 4;
    uint64_t place;
    if (strings->base == DEBUG_NO_OFFSETS || __builtin_mul_overflow(index, size, &place) ||
        __builtin_add_overflow(place, strings->base, &place) || place >= section->size ||
        section->size - place < size)
        return NULL;
    return string_at(&strings->image->lines.strings, line_fixed_at(section->bytes + place, size));
}

const char *debug_read_string(const struct debug_strings *strings, const Dwarf_Attribute *attribute)
{
    const uint8_t *at = attribute->valp;
    const struct debug_image *image = strings->image;
    if (!image)
        return NULL;
    switch (attribute->form) {
    case DW_FORM_string:
        return (const char *)at;
    case DW_FORM_strp:
        return string_at(&image->lines.strings, line_fixed_at(at, strings->is_64_bit ? 8 : 4));
    case DW_FORM_line_strp:
        return string_at(&image->lines.line_strings, line_fixed_at(at, strings->is_64_bit ? 8 : 4));
    case DW_FORM_strx1:
        return string_by_index(strings, line_fixed_at(at, 1));
    case DW_FORM_strx2:
        return string_by_index(strings, line_fixed_at(at, 2));
    case DW_FORM_strx3:
        return string_by_index(strings, line_fixed_at(at, 3));
    case DW_FORM_strx4:
        return string_by_index(strings, line_fixed_at(at, 4));
    default:
        return NULL;
    }
}

static bool holds(const struct line_bytes *section, const char *string)
{
    return (uintptr_t)string - (uintptr_t)section->bytes < section->size;
}

static bool has_string(const struct line_sections *sections, const char *string)
{
    return holds(&sections->strings, string) || holds(&sections->line_strings, string);
}

const char *debug_form_string(const struct bat_debuginfo *debuginfo,
                              const struct debug_image *split, Dwarf_Attribute *attribute)
{
    const char *string = dwarf_formstring(attribute);
    if (!string || attribute->form == DW_FORM_string ||
        has_string(&debuginfo->image.lines, string) ||
        has_string(&debuginfo->alternate.lines, string) ||
        (split && has_string(&split->lines, string)))
        return string;
    return NULL;
}
