/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * The entries (DIEs) of a unit one after the other, DWARF 2 to 5, section 7.5. libdw would look up
 * an entry's abbreviation, and go through its attributes, again for each question about it.
 * Internal to debuginfo/.
 */
#pragma once

#include <elfutils/libdw.h>

#include "line_table.h"

/* Sizes of values that are none. */
#define ENTRY_SIZE_LEB128 0xfeu /* a LEB128 number */
#define ENTRY_SIZE_OTHER 0xfdu  /* entries_skip_value() knows */

/* An attribute of an abbreviation. */
struct entry_field {
    unsigned name;
    unsigned form;
    const uint8_t *constant; /* DW_FORM_implicit_const: the value, in .debug_abbrev */
    uint8_t size;            /* of the value, or one of the above */
};

struct entry_abbreviation {
    uint64_t code;
    unsigned tag;
    bool has_children;
    bool is_skipped; /* entries_next_wanted() skips such entries and all below; set by the caller */
    uint32_t first_field;
    uint32_t field_count;
};

/* Where a unit's entries are. All is 0 if it is damaged. */
struct entries_place {
    const uint8_t *start; /* of the unit's header, to which references are relative */
    const uint8_t *first; /* the unit's own entry */
    const uint8_t *end;
    uint64_t abbreviations; /* offset in the section */
    unsigned version;
    uint8_t address_size;
    uint8_t offset_size;
};

/* A unit, and the position in it. */
struct entries {
    Dwarf_CU *unit;
    const uint8_t *start; /* as struct entries_place has them */
    const uint8_t *end;
    const uint8_t *at;      /* the next entry, or attribute of the current one */
    const uint8_t *current; /* the entry that entries_next_wanted() went to */
    unsigned version;
    uint8_t address_size;
    uint8_t offset_size;

    struct entry_abbreviation *abbreviations;
    size_t count;
    bool is_dense; /* the codes are 1 to count, in this order */
    struct entry_field *fields;
    size_t field_count;
    size_t capacity; /* of abbreviations */
    size_t field_capacity;
};

/* Find the entries of a unit by its own one. */
struct entries_place entries_find(Dwarf_Die *unit_die);

/*
 * As dwarf_attr() and dwarf_attr_integrate(), which find where an attribute starts; false also if
 * not all of it is in its unit.
 */
bool entries_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute);
bool entries_attribute_integrate(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute);

/*
 * Begin with a unit's own entry. abbreviations is the section in the unit's file. False if there is
 * no memory; a damaged unit has no entries. *entries is zero before, or has the memory of a unit
 * that was read. Free it with entries_free() in any case. Linear in the unit's abbreviations,
 * except for sorting. Neither this nor a function below calls libdw.
 */
bool entries_begin(struct entries *entries, Dwarf_CU *unit, const struct entries_place *place,
                   const struct line_bytes *abbreviations);
void entries_free(struct entries *entries);

/*
 * Go to the next entry. *abbreviation becomes NULL at the end of a row of siblings. False at the
 * end of the unit, or where it is damaged. Its attributes must be read or skipped next.
 */
bool entries_next(struct entries *entries, const struct entry_abbreviation **abbreviation);

/* Go behind the attributes. False if they are damaged. */
bool entries_skip(struct entries *entries, const struct entry_abbreviation *abbreviation);

/* Go to the next entry in the same way, but skip entries whose abbreviation says so. */
bool entries_next_wanted(struct entries *entries, const struct entry_abbreviation **abbreviation);

/* Skip a value of any form. */
void entries_skip_value(const struct entries *entries, struct line_reader *reader, unsigned form);

/* Skip the value of an attribute. */
static inline void entries_skip_field(const struct entries *entries, struct line_reader *reader,
                                      const struct entry_field *field)
{
    if (field->size < ENTRY_SIZE_OTHER)
        line_read_skip(reader, field->size);
    else if (field->size == ENTRY_SIZE_LEB128)
        line_read_leb128(reader);
    else
        entries_skip_value(entries, reader, field->form);
}

/*
 * The same as entries_skip(); take() is called for each attribute that is complete. Inline, so that
 * the compiler can put take() into the loop.
 */
static inline bool entries_read(struct entries *entries,
                                const struct entry_abbreviation *abbreviation,
                                void (*take)(Dwarf_Attribute *attribute, void *context),
                                void *context)
{
    struct line_reader reader = {.at = entries->at, .end = entries->end};
    const struct entry_field *field = entries->fields + abbreviation->first_field;
    const struct entry_field *end = field + abbreviation->field_count;
    for (; field < end; field++) {
        Dwarf_Attribute attribute = {
            .code = field->name,
            .form = field->form,
            .valp = (unsigned char *)(field->constant ? field->constant : reader.at),
            .cu = entries->unit};
        entries_skip_field(entries, &reader, field);
        if (reader.failed)
            return false;
        take(&attribute, context);
    }
    entries->at = reader.at;
    return true;
}

/* The entry of the same unit that an attribute refers to, or NULL: not in the unit. */
const uint8_t *entries_reference(const struct entries *entries, const Dwarf_Attribute *attribute);
