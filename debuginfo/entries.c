/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "entries.h"

#include <dwarf.h>

#include "spec/array.h"
#include "spec/order.h"

/* --- Forms ---------------------------------------------------------------------------------- */

/* More sizes that are none: those of offsets and addresses, which a unit has. */
#define SIZE_LEB128 ENTRY_SIZE_LEB128
#define SIZE_OTHER ENTRY_SIZE_OTHER
#define SIZE_OFFSET 0xfcu
#define SIZE_ADDRESS 0xfbu

static const uint8_t form_sizes[] = {
    [DW_FORM_addr] = SIZE_ADDRESS,
    [DW_FORM_block2] = SIZE_OTHER,
    [DW_FORM_block4] = SIZE_OTHER,
    [DW_FORM_data2] = 2,
    [DW_FORM_data4] = 4,
    [DW_FORM_data8] = 8,
    [DW_FORM_string] = SIZE_OTHER,
    [DW_FORM_block] = SIZE_OTHER,
    [DW_FORM_block1] = SIZE_OTHER,
    [DW_FORM_data1] = 1,
    [DW_FORM_flag] = 1,
    [DW_FORM_sdata] = SIZE_LEB128,
    [DW_FORM_strp] = SIZE_OFFSET,
    [DW_FORM_udata] = SIZE_LEB128,
    [DW_FORM_ref_addr] = SIZE_OTHER,
    [DW_FORM_ref1] = 1,
    [DW_FORM_ref2] = 2,
    [DW_FORM_ref4] = 4,
    [DW_FORM_ref8] = 8,
    [DW_FORM_ref_udata] = SIZE_LEB128,
    [DW_FORM_indirect] = SIZE_OTHER,
    [DW_FORM_sec_offset] = SIZE_OFFSET,
    [DW_FORM_exprloc] = SIZE_OTHER,
    [DW_FORM_strx] = SIZE_LEB128,
    [DW_FORM_addrx] = SIZE_LEB128,
    [DW_FORM_ref_sup4] = 4,
    [DW_FORM_strp_sup] = SIZE_OFFSET,
    [DW_FORM_data16] = 16,
    [DW_FORM_line_strp] = SIZE_OFFSET,
    [DW_FORM_ref_sig8] = 8,
    [DW_FORM_loclistx] = SIZE_LEB128,
    [DW_FORM_rnglistx] = SIZE_LEB128,
    [DW_FORM_ref_sup8] = 8,
    [DW_FORM_strx1] = 1,
    [DW_FORM_strx2] = 2,
    [DW_FORM_strx3] = 3,
    [DW_FORM_strx4] = 4,
    [DW_FORM_addrx1] = 1,
    [DW_FORM_addrx2] = 2,
    [DW_FORM_addrx3] = 3,
    [DW_FORM_addrx4] = 4,
};

/* The size of a form's values, or SIZE_LEB128, or SIZE_OTHER, also for forms that are not known. */
static unsigned size_of(const struct entries *entries, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return SIZE_LEB128;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return entries->offset_size;
    default:
        break;
    }
    unsigned size = form < sizeof(form_sizes) ? form_sizes[form] : SIZE_OTHER;
    if (size == SIZE_ADDRESS)
        return entries->address_size;
    if (size == SIZE_OFFSET)
        return entries->offset_size;
    return size == 0 ? SIZE_OTHER : size;
}

static void skip_indirect(const struct entries *entries, struct line_reader *reader)
{
    uint64_t form = line_read_leb128(reader);
    /* A form that names another one would allow long chains. */
    if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT32_MAX)
        reader->failed = true;
    else
        entries_skip_value(entries, reader, (unsigned)form);
}

/* Skip a value whose size its form does not say. */
static void skip_other(const struct entries *entries, struct line_reader *reader, unsigned form)
{
    switch (form) {
    case DW_FORM_block1:
        line_read_skip(reader, line_read_fixed(reader, 1));
        break;
    case DW_FORM_block2:
        line_read_skip(reader, line_read_fixed(reader, 2));
        break;
    case DW_FORM_block4:
        line_read_skip(reader, line_read_fixed(reader, 4));
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        line_read_skip(reader, line_read_leb128(reader));
        break;
    case DW_FORM_string:
        line_read_string(reader);
        break;
    case DW_FORM_ref_addr:
        line_read_skip(reader, entries->version < 3 ? entries->address_size : entries->offset_size);
        break;
    case DW_FORM_indirect:
        skip_indirect(entries, reader);
        break;
    default:
        reader->failed = true;
    }
}

void entries_skip_value(const struct entries *entries, struct line_reader *reader, unsigned form)
{
    unsigned size = size_of(entries, form);
    if (size == SIZE_LEB128)
        line_read_leb128(reader);
    else if (size == SIZE_OTHER)
        skip_other(entries, reader, form);
    else
        line_read_skip(reader, size);
}

/* --- Abbreviations -------------------------------------------------------------------------- */

/* Read the attributes of an abbreviation. False where they are damaged, or without memory. */
static bool read_fields(struct entries *entries, struct entry_abbreviation *abbreviation,
                        struct line_reader *reader, bool *has_memory)
{
    for (;;) {
        uint64_t name = line_read_leb128(reader);
        uint64_t form = line_read_leb128(reader);
        struct entry_field field = {.name = (unsigned)name, .form = (unsigned)form};
        if (form == DW_FORM_implicit_const) {
            field.constant = reader->at;
            line_read_signed_leb128(reader);
        }
        if (reader->failed || name > UINT32_MAX || form > UINT32_MAX)
            return false;
        if (name == 0 && form == 0)
            return true;
        field.size = (uint8_t)size_of(entries, field.form);
        *has_memory =
            BAT_APPEND(entries->fields, entries->field_count, entries->field_capacity, field);
        if (!*has_memory)
            return false;
        abbreviation->field_count++;
    }
}

/* Read the abbreviations up to the end of their table, or up to where it is damaged. */
static bool read_abbreviations(struct entries *entries, struct line_reader *reader)
{
    bool has_memory = true;
    entries->is_dense = true;
    for (;;) {
        struct entry_abbreviation next = {.code = line_read_leb128(reader)};
        if (next.code == 0 || reader->failed)
            break;
        next.tag = (unsigned)line_read_leb128(reader);
        next.has_children = line_read_fixed(reader, 1) != 0;
        next.first_field = (uint32_t)entries->field_count;
        if (!read_fields(entries, &next, reader, &has_memory))
            break;
        has_memory = BAT_GROW(entries->abbreviations, entries->count, entries->capacity);
        if (!has_memory)
            break;
        entries->abbreviations[entries->count++] = next;
        entries->is_dense &= next.code == entries->count;
    }
    if (!entries->is_dense)
        BAT_SORT_BY_TWO(entries->abbreviations, entries->count, code, first_field);
    return has_memory;
}

/* Of several abbreviations with one code, the first counts. NULL if there is none. */
static const struct entry_abbreviation *search_abbreviation(const struct entries *entries,
                                                            uint64_t code)
{
    const size_t place = BAT_COUNT_BELOW(entries->abbreviations, entries->count, code, code);
    if (place >= entries->count || entries->abbreviations[place].code != code)
        return NULL;
    return &entries->abbreviations[place];
}

/* The same, quickly for codes as compilers choose them. */
static inline const struct entry_abbreviation *find_abbreviation(const struct entries *entries,
                                                                 uint64_t code)
{
    if (!entries->is_dense)
        return search_abbreviation(entries, code);
    return code - 1 < entries->count ? &entries->abbreviations[code - 1] : NULL;
}

/* --- Entries -------------------------------------------------------------------------------- */

struct entries_place entries_find(Dwarf_Die *unit_die)
{
    struct entries_place place = {0};
    const Dwarf_Off offset = dwarf_dieoffset(unit_die);
    const Dwarf_Off start = offset - dwarf_cuoffset(unit_die);
    Dwarf_Off next;
    Dwarf_Off table;
    Dwarf_Half version;
    size_t header_size;
    uint8_t kind;
    uint64_t signature;
    if (dwarf_cu_info(unit_die->cu, &version, &kind, NULL, NULL, NULL, NULL, NULL) != 0)
        return place;
    /* Asked for a signature, libdw looks in .debug_types. */
    const bool is_in_types = kind == DW_UT_type && version < 5;
    if (dwarf_next_unit(dwarf_cu_getdwarf(unit_die->cu), start, &next, &header_size, &version,
                        &table, &place.address_size, &place.offset_size,
                        is_in_types ? &signature : NULL, NULL) != 0 ||
        next <= offset || (place.address_size != 4 && place.address_size != 8))
        return (struct entries_place){0};
    place.version = version;
    place.abbreviations = table;
    place.first = unit_die->addr;
    place.start = place.first - (offset - start);
    place.end = place.first + (next - offset);
    return place;
}

/* True if all of an attribute that libdw found is in its unit, or in its abbreviation. */
static bool is_whole(const Dwarf_Attribute *attribute)
{
    Dwarf_Die die;
    if (attribute->form == DW_FORM_implicit_const)
        return true;
    if (!dwarf_cu_die(attribute->cu, &die, NULL, NULL, NULL, NULL, NULL, NULL))
        return false;
    const struct entries_place place = entries_find(&die);
    const struct entries sizes = {.version = place.version,
                                  .address_size = place.address_size,
                                  .offset_size = place.offset_size};
    struct line_reader reader = {.at = attribute->valp, .end = place.end};
    if (!place.end || reader.at > place.end)
        return false;
    entries_skip_value(&sizes, &reader, attribute->form);
    return !reader.failed;
}

bool entries_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute)
{
    return dwarf_attr(die, name, attribute) && is_whole(attribute);
}

bool entries_attribute_integrate(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute)
{
    return dwarf_attr_integrate(die, name, attribute) && is_whole(attribute);
}

bool entries_begin(struct entries *entries, Dwarf_CU *unit, const struct entries_place *place,
                   const struct line_bytes *abbreviations)
{
    entries->unit = unit;
    entries->start = place->start;
    entries->at = place->first;
    entries->end = place->end;
    entries->version = place->version;
    entries->address_size = place->address_size;
    entries->offset_size = place->offset_size;
    entries->count = 0;
    entries->field_count = 0;
    if (place->abbreviations >= abbreviations->size) {
        entries->end = entries->at;
        return true;
    }
    struct line_reader reader = {.at = abbreviations->bytes + place->abbreviations,
                                 .end = abbreviations->bytes + abbreviations->size};
    return read_abbreviations(entries, &reader);
}

void entries_free(struct entries *entries)
{
    BAT_FREE_ALL(entries->abbreviations, entries->fields);
    *entries = (struct entries){0};
}

bool entries_next(struct entries *entries, const struct entry_abbreviation **abbreviation)
{
    uint64_t code;
    *abbreviation = NULL;
    if (!line_leb128(&entries->at, entries->end, &code))
        return false;
    if (code == 0)
        return true;
    *abbreviation = find_abbreviation(entries, code);
    return *abbreviation != NULL;
}

/* Move *at from an entry's attributes behind them. False if they are damaged. */
static inline bool skip_attributes(const struct entries *entries,
                                   const struct entry_abbreviation *abbreviation,
                                   const uint8_t **at)
{
    struct line_reader reader = {.at = *at, .end = entries->end};
    const struct entry_field *field = entries->fields + abbreviation->first_field;
    for (const struct entry_field *end = field + abbreviation->field_count; field < end; field++)
        entries_skip_field(entries, &reader, field);
    *at = reader.at;
    return !reader.failed;
}

bool entries_skip(struct entries *entries, const struct entry_abbreviation *abbreviation)
{
    return skip_attributes(entries, abbreviation, &entries->at);
}

bool entries_next_wanted(struct entries *entries, const struct entry_abbreviation **abbreviation)
{
    const uint8_t *at = entries->at;
    size_t depth = 0; /* entries around this one that are skipped */
    *abbreviation = NULL;
    for (;;) {
        uint64_t code;
        const uint8_t *start = at;
        if (!line_leb128(&at, entries->end, &code))
            return false;
        if (code == 0) {
            if (depth-- != 0)
                continue;
            entries->at = at;
            return true;
        }
        const struct entry_abbreviation *found = find_abbreviation(entries, code);
        if (!found)
            return false;
        if (depth == 0 && !found->is_skipped) {
            entries->current = start;
            entries->at = at;
            *abbreviation = found;
            return true;
        }
        if (!skip_attributes(entries, found, &at))
            return false;
        depth += found->has_children;
    }
}

const uint8_t *entries_reference(const struct entries *entries, const Dwarf_Attribute *attribute)
{
    struct line_reader reader = {.at = attribute->valp, .end = entries->end};
    uint64_t offset;
    switch (attribute->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
        offset = line_read_fixed(&reader, form_sizes[attribute->form]);
        break;
    case DW_FORM_ref_udata:
        offset = line_read_leb128(&reader);
        break;
    default:
        return NULL;
    }
    return !reader.failed && offset < (uint64_t)(entries->end - entries->start)
               ? entries->start + offset
               : NULL;
}
